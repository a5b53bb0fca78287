"""Cells of levels with heights as a graph: connected parts, and the floor around them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.arrays import Floats, Ints
from ambulo.envs.vr.levels.layer_kernels import NEIGHBOURS
from ambulo.envs.vr.levels.layers import LayeredGrid

SAME = 0.02
"""Heights nearer than this are one floor, [m]."""
_STEEP = 3.0
"""Largest difference of heights of a place and its cell, by the cell's size: of steps."""


@dataclass(frozen=True, eq=False)
class Nodes:
    """The free cells of a `LayeredGrid`, one behind the other."""

    grid: LayeredGrid
    """Grid of the nodes."""
    layer: Ints
    """Shape (n,)."""
    row: Ints
    """Shape (n,)."""
    column: Ints
    """Shape (n,)."""
    z: Floats
    """Height of the floor, shape (n,), [m]."""
    neighbour: NDArray[np.int32]
    """The nodes reached in the eight directions of `NEIGHBOURS`, n: none. Shape (n, 8)."""

    @classmethod
    def of(cls, grid: LayeredGrid) -> Nodes:
        """The free cells of `grid`."""
        layer, row, column = np.nonzero(grid.free)
        count = len(layer)
        number = np.full(grid.free.shape, count, np.int32)
        number[layer, row, column] = np.arange(count, dtype=np.int32)
        to = grid.links[layer, row, column]
        found = np.full((count, 8), count, np.int32)
        for d, (dx, dy) in enumerate(NEIGHBOURS):
            some = np.flatnonzero(to[:, d] >= 0)
            found[some, d] = number[to[some, d], row[some] + dy, column[some] + dx]
        z = grid.height[layer, row, column].astype(np.float64)
        return cls(grid, layer, row, column, z, found)

    def __len__(self) -> int:
        """How many."""
        return len(self.z)

    @property
    def flat(self) -> Ints:
        """Flat index of the column of each node, shape (n,)."""
        return self.row * self.grid.nx + self.column

    def points(self) -> Floats:
        """Centres, shape (n, 3), [m]."""
        grid = self.grid
        x = grid.x0 + (self.column + 0.5) * grid.resolution
        y = grid.y0 + (self.row + 0.5) * grid.resolution
        return np.column_stack([x, y, self.z])

    def parts(self) -> Ints:
        """Number of the connected part of each node, from 1 on, shape (n,)."""
        return self.grid.parts()[self.layer, self.row, self.column]

    def matching(self, other: Nodes) -> Ints:
        """The node of `other`, on the same columns, at the place of each node; -1: none."""
        found = np.full(len(self), -1, np.int64)
        number = np.full(other.grid.free.shape, -1, np.int64)
        number[other.layer, other.row, other.column] = np.arange(len(other))
        for layer in range(len(number)):
            at = number[layer, self.row, self.column]
            near = (at >= 0) & (np.abs(other.z[at] - self.z) <= SAME)
            found[near] = at[near]
        return found

    def spread(self, owner: Ints, steps: int) -> Ints:
        """`owner` (n,), also of the nodes within about `steps` cells of the owned ones."""
        spread = np.append(owner, 0)
        for step in range(steps):
            directions = range(8) if step % 2 else range(0, 8, 2)
            left = np.flatnonzero(spread[:-1] == 0)
            taken = np.zeros(len(left), owner.dtype)
            for d in directions:
                taken = np.maximum(taken, spread[self.neighbour[left, d]])
            spread[left] = taken
        return spread[:-1]


def parts_at(grid: LayeredGrid, parts: Ints, points: Floats) -> Ints:
    """The connected part of `grid` at each of `points` (n, 3), 0: none, shape (n,).

    `parts` are those of `LayeredGrid.parts`.
    """
    at = ((points[:, :2] - [grid.x0, grid.y0]) / grid.resolution).astype(np.int64)
    rows, columns = np.minimum(at[:, 1], grid.ny - 1), np.minimum(at[:, 0], grid.nx - 1)
    found = np.zeros(len(points), np.int64)
    best = np.full(len(points), _STEEP * grid.resolution)
    for height, numbers in zip(grid.height, parts, strict=True):
        away = np.abs(height[rows, columns] - points[:, 2])
        nearer = (numbers[rows, columns] > 0) & (away < best)
        found[nearer] = numbers[rows, columns][nearer]
        best[nearer] = away[nearer]
    return found
