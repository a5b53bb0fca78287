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
_SAME_SPOT = 0.1
"""A ray that comes so near to a hit would have ended there, [m]."""
_SAME_DIRECTION = math.pi / 6
"""If its direction differs by no more than this from that of the hit's ray, [rad]."""
_BEYOND = 0.5
"""How far it must go on, [m]."""
_SAME_WALL = 0.1
"""A hit that is so near to the line between the ends of two rays is of the wall there, [m]."""


@njit(cache=True)
def map_passed(envs, maps, spots, position, rays, ray_angle):
    """Mark the cells that rays have passed, and forget hits that are there no more.

    A hit is forgotten when a ray from about the same direction as the one that ended there
    comes within `_SAME_SPOT` of it and goes on for `_BEYOND`: a wall that still stood would
    have stopped it, unless it grazes the wall, whose next point is where its neighbour ends.
    """
    step = 2.0 * math.pi / rays.shape[1]
    for i in envs:
        for r in range(rays.shape[1]):
            angle = ray_angle[i] + step * r
            cos = math.cos(angle)
            sin = math.sin(angle)
            for k in range(int(math.ceil(rays[i, r] / _SPACING))):
                x = position[i, 0] + cos * k * _SPACING
                y = position[i, 1] + sin * k * _SPACING
                c = int(math.floor(x * PER_METRE))
                w = int(math.floor(y * PER_METRE))
                maps[i, w % GRID, c % GRID] |= FREE
                if not maps[i, w % GRID, c % GRID] & HIT:
                    continue
                dx, dy, turn = _spot(spots[i, w % GRID, c % GRID], angle)
                dx += c / PER_METRE - position[i, 0]
                dy += w / PER_METRE - position[i, 1]
                along = cos * dx + sin * dy
                left = cos * dy - sin * dx
                if (
                    abs(left) < _SAME_SPOT
                    and abs(turn) < _SAME_DIRECTION
                    and rays[i, r] > along + _BEYOND
                    and not _of_the_wall(rays[i], r, along, left)
                ):
                    _forget_hit(maps[i], w, c)


@njit(cache=True)
def _of_the_wall(rays, r, along, left):
    """Whether a spot beside ray r is on the line from its end to that of its neighbour there.

    `along` and `left` are those of the spot from the player, in the direction of the ray.
    """
    side = 1 if left > 0.0 else -1
    step = 2.0 * math.pi / len(rays)
    reading = rays[(r + side) % len(rays)]
    end_along = reading * math.cos(step)
    end_left = reading * math.sin(step) * side
    dx = rays[r] - end_along
    dy = -end_left
    area = abs(dx * (left - end_left) - dy * (along - end_along))
    return area < _SAME_WALL * math.hypot(dx, dy)


@njit(cache=True)
def _packed_spot(x, y, angle):
    """Where in its cell a hit is, and the direction of its ray, in 5 + 5 + 6 bits."""
    a = int(x * PER_METRE % 1.0 * 32.0)
    b = int(y * PER_METRE % 1.0 * 32.0)
    turn = int(angle / (2.0 * math.pi) % 1.0 * 64.0)
    return (min(a, 31) << 11) | (min(b, 31) << 6) | min(turn, 63)


@njit(cache=True)
def _spot(packed, angle):
    """Offsets of a hit in its cell, [m], and from its ray's direction to `angle`, [rad]."""
    dx = ((packed >> 11) + 0.5) / 32.0 / PER_METRE
    dy = ((packed >> 6 & 31) + 0.5) / 32.0 / PER_METRE
    turn = ((packed & 63) + 0.5) / 64.0 - angle / (2.0 * math.pi)
    return dx, dy, ((turn + 0.5) % 1.0 - 0.5) * 2.0 * math.pi


@njit(cache=True)
def _forget_hit(grid, w, c):
    """Take back a hit and what it marked around it, unless other hits mark that, too."""
    grid[w % GRID, c % GRID] &= ~HIT
    for dy in range(-_WALLS, _WALLS + 1):
        for dx in range(-_WALLS, _WALLS + 1):
            grid[(w + dy) % GRID, (c + dx) % GRID] &= HIT | BUMP | FREE
    for dy in range(-2 * _WALLS, 2 * _WALLS + 1):
        for dx in range(-2 * _WALLS, 2 * _WALLS + 1):
            if grid[(w + dy) % GRID, (c + dx) % GRID] & HIT:
                _mark_around(grid, w + dy, c + dx)


@njit(cache=True)
def _mark_around(grid, w, c):
    for dy in range(-_WALLS, _WALLS + 1):
        for dx in range(-_WALLS, _WALLS + 1):
            far = max(abs(dx), abs(dy))
            bits = WALL
            if far <= _BESIDES:
                bits |= BESIDE
            if far <= 1:
                bits |= NEAR
            grid[(w + dy) % GRID, (c + dx) % GRID] |= bits


@njit(cache=True)
def map_rays(envs, maps, spots, position, rays, ray_angle, ray_length):
    """Mark the cells in which rays have ended, and those around them.

    `spots` (N, GRID, GRID) take where in their cells the rays ended.
    """
    step = 2.0 * math.pi / rays.shape[1]
    for i in envs:
        for r in range(rays.shape[1]):
            if rays[i, r] >= ray_length - 1e-4:
                continue
            angle = ray_angle[i] + step * r
            reach = rays[i, r] + 0.02
            x = position[i, 0] + math.cos(angle) * reach
            y = position[i, 1] + math.sin(angle) * reach
            c = int(math.floor(x * PER_METRE))
            w = int(math.floor(y * PER_METRE))
            spots[i, w % GRID, c % GRID] = _packed_spot(x, y, angle)
            if maps[i, w % GRID, c % GRID] & HIT:
                continue
            maps[i, w % GRID, c % GRID] |= HIT
            _mark_around(maps[i], w, c)


@njit(cache=True)
def map_bumps(envs, maps, position, goal, points, found, rest, still, age):
    """Block a cell ahead of those that are stuck, and let them plan at once."""
    for i in envs:
        x = position[i, 0]
        y = position[i, 1]
        if not math.hypot(x - rest[i, 0], y - rest[i, 1]) <= _MOVED:
            rest[i, 0], rest[i, 1] = x, y
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


@njit(cache=True)
def nearest_hits(envs, maps, spots, position, yaw, farthest, out):
    """Write the distance to the nearest hit in each of S sectors, the first ahead.

    Args:
        envs: indices (k,); maps, spots, position and yaw are over all N envs.
        maps: bits of cells, shape (N, GRID, GRID).
        spots: where in their cells rays ended, shape (N, GRID, GRID).
        position: x, y, shape (N, 2), [m].
        yaw: direction ahead, shape (N,), [rad].
        farthest: what a sector without a nearer hit has, [m].
        out: shape (k, S), written, [m].
    """
    sectors = out.shape[1]
    cells = int(farthest * PER_METRE) + 1
    for k in range(len(envs)):
        i = envs[k]
        out[k] = farthest
        px = int(math.floor(position[i, 0] * PER_METRE))
        py = int(math.floor(position[i, 1] * PER_METRE))
        for w in range(py - cells, py + cells + 1):
            for c in range(px - cells, px + cells + 1):
                if not maps[i, w % GRID, c % GRID] & HIT:
                    continue
                dx, dy, _ = _spot(spots[i, w % GRID, c % GRID], 0.0)
                dx += c / PER_METRE - position[i, 0]
                dy += w / PER_METRE - position[i, 1]
                turn = (math.atan2(dy, dx) - yaw[i]) / (2.0 * math.pi)
                sector = int(math.floor(turn * sectors + 0.5)) % sectors
                out[k, sector] = min(out[k, sector], math.hypot(dx, dy))
