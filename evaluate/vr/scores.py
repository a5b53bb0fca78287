"""Records of VR episodes, and their scores in the schema of all evaluations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.task.metrics import (
    COMFORT_PROXIES,
    Trace,
    barn_score,
    comfort_proxies,
    soft_spl,
    spl,
)
from ambulo.evaluate.shared.result import (
    AgentMetrics,
    Breakdown,
    MetricColumn,
    measured,
    measured_groups,
    metric,
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
    """Largest speed of the agent, [m/s]."""

    def column(self, name: str) -> Floats:
        """One field of all episodes, shape (n,)."""
        return np.array([getattr(e, name) for e in self.episodes], np.float64)

    def spl(self) -> Floats:
        """SPL of each episode, shape (n,)."""
        return spl(self.column("success"), self.column("optimal"), self.column("path"))

    def by(self, key: Callable[[EpisodeRecord], str]) -> dict[str, EpisodeRecords]:
        """Return the episodes of each value of `key`, in order of appearance."""
        groups: dict[str, list[EpisodeRecord]] = {}
        for episode in self.episodes:
            groups.setdefault(key(episode), []).append(episode)
        return {
            value: EpisodeRecords(tuple(rows), self.max_speed)
            for value, rows in groups.items()
        }

    def by_family(self) -> dict[str, EpisodeRecords]:
        """Return the episodes of each level family."""
        return self.by(lambda episode: episode.level.family)


def _mean(name: str) -> Callable[[EpisodeRecords], float]:
    return lambda records: float(records.column(name).mean())


def _with_people(records: EpisodeRecords) -> float | None:
    """Return the mean number of collisions with people, where there are people."""
    names = {e.level.name for e in records.episodes if e.peopled}
    counts = [e.people_collisions for e in records.episodes if e.level.name in names]
    return float(np.mean(counts)) if counts else None


def _soft_spl(records: EpisodeRecords) -> float:
    columns = (records.column(name) for name in ("left", "optimal", "path"))
    return float(soft_spl(*columns).mean())


def _barn(records: EpisodeRecords) -> float:
    success, optimal, time = map(records.column, ("success", "optimal", "time"))
    return float(barn_score(success, optimal, time, records.max_speed).mean())


PEOPLE = "people_collisions_per_episode"
"""Metric of levels with people alone."""
COLUMNS = (
    MetricColumn(
        "success_rate", "success", 0, percent=True, meaning="episodes solved",
        of=lambda records: records.column("success") > 0.0,
    ),
    MetricColumn(
        "spl", "SPL", of=EpisodeRecords.spl,
        meaning="success weighted by path length; 1: the shortest path in every episode",
    ),
    MetricColumn("soft_spl", "SoftSPL", of=_soft_spl),
    MetricColumn("barn", "BARN", of=_barn),
    MetricColumn(
        "collisions_per_episode", "collisions", meaning="events per episode",
        of=_mean("collisions"),
    ),
    MetricColumn(PEOPLE, "people collisions", of=_with_people),
    MetricColumn("falls", "falls", 0, of=lambda r: r.column("fell").sum()),
    MetricColumn("timeouts", "timeouts", 0, of=lambda r: r.column("timeout").sum()),
    MetricColumn("mean_time_s", "time", 1, of=_mean("time")),
    MetricColumn("mean_path_m", "path", 1, of=_mean("path")),
    MetricColumn("comfort_score", "comfort", of=_mean("comfort")),
    MetricColumn("comfort_index", "comfort index", of=_mean("comfort_index")),
    MetricColumn("return_mean", "return", 0, of=_mean("reward")),
)  # fmt: skip
"""Success is the fraction of episodes, SPL and SoftSPL weigh success and progress by path
length, BARN is success against time, 0.5 at best; the return has no custom reward terms."""
HEADLINE = (
    "success_rate", "spl", "collisions_per_episode", "falls", "mean_time_s",
    "comfort_score",
)  # fmt: skip
FAMILY_COLUMNS = (
    MetricColumn("success_rate", "success", of=_mean("success")),
    MetricColumn("spl", "SPL", of=lambda records: float(records.spl().mean())),
    MetricColumn("collisions_per_episode", "collisions", 1, of=_mean("collisions")),
    MetricColumn(PEOPLE, "people collisions", 1, of=_with_people),
)
"""Columns of tables by family of levels; the JSON has `GROUP_COLUMNS`."""
GROUP_COLUMNS = (
    MetricColumn("episodes", of=lambda records: len(records.episodes)),
    *FAMILY_COLUMNS,
    MetricColumn("fall_rate", of=_mean("fell")),
    *(
        replace(column, label="")
        for column in COLUMNS
        if column.name.startswith(("mean_", "comfort_"))
    ),
)
NOTES = (
    "SPL: success weighted by path length, against the shortest walkable path to the "
    "edge of the goal. BARN: success against time, 0.5 at best. Collisions: events per "
    "episode.",
    "Comfort proxies are physical quantities that the literature links to discomfort in "
    "VR. None of them measures how a person feels.",
)


def summarise(records: EpisodeRecords, seed: int = 0) -> AgentMetrics:
    """Return the metrics of `records`; `seed` is that of the bootstrap."""
    return measured(_known(COLUMNS, records), records, seed)


def _known(
    columns: tuple[MetricColumn, ...], records: EpisodeRecords
) -> tuple[MetricColumn, ...]:
    """Return `columns`, without that of people where there are none."""
    peopled = any(episode.peopled for episode in records.episodes)
    return tuple(c for c in columns if peopled or c.name != PEOPLE)


def breakdowns(records: Mapping[str, EpisodeRecords]) -> list[Breakdown]:
    """Return the scores by level family, by level, and the comfort proxies."""
    first = next(iter(records.values()))
    every, shown = _known(GROUP_COLUMNS, first), _known(FAMILY_COLUMNS, first)
    families = {name: own.by_family() for name, own in records.items()}
    levels = {n: own.by(lambda e: e.level.name) for n, own in records.items()}
    proxies = {
        name: {
            key: {"value": metric(value, COMFORT_PROXIES[key].unit)}
            for key, value in comfort_proxies([e.trace for e in own.episodes]).items()
        }
        for name, own in records.items()
    }
    value = MetricColumn("value", "value", 3)
    title = "by family: success / SPL / collisions per episode"
    return [
        Breakdown(
            "family", measured_groups(every, families),
            shown if len(first.by_family()) > 1 else (),
            title if len(shown) == 3 else "family ",
        ),
        Breakdown("level", measured_groups(every, levels)),
        Breakdown(
            "comfort_proxy", measured_groups([value], proxies), (value,),
            "comfort proxies", in_terminal=False,
        ),
    ]  # fmt: skip


def record_rows(records: EpisodeRecords) -> Iterator[dict[str, Any]]:
    """Yield one row per episode of an agent."""
    peopled = any(one.peopled for one in records.episodes)
    for one, score in zip(records.episodes, records.spl().tolist(), strict=True):
        yield {
            "level": one.level.name,
            "family": one.level.family,
            "success": one.success,
            "spl": score,
            "fell": one.fell,
            "timeout": one.timeout,
            "collisions": one.collisions,
            **({"people_collisions": one.people_collisions} if peopled else {}),
            "time_s": one.time,
            "path_m": one.path,
            "shortest_path_m": one.optimal,
            "comfort_score": one.comfort,
            "comfort_index": one.comfort_index,
            "return": one.reward,
        }
