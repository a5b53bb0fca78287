"""The play-test of one level: what was walked, and what it says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ambulo.configs.arrays import Bools, Floats
from ambulo.envs.vr.contract import WorldSpec
from ambulo.envs.vr.levels.layer_field_kernels import SAME_FLOOR
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.survey.bodies import judged_bodies
from ambulo.envs.vr.survey.floor import Floor
from ambulo.envs.vr.survey.survey import survey
from ambulo.evaluate.playtest.flags import PlaytestFlags
from ambulo.evaluate.playtest.heatmaps import HeatMap, covered_cells, heat_maps
from ambulo.evaluate.playtest.journeys import (
    Ground,
    Journey,
    draw_journeys,
    ground_of,
    own_places,
)
from ambulo.evaluate.playtest.measures import MEASURES, Values, journey_values
from ambulo.evaluate.playtest.playing import Walker, walk
from ambulo.evaluate.playtest.scenes import SceneSource
from ambulo.evaluate.playtest.stuck import Stay, StuckSpot, find_spots, find_stays
from ambulo.evaluate.shared.result import Metric, measured
from ambulo.evaluate.vr.scores import EpisodeRecord


@dataclass(frozen=True, eq=False)
class Playtest:
    """The play-test of one level."""

    ground: Ground
    """Floor, its unreachable parts, and the ways on it."""
    walker: Walker
    """The agent."""
    flags: PlaytestFlags
    """Settings of its journeys, and limits of its faults."""
    journeys: list[Journey]
    """Where from and where to."""
    records: list[EpisodeRecord]
    """One per journey."""
    scene: SceneSource | None = None
    """Where the level comes from, if not from a level file."""

    @property
    def floor(self) -> Floor:
        """Floor, and its unreachable parts."""
        return self.ground.floor

    @cached_property
    def unreachable(self) -> list[str]:
        """Keys of starts and goals of the level file that cannot be reached."""
        return own_places(self.ground).unreachable

    @property
    def warnings(self) -> list[str]:
        """Limits of this play-test's validity, a sentence each."""
        if self.walker.legs and self.level.heights:
            return [
                f"agents of {self.walker.name} have legs: they walk on the ground floor alone, "
                "around stairs, ramps and curbs"
            ]
        if self.walker.reads_heights or self.floor.rise <= SAME_FLOOR:
            return []
        return [
            f"floors differ by {self.floor.rise:.1f} m, but agents of {self.walker.name} read "
            "no heights: what they reach on other floors is luck; --agent oracle knows stairs, "
            "doors and lifts"
        ]

    @property
    def level(self) -> Level:
        """The level as its file has it."""
        return self.floor.level

    @property
    def spec(self) -> WorldSpec:
        """Specification of the agents' world."""
        return self.walker.spec

    @cached_property
    def stays(self) -> list[Stay]:
        """Every stay of every journey."""
        return find_stays(self.records)

    @cached_property
    def spots(self) -> list[StuckSpot]:
        """Places where several agents were stuck, the worst first."""
        return find_spots(self.stays, len(self.records), self.floor)

    @cached_property
    def covered(self) -> Bools:
        """Reachable cells of the floor near a path, shape (storeys, ny, nx)."""
        return covered_cells(self.floor, self.records)

    @cached_property
    def coverage(self) -> float:
        """Fraction of the reachable floor near a path."""
        return float(self.covered.sum() / self.floor.reachable.sum())

    def coverage_of(self, storey: int) -> float | None:
        """Fraction of the reachable floor of a storey near a path; None: it has none."""
        total = self.floor.storeys[storey].reachable.sum()
        return float(self.covered[storey].sum() / total) if total else None

    @cached_property
    def maps(self) -> list[HeatMap]:
        """Heat maps."""
        return heat_maps(self.floor, self.records, self.stays, self.covered, self.spec)

    @cached_property
    def values(self) -> Values:
        """Every measure of every journey."""
        return journey_values(self.records, self.stays, self.spec)

    @cached_property
    def metrics(self) -> dict[str, Metric]:
        """Means with intervals."""
        return measured(MEASURES, self.values, self.flags.seed)

    @property
    def success_rate(self) -> float:
        """Fraction of journeys that reached their goal."""
        return float(self.values["success_rate"].mean())

    @property
    def own_journeys(self) -> bool:
        """Whether agents walked between a start and a goal that the level names."""
        level = self.level
        fixed = (level.start is not None or len(level.starts) > 0) and (
            level.goal is not None or len(level.goals) > 0
        )
        return fixed and self.flags.journeys == "auto"

    def ideal_time(self, index: int) -> float:
        """Time of the shortest way of a journey at full speed, [s]."""
        return self.records[index].optimal / self.spec.max_speed

    def outcome(self, index: int) -> str:
        """How a journey ended: `reached`, `fell`, `stuck` or `timeout`."""
        record = self.records[index]
        if record.success:
            return "reached"
        if record.fell:
            return "fell"
        stuck = any(s.episode == index and s.final for s in self.stays)
        return "stuck" if stuck else "timeout"


def playtest_level(
    level: Level,
    walker: Walker,
    flags: PlaytestFlags,
    *,
    box: Floats | None = None,
    scene: SceneSource | None = None,
    progress: Callable[[int], None] | None = None,
) -> Playtest:
    """Survey a level, and let agents walk through it.

    Args:
        level: flat or with heights, with or without people and things that move.
        walker: who walks.
        flags: how.
        box: rectangle of random places, see `draw_journeys`.
        scene: that the level was made of.
        progress: called with the number of journeys that have just ended.

    Raises:
        LevelError: no floor, too little of it, or a ground floor on which the walker cannot
            be simulated.
    """
    bodies = judged_bodies(walker.spec.eye_height)
    floor = survey(level, flags.min_area, bodies)
    ground = ground_of(floor, legs=walker.legs)
    journeys = draw_journeys(
        ground, flags.agents, flags.seed, plan=flags.journeys, box=box
    )
    records = walk(walker, ground, journeys, flags, progress)
    return Playtest(ground, walker, flags, journeys, records, scene)


def common_box(levels: Sequence[Level]) -> Floats:
    """The rectangle around the floors of `levels`: x0, y0, x1, y1, shape (4,), [m]."""
    bounds = np.array([level.bounds for level in levels])
    return np.concatenate([bounds[:, :2].min(axis=0), bounds[:, 2:].max(axis=0)])
