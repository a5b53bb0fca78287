"""Compiled test for points inside of closed bodies of triangles, which have no walls there."""

from __future__ import annotations

import numpy as np
from numba import njit

from ambulo.envs.vr.geometry.triangle_kernels import plane_height


@njit(cache=True)
def is_inside(shapes, x, y, z):
    """Whether (x, y, z) is in a closed body: the first of its faces above faces up."""
    prisms, cylinders, triangles, _, near, n, _ = shapes
    n_still = prisms.shape[0] + cylinders.shape[0]
    lowest = np.inf
    inside = False
    for k in range(n):
        item = near[k] - n_still
        if item < 0:
            continue
        row = triangles[item]
        if row[14] == 0.0 or row[13] <= z:
            continue
        above = plane_height(x, y, row)
        if z < above < lowest:
            lowest = above
            inside = row[11] > 0.0
    return inside
