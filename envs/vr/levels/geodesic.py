"""Walking distances in a level: cell sizes, and lengths of shortest paths.

For goals, rewards, critics, pictures and checks; worlds never read it.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from ambulo.configs.arrays import Floats
from ambulo.envs.vr.levels.layer_field_kernels import SAME_FLOOR
from ambulo.envs.vr.levels.layers import LayeredGrid
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.levels.scene_level import grid_of

RESOLUTION = 0.25
"""Cell size of distance fields in training, [m]."""
EVALUATION_RESOLUTION = 0.125
"""Cell size of distance fields in evaluation, [m]."""
FINE_RESOLUTION = 0.1
"""Cell size for lengths in reports and for levels with narrow doors, [m]."""

MAX_CELLS, MAX_FLAT_CELLS = 4e6, 2e7
"""Largest number of cells of a grid in use; larger floors have cells of `RESOLUTION`. Flat
levels have one layer of cells."""
_SWEEPS = 2
"""Passes of moving the turning points of a path; more shorten it by millimetres."""


def path_length(
    level: Level,
    start: ArrayLike,
    goal: ArrayLike,
    resolution: float = FINE_RESOLUTION,
) -> float:
    """Length of the shortest path for the body from `start` to `goal`, [m], or inf.

    Both are (2,) or (3,); lengths are horizontal.
    """
    grid = LayeredGrid.of(level, resolution)
    return length_of(grid.path(grid.field(goal), start, goal))


def length_of(path: Floats) -> float:
    """Horizontal length of a path (n, 3), [m]; inf for an empty one."""
    if len(path) == 0:
        return math.inf
    return float(np.hypot(*np.diff(path[:, :2], axis=0).T).sum())


def field_resolution(level: Level) -> float:
    """The coarsest cell size at which the designed goal is reachable, [m]; 0: none.

    `RESOLUTION` when start or goal is not designed.
    """
    start, goal = level.start_place, level.goal_place
    if start is None or goal is None:
        return RESOLUTION
    for resolution in (RESOLUTION, FINE_RESOLUTION):
        if not has_few_cells(level, resolution):
            break
        grid = LayeredGrid.of(level, resolution)
        if grid.reaches(grid.field(goal), start):
            return resolution
    return 0.0


def played_resolution(level: Level, resolution: float) -> float:
    """`resolution` if its grid has at most `MAX_CELLS`, else `RESOLUTION`, [m]."""
    return resolution if has_few_cells(level, resolution) else RESOLUTION


def has_few_cells(level: Level, resolution: float) -> bool:
    """Whether `level` has at most `MAX_CELLS` cells of `resolution`, [m]."""
    area = float(np.prod(level.bounds[2:] - level.bounds[:2]))
    return area <= (MAX_CELLS if level.heights else MAX_FLAT_CELLS) * resolution**2


def tour_length(level: Level, start: Floats, stops: Floats, radius: float) -> float:
    """Length of the shortest path for the body from `start` past all `stops`, [m], or inf.

    Args:
        level: The level.
        start: Start, shape (3,), [m]; in a flat level also (2,).
        stops: Goals in order, shape (k, 3), [m]; in a flat level also (k, 2).
        radius: Distance within which the path passes each stop but the last, in a straight
            line, [m]; it ends at the last one.
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
    """The cell within `radius` of `stop` that makes the path between two points shortest.

    `points` (3, 3) are the previous point, the one to replace, and the next one.
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
    """Length of the shortest path between two points, [m], or inf."""
    return length_of(grid.path(grid.field(there), here, there))
