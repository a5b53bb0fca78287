"""A bank of levels with walking-distance fields, from which episodes are drawn."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.arrays import Floats, Ints
from ambulo.configs.errors import LevelError
from ambulo.envs.vr.levels.geodesic import (
    MAX_CELLS,
    RESOLUTION,
    FreeGrid,
    distance_field,
    field_distance,
    field_resolution,
    free_grid,
    reaches,
)
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.task.fields import DistanceFields
from ambulo.envs.vr.task.jitter import jittered

GOALS = 2
"""Goals held per level: the designed one (or a drawn one), and a second drawn one."""
_TRIES = 200


@dataclass(frozen=True)
class Start:
    """Where an episode begins and which goal it has."""

    slot: int
    """Level slot of the bank."""
    goal: int
    """Index of the goal in that level, 0 or 1."""
    pose: Floats
    """x, y [m], yaw [rad], shape (3,)."""


class LevelBank:
    """Levels in slots; each slot holds `GOALS` goals and their distance fields."""

    def __init__(
        self,
        levels: Sequence[Level],
        rng: np.random.Generator,
        *,
        designed: float = 1.0,
        goal_distance: tuple[float, float] = (5.0, 30.0),
        resolution: float = 0.25,
        jitter: tuple[float, float] = (0.0, 0.0),
    ) -> None:
        """Fields of all `levels`.

        Args:
            levels: one per slot.
            rng: draws the second goals (and the first where a level has none).
            designed: probability that an episode uses the designed start and goal;
                1 keeps whatever a level fixes.
            goal_distance: straight-line range for levels that set none, [m].
            resolution: cell size of the fields, [m].
            jitter: largest distance [m] and turn [deg] of drawn starts from where a level
                designed them, if it designed the goal, too.
        """
        self.levels = list(levels)
        self.names = np.array([level.name for level in self.levels], dtype=object)
        """Name of each slot's level."""
        self.designed = designed
        self.goal_distance = goal_distance
        self.resolution = resolution
        self.jitter = jitter
        count = len(self.levels)
        self.goals = np.zeros((count, GOALS, 2))
        self._grids: list[FreeGrid] = [self._grid(lv) for lv in self.levels]
        self.fields = DistanceFields(count, GOALS)
        for slot, grid in enumerate(self._grids):
            self.fields.hold(slot, grid)
            self._fill(slot, rng)

    def __len__(self) -> int:
        return len(self.levels)

    def replace(self, slot: int, level: Level, rng: np.random.Generator) -> None:
        """Put another level into `slot`; no running episode may be in it."""
        self._put(slot, level)
        self._fill(slot, rng)

    def restore(self, levels: Sequence[Level], goals: Floats) -> list[int]:
        """Hold `levels`, one per slot, with `goals` (slots, GOALS, 2) again.

        Returns:
            Slots whose level was exchanged; the world has to replace them too.
        """
        exchanged = []
        for slot, level in enumerate(levels):
            if level is not self.levels[slot]:
                self._put(slot, level)
                exchanged.append(slot)
            elif np.array_equal(self.goals[slot], goals[slot]):
                continue
            self.goals[slot] = goals[slot]
            for goal in range(GOALS):
                field = distance_field(self._grids[slot], goals[slot, goal])
                self.fields.view(slot, goal)[:] = field.ravel()
        return exchanged

    def distance(self, slots: Ints, goals: Ints, position: Floats) -> Floats:
        """Walking distance from `position` (n, >= 2) to the goals, shape (n,), [m]."""
        return self.fields.distance(slots, goals, position)

    def direction(self, slots: Ints, goals: Ints, position: Floats) -> Floats:
        """Unit vectors of the shortest path at `position`, shape (n, 2), world frame."""
        return self.fields.direction(slots, goals, position)

    def draw(
        self,
        rng: np.random.Generator,
        slot: int | None = None,
        goal_distance: tuple[float, float] | None = None,
    ) -> Start:
        """A random start (in `slot`, or in any); `LevelError` when none can be found."""
        if slot is None:
            slot = int(rng.integers(len(self.levels)))
        level = self.levels[slot]
        low, high = goal_distance or level.goal_distance or self.goal_distance
        use_design = rng.random() < self.designed
        if use_design and level.start is not None:
            reach = np.hypot(*(self.goals[slot, 0] - level.start[:2]))
            if level.goal is None or goal_distance is None or reach <= high:
                return self.jittered(Start(slot, 0, level.start.copy()), rng, self.jitter)
        goal = 0 if use_design else int(rng.integers(GOALS))
        pose = self._sample_start(slot, goal, low, high, rng)
        if pose is None and level.start is not None and level.goal is not None:
            return self.jittered(Start(slot, 0, level.start.copy()), rng, self.jitter)
        if pose is None:
            raise LevelError(
                f"level {level.name!r}: no start between {low} and {high} m from the goal"
            )
        return Start(slot, goal, pose)

    def jittered(
        self, start: Start, rng: np.random.Generator, jitter: tuple[float, float]
    ) -> Start:
        """`start` up to `jitter` ([m], [deg]) off if its level also fixes the goal."""
        if self.levels[start.slot].goal is None:
            return start
        grid, field = self._grids[start.slot], self.fields.view(start.slot, start.goal)
        height = self.levels[start.slot].start_height
        pose = jittered(start.pose, height, grid, field, rng, jitter)
        return replace(start, pose=pose)

    def _sample_start(
        self, slot: int, goal: int, low: float, high: float, rng: np.random.Generator
    ) -> Floats | None:
        """A reachable free pose at that straight distance, or the nearest miss."""
        grid = self._grids[slot]
        field = self.fields.view(slot, goal)
        cells = np.flatnonzero(np.isfinite(field))
        if len(cells) == 0:
            return None
        picks = cells[rng.integers(len(cells), size=_TRIES)]
        xy = np.column_stack([picks % grid.nx, picks // grid.nx]) + 0.5
        xy = xy * grid.resolution + [grid.x0, grid.y0]
        reach = np.hypot(*(xy - self.goals[slot, goal]).T)
        fits = np.flatnonzero((reach >= low) & (reach <= high))
        yaw = rng.uniform(-np.pi, np.pi)
        if len(fits) > 0:
            return np.array([*xy[fits[0]], yaw])
        around = _cells_between(
            grid, np.isfinite(field), self.goals[slot, goal], low, high
        )
        if len(around) > 0:
            return np.array([*around[rng.integers(len(around))], yaw])
        best = int(np.argmin(np.maximum(low - reach, reach - high)))
        if reach[best] >= 1.5:
            return np.array([*xy[best], yaw])
        xy = grid.centres(np.isfinite(field).reshape(grid.free.shape))
        reach = np.hypot(*(xy - self.goals[slot, goal]).T)
        miss = np.maximum(low - reach, reach - high)
        best = int(np.argmin(miss))
        # Levels are checked on cells of `RESOLUTION`, which says how near is near enough.
        return np.array([*xy[best], yaw]) if miss[best] <= RESOLUTION else None

    def _put(self, slot: int, level: Level) -> None:
        """Another level in `slot`, its fields still to be filled."""
        self._hold(slot, level, self._grid(level))

    def _grid(self, level: Level) -> FreeGrid:
        """The free cells of `level`, coarser ones where there would be too many."""
        x0, y0, x1, y1 = level.bounds
        fits = (x1 - x0) * (y1 - y0) <= MAX_CELLS * self.resolution**2
        return free_grid(level, self.resolution if fits else RESOLUTION)

    def _hold(self, slot: int, level: Level, grid: FreeGrid) -> None:
        """`level` on `grid` in `slot`, with room for its fields."""
        self.levels[slot] = level
        self._grids[slot] = grid
        self.fields.hold(slot, grid)

    def _fill(self, slot: int, rng: np.random.Generator) -> None:
        """Goals and fields of one slot."""
        level = self.levels[slot]
        for goal in range(GOALS):
            if goal == 0 and level.goal is not None:
                self.goals[slot, 0] = level.goal
                field = self._designed_field(slot, level.goal)
            else:
                self.goals[slot, goal], field = self._draw_goal(slot, rng)
            self.fields.view(slot, goal)[:] = field.ravel()

    def _designed_field(self, slot: int, goal: Floats) -> NDArray[np.float32]:
        """Distances to the designed goal; on finer cells if a narrow door asks for it."""
        level, grid = self.levels[slot], self._grids[slot]
        field = distance_field(grid, goal)
        if level.start is None:
            return field
        if reaches(grid, field, level.start):
            return field
        resolution = field_resolution(level)
        if resolution in (0.0, grid.resolution):
            return field
        self._hold(slot, level, free_grid(level, resolution))
        return distance_field(self._grids[slot], goal)

    def _draw_goal(
        self, slot: int, rng: np.random.Generator
    ) -> tuple[Floats, NDArray[np.float32]]:
        """A random goal with a large reachable region (containing the designed start)."""
        level, grid = self.levels[slot], self._grids[slot]
        cells = np.argwhere(grid.free)
        if len(cells) == 0:
            raise LevelError(f"level {level.name!r}: no free floor for the body")
        low, high = level.goal_distance or self.goal_distance
        if level.goal is None and level.start is not None:
            ways = distance_field(grid, level.start[:2]).ravel()
            near = _cells_between(grid, np.isfinite(ways), level.start[:2], low, high)
            if len(near) > 0:
                xy = near[rng.integers(len(near))]
                return xy, distance_field(grid, xy).ravel()
        best: tuple[float, Floats, NDArray[np.float32]] | None = None
        for _ in range(20):
            row, column = cells[rng.integers(len(cells))]
            xy = np.array([column + 0.5, row + 0.5]) * grid.resolution
            xy += [grid.x0, grid.y0]
            field = distance_field(grid, xy).ravel()
            reached = np.isfinite(field).mean()
            fits = reached
            if level.start is not None:
                reach = np.hypot(*(xy - level.start[:2]))
                way = field_distance(
                    field, grid.nx, grid.ny, grid.x0, grid.y0, grid.resolution,
                    level.start[0], level.start[1],
                )  # fmt: skip
                fits = reached if np.isfinite(way) else -1.0
                if not low <= reach <= high:
                    fits -= 0.5
            elif not len(_cells_between(grid, np.isfinite(field), xy, low, high)):
                fits -= 1.0
            if best is None or fits > best[0]:
                best = (fits, xy, field)
            if fits > 0.3 * grid.free.mean():
                break
        assert best is not None
        return best[1], best[2]


def _cells_between(
    grid: FreeGrid, mask: NDArray[np.bool_], xy: Floats, low: float, high: float
) -> Floats:
    """Centres of the cells of the flat `mask` that lie low to high [m] from `xy`."""
    row, column = grid.cell(xy)
    reach = math.ceil(high / grid.resolution) + 1
    near = np.zeros_like(grid.free)
    window = (
        slice(max(row - reach, 0), row + reach + 1),
        slice(max(column - reach, 0), column + reach + 1),
    )
    near[window] = mask.reshape(near.shape)[window]
    centres = grid.centres(near)
    away = np.hypot(*(centres - xy).T)
    return centres[(away >= low) & (away <= high)]
