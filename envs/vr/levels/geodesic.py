"""Walking distances in a level: cell sizes, and lengths of shortest paths.

For goals, rewards, critics, pictures and checks; worlds never read it.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from ambulo.configs.arrays import Floats
from ambulo.envs.vr.levels.layers import LayeredGrid
from ambulo.envs.vr.levels.level import Level

RESOLUTION = 0.25
"""Cell size of distance fields in training, [m]."""
EVALUATION_RESOLUTION = 0.125
"""Cell size of distance fields in evaluation, [m]."""
FINE_RESOLUTION = 0.1
"""Cell size for lengths in reports and for levels with narrow doors, [m]."""

MAX_CELLS = 4e6
"""Most cells of a grid that is played on; larger floors have cells of `RESOLUTION`."""


def path_length(
    level: Level,
    start: ArrayLike,
    goal: ArrayLike,
    resolution: float = FINE_RESOLUTION,
) -> float:
    """Length of the shortest path for the body from `start` to `goal`, [m], or inf.

    Both are (2,) or (3,); lengths are those of the way seen from above.
    """
    grid = LayeredGrid.of(level, resolution)
    return length_of(grid.path(grid.field(goal), start, goal))


def length_of(path: Floats) -> float:
    """Length of a path (n, 3) seen from above, [m]; inf for an empty one."""
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
    """`resolution` where a grid of it has at most `MAX_CELLS`, else `RESOLUTION`, [m]."""
    return resolution if has_few_cells(level, resolution) else RESOLUTION


def has_few_cells(level: Level, resolution: float) -> bool:
    """Whether `level` has at most `MAX_CELLS` cells of a size, [m]."""
    area = float(np.prod(level.bounds[2:] - level.bounds[:2]))
    return area <= MAX_CELLS * resolution**2
