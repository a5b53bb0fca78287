"""Records of VR episodes, and their scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import ConfigError
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.task.metrics import (
    Trace,
    barn_score,
    comfort_proxies,
    soft_spl,
    spl,
)
from ambulo.evaluate.shared.result import (
    AgentMetrics,
    mean_metric,
    metric,
    rate_metric,
    unit_of,
)


@dataclass(frozen=True, eq=False)
class EpisodeRecord:
    """One finished episode."""

    level: Level
    """The level, with start and goal."""
    success: bool
    """The task was solved."""
    fell: bool
    """Ended by a fall."""
    timeout: bool
    """Ended by the step limit."""
    optimal: float
    """Shortest way from the start to the edge of the goal disc, [m]."""
    left: float
    """Shortest way from the end to the edge of the goal disc, [m]."""
    path: float
    """Length walked, [m]."""
    time: float
    """Duration, [s]."""
    collisions: int
    """Collision events."""
    comfort: float
    """Mean published comfort score."""
    reward: float
    """Return, unscaled."""
    trace: Trace
    """State after every environment step."""
    people_collisions: int = 0
    """Those collision events that are with people."""
    mates: int = 0
    """Other agents in the level."""
    comfort_index: float = 1.0
    """Mean comfort index (docs/comfort.md)."""

    @property
    def peopled(self) -> bool:
        """Whether there are people or other agents in the level, or some were met.

        The people of a user's scene are known when they are met.
        """
        people = self.level.people is not None or self.people_collisions > 0
        return people or self.mates > 0


@dataclass(frozen=True)
class EpisodeRecords:
    """Finished episodes, in the order of their starts."""

    episodes: tuple[EpisodeRecord, ...]
    """One per start."""
    max_speed: float
    """Of the player, [m/s]."""

    def column(self, name: str) -> Floats:
        """One field of all episodes, shape (n,)."""
        return np.array([getattr(e, name) for e in self.episodes], np.float64)

    def spl(self) -> Floats:
        """SPL of each episode, shape (n,)."""
        return spl(self.column("success"), self.column("optimal"), self.column("path"))


@dataclass(frozen=True)
class EvaluationResult:
    """Scores of one agent."""

    metrics: AgentMetrics
    """Over all episodes. Success is their share, SPL and SoftSPL weigh success and progress
    by path length, BARN is success against time, 0.5 at best; the return has no custom
    reward terms."""
    comfort: dict[str, float]
    """Proxies, see `ambulo.envs.vr.task.metrics.COMFORT_PROXIES`."""
    per_family: dict[str, AgentMetrics]
    """Main numbers by level family."""
    per_level: dict[str, AgentMetrics]
    """Main numbers by level."""

    def value(self, name: str) -> float:
        """Return a metric that every agent has."""
        value = self.metrics[name].value
        assert value is not None
        return value


PEOPLE = "people_collisions_per_episode"
"""Metric of levels with people alone."""


def summarise(records: EpisodeRecords, seed: int = 0) -> EvaluationResult:
    """The scores of `records`; `seed` drives the bootstrap."""
    if not records.episodes:
        raise ConfigError("no episodes to sum up")
    success, path = records.column("success"), records.column("path")
    optimal, time = records.column("optimal"), records.column("time")
    efficiency, left = records.spl(), records.column("left")
    means = {
        "soft_spl": soft_spl(left, optimal, path),
        "barn": barn_score(success, optimal, time, records.max_speed),
        "collisions_per_episode": records.column("collisions"),
        "mean_time_s": time,
        "mean_path_m": path,
        "comfort_score": records.column("comfort"),
        "comfort_index": records.column("comfort_index"),
        "return_mean": records.column("reward"),
    }
    metrics = {
        "success_rate": rate_metric(int(success.sum()), len(success)),
        "spl": mean_metric(efficiency, seed),
        "falls": metric(int(records.column("fell").sum())),
        "timeouts": metric(int(records.column("timeout").sum())),
        **{name: metric(float(v.mean()), unit_of(name)) for name, v in means.items()},
        **_with_people(records.episodes),
    }
    return EvaluationResult(
        metrics,
        comfort_proxies([e.trace for e in records.episodes]),
        _grouped(records, efficiency, [e.level.family for e in records.episodes]),
        _grouped(records, efficiency, [e.level.name for e in records.episodes]),
    )


def _with_people(episodes: Sequence[EpisodeRecord]) -> AgentMetrics:
    """Return the mean number of collisions with people, where there are people."""
    names = {e.level.name for e in episodes if e.peopled}
    counts = [e.people_collisions for e in episodes if e.level.name in names]
    return {PEOPLE: metric(float(np.mean(counts)))} if counts else {}


def _grouped(
    records: EpisodeRecords, efficiency: Floats, keys: Sequence[str]
) -> dict[str, AgentMetrics]:
    """Return main numbers of each group of episodes, in order of appearance."""
    columns = {
        "success_rate": records.column("success"),
        "spl": efficiency,
        "collisions_per_episode": records.column("collisions"),
        "fall_rate": records.column("fell"),
        "mean_time_s": records.column("time"),
        "mean_path_m": records.column("path"),
        "comfort_score": records.column("comfort"),
        "comfort_index": records.column("comfort_index"),
    }
    groups: dict[str, list[int]] = {}
    for row, key in enumerate(keys):
        groups.setdefault(key, []).append(row)
    return {
        key: {
            "episodes": metric(len(rows)),
            **{
                name: metric(float(values[rows].mean()), unit_of(name))
                for name, values in columns.items()
            },
            **_with_people([records.episodes[row] for row in rows]),
        }
        for key, rows in groups.items()
    }
