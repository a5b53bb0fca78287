"""Compiled: where the floor of a level with heights ends in a drop."""

from __future__ import annotations

import numpy as np
from numba import njit

from ambulo.envs.vr.contract import BODY_RADIUS, CLIMB_HEIGHT
from ambulo.envs.vr.geometry.seam_kernels import floor_beside_seam
from ambulo.envs.vr.geometry.solid_kernels import (
    local_shapes,
    nearby,
    no_contacts,
    overlaps,
    room_for_shapes,
    support,
)

_CLIMB = CLIMB_HEIGHT
_THIN = 0.06 - BODY_RADIUS
"""Spare room of a body of 6 cm radius, [m]."""


@njit(cache=True)
def are_drops(solids, points, directions, reach, farthest, step):
    """Whether a thin body that leaves each of `points` (n, 3) falls before it is stopped, (n,).

    It goes in `directions` (n, 2), unit vectors, and is looked at from the distance `reach`
    to `farthest`, every `step`, [m].
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
