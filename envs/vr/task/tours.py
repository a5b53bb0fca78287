"""Shortest ways that come near several goals in turn."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.envs.vr.levels.geodesic import (
    FINE_RESOLUTION,
    FreeGrid,
    distance_field,
    free_grid,
    shortest_path,
)
from ambulo.envs.vr.levels.level import Level

_SWEEPS = 2
"""How often the points that a way touches are moved; more shortens it by millimetres."""


def tour_length(level: Level, start: Floats, stops: Floats, radius: float) -> float:
    """Length of the shortest way for the body from `start` by all `stops`, [m], or inf.

    Args:
        level: where.
        start: shape (2,), [m].
        stops: goals in their order, shape (k, 2), [m].
        radius: the way comes this near to each stop but the last, in a straight line, and
            ends in the middle of the last one, [m].
    """
    grid = free_grid(level, FINE_RESOLUTION)
    points = np.vstack([start[:2], stops])
    for _ in range(_SWEEPS if len(stops) > 1 else 0):
        for k in range(1, len(stops)):
            touched = _nearest_on_the_way(
                grid, points[k - 1 : k + 2], stops[k - 1], radius
            )
            if touched is None:
                return math.inf
            points[k] = touched
    return sum(_leg(grid, here, there) for here, there in pairwise(points))


def _nearest_on_the_way(
    grid: FreeGrid, points: Floats, stop: Floats, radius: float
) -> Floats | None:
    """The cell within `radius` of `stop` over which the way between two points is shortest.

    `points` (3, 2) are the point before, the one to be replaced, and the one after.
    """
    ways = distance_field(grid, points[0]) + distance_field(grid, points[2])
    x = grid.x0 + (np.arange(grid.nx) + 0.5) * grid.resolution
    y = grid.y0 + (np.arange(grid.ny)[:, None] + 0.5) * grid.resolution
    ways = np.where(np.hypot(x - stop[0], y - stop[1]) <= radius, ways, np.inf)
    row, column = np.unravel_index(int(np.argmin(ways)), ways.shape)
    if not np.isfinite(ways[row, column]):
        return None
    return np.array([x[column], y[row, 0]])


def _leg(grid: FreeGrid, here: Floats, there: Floats) -> float:
    """Length of the taut way between two points, [m], or inf."""
    path = shortest_path(grid, distance_field(grid, there), here, there)
    if len(path) == 0:
        return math.inf
    return float(np.hypot(*np.diff(path, axis=0).T).sum())
