"""A bank of levels with walking-distance fields, from which episodes are drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.arrays import Floats, Ints
from ambulo.configs.errors import LevelError
from ambulo.envs.vr.levels.geodesic import (
    EVALUATION_RESOLUTION,
    field_resolution,
    played_resolution,
)
from ambulo.envs.vr.levels.layers import LayeredGrid
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.levels.scene_level import grid_of
from ambulo.envs.vr.task.fields import DistanceFields
from ambulo.envs.vr.task.jitter import jittered
from ambulo.envs.vr.task.places import drawn_goal, sampled_start

GOALS = 2
"""Goals per level: the designed one (or a drawn one), and a second drawn one."""


@dataclass(frozen=True)
class Start:
    """Start pose and goal of an episode."""

    slot: int
    """Level slot of the bank."""
    goal: int
    """Index of the goal in that level, 0 or 1."""
    pose: Floats
    """x, y [m], yaw [rad], shape (3,)."""
    height: float = 0.0
    """Height of the floor there, [m]."""


class LevelBank:
    """Levels in slots; each slot holds `GOALS` goals and their distance fields.

    After them come the level's waypoints, if it has any: the goals of `patrol`.
    """

    def __init__(
        self,
        levels: Sequence[Level],
        rng: np.random.Generator,
        *,
        designed: float = 1.0,
        goal_distance: tuple[float, float] = (5.0, 30.0),
        resolution: float = 0.25,
        jitter: tuple[float, float] = (0.0, 0.0),
        own: int = 0,
        own_fraction: float = 1.0,
    ) -> None:
        """Compute the fields of all `levels`.

        Args:
            levels: Levels, one per slot.
            rng: Generator of the second goals (and the first where a level has none).
            designed: Probability of the designed start and goal; 1 always uses those of a
                level.
            goal_distance: Range of straight-line distances for levels without one, [m].
            resolution: Cell size of the fields, [m].
            jitter: Largest distance [m] and rotation [deg] of starts from the designed ones, in
                levels that also design the goal.
            own: Number of user levels, first in `levels`: they are used as designed, on finer
                cells, and keep their own goal distances.
            own_fraction: Fraction of the episodes in these, if there are others.
        """
        self.levels = list(levels)
        self.names = np.array([level.name for level in self.levels], dtype=object)
        """Name of each slot's level."""
        self.designed = designed
        self.goal_distance = goal_distance
        self.resolution = resolution
        self.jitter = jitter
        self.own, self.own_fraction = own, own_fraction
        count = len(self.levels)
        most = GOALS + max((len(level.waypoints) for level in self.levels), default=0)
        self.goals = np.zeros((count, most, 3))
        """Goals and waypoints of each level, x, y, z, shape (levels, most, 3), [m]."""
        self._waypoints = np.array([len(level.waypoints) for level in self.levels])
        self._grids: list[LayeredGrid] = [
            self._grid(*one) for one in enumerate(self.levels)
        ]
        self.fields = DistanceFields(count, most)
        for slot, grid in enumerate(self._grids):
            self._allocate(slot, self.levels[slot], grid)
            self._fill(slot, rng)

    def __len__(self) -> int:
        return len(self.levels)

    def replace(self, slot: int, level: Level, rng: np.random.Generator) -> None:
        """Put another level into `slot`, which no running episode may use."""
        self._put(slot, level)
        self._fill(slot, rng)

    def move_goal(self, slot: int, goal: int, place: Floats) -> bool:
        """Move a goal of `slot`, and recompute its distances.

        Args:
            slot: Level.
            goal: Index of its goal.
            place: x, y and height of the floor, [m]. Shape (3,).

        Returns:
            Whether the goal moved: it stays if there is no floor for the body near `place`.
        """
        field = self._field(slot, place)
        if not np.isfinite(field).any():
            return False
        self._set_goal(slot, goal, place, field)
        return True

    def restore(self, levels: Sequence[Level], places: Floats) -> list[int]:
        """Restore `levels`, one per slot, with goals at `places` (slots, most, 3), [m].

        Returns:
            Slots whose level changed; the world must replace them too.
        """
        exchanged = []
        for slot, level in enumerate(levels):
            if level is not self.levels[slot]:
                self._put(slot, level)
                exchanged.append(slot)
            elif np.array_equal(self.goals[slot], places[slot]):
                continue
            self.goals[slot] = places[slot]
            for goal, place in enumerate(places[slot, : GOALS + len(level.waypoints)]):
                designed = goal == 0 and level.goal is not None
                field = (self._designed_field if designed else self._field)(slot, place)
                self.fields.view(slot, goal)[:] = field.ravel()
        return exchanged

    def next_goals(self, slots: Ints, goals: Ints) -> Ints:
        """The next goals after `goals` (n,) on the tours of `slots` (n,)."""
        count = self._waypoints[slots]
        after = GOALS + np.maximum(goals - GOALS + 1, 0) % np.maximum(count, 1)
        return np.where(count > 0, after, (goals + 1) % GOALS)

    def first_goals(self, slots: Ints, goals: Ints) -> Ints:
        """The first goals of tours: the first waypoints, or else `goals` (n,)."""
        return np.where(self._waypoints[slots] > 0, GOALS, goals)

    def tour_stops(self, slots: Ints, usual: int) -> Ints:
        """Number of goals of a tour: the level's waypoints, or else `usual`, shape (n,)."""
        count = self._waypoints[slots]
        return np.where(count > 0, count, usual)

    def distance(self, slots: Ints, goals: Ints, position: Floats) -> Floats:
        """Walking distance from `position` (n, 3) to the goals, shape (n,), [m]."""
        return self.fields.distance(slots, goals, position)

    def direction(self, slots: Ints, goals: Ints, position: Floats) -> Floats:
        """Unit vectors of the shortest path at `position`, shape (n, 2), world frame."""
        return self.fields.direction(slots, goals, position)

    def floor(self, slots: Ints, goals: Ints, position: Floats) -> Floats:
        """Heights of the floors at `position` (n, 3) with a path to the goals, (n,), [m]."""
        return self.fields.floor(slots, goals, position)

    def draw(
        self,
        rng: np.random.Generator,
        slot: int | None = None,
        goal_distance: tuple[float, float] | None = None,
    ) -> Start:
        """A random start (in `slot`, or in any); `LevelError` if none exists."""
        if slot is None:
            slot = self._draw_slot(rng)
        level = self.levels[slot]
        own = slot < self.own
        goal_distance = None if own else goal_distance
        low, high = goal_distance or level.goal_distance or self.goal_distance
        use_design = rng.random() < (1.0 if own else self.designed)
        if use_design and level.start is not None:
            reach = np.hypot(*(self.goals[slot, 0, :2] - level.start[:2]))
            if level.goal is None or goal_distance is None or reach <= high:
                return self._designed_start(slot, level.start, rng)
        goal = 0 if use_design else int(rng.integers(GOALS))
        pose = self._sample_start(slot, goal, low, high, rng)
        if pose is None and level.start is not None and level.goal is not None:
            return self._designed_start(slot, level.start, rng)
        if pose is None:
            raise LevelError(
                f"level {level.name!r}: no start between {low} and {high} m from the goal"
            )
        return Start(slot, goal, pose[:3], float(pose[3]))

    def _draw_slot(self, rng: np.random.Generator) -> int:
        """A random slot; a user's levels have their fraction."""
        own, count = self.own, len(self.levels)
        if not 0 < own < count:
            return int(rng.integers(count))
        if rng.random() < self.own_fraction:
            return int(rng.integers(own))
        return int(rng.integers(own, count))

    def _designed_start(
        self, slot: int, pose: Floats, rng: np.random.Generator
    ) -> Start:
        """The designed start `pose` of a level, with jitter."""
        start = Start(slot, 0, pose.copy(), self.levels[slot].start_height)
        return self.jittered(start, rng, self.jitter)

    def jittered(
        self, start: Start, rng: np.random.Generator, jitter: tuple[float, float]
    ) -> Start:
        """`start` with `jitter` ([m], [deg]) if its level also fixes the goal."""
        if self.levels[start.slot].goal is None:
            return start
        grid, field = self._grids[start.slot], self.fields.view(start.slot, start.goal)
        height = self.levels[start.slot].start_height
        pose = jittered(start.pose, height, grid, field, rng, jitter)
        return replace(start, pose=pose)

    def _sample_start(
        self, slot: int, goal: int, low: float, high: float, rng: np.random.Generator
    ) -> Floats | None:
        """A reachable x, y, yaw, z: one of the level's own `starts` if it has any."""
        own = self.own_starts(slot, goal)
        if len(own) > 0:
            return np.asarray(own[rng.integers(len(own))])
        field = self.fields.view(slot, goal)
        target = self.goals[slot, goal, :2]
        return sampled_start(self._grids[slot], field, target, (low, high), rng)

    def reachable(self, slot: int, goal: int) -> tuple[LayeredGrid, Ints]:
        """The grid of `slot`, and its cells with a path to `goal`, shape (n,)."""
        field = self.fields.view(slot, goal)
        return self._grids[slot], np.flatnonzero(np.isfinite(field))

    def own_starts(self, slot: int, goal: int) -> Floats:
        """The level's own starts with a path to the goal: x, y, yaw, z, shape (n, 4)."""
        starts = self.levels[slot].starts
        if len(starts) == 0:
            return starts
        row = np.full(len(starts), slot)
        ways = self.distance(row, np.full(len(starts), goal), starts[:, :3])
        return starts[np.isfinite(ways)][:, [0, 1, 3, 2]]

    def _put(self, slot: int, level: Level) -> None:
        """Put another level into `slot`, without computing its fields."""
        self._allocate(slot, level, self._grid(slot, level))

    def _grid(self, slot: int, level: Level) -> LayeredGrid:
        """The free cells of `level`, coarser if there would be too many."""
        cells = EVALUATION_RESOLUTION if slot < self.own else self.resolution
        return grid_of(level, played_resolution(level, cells))

    def _allocate(self, slot: int, level: Level, grid: LayeredGrid) -> None:
        """Put `level` on `grid` into `slot`, and allocate its fields."""
        self.levels[slot], self.names[slot] = level, level.name
        self._grids[slot] = grid
        self._waypoints[slot] = len(level.waypoints)
        self.fields.allocate(slot, grid)

    def _fill(self, slot: int, rng: np.random.Generator) -> None:
        """Choose goals and compute fields of one slot."""
        level = self.levels[slot]
        for goal in range(GOALS + len(level.waypoints)):
            if goal >= GOALS:
                place = level.waypoints[goal - GOALS]
                field = self._field(slot, place)
            elif goal == 0 and level.goal_place is not None:
                place = level.goal_place
                field = self._designed_field(slot, place)
            else:
                within = level.goal_distance or self.goal_distance
                place, field = drawn_goal(level, self._grids[slot], within, rng)
            self._set_goal(slot, goal, place, field)

    def _set_goal(
        self, slot: int, goal: int, place: Floats, field: NDArray[np.float32]
    ) -> None:
        """Write a goal at `place` (3,), [m], with the distances of all cells to it."""
        self.goals[slot, goal] = place
        self.fields.view(slot, goal)[:] = field.ravel()

    def _field(self, slot: int, place: Floats) -> NDArray[np.float32]:
        """Distances of all cells of `slot` to `place` (3,), [m]."""
        return self._grids[slot].field(place)

    def _designed_field(self, slot: int, goal: Floats) -> NDArray[np.float32]:
        """Distances to the designed goal; on finer cells if a narrow door needs them."""
        level, grid = self.levels[slot], self._grids[slot]
        field = self._field(slot, goal)
        start = level.start_place
        if start is None or grid.reaches(field, start):
            return field
        resolution = field_resolution(level)
        if resolution in (0.0, grid.resolution):
            return field
        self._allocate(slot, level, grid_of(level, resolution))
        return self._field(slot, goal)
