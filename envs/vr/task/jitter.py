"""Starts a little beside the designed ones, so that equal episodes differ."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.arrays import Floats

if TYPE_CHECKING:
    from ambulo.envs.vr.levels.layers import LayeredGrid

_TRIES = 30
_LEVEL = 0.01
"""Height difference within which floors count as one, [m]."""


def jittered(
    pose: Floats,
    height: float,
    grid: LayeredGrid,
    field: NDArray[np.float32],
    rng: np.random.Generator,
    jitter: tuple[float, float],
) -> Floats:
    """`pose` moved at random to where the body fits and has a path to its goal.

    Without such a position it is only rotated.

    Args:
        pose: Start x, y [m], yaw [rad], shape (3,).
        height: Height of the floor there, [m], which is kept.
        grid: Cells of the level.
        field: Walking distance to the goal from each cell, flat, [m].
        rng: Random generator.
        jitter: Largest distance [m] and rotation [deg]; zeros draw nothing.
    """
    reach, angle = jitter
    if reach == angle == 0.0:
        return pose
    moved = pose.copy()
    moved[2] += math.radians(rng.uniform(-angle, angle))
    free = np.isfinite(field).reshape(-1, grid.ny, grid.nx)
    free &= np.abs(grid.height - height) < _LEVEL
    for _ in range(_TRIES):
        away = reach * math.sqrt(rng.random())
        way = rng.uniform(0.0, 2.0 * math.pi)
        xy = pose[:2] + away * np.array([math.cos(way), math.sin(way)])
        if _has_room(grid, free, xy):
            moved[:2] = xy
            break
    return moved


def _has_room(grid: LayeredGrid, free: NDArray[np.bool_], xy: Floats) -> bool:
    """Whether the four cells around `xy` (2,) are `free` (layers, ny, nx).

    Their centres keep `CLEARANCE`; between four of them at most 0.25 m apart, the body fits.
    """
    column = math.floor((xy[0] - grid.x0) / grid.resolution - 0.5)
    row = math.floor((xy[1] - grid.y0) / grid.resolution - 0.5)
    if not (0 <= column < grid.nx - 1 and 0 <= row < grid.ny - 1):
        return False
    four = free[:, row : row + 2, column : column + 2]
    return bool(four.all(axis=(1, 2)).any())
