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
from ambulo.evaluate.shared.intervals import bootstrap_interval, wilson_interval


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
    """Scores of one agent; intervals are 95 % intervals."""

    episodes: int
    """Episodes played."""
    success_rate: float
    """Share of episodes solved."""
    success_ci95: tuple[float, float]
    """Wilson interval of `success_rate`."""
    spl: float
    """Success weighted by path length."""
    spl_ci95: tuple[float, float]
    """Bootstrap interval of `spl`."""
    soft_spl: float
    """Progress weighted by path length."""
    barn: float
    """BARN time score; 0.5 is the best."""
    collisions_per_episode: float
    """Collision events."""
    falls: int
    """Episodes that ended by a fall."""
    timeouts: int
    """Episodes that ended by the step limit."""
    mean_time_s: float
    """Mean duration of all episodes, [s]."""
    mean_path_m: float
    """Mean length walked in all episodes, [m]."""
    comfort_score: float
    """Mean published comfort score, in [0, 1]."""
    comfort_index: float
    """Mean comfort index, in [0, 1]."""
    return_mean: float
    """Mean return; custom reward terms are left out."""
    comfort: dict[str, float]
    """Proxies, see `ambulo.envs.vr.task.metrics.COMFORT_PROXIES`."""
    per_family: dict[str, dict[str, float]]
    """Main numbers by level family."""
    per_level: dict[str, dict[str, float]]
    """Main numbers by level."""
    people_collisions_per_episode: float | None = None
    """Collision events with people, in levels that have some; None: no level has."""


def summarise(records: EpisodeRecords, seed: int = 0) -> EvaluationResult:
    """The scores of `records`; `seed` drives the bootstrap."""
    if not records.episodes:
        raise ConfigError("no episodes to sum up")
    success, path = records.column("success"), records.column("path")
    optimal, time = records.column("optimal"), records.column("time")
    efficiency = records.spl()
    families = [e.level.family for e in records.episodes]
    names = [e.level.name for e in records.episodes]
    return EvaluationResult(
        episodes=len(success),
        success_rate=float(success.mean()),
        success_ci95=wilson_interval(int(success.sum()), len(success)),
        spl=float(efficiency.mean()),
        spl_ci95=bootstrap_interval(efficiency, seed),
        soft_spl=float(soft_spl(records.column("left"), optimal, path).mean()),
        barn=float(barn_score(success, optimal, time, records.max_speed).mean()),
        collisions_per_episode=float(records.column("collisions").mean()),
        falls=int(records.column("fell").sum()),
        timeouts=int(records.column("timeout").sum()),
        mean_time_s=float(time.mean()),
        mean_path_m=float(path.mean()),
        comfort_score=float(records.column("comfort").mean()),
        comfort_index=float(records.column("comfort_index").mean()),
        return_mean=float(records.column("reward").mean()),
        comfort=comfort_proxies([e.trace for e in records.episodes]),
        per_family=_grouped(records, efficiency, families),
        per_level=_grouped(records, efficiency, names),
        people_collisions_per_episode=_with_people(records.episodes),
    )


def _with_people(episodes: Sequence[EpisodeRecord]) -> float | None:
    """Mean number of collisions with people, where there are people; None: nowhere."""
    names = {e.level.name for e in episodes if e.peopled}
    counts = [e.people_collisions for e in episodes if e.level.name in names]
    return float(np.mean(counts)) if counts else None


def _grouped(
    records: EpisodeRecords, efficiency: Floats, keys: Sequence[str]
) -> dict[str, dict[str, float]]:
    """Main numbers of each group of episodes, in order of appearance."""
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
    table = {}
    for key, rows in groups.items():
        table[key] = {
            "episodes": len(rows),
            **{name: float(values[rows].mean()) for name, values in columns.items()},
        }
        people = _with_people([records.episodes[row] for row in rows])
        if people is not None:
            table[key]["people_collisions_per_episode"] = people
    return table
