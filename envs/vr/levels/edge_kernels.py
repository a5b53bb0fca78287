"""Compiled: where the floor of a level with heights ends in a drop."""

from __future__ import annotations

import numpy as np
from numba import njit

from ambulo.envs.vr.contract import BODY_RADIUS, CLIMB_HEIGHT
from ambulo.envs.vr.geometry.prism_kernels import MOST_OVERLAPS
from ambulo.envs.vr.geometry.solid_kernels import nearby, overlaps, support

_CLIMB = CLIMB_HEIGHT
_THIN = 0.06 - BODY_RADIUS
"""Spare room of a body of 6 cm radius, [m]."""


@njit(cache=True)
def are_drops(solids, points):
    """Whether a thin body at each of `points` (n, 3) stands in nothing and falls, (n,)."""
    shapes = solids[0].shape[0] + solids[1].shape[0] + solids[2].shape[0]
    near = np.empty(max(shapes, 1), np.int64)
    seen = np.full(max(shapes, 1), -1, np.int64)
    nobody = np.zeros((0, 9))
    found = np.empty((MOST_OVERLAPS, 3))
    whom = np.zeros(1, np.bool_)
    drops = np.zeros(points.shape[0], np.bool_)
    for k in range(points.shape[0]):
        x, y, z = points[k, 0], points[k, 1], points[k, 2]
        n = nearby(solids, x, y, 0.2, near, seen, k)
        if overlaps(solids, near, n, nobody, x, y, z, _THIN, found, whom) != 0:
            continue
        floor, _ = support(solids, near, n, nobody, x, y, z + _CLIMB)
        drops[k] = floor < z - _CLIMB
    return drops
