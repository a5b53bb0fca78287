"""Compiled: where the floor of a level with heights ends in a drop."""

from __future__ import annotations

import numpy as np
from numba import njit

from ambulo.envs.vr.contract import BODY_RADIUS, CLIMB_HEIGHT
from ambulo.envs.vr.geometry.push_kernels import MOST_OVERLAPS
from ambulo.envs.vr.geometry.seam_kernels import floor_beside_seam
from ambulo.envs.vr.geometry.solid_kernels import nearby, overlaps, support

_CLIMB = CLIMB_HEIGHT
_THIN = 0.06 - BODY_RADIUS
"""Spare room of a body of 6 cm radius, [m]."""


@njit(cache=True)
def are_drops(solids, points, directions, reach, farthest, step):
    """Whether a thin body that leaves each of `points` (n, 3) falls before it is stopped, (n,).

    It goes in `directions` (n, 2), unit vectors, and is looked at from the distance `reach`
    to `farthest`, every `step`, [m].
    """
    shapes = solids[0].shape[0] + solids[1].shape[0] + solids[2].shape[0]
    near = np.empty(max(shapes, 1), np.int64)
    seen = np.full(max(shapes, 1), -1, np.int64)
    no_movers = np.zeros((0, 9))
    found = np.empty((MOST_OVERLAPS, 3))
    whom = np.zeros(1, np.bool_)
    drops = np.zeros(points.shape[0], np.bool_)
    for k in range(points.shape[0]):
        z = points[k, 2]
        n = nearby(solids, points[k, 0], points[k, 1], farthest + 0.1, near, seen, k)
        away = reach
        while away <= farthest:
            x = points[k, 0] + away * directions[k, 0]
            y = points[k, 1] + away * directions[k, 1]
            if overlaps(solids, near, n, no_movers, x, y, z, _THIN, found, whom) != 0:
                break
            floor, _ = support(solids, near, n, no_movers, x, y, z + _CLIMB)
            if floor < z - _CLIMB:
                floor = floor_beside_seam(solids, near, n, no_movers, x, y, z, _CLIMB)
            if floor < z - _CLIMB:
                drops[k] = True
                break
            away += step
    return drops
