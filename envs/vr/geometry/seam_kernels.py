"""Compiled: seams of the floor, which carry a body that walks over them (docs/vr_world.md).

The step of the world (`step_kernels.floor_over_seam`) looks for floor at `MAX_SEAM` on two
opposite sides along an axis, at every tick. All ticks of a way across find it where the gap
is at most `MAX_SEAM` wide along that axis, and this is what is measured here.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from ambulo.envs.vr.contract import MAX_SEAM
from ambulo.envs.vr.geometry.solid_kernels import support

_SEAM = MAX_SEAM
_HALVINGS = 10
_ROUNDING = 2.0 * MAX_SEAM / 2**10
"""What two bisected widths may be too large, [m]."""


@njit(cache=True)
def _gap(shapes, x, y, dx, dy, low, top):
    """Share of the way (dx, dy) from a point without floor to the floor at its end."""
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
    """Height of the higher floor beside a seam at (x, y), -inf: there is none.

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
