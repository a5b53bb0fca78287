"""What the grid planner knows of its cells, as bits, and what rays and bumps tell of them."""

from __future__ import annotations

import math

from numba import njit

PER_METRE = 4
"""Cells per metre."""
GRID = 512
"""Cells along a side."""
NEAR, HIT, BESIDE, BUMP = 1, 2, 4, 8
"""Bits of a cell: next to a hit, hit, beside a hit, bumped into."""
FREE, WALL = 16, 32
"""Bits of a cell: a ray has passed it, or it is where a wall may go on."""
_BESIDES = 2
"""Cells within this many of one that was hit are beside it."""
_WALLS = 6
"""Cells within this many of one that was hit may be where its wall goes on."""
_STUCK = 30
"""Decisions without motion after which a cell ahead is blocked."""
_MOVED = 0.15
"""A shorter way is none, [m]."""
_BUMPED = 2
"""Distance of the blocked cell, towards the waypoint, or that of a nearer waypoint, [cells]."""
_AT_GOAL = 0.75
"""Who stands nearer to the goal is not stuck, [m]."""
_SPACING = 1.0 / PER_METRE
"""Distance of the points along a ray whose cells it has passed, [m]."""


@njit(cache=True)
def map_free(envs, maps, position, rays, ray_angle):
    """Mark the cells that rays have passed."""
    step = 2.0 * math.pi / rays.shape[1]
    for i in envs:
        for r in range(rays.shape[1]):
            cos = math.cos(ray_angle[i] + step * r)
            sin = math.sin(ray_angle[i] + step * r)
            for k in range(int(math.ceil(rays[i, r] / _SPACING))):
                c = int(math.floor((position[i, 0] + cos * k * _SPACING) * PER_METRE))
                w = int(math.floor((position[i, 1] + sin * k * _SPACING) * PER_METRE))
                maps[i, w % GRID, c % GRID] |= FREE


@njit(cache=True)
def map_rays(envs, maps, position, rays, ray_angle, ray_length):
    """Mark the cells in which rays have ended, and those around them."""
    step = 2.0 * math.pi / rays.shape[1]
    for i in envs:
        for r in range(rays.shape[1]):
            if rays[i, r] >= ray_length - 1e-4:
                continue
            reach = rays[i, r] + 0.02
            x = position[i, 0] + math.cos(ray_angle[i] + step * r) * reach
            y = position[i, 1] + math.sin(ray_angle[i] + step * r) * reach
            c = int(math.floor(x * PER_METRE))
            w = int(math.floor(y * PER_METRE))
            if maps[i, w % GRID, c % GRID] & HIT:
                continue
            maps[i, w % GRID, c % GRID] |= HIT
            for dy in range(-_WALLS, _WALLS + 1):
                for dx in range(-_WALLS, _WALLS + 1):
                    far = max(abs(dx), abs(dy))
                    bits = WALL
                    if far <= _BESIDES:
                        bits |= BESIDE
                    if far <= 1:
                        bits |= NEAR
                    maps[i, (w + dy) % GRID, (c + dx) % GRID] |= bits


@njit(cache=True)
def map_bumps(envs, maps, position, goal, points, found, rest, still, age):
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
        px = int(math.floor(x * PER_METRE))
        py = int(math.floor(y * PER_METRE))
        dx = int(math.floor(points[i, 0, 0] * PER_METRE)) - px
        dy = int(math.floor(points[i, 0, 1] * PER_METRE)) - py
        # One of the cells that the way to the waypoint was seen to be open in.
        far = max(abs(dx), abs(dy), _BUMPED)
        c = px + int(round(dx * _BUMPED / far))
        w = py + int(round(dy * _BUMPED / far))
        maps[i, w % GRID, c % GRID] |= BUMP


@njit(cache=True)
def forget_bumps(grid):
    """Open the cells that were bumped into; whether there were any."""
    any_ = False
    for y in range(GRID):
        for x in range(GRID):
            if grid[y, x] & BUMP:
                grid[y, x] &= ~BUMP
                any_ = True
    return any_
