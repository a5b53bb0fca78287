"""Ray readings into a map: floors that rays pass, their ends, and the area between two rays."""

from __future__ import annotations

import math

from numba import njit

from ambulo.envs.vr.geometry.solid_ray_kernels import DROP as EDGE
from ambulo.envs.vr.geometry.solid_ray_kernels import FLOOR_PARTS
from ambulo.envs.vr.geometry.solid_ray_kernels import WALL as OBSTACLE
from ambulo.envs.vr.navigator.columns import (
    DROP,
    HIT,
    PER_METRE,
    SEEN,
    SLOPE,
    add_bits,
    add_floor,
    add_hit,
    in_units,
)
from ambulo.envs.vr.navigator.tracks import is_over

_SPACING = 0.125
"""Spacing of the floor points written along a ray, [m]."""
_STEEP = 0.2
"""Rise per metre from which a floor is a slope."""
_JOIN = (0.25, 0.56)
"""Distance range of the ends of two neighbouring rays that get an obstacle between them,
[m]."""
_LEVEL = 0.3
"""Largest height difference of such ends, [m]."""
_EVEN = 0.35
"""Largest height difference of the floors of two rays between which the floor counts as seen,
[m]."""
_BETWEEN = (0.5, 4.8, 0.25)
"""Range and spacing of the points between two rays, [m]."""
_BEHIND = 0.02
"""Distance of an obstacle behind the end of a ray, [m]."""


@njit(cache=True)
def _floor_at(floors, r, reach, t):
    """Floor along ray `r` at `t`, above the feet, and its rise per metre."""
    q = t / reach * FLOOR_PARTS
    p = min(int(q), FLOOR_PARTS - 1)
    low = 0.0 if p == 0 else floors[r, p - 1]
    rise = floors[r, p] - low
    return low + rise * (q - p), rise * FLOOR_PARTS / reach


@njit(cache=True)
def map_rays(columns, position, angle, rays, kinds, floors, movers):
    """Write the ray readings of one env into its map.

    Args:
        columns: The map.
        position: Position x, y, z of the feet, shape (3,), [m].
        angle: Angle of ray 0, [rad].
        rays: Their lengths, shape (R,), [m].
        kinds: What ends them, shape (R,).
        floors: Floors along them above the feet, shape (R, FLOOR_PARTS), [m].
        movers: Visible movers, whose tops are not static floor, shape (K, 13).
    """
    px, py, pz = position[0], position[1], position[2]
    count = rays.shape[0]
    turn = 2.0 * math.pi / count
    if not is_over(movers, px, py, pz):
        add_floor(columns, px, py, in_units(pz), 0)
    for r in range(count):
        cx = math.cos(angle + turn * r)
        sy = math.sin(angle + turn * r)
        t = _SPACING
        while t < rays[r] - 0.05:
            h, rise = _floor_at(floors, r, rays[r], t)
            x = px + cx * t
            y = py + sy * t
            if not is_over(movers, x, y, pz + h):
                slope = SLOPE if abs(rise) > _STEEP else 0
                add_floor(columns, x, y, in_units(pz + h), slope)
            t += _SPACING
        if kinds[r] == OBSTACLE or kinds[r] == EDGE:
            far = rays[r] + _BEHIND
            h = in_units(pz + floors[r, FLOOR_PARTS - 1])
            bit = HIT if kinds[r] == OBSTACLE else DROP
            add_hit(columns, px + cx * far, py + sy * far, h, bit)
    for r in range(count):
        _map_between(columns, position, angle, rays, kinds, floors, r)


@njit(cache=True)
def _map_between(columns, position, angle, rays, kinds, floors, r):
    """Write the area between ray `r` and the next one."""
    px, py, pz = position[0], position[1], position[2]
    s = (r + 1) % rays.shape[0]
    turn = 2.0 * math.pi / rays.shape[0]
    a = angle + turn * r
    last = FLOOR_PARTS - 1
    if kinds[s] == kinds[r] and (kinds[r] == OBSTACLE or kinds[r] == EDGE):
        near = rays[r] + _BEHIND
        far = rays[s] + _BEHIND
        x0 = px + math.cos(a) * near
        y0 = py + math.sin(a) * near
        x1 = px + math.cos(a + turn) * far
        y1 = py + math.sin(a + turn) * far
        gap = math.hypot(x1 - x0, y1 - y0)
        level = abs(floors[s, last] - floors[r, last]) < _LEVEL
        if _JOIN[0] < gap < _JOIN[1] and level:
            bit = HIT if kinds[r] == OBSTACLE else DROP
            h = in_units(pz + floors[r, last])
            add_hit(columns, 0.5 * (x0 + x1), 0.5 * (y0 + y1), h, bit)
    t, most, step = _BETWEEN
    most = min(rays[r], rays[s], most) - 0.1
    while t < most:
        parts = int(t * turn * PER_METRE) + 1
        h, _ = _floor_at(floors, r, rays[r], t)
        g, _ = _floor_at(floors, s, rays[s], t)
        if abs(h - g) < _EVEN:
            z = in_units(pz + 0.5 * (h + g))
            for j in range(1, parts):
                b = a + turn * j / parts
                add_bits(columns, px + math.cos(b) * t, py + math.sin(b) * t, z, SEEN)
        t += step
