"""The oracle: knows the level, and follows the shortest path under the same limits."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numba import njit

from ambulo.configs.arrays import Floats, Ints
from ambulo.envs.vr.levels.geodesic import (
    EVALUATION_RESOLUTION,
    FINE_RESOLUTION,
    RESOLUTION,
    length_of,
)
from ambulo.envs.vr.levels.layers import CLEARANCE, LayeredGrid
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.levels.scene_level import grid_of
from ambulo.envs.vr.planners.senses import (
    at_rest_near_points,
    leap_to,
    response_time,
    senses,
)
from ambulo.envs.vr.planners.waiting import DOOR, around_doors, blocked_by_movers
from ambulo.envs.vr.task.batch import NavigationBatch
from ambulo.envs.vr.task.comfort import FAST_SHARE, FAST_TURN
from ambulo.envs.vr.task.observation import rotated
from ambulo.envs.vr.task.tasks import REACH, goal_places
from ambulo.envs.vr.world.actions import TURN_GAIN, stick


@dataclass(frozen=True)
class _Room:
    """Clearance of a path from obstacles and edges."""

    clearances: tuple[float, ...]
    """Clearances, widest first, [m]."""
    detour: float
    """Largest factor on the length of a path with more clearance."""


_CAPSULE = _Room((0.45, 0.4, 0.36, 0.32), 1.02)
_WALKER = _Room((0.6, 0.52, 0.45, 0.4, 0.36, 0.32), 1.06)
"""Clearance for a body with legs or its twin, which sways and responds late."""
_SPACING = 0.1
"""Distance between the points of a path, [m]."""
_MOVED = 0.3
"""Motion of a goal after which a new path is needed, [m]."""
_LOST = 0.8
"""Distance from the path after which a new path is needed, [m]."""
_PATIENCE = 5
"""Steps of waiting before a detour is searched."""
_DETOUR = 3.0
"""Largest extra length of a detour, beyond which waiting is faster, [m]."""
_AHEAD = 0.33
"""Distance of the target point ahead on the path, [m]."""
_LOOK = 1.5
"""Distance of the faced point ahead on the path, [m]."""
_LATE = 1.1
"""Factor on the remaining path, for the time lost in bends."""
_TURN_GAIN = 2.5
"""Yaw rate per radian of heading error, [1/s]."""
_CELLS = (FINE_RESOLUTION, EVALUATION_RESOLUTION, RESOLUTION)
"""Cell sizes for the search, [m]. A gap hardly wider than the body has free cells on only some
of these grids, and a path on one of them suffices."""
_CACHE = 64
"""Number of levels with cached grids."""


class Oracle:
    """Walks the shortest path at the comfort limits, strafing where it bends.

    It waits for lifts and doors, whose motion it knows. It exceeds the limits only if the rest
    of the path would take longer than the episode. Bodies that respond late are steered from
    their predicted positions.
    """

    name = "oracle"

    def __init__(self, num_envs: int) -> None:
        """Create it before any reset."""
        self._paths = np.zeros((num_envs, 1, 3))
        self._count = np.ones(num_envs, np.int64)
        self._at = np.zeros(num_envs, np.int64)
        self._target = np.full((num_envs, 2), np.nan)
        self._waited = np.zeros(num_envs, np.int64)
        self._levels: list[Level | None] = [None] * num_envs
        """Level that each path was planned in."""
        self._grids: dict[
            int, tuple[Level, dict[tuple[float, float], LayeredGrid]]
        ] = {}
        """Level of each slot that has been planned in, and its grids."""

    def reset(self, envs: Ints, seeds: Ints) -> None:
        """Clear the paths of `envs`."""
        self._target[envs] = np.nan

    def act(self, batch: NavigationBatch) -> Floats:
        """Actions towards a point a little ahead on the path, facing one further on."""
        state, spec = batch.world.state, batch.spec
        goal = batch.task.goal[:, :2]
        off = np.hypot(*(goal - self._target).T)
        rows = np.arange(len(off))
        aside = self._paths[rows, self._at, :2] - state.position[:, :2]
        lost = np.hypot(*aside.T) > _LOST
        levels, slots = batch.bank.levels, batch.task.slot.tolist()
        changed = [
            levels[s] is not lv for s, lv in zip(slots, self._levels, strict=True)
        ]
        for env in np.flatnonzero(~(off <= _MOVED) | lost | changed):
            self._plan(batch, int(env))
        late = response_time(batch)
        position = state.position[:, :2] + late * state.velocity[:, :2]
        yaw = state.yaw + late * state.yaw_rate
        aim, look = _points_ahead(
            self._paths, self._count, self._at, position,
            round(_AHEAD / _SPACING), round(_LOOK / _SPACING),
        )  # fmt: skip
        legs = batch.config.environment.body != "capsule"
        aim = aim if legs else self._in_hand_reach(batch, aim)
        delta = aim - position
        gap = np.hypot(delta[:, 0], delta[:, 1])
        rest = np.hypot(*(self._target - position).T)
        speed = np.minimum(self._speed(batch), 3.0 * rest)
        waits = blocked_by_movers(
            batch, self._paths, self._count, self._at, speed, _SPACING
        )
        speed[waits > 0] = 0.0
        self._waited = np.where(waits == DOOR, self._waited + 1, 0)
        again = (self._waited > 0) & (self._waited % _PATIENCE == 0)
        for env in np.flatnonzero(again):
            self._walk_around(batch, int(env))
        delta *= (speed / np.maximum(gap, 1e-9))[:, None]
        velocity = np.column_stack(rotated(delta[:, 0], delta[:, 1], -yaw))
        to = look - position
        ahead, left = rotated(to[:, 0], to[:, 1], -yaw)
        error = np.arctan2(left, ahead)
        error[np.hypot(to[:, 0], to[:, 1]) < 0.5] = 0.0
        if legs:
            to_goal = goal - state.position[:, :2]
            back = -state.yaw
            goals = np.column_stack(rotated(to_goal[:, 0], to_goal[:, 1], back))
            error = at_rest_near_points(batch, goals, velocity, error)
        if spec.teleport > 0.0:
            velocity = leap_to(velocity, gap, senses(batch), spec)
        if spec.snap_turn > 0.0:
            return stick(velocity, TURN_GAIN * error, spec, state.cooldown)
        rate = np.clip(_TURN_GAIN * error, -0.98 * FAST_TURN, 0.98 * FAST_TURN)
        return stick(velocity, rate, spec, state.cooldown)

    def _speed(self, batch: NavigationBatch) -> Floats:
        """Comfortable speed, or as fast as the remaining time requires, shape (N,), [m/s]."""
        spec, limit = batch.spec, batch.config.environment.max_episode_steps
        time = np.maximum(limit - batch.episode.steps, 1) * spec.decision_dt
        way = (self._count - 1 - self._at) * _SPACING
        return np.clip(
            _LATE * way / time, 0.98 * FAST_SHARE * spec.max_speed, spec.max_speed
        )

    def _in_hand_reach(self, batch: NavigationBatch, aim: Floats) -> Floats:
        """`aim` moved so that a hand, not the body, reaches a goal in the air."""
        state, goal = batch.world.state, batch.task.goal
        delta = goal[:, :2] - state.position[:, :2]
        close = (batch.task.kind == REACH) & (np.hypot(*delta.T) < 1.0)
        if not close.any():
            return aim
        cos, sin = np.cos(state.yaw), np.sin(state.yaw)
        ahead, left, _ = batch.spec.hand_offset
        side = np.sign(cos * delta[:, 1] - sin * delta[:, 0]) * left
        hand = np.column_stack([cos * ahead - sin * side, sin * ahead + cos * side])
        return np.where(close[:, None], goal[:, :2] - hand, aim)

    def _plan(self, batch: NavigationBatch, env: int) -> None:
        """Plan the path of one env from its position to its goal."""
        slot, goal = int(batch.task.slot[env]), goal_places(batch.task, batch.bank)[env]
        here = batch.world.state.position[env]
        room = _CAPSULE if batch.config.environment.body == "capsule" else _WALKER
        level = self._levels[env] = batch.bank.levels[slot]
        path = self._best_path(level, slot, here, goal, room)
        self._follow(env, path, goal)

    def _walk_around(self, batch: NavigationBatch, env: int) -> None:
        """Replace the path if there is one around the present doors."""
        slot, goal = int(batch.task.slot[env]), goal_places(batch.task, batch.bank)[env]
        level = batch.bank.levels[slot]
        grid = self._grid(level, slot, CLEARANCE, FINE_RESOLUTION)
        grid = around_doors(batch, env, grid)
        path = grid.path(grid.field(goal), batch.world.state.position[env], goal)
        rest = (self._count[env] - 1 - self._at[env]) * _SPACING
        if len(path) and length_of(path) < rest + _DETOUR:
            self._follow(env, path, goal)

    def _follow(self, env: int, path: Floats, goal: Floats) -> None:
        points = _resampled(path)
        if len(points) > self._paths.shape[1]:
            extra = len(points) - self._paths.shape[1]
            self._paths = np.pad(self._paths, ((0, 0), (0, extra), (0, 0)))
        self._paths[env, : len(points)] = points
        self._count[env] = len(points)
        self._at[env] = 0
        self._target[env] = goal[:2]

    def _best_path(
        self, level: Level, slot: int, here: Floats, goal: Floats, room: _Room
    ) -> Floats:
        """The shortest path, or one with more clearance that is hardly longer."""
        for cells in _CELLS:
            shortest, length = self._search(level, slot, here, goal, CLEARANCE, cells)
            if len(shortest):
                break
        else:
            return np.vstack([here, goal])
        for clearance in room.clearances:
            path, found = self._search(level, slot, here, goal, clearance)
            if found <= room.detour * length + _SPACING:
                return path
        return shortest

    def _search(
        self,
        level: Level,
        slot: int,
        here: Floats,
        goal: Floats,
        clearance: float,
        cells: float = FINE_RESOLUTION,
    ) -> tuple[Floats, float]:
        """The shortest path with `clearance`, and its length (inf without one)."""
        grid = self._grid(level, slot, clearance, cells)
        path = grid.path(grid.field(goal), here, goal)
        return path, length_of(path)

    def _grid(
        self, level: Level, slot: int, clearance: float, cells: float
    ) -> LayeredGrid:
        """The cells with `clearance`, cached as long as `slot` holds this level."""
        if slot not in self._grids or self._grids[slot][0] is not level:
            while len(self._grids) >= _CACHE:
                self._grids.pop(next(iter(self._grids)))
            self._grids[slot] = (level, {})
        key, grids = (clearance, cells), self._grids[slot][1]
        grid = grids.get(key)
        if grid is None:
            if clearance > CLEARANCE:
                base = self._grid(level, slot, CLEARANCE, cells)
                grid = base.narrowed(clearance - CLEARANCE)
            else:
                grid = grid_of(level, cells, clearance)
            grids[key] = grid
        return grid


def _resampled(path: Floats) -> Floats:
    """Points every `_SPACING` along a polyline (n, 3), horizontally, and its last point."""
    steps = np.diff(path[:, :2], axis=0)
    length = np.concatenate([[0.0], np.hypot(*steps.T).cumsum()])
    at = np.append(np.arange(0.0, length[-1], _SPACING), length[-1])
    return np.column_stack([np.interp(at, length, path[:, k]) for k in range(3)])


@njit(cache=True)
def _points_ahead(  # type: ignore[no-untyped-def]
    path, count, at, position, ahead, look
):
    """Points `ahead` and `look` steps after the nearest one; advances `at` (N,)."""
    n = path.shape[0]
    aim = np.empty((n, 2))
    far = np.empty((n, 2))
    for i in range(n):
        last = count[i] - 1
        best = np.inf
        nearest = at[i]
        for k in range(at[i], min(at[i] + 15, last + 1)):
            d = math.hypot(
                path[i, k, 0] - position[i, 0], path[i, k, 1] - position[i, 1]
            )
            if d < best:
                best = d
                nearest = k
        at[i] = nearest
        for k in range(2):
            aim[i, k] = path[i, min(nearest + ahead, last), k]
            far[i, k] = path[i, min(nearest + look, last), k]
    return aim, far
