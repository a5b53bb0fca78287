"""A level whose floor alone is known: a scene of a game engine."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ambulo.envs.vr.contract import CLIMB_HEIGHT
from ambulo.envs.vr.levels.layer_kernels import NEIGHBOURS
from ambulo.envs.vr.levels.layers import CLEARANCE, LayeredGrid
from ambulo.envs.vr.levels.level import Level

_STEEP = 1.1
"""Largest rise between sloping cells over their distance: 45 degrees with a margin."""
_EVEN = 1e-3
"""Rounding of heights, [m]."""


@dataclass(frozen=True, eq=False)
class SceneLevel(Level):
    """A scene of a game: its shapes are the engine's, its walkable cells are here."""

    grid: LayeredGrid | None = None
    """Cells in which the engine finds that the body fits, with `CLEARANCE`."""

    def cells(self, clearance: float = CLEARANCE) -> LayeredGrid:
        """The cells that keep `clearance` [m], at the grid's resolution."""
        assert self.grid is not None
        return self.grid.narrowed(clearance - CLEARANCE)


def grid_of(
    level: Level, resolution: float, clearance: float = CLEARANCE
) -> LayeredGrid:
    """The cells of `level` that keep `clearance` [m]; a scene has one resolution only."""
    if isinstance(level, SceneLevel):
        return level.cells(clearance)
    return LayeredGrid.of(level, resolution, clearance)


def joined(
    height: NDArray[np.float32],
    free: NDArray[np.bool_],
    slopes: NDArray[np.bool_],
    resolution: float,
) -> NDArray[np.int8]:
    """Layer on which each free cell's neighbours are reached: the highest within a climb.

    Args:
        height: Heights of the floors, NaN: none, shape (layers, ny, nx), [m].
        free: Mask of cells where the body fits, shape (layers, ny, nx).
        slopes: Mask of sloping floors, shape (layers, ny, nx).
        resolution: Cell size, [m].

    Returns:
        Layers, -1: none, shape (layers, ny, nx, 8).
    """
    layers, ny, nx = free.shape
    links = np.full((layers, ny, nx, 8), -1, np.int8)
    for d, (dx, dy) in enumerate(NEIGHBOURS):
        here, there = _overlap(ny, nx, dx, dy)
        steep = max(CLIMB_HEIGHT, _STEEP * resolution * float(np.hypot(dx, dy)))
        for layer in range(layers):
            best = np.full(free[layer][here].shape, -np.inf)
            for to in range(layers):
                rise = np.abs(height[layer][here] - height[to][there])
                both = slopes[layer][here] & slopes[to][there]
                limit = np.where(both, steep, CLIMB_HEIGHT) + _EVEN
                better = free[layer][here] & free[to][there] & (rise <= limit)
                better &= height[to][there] > best
                best[better] = height[to][there][better]
                links[layer, :, :, d][here][better] = to
    return links


def _overlap(
    ny: int, nx: int, dx: int, dy: int
) -> tuple[tuple[slice, slice], tuple[slice, slice]]:
    """The cells with a neighbour at (dx, dy), and those neighbours."""
    here = (slice(max(-dy, 0), ny - max(dy, 0)), slice(max(-dx, 0), nx - max(dx, 0)))
    there = (slice(max(dy, 0), ny - max(-dy, 0)), slice(max(dx, 0), nx - max(-dx, 0)))
    return here, there
