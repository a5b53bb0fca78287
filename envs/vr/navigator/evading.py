"""Collisions of a walk with movers, and evasive walks without any. Compiled."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from ambulo.envs.vr.contract import BODY_HEIGHT, CLIMB_HEIGHT
from ambulo.envs.vr.geometry.solid_kernels import PERSON
from ambulo.envs.vr.navigator.tracks import TRACKS, gap_at

HORIZON = 1.0
"""Prediction time of movers, [s]."""
ROOM = 0.26
"""Clearance from movers at rest, [m]: the radius of the body and a margin."""
MOVING_ROOM = 0.32
"""Clearance from movers in motion, [m]."""
_SWAY = 0.08
"""Lateral deviation of walking people from their velocity, [m]."""
_SAMPLE = 0.1
_FARTHEST = 6.5
"""Movers whose centres are farther away are ignored, [m]."""
_STILL = 0.02
_SHRINKS = 0.02
"""A gap that grows by more than this is not dangerous, [m]."""
_PACES = (0.7, 1.4, 2.1)
_DIRECTIONS = 16
_FOR = 0.5
"""Duration of an evasive walk, [s]."""
_FREE = 0.35
"""Free distance that it needs beyond the body's radius, [m]."""


@njit(cache=True)
def stands_in(row, z):
    """Whether a mover is at the height of a body whose feet are at `z`."""
    return row[6] < z + BODY_HEIGHT and row[7] > z + CLIMB_HEIGHT


@njit(cache=True)
def meets_on_path(tracks, use, x, y, z, way, count, speed):
    """Time until a walk at `speed` along `way` (count, 2) comes too near to a mover, [s].

    `use` (TRACKS,) is the mask of movers. `HORIZON`: not before that.
    """
    first = HORIZON
    for m in range(TRACKS):
        row = tracks.rows[m]
        rate = tracks.velocity[m]
        if not use[m] or not stands_in(row, z):
            continue
        if math.hypot(row[0] - x, row[1] - y) > _FARTHEST:
            continue
        room = MOVING_ROOM
        if abs(rate[0]) + abs(rate[1]) + abs(rate[3]) < _STILL:
            room = ROOM
        px = x
        py = y
        at = 0
        begin = gap_at(row, rate, 0.0, x, y)
        t = _SAMPLE
        while t < first:
            left = speed * _SAMPLE
            while left > 0.0 and at < count:
                dx = way[at, 0] - px
                dy = way[at, 1] - py
                d = math.hypot(dx, dy)
                if d <= left:
                    px = way[at, 0]
                    py = way[at, 1]
                    at += 1
                    left -= d
                else:
                    px += dx / d * left
                    py += dy / d * left
                    left = 0.0
            gap = gap_at(row, rate, t, px, py)
            if gap < room and gap < begin + _SHRINKS:
                first = t
                break
            t += _SAMPLE
    return first


@njit(cache=True)
def least_gap(tracks, use, x, y, z, vx, vy, lasts):
    """Smallest gap to movers on a walk of (vx, vy) for `lasts` seconds, then at rest, [m].

    Also the time at which it first falls below `ROOM`, `HORIZON`: never, [s].
    """
    first = HORIZON
    least = 9.0
    for m in range(TRACKS):
        row = tracks.rows[m]
        if not use[m] or math.hypot(row[0] - x, row[1] - y) > _FARTHEST:
            continue
        rate = tracks.velocity[m]
        sways = row[8] == PERSON and abs(rate[0]) + abs(rate[1]) > _STILL
        sway = _SWAY if sways else 0.0
        t = 0.0
        while t <= HORIZON:
            up = rate[2] * t
            if row[6] + up < z + BODY_HEIGHT and row[7] + up > z + CLIMB_HEIGHT:
                q = min(t, lasts)
                gap = gap_at(row, rate, t, x + vx * q, y + vy * q) - sway
                least = min(least, gap)
                if gap < ROOM:
                    first = min(first, t)
            t += _SAMPLE
    return least, first


@njit(cache=True)
def evasive(tracks, use, x, y, z, towards, angle, rays):
    """Velocity away from movers, with a preference for `towards` (2,), shape (2,), [m/s].

    `rays` (R,) are free distances, the first one along `angle`.
    """
    best = -np.inf
    vx = 0.0
    vy = 0.0
    far = max(math.hypot(towards[0], towards[1]), 1e-6)
    for d in range(_DIRECTIONS):
        heading = 2.0 * math.pi * d / _DIRECTIONS
        cx = math.cos(heading)
        sy = math.sin(heading)
        ray = math.floor((heading - angle) / (2.0 * math.pi) * len(rays))
        free = min(rays[ray % len(rays)], rays[(ray + 1) % len(rays)])
        for pace in _PACES:
            if free < _FREE + _FOR * pace * _FOR:
                continue
            gap, _ = least_gap(tracks, use, x, y, z, pace * cx, pace * sy, _FOR)
            value = 10.0 * min(gap, ROOM + 0.05) - 0.2 * pace
            value += 0.1 * (cx * towards[0] + sy * towards[1]) / far
            if value > best:
                best = value
                vx = pace * cx
                vy = pace * sy
    return vx, vy
