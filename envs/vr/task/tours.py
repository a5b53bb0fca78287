"""Shortest ways that come near several goals in turn."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.envs.vr.levels.geodesic import FINE_RESOLUTION, length_of
from ambulo.envs.vr.levels.layer_way_kernels import SAME_FLOOR
from ambulo.envs.vr.levels.layers import LayeredGrid
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.task.scene_level import grid_of

_SWEEPS = 2
"""How often the points that a way touches are moved; more shortens it by millimetres."""


def tour_length(level: Level, start: Floats, stops: Floats, radius: float) -> float:
    """Length of the shortest way for the body from `start` by all `stops`, [m], or inf.

    Args:
        level: where.
        start: shape (3,), [m]; of a flat level also (2,).
        stops: goals in their order, shape (k, 3), [m]; of a flat level also (k, 2).
        radius: the way comes this near to each stop but the last, in a straight line, and
            ends in the middle of the last one, [m].
    """
    grid = grid_of(level, FINE_RESOLUTION)
    points = np.vstack([start, stops])
    if points.shape[1] == 2:
        points = np.column_stack([points, np.zeros(len(points))])
    goals = points[1:].copy()
    for _ in range(_SWEEPS if len(stops) > 1 else 0):
        for k in range(1, len(stops)):
            touched = _nearest_on_the_way(
                grid, points[k - 1 : k + 2], goals[k - 1], radius
            )
            if touched is None:
                return math.inf
            points[k] = touched
    return sum(_leg(grid, here, there) for here, there in pairwise(points))


def _nearest_on_the_way(
    grid: LayeredGrid, points: Floats, stop: Floats, radius: float
) -> Floats | None:
    """The cell within `radius` of `stop` over which the way between two points is shortest.

    `points` (3, 3) are the point before, the one to be replaced, and the one after.
    """
    ways = (grid.field(points[0]) + grid.field(points[2])).ravel()
    cells = np.flatnonzero(np.isfinite(ways))
    centres = grid.points(cells)
    near = np.hypot(*(centres - stop)[:, :2].T) <= radius
    near &= np.abs(centres[:, 2] - stop[2]) < SAME_FLOOR
    if not near.any():
        return None
    return np.asarray(centres[near][np.argmin(ways[cells[near]])])


def _leg(grid: LayeredGrid, here: Floats, there: Floats) -> float:
    """Length of the taut way between two points, [m], or inf."""
    return length_of(grid.path(grid.field(there), here, there))
