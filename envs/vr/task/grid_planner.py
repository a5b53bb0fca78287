"""A map of what rays hit, and the shortest path on it with the unknown taken as free.

That is Koenig and Likhachev's "freespace assumption"; the path is found by A* with eight
moves on 0.25 m cells, made anew every few steps. Maps wrap around (128 m).

Cells are too coarse to tell a gap of 0.5 m, which no body passes, from one of 0.7 m. Who
does not move on bumped into something: a cell ahead is then blocked, and another way is
taken, until there is none left.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ambulo.configs.arrays import Floats, Ints

REPLAN = 3
"""Decisions between two plans of an env."""
AHEAD = (2.0, 4.0)
"""Where along the path the points after the waypoint lie, [m]."""
_PER_METRE = 4
"""Cells per metre."""
_GRID = 512
"""Cells along a side."""
_LOOKAHEAD = 10
"""Cells that the waypoint lies ahead at most."""
_GOAL_CELLS = 3
"""Cells around the goal that are open unless something was hit in them."""
_OWN_CELLS = 2
"""Cells around the player that are open unless something was hit in them."""
_MOST_CELLS = 20_000
"""Cells expanded before a plan is given up."""
_NEAR, _HIT, _BESIDE, _BUMP = 1, 2, 4, 8
_BESIDES = 2
"""Cells within this many of one that was hit are beside it."""
_STUCK = 30
"""Decisions without motion after which a cell ahead is blocked."""
_MOVED = 0.15
"""A shorter way is none, [m]."""
_BUMPED = 2
"""Distance of the blocked cell, towards the waypoint, or that of a nearer waypoint, [cells]."""
_AT_GOAL = 0.75
"""Who stands nearer to the goal is not stuck, [m]."""
_DX = np.array([1, 1, 0, -1, -1, -1, 0, 1])
_DY = np.array([0, 1, 1, 1, 0, -1, -1, -1])
_COST = np.array([1.0, math.sqrt(2.0)] * 4)
_AHEAD = np.array(AHEAD) * _PER_METRE


class GridPlanner:
    """Maps and plans of N envs, in any fixed frame of each."""

    def __init__(self, num_envs: int, margin: float = 1.0) -> None:
        """Nothing mapped."""
        self.margin = margin
        """Cost factor of cells up to 0.75 m from an obstacle."""
        self.points = np.zeros((num_envs, 1 + len(AHEAD), 2))
        """The furthest point in sight of at most 2.5 m along the path, and the points
        `AHEAD` (or the goal, if nearer), shape (N, 3, 2), [m]."""
        self.length = np.zeros(num_envs)
        """Length of the path when it was planned, shape (N,), [m]."""
        self.found = np.zeros(num_envs, np.bool_)
        """Whether there is a path; without one every point is the goal, shape (N,)."""
        self._map = np.zeros((num_envs, _GRID, _GRID), np.uint8)
        self._age = np.zeros(num_envs, np.int64)
        self._rest = np.zeros((num_envs, 2))
        """Where each env last moved to, [m]."""
        self._still = np.zeros(num_envs, np.int64)
        """Decisions since then."""
        self._cost = np.zeros((_GRID, _GRID), np.float32)
        self._parent = np.zeros((_GRID, _GRID), np.int8)
        self._stamp = np.zeros((_GRID, _GRID), np.int64)
        self._plans = 0

    def reset(self, envs: Ints) -> None:
        """Forget the maps of `envs`."""
        self._map[envs] = 0
        self._age[envs] = 0
        self._rest[envs] = np.inf

    def update(
        self,
        envs: Ints,
        position: Floats,
        goal: Floats,
        rays: Floats,
        ray_angle: Floats,
        ray_length: float,
    ) -> None:
        """Map what `envs` see and plan for those whose plan is old.

        Args:
            envs: indices (k,); the other arrays are over all N envs.
            position: x, y, shape (N, 2), [m].
            goal: x, y in the same frame, shape (N, 2), [m].
            rays: readings, shape (N, R), [m].
            ray_angle: direction of ray 0 in that frame, shape (N,), [rad].
            ray_length: range of a ray, [m].
        """
        envs = np.asarray(envs, np.int64)
        _map_rays(envs, self._map, position, rays, ray_angle, ray_length)
        _map_bumps(
            envs, self._map, position, goal, self.points, self.found,
            self._rest, self._still, self._age,
        )  # fmt: skip
        self._plans = _plan_all(
            envs, self._map, position, goal, self.points, self.length, self.found,
            self._age, self._cost, self._parent, self._stamp, self._plans, self.margin,
        )  # fmt: skip

    def state_dict(self) -> dict[str, NDArray[np.generic]]:
        """Copies of maps and plans."""
        arrays: dict[str, NDArray[Any]] = {
            "map": self._map, "age": self._age, "points": self.points,
            "length": self.length, "found": self.found,
            "rest": self._rest, "still": self._still,
        }  # fmt: skip
        return {name: array.copy() for name, array in arrays.items()}

    def load_state_dict(self, arrays: dict[str, NDArray[np.generic]]) -> None:
        """Continue from `state_dict`."""
        self._map[...] = arrays["map"]
        self._age[...] = arrays["age"]
        self._rest[...] = arrays["rest"]
        self._still[...] = arrays["still"]
        self.points[...] = arrays["points"]
        self.length[...] = arrays["length"]
        self.found[...] = arrays["found"]


@njit(cache=True)
def _map_rays(envs, maps, position, rays, ray_angle, ray_length):
    step = 2.0 * math.pi / rays.shape[1]
    for i in envs:
        for r in range(rays.shape[1]):
            if rays[i, r] >= ray_length - 1e-4:
                continue
            reach = rays[i, r] + 0.02
            x = position[i, 0] + math.cos(ray_angle[i] + step * r) * reach
            y = position[i, 1] + math.sin(ray_angle[i] + step * r) * reach
            c = int(math.floor(x * _PER_METRE))
            w = int(math.floor(y * _PER_METRE))
            if maps[i, w % _GRID, c % _GRID] & _HIT:
                continue
            maps[i, w % _GRID, c % _GRID] |= _HIT
            for dy in range(-_BESIDES, _BESIDES + 1):
                for dx in range(-_BESIDES, _BESIDES + 1):
                    bits = _NEAR | _BESIDE if max(abs(dx), abs(dy)) <= 1 else _BESIDE
                    maps[i, (w + dy) % _GRID, (c + dx) % _GRID] |= bits


@njit(cache=True)
def _map_bumps(envs, maps, position, goal, points, found, rest, still, age):
    """Block a cell ahead of those that are stuck, and let them plan at once."""
    for i in envs:
        x = position[i, 0]
        y = position[i, 1]
        if not math.hypot(x - rest[i, 0], y - rest[i, 1]) <= _MOVED:
            rest[i] = position[i, :2]
            still[i] = 0
            continue
        still[i] += 1
        away = math.hypot(goal[i, 0] - x, goal[i, 1] - y)
        if still[i] < _STUCK or away < _AT_GOAL or not found[i]:
            continue
        still[i] = 0
        age[i] = 0
        px = int(math.floor(x * _PER_METRE))
        py = int(math.floor(y * _PER_METRE))
        dx = int(math.floor(points[i, 0, 0] * _PER_METRE)) - px
        dy = int(math.floor(points[i, 0, 1] * _PER_METRE)) - py
        # One of the cells that the way to the waypoint was seen to be open in.
        far = max(abs(dx), abs(dy), _BUMPED)
        c = px + int(round(dx * _BUMPED / far))
        w = py + int(round(dy * _BUMPED / far))
        maps[i, w % _GRID, c % _GRID] |= _BUMP


@njit(cache=True)
def _plan_all(
    envs,
    maps,
    position,
    goal,
    points,
    length,
    found,
    age,
    cost,
    parent,
    stamp,
    plans,
    margin,
):
    keys = np.empty(8 * _MOST_CELLS + 16, np.float32)
    cells = np.empty(8 * _MOST_CELLS + 16, np.int64)
    for i in envs:
        age[i] -= 1
        if age[i] >= 0:
            continue
        age[i] = REPLAN - 1
        points[i, :] = goal[i]
        found[i] = False
        length[i] = math.hypot(goal[i, 0] - position[i, 0], goal[i, 1] - position[i, 1])
        for attempt in range(4):
            # Without a way, bumps are forgotten, if there were any.
            if attempt == 2 and not _forget_bumps(maps[i]):
                break
            mask = _NEAR if attempt % 2 == 0 else _HIT
            plans += 1
            way = _plan(
                maps[i], position[i], goal[i], points[i], mask,
                cost, parent, stamp, plans, keys, cells, margin,
            )  # fmt: skip
            if way >= 0.0:
                length[i] = way
                found[i] = True
                break
    return plans


@njit(cache=True)
def _forget_bumps(grid):
    """Open the cells that were bumped into; whether there were any."""
    any_ = False
    for y in range(_GRID):
        for x in range(_GRID):
            if grid[y, x] & _BUMP:
                grid[y, x] &= ~_BUMP
                any_ = True
    return any_


@njit(cache=True)
def _octile(dx, dy):
    dx = abs(dx)
    dy = abs(dy)
    return max(dx, dy) + (math.sqrt(2.0) - 1.0) * min(dx, dy)


@njit(cache=True)
def _plan(
    grid,
    position,
    goal,
    points,
    mask,
    cost,
    parent,
    stamp,
    mark,
    keys,
    cells,
    margin,
):
    """A* from the goal to the player, so that parents lead the player's way.

    Writes `points` and returns the length of the path in metres, or -1 without one.
    """
    px = int(math.floor(position[0] * _PER_METRE))
    py = int(math.floor(position[1] * _PER_METRE))
    half = _GRID // 2
    gx = int(math.floor(goal[0] * _PER_METRE)) - px
    gy = int(math.floor(goal[1] * _PER_METRE)) - py
    gx = min(max(gx, 2 - half), half - 2)
    gy = min(max(gy, 2 - half), half - 2)
    cost[(gy + py) % _GRID, (gx + px) % _GRID] = 0.0
    stamp[(gy + py) % _GRID, (gx + px) % _GRID] = mark
    parent[(gy + py) % _GRID, (gx + px) % _GRID] = -1
    keys[0] = _octile(gx, gy)
    cells[0] = (gy + half) * _GRID + gx + half
    size = 1
    expanded = 0
    reached = False
    while size > 0 and expanded < _MOST_CELLS:
        key = keys[0]
        x = cells[0] % _GRID - half
        y = cells[0] // _GRID - half
        size -= 1
        _sift_down(keys, cells, size)
        here = cost[(y + py) % _GRID, (x + px) % _GRID]
        if key > here + _octile(x, y) + 1e-3:
            continue
        if x == 0 and y == 0:
            reached = True
            break
        expanded += 1
        for m in range(8):
            nx = x + _DX[m]
            ny = y + _DY[m]
            if abs(nx) >= half - 1 or abs(ny) >= half - 1:
                continue
            row = (ny + py) % _GRID
            column = (nx + px) % _GRID
            if grid[row, column] & (mask | _BUMP):
                near_goal = max(abs(nx - gx), abs(ny - gy)) <= _GOAL_CELLS
                own = max(abs(nx), abs(ny)) <= _OWN_CELLS
                if grid[row, column] & (_HIT | _BUMP) or not (near_goal or own):
                    continue
            new = here + _COST[m] * (margin if grid[row, column] & _BESIDE else 1.0)
            if stamp[row, column] == mark and cost[row, column] <= new + 1e-4:
                continue
            stamp[row, column] = mark
            cost[row, column] = new
            parent[row, column] = (m + 4) % 8
            keys[size] = new + _octile(nx, ny)
            cells[size] = (ny + half) * _GRID + nx + half
            _sift_up(keys, cells, size)
            size += 1
    if not reached:
        return -1.0
    x = 0
    y = 0
    walked = 0.0
    seen = True
    step = -1
    while True:
        step += 1
        m = parent[(y + py) % _GRID, (x + px) % _GRID]
        if m < 0:
            break
        x += _DX[m]
        y += _DY[m]
        walked += _COST[m]
        wx = (px + x + 0.5) / _PER_METRE
        wy = (py + y + 0.5) / _PER_METRE
        if seen and step > 0:
            seen = step < _LOOKAHEAD and _clear(grid, px, py, x, y, mask, margin)
        if seen:
            points[0, 0] = wx
            points[0, 1] = wy
        for p in range(_AHEAD.shape[0]):
            if walked <= _AHEAD[p]:
                points[1 + p, 0] = wx
                points[1 + p, 1] = wy
    return walked / _PER_METRE


@njit(cache=True)
def _clear(grid, px, py, x, y, mask, margin):
    """Whether the straight line from the player to a cell (x, y) from it is open.

    With a margin it leads past obstacles only where it begins or ends beside one.
    """
    steps = 2 * max(abs(x), abs(y))
    ends = grid[py % _GRID, px % _GRID] | grid[(py + y) % _GRID, (px + x) % _GRID]
    mask |= _BUMP
    if margin > 1.0 and not ends & _BESIDE:
        mask |= _BESIDE
    for k in range(1, steps + 1):
        cx = int(round(x * k / steps))
        cy = int(round(y * k / steps))
        if max(abs(cx), abs(cy)) > _OWN_CELLS:
            if grid[(py + cy) % _GRID, (px + cx) % _GRID] & mask:
                return False
        elif grid[(py + cy) % _GRID, (px + cx) % _GRID] & (_HIT | _BUMP):
            return False
    return True


@njit(cache=True)
def _sift_up(keys, cells, at):
    while at > 0:
        up = (at - 1) // 2
        if keys[up] <= keys[at]:
            return
        keys[up], keys[at] = keys[at], keys[up]
        cells[up], cells[at] = cells[at], cells[up]
        at = up


@njit(cache=True)
def _sift_down(keys, cells, size):
    """Move the last entry (index `size`) to the root and down."""
    keys[0] = keys[size]
    cells[0] = cells[size]
    at = 0
    while True:
        low = 2 * at + 1
        if low >= size:
            return
        if low + 1 < size and keys[low + 1] < keys[low]:
            low += 1
        if keys[at] <= keys[low]:
            return
        keys[low], keys[at] = keys[at], keys[low]
        cells[low], cells[at] = cells[at], cells[low]
        at = low
