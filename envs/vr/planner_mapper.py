"""The classical way with memory: map what the rays hit, plan on the map, walk the plan.

Unknown ground is taken as free (Koenig and Likhachev's "freespace assumption"), the plan is
A* with eight moves on 0.25 m cells, made anew every few
decisions. It is the bound to hold a learned agent against that has the same sensors.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from ambulo.envs.vr.planner_senses import senses, stick
from ambulo.envs.vr.state import Floats, Ints

if TYPE_CHECKING:
    from ambulo.envs.vr.batch import NavigationBatch

REPLAN = 3
"""Decisions between two plans of a player."""
_PER_METRE = 4
"""Cells per metre."""
_GRID = 512
"""Cells along a side; the map wraps around (128 m)."""
_LOOKAHEAD = 10
"""Cells that the waypoint lies ahead at most."""
_GOAL_CELLS = 3
"""Cells around the goal that are never taken as blocked."""
_OWN_CELLS = 2
"""Cells around the player that are never taken as blocked."""
_MOST_CELLS = 20_000
"""Cells expanded before a plan is given up."""
_NEAR, _HIT = 1, 2
_TURN_GAIN = 3.0
"""Yaw rate per radian of heading error, [1/s]."""
_DX = np.array([1, 1, 0, -1, -1, -1, 0, 1])
_DY = np.array([0, 1, 1, 1, 0, -1, -1, -1])
_COST = np.array([1.0, math.sqrt(2.0)] * 4)


class Mapper:
    """Maps obstacles and edges, plans as if the rest were free, walks to the waypoint."""

    name = "mapper"

    def __init__(self, num_players: int) -> None:
        """Nothing mapped."""
        self._map = np.zeros((num_players, _GRID, _GRID), np.uint8)
        self._waypoint = np.zeros((num_players, 2))
        self._age = np.zeros(num_players, np.int64)
        self._cost = np.zeros((_GRID, _GRID), np.float32)
        self._parent = np.zeros((_GRID, _GRID), np.int8)
        self._stamp = np.zeros((_GRID, _GRID), np.int64)
        self._plans = 0

    def reset(self, players: Ints, seeds: Ints) -> None:
        """Forget the maps of `players`."""
        self._map[players] = 0
        self._age[players] = 0

    def act(self, batch: NavigationBatch) -> Floats:
        """Straight to the waypoint, facing it, at full speed."""
        now, spec = senses(batch), batch.spec
        cos, sin = np.cos(now.yaw), np.sin(now.yaw)
        goal = now.position + np.column_stack(
            [cos * now.goal[:, 0] - sin * now.goal[:, 1],
             sin * now.goal[:, 0] + cos * now.goal[:, 1]]
        )  # fmt: skip
        angles = now.ray_angles + now.yaw[:, None]
        _map_rays(self._map, now.position, now.rays, angles, spec.ray_length)
        self._plans = _plan_all(
            self._map, now.position, goal, self._waypoint, self._age,
            self._cost, self._parent, self._stamp, self._plans,
        )  # fmt: skip
        way = self._waypoint - now.position
        error = np.arctan2(way[:, 1], way[:, 0]) - now.yaw
        error = np.arctan2(np.sin(error), np.cos(error))
        heading = np.column_stack([np.cos(error), np.sin(error)])
        return stick(spec.max_speed * heading, _TURN_GAIN * error, spec)


@njit(cache=True)
def _map_rays(maps, position, rays, angles, ray_length):
    for i in range(position.shape[0]):
        for r in range(rays.shape[1]):
            if rays[i, r] >= ray_length - 1e-4:
                continue
            reach = rays[i, r] + 0.02
            x = position[i, 0] + math.cos(angles[i, r]) * reach
            y = position[i, 1] + math.sin(angles[i, r]) * reach
            c = int(math.floor(x * _PER_METRE))
            w = int(math.floor(y * _PER_METRE))
            if maps[i, w % _GRID, c % _GRID] & _HIT:
                continue
            maps[i, w % _GRID, c % _GRID] |= _HIT
            for dy in range(-1, 2):
                for dx in range(-1, 2):
                    maps[i, (w + dy) % _GRID, (c + dx) % _GRID] |= _NEAR


@njit(cache=True)
def _plan_all(maps, position, goal, waypoint, age, cost, parent, stamp, plans):
    keys = np.empty(8 * _MOST_CELLS + 16, np.float32)
    cells = np.empty(8 * _MOST_CELLS + 16, np.int64)
    for i in range(position.shape[0]):
        age[i] -= 1
        if age[i] >= 0:
            continue
        age[i] = REPLAN - 1
        waypoint[i] = goal[i]
        for mask in (_NEAR, _HIT):
            plans += 1
            if _plan(
                maps[i], position[i], goal[i], waypoint[i], mask,
                cost, parent, stamp, plans, keys, cells,
            ):  # fmt: skip
                break
    return plans


@njit(cache=True)
def _octile(dx, dy):
    dx = abs(dx)
    dy = abs(dy)
    return max(dx, dy) + (math.sqrt(2.0) - 1.0) * min(dx, dy)


@njit(cache=True)
def _plan(grid, position, goal, waypoint, mask, cost, parent, stamp, mark, keys, cells):
    """A* from the goal to the player, so that parents lead the player's way."""
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
            if grid[row, column] & mask:
                near_goal = max(abs(nx - gx), abs(ny - gy)) <= _GOAL_CELLS
                own = max(abs(nx), abs(ny)) <= _OWN_CELLS
                if not near_goal and not (own and not grid[row, column] & _HIT):
                    continue
            new = here + _COST[m]
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
        return False
    x = 0
    y = 0
    wx = 0
    wy = 0
    for step in range(_LOOKAHEAD):
        m = parent[(y + py) % _GRID, (x + px) % _GRID]
        if m < 0:
            break
        x += _DX[m]
        y += _DY[m]
        if step > 0 and not _clear(grid, px, py, x, y, mask):
            break
        wx = x
        wy = y
    waypoint[0] = (px + wx + 0.5) / _PER_METRE
    waypoint[1] = (py + wy + 0.5) / _PER_METRE
    return True


@njit(cache=True)
def _clear(grid, px, py, x, y, mask):
    """Whether the straight way from the player to a cell (x, y) from it is open."""
    steps = 2 * max(abs(x), abs(y))
    for k in range(1, steps + 1):
        cx = int(round(x * k / steps))
        cy = int(round(y * k / steps))
        if max(abs(cx), abs(cy)) > _OWN_CELLS:
            if grid[(py + cy) % _GRID, (px + cx) % _GRID] & mask:
                return False
        elif grid[(py + cy) % _GRID, (px + cx) % _GRID] & _HIT:
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
