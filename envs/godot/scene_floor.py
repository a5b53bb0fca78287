"""The walkable floor of a Godot scene, from the floors that the engine has found."""

from __future__ import annotations

import itertools
import math

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.arrays import Floats, Ints
from ambulo.envs.vr.contract import CLIMB_HEIGHT
from ambulo.envs.vr.levels.layers import CLEARANCE, LayeredGrid
from ambulo.envs.vr.levels.scene_level import joined

CELL = 0.1
"""Usual cell size, [m]."""
MOST_COLUMNS = 300_000
"""Wider scenes get larger cells."""
LARGEST_CELL = 0.25
"""Cell size beyond which doors are lost, [m]."""
ANCHOR_REACH = 0.75
"""A start, goal or point of a navigation mesh stands for floor this near, [m]."""
_MIN_CELLS = 12


def cell_size(width: float, depth: float) -> float:
    """Cell size for a scene of that size, [m]; more than `LARGEST_CELL`: it is too large."""
    return max(CELL, math.sqrt(width * depth / MOST_COLUMNS))


def floor_grid(
    rows: Floats, x0: float, y0: float, nx: int, ny: int, resolution: float
) -> LayeredGrid:
    """Cells on which the body fits and keeps away from edges.

    Args:
        rows: column, row, height [m], whether the body fits, whether the floor slopes, of
            all floors of the columns, shape (n, 5).
        x0: lower x of the grid, [m].
        y0: lower y of the grid, [m].
        nx: columns.
        ny: rows.
        resolution: cell size, [m].
    """
    rows = rows[np.lexsort((rows[:, 2], rows[:, 0], rows[:, 1]))]
    i, j = rows[:, 0].astype(np.int64), rows[:, 1].astype(np.int64)
    layer = _layers(j * nx + i)
    count = int(layer.max(initial=0)) + 1
    height = np.full((count, ny, nx), np.nan, np.float32)
    height[layer, j, i] = rows[:, 2]
    free = np.zeros((count, ny, nx), np.bool_)
    free[layer, j, i] = rows[:, 3] > 0
    slopes = np.zeros((count, ny, nx), np.bool_)
    slopes[layer, j, i] = rows[:, 4] > 0
    free &= _keeps_from_edges(height, resolution)
    links = joined(height, free, slopes, resolution)
    return LayeredGrid(x0, y0, resolution, height, free, links)


def anchored(grid: LayeredGrid, anchors: Floats) -> LayeredGrid:
    """The cells that walks from `anchors` (n, 3) lead to; without any, the largest floor."""
    labels = grid.parts()
    cells = [grid.nearest(point, ANCHOR_REACH) for point in anchors]
    kept = {int(labels.ravel()[cell]) for cell in cells if cell is not None}
    if not len(anchors):
        sizes = np.bincount(labels[grid.free])
        kept = {int(np.argmax(sizes))} if sizes.max(initial=0) >= _MIN_CELLS else set()
    return grid.restricted(grid.free & np.isin(labels, list(kept)))


def _layers(columns: Ints) -> Ints:
    """Number of each floor in its column, from below; `columns` (n,) are sorted."""
    starts = np.flatnonzero(np.diff(columns, prepend=-1))
    return np.arange(len(columns)) - np.repeat(
        starts, np.diff(starts, append=len(columns))
    )


def _keeps_from_edges(
    height: NDArray[np.float32], resolution: float
) -> NDArray[np.bool_]:
    """Whether there is floor within `CLEARANCE`, two climbs up or down, around each cell."""
    reach = int(CLEARANCE / resolution + 0.5)
    _, ny, nx = height.shape
    padded = np.pad(
        height, ((0, 0), (reach, reach), (reach, reach)), constant_values=np.nan
    )
    keeps = ~np.isnan(height)
    span = range(-reach, reach + 1)
    for dy, dx in itertools.product(span, span):
        if math.hypot(dx, dy) * resolution > CLEARANCE + 0.5 * resolution:
            continue
        beside = padded[:, reach + dy : reach + dy + ny, reach + dx : reach + dx + nx]
        found = np.zeros_like(keeps)
        for other in beside:
            found |= np.abs(height - other) <= 2.0 * CLIMB_HEIGHT
        keeps &= found
    return keeps
