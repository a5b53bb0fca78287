"""Compiled edges of the floor: seams, which carry a walking body, and drops.

The step of the world (`step_kernels.floor_over_seam`) checks for floor at `MAX_SEAM` on two
opposite sides along an axis, at every tick. All ticks of a crossing find floor if the gap is at
most `MAX_SEAM` wide along that axis, which is measured here.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from ambulo.envs.vr.contract import BODY_RADIUS, CLIMB_HEIGHT, MAX_SEAM
from ambulo.envs.vr.geometry.contact_kernels import no_contacts, overlaps, support
from ambulo.envs.vr.geometry.solid_kernels import local_shapes, nearby, room_for_shapes

_CLIMB = CLIMB_HEIGHT
_THIN = 0.06 - BODY_RADIUS
"""Spare room of a body of 6 cm radius, [m]."""
_SEAM = MAX_SEAM
_HALVINGS = 10
_ROUNDING = 2.0 * MAX_SEAM / 2**10
"""Tolerance of the sum of two bisected widths, [m]."""


@njit(cache=True)
def _gap(shapes, x, y, dx, dy, low, top):
    """Fraction of the segment (dx, dy) from a point without floor to the floor at its end."""
    empty = 0.0
    floor = 1.0
    for _ in range(_HALVINGS):
        middle = 0.5 * (empty + floor)
        z, _ = support(shapes, x + middle * dx, y + middle * dy, top)
        if z >= low:
            floor = middle
        else:
            empty = middle
    return floor


@njit(cache=True)
def floor_beside_seam(shapes, x, y, z, climb):
    """Height of the higher floor beside a seam at (x, y); -inf: no seam.

    Both floors are at most `climb` [m] above or below `z`, and (x, y) has no such floor.
    """
    low = z - climb
    top = z + climb
    for k in range(2):
        dx = _SEAM * (1 - k)
        dy = _SEAM * k
        one, _ = support(shapes, x + dx, y + dy, top)
        if one < low:
            continue
        other, _ = support(shapes, x - dx, y - dy, top)
        if other < low:
            continue
        width = _gap(shapes, x, y, dx, dy, low, top)
        width += _gap(shapes, x, y, -dx, -dy, low, top)
        if width * _SEAM <= _SEAM + _ROUNDING:
            return max(one, other)
    return -np.inf


@njit(cache=True)
def are_drops(solids, points, directions, reach, farthest, step):
    """Mask of `points` (n, 3) from which a thin body falls before it is stopped, (n,).

    It moves in `directions` (n, 2), unit vectors, and is checked from the distance `reach` to
    `farthest`, every `step`, [m].
    """
    near, seen = room_for_shapes(solids)
    no_movers = np.zeros((0, 9))
    contacts = no_contacts()
    drops = np.zeros(points.shape[0], np.bool_)
    for k in range(points.shape[0]):
        z = points[k, 2]
        n = nearby(solids, points[k, 0], points[k, 1], farthest + 0.1, near, seen, k)
        shapes = local_shapes(solids, near, n, no_movers)
        away = reach
        while away <= farthest:
            x = points[k, 0] + away * directions[k, 0]
            y = points[k, 1] + away * directions[k, 1]
            if overlaps(shapes, x, y, z, _THIN, contacts) != 0:
                break
            floor, _ = support(shapes, x, y, z + _CLIMB)
            if floor < z - _CLIMB:
                floor = floor_beside_seam(shapes, x, y, z, _CLIMB)
            if floor < z - _CLIMB:
                drops[k] = True
                break
            away += step
    return drops
