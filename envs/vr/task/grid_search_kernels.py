"""The search of the grid planner: A* on its map of cells, compiled."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from ambulo.envs.vr.task.grid_map_kernels import (
    BESIDE,
    BUMP,
    FREE,
    GRID,
    HIT,
    PER_METRE,
    WALL,
)

AHEAD = (2.0, 4.0)
"""Where along the path the points after the waypoint lie, [m]."""
MOST_CELLS = 20_000
"""Cells expanded before a plan is given up."""
_GOAL_CELLS = 3
"""Cells around the goal that are open unless something was hit in them."""
_OWN_CELLS = 2
"""Cells around the player that are open unless something was hit in them."""
_DX = np.array([1, 1, 0, -1, -1, -1, 0, 1])
_DY = np.array([0, 1, 1, 1, 0, -1, -1, -1])
_COST = np.array([1.0, math.sqrt(2.0)] * 4)
_AHEAD = np.array(AHEAD) * PER_METRE


@njit(cache=True)
def _octile(dx, dy):
    dx = abs(dx)
    dy = abs(dy)
    return max(dx, dy) + (math.sqrt(2.0) - 1.0) * min(dx, dy)


@njit(cache=True)
def search(
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
    walls,
    reach,
):
    """A* from the goal to the player, so that parents lead the player's way.

    Cells with bits of `mask` are closed; `margin`, `walls` and `reach` (in cells) are those of
    `PlanSettings`. `cost`, `parent` and `stamp` have the shape of `grid`, `keys` and `cells`
    room for 8 `MOST_CELLS`; entries of other marks than `mark` count as empty.

    Writes `points` and returns the length of the path in metres, or -1 without one.
    """
    px = int(math.floor(position[0] * PER_METRE))
    py = int(math.floor(position[1] * PER_METRE))
    half = GRID // 2
    gx = int(math.floor(goal[0] * PER_METRE)) - px
    gy = int(math.floor(goal[1] * PER_METRE)) - py
    gx = min(max(gx, 2 - half), half - 2)
    gy = min(max(gy, 2 - half), half - 2)
    cost[(gy + py) % GRID, (gx + px) % GRID] = 0.0
    stamp[(gy + py) % GRID, (gx + px) % GRID] = mark
    parent[(gy + py) % GRID, (gx + px) % GRID] = -1
    keys[0] = _octile(gx, gy)
    cells[0] = (gy + half) * GRID + gx + half
    size = 1
    expanded = 0
    reached = False
    while size > 0 and expanded < MOST_CELLS:
        key = keys[0]
        x = cells[0] % GRID - half
        y = cells[0] // GRID - half
        size -= 1
        _sift_down(keys, cells, size)
        here = cost[(y + py) % GRID, (x + px) % GRID]
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
            row = (ny + py) % GRID
            column = (nx + px) % GRID
            if grid[row, column] & (mask | BUMP):
                near_goal = max(abs(nx - gx), abs(ny - gy)) <= _GOAL_CELLS
                own = max(abs(nx), abs(ny)) <= _OWN_CELLS
                if grid[row, column] & (HIT | BUMP) or not (near_goal or own):
                    continue
            price = _COST[m]
            if grid[row, column] & BESIDE:
                price *= margin
            if grid[row, column] & (WALL | FREE) == WALL:
                price *= walls
            new = here + price
            if stamp[row, column] == mark and cost[row, column] <= new + 1e-4:
                continue
            stamp[row, column] = mark
            cost[row, column] = new
            parent[row, column] = (m + 4) % 8
            keys[size] = new + _octile(nx, ny)
            cells[size] = (ny + half) * GRID + nx + half
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
        m = parent[(y + py) % GRID, (x + px) % GRID]
        if m < 0:
            break
        x += _DX[m]
        y += _DY[m]
        walked += _COST[m]
        wx = (px + x + 0.5) / PER_METRE
        wy = (py + y + 0.5) / PER_METRE
        if seen and step > 0:
            seen = step < reach and _clear(grid, px, py, x, y, mask, margin)
        if seen:
            points[0, 0] = wx
            points[0, 1] = wy
        for p in range(_AHEAD.shape[0]):
            if walked <= _AHEAD[p]:
                points[1 + p, 0] = wx
                points[1 + p, 1] = wy
    return walked / PER_METRE


@njit(cache=True)
def _clear(grid, px, py, x, y, mask, margin):
    """Whether the straight line from the player to a cell (x, y) from it is open.

    With a margin it leads past obstacles only where it begins or ends beside one.
    """
    steps = 2 * max(abs(x), abs(y))
    ends = grid[py % GRID, px % GRID] | grid[(py + y) % GRID, (px + x) % GRID]
    mask |= BUMP
    if margin > 1.0 and not ends & BESIDE:
        mask |= BESIDE
    for k in range(1, steps + 1):
        cx = int(round(x * k / steps))
        cy = int(round(y * k / steps))
        if max(abs(cx), abs(cy)) > _OWN_CELLS:
            if grid[(py + cy) % GRID, (px + cx) % GRID] & mask:
                return False
        elif grid[(py + cy) % GRID, (px + cx) % GRID] & (HIT | BUMP):
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
