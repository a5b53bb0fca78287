"""Walking-distance fields of many levels in one flat buffer, read by compiled code.

Each slot holds the fields of its goals one behind the other, as large as its own grid, so a
large level among small ones costs its own size only. In front of those of a level with heights
are the heights of its cells.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ambulo.configs.arrays import Floats, Ints
from ambulo.envs.vr.levels.geodesic import Grid, field_direction, field_distance
from ambulo.envs.vr.levels.layer_way_kernels import (
    layer_direction,
    layer_distance,
    layer_floor,
)
from ambulo.envs.vr.levels.layers import LayeredGrid

Field = NDArray[np.float32]


class DistanceFields:
    """`goals` fields of each of `slots` grids."""

    def __init__(self, slots: int, goals: int) -> None:
        """No grids yet."""
        self.goals = goals
        self._data = np.zeros(0, np.float32)
        self._used = 0
        self._largest = 0
        self._room = np.zeros(slots, np.int64)
        self._offset = np.zeros(slots, np.int64)
        self._meta = np.zeros((slots, 6))

    def hold(self, slot: int, grid: Grid) -> None:
        """Make room for the fields of `grid` in `slot`; they are unreachable (inf) first."""
        layers = len(grid.free) if isinstance(grid, LayeredGrid) else 0
        cells = grid.free.size
        size = cells * (self.goals + (layers > 0))
        if size > self._room[slot]:
            # A slot that moves takes the largest room so far, so that it moves seldom.
            room = max(size, self._largest) if self._room[slot] else size
            self._offset[slot], self._room[slot] = self._used, room
            self._used += room
            self._largest = max(self._largest, room)
            if self._used > len(self._data):
                grown = np.empty(max(self._used, len(self._data) * 5 // 4), np.float32)
                grown[: len(self._data)] = self._data
                self._data = grown
        self._meta[slot] = (
            grid.nx, grid.ny, grid.x0, grid.y0, grid.resolution, layers,
        )  # fmt: skip
        if isinstance(grid, LayeredGrid):
            at = int(self._offset[slot])
            self._data[at : at + cells] = grid.height.ravel()
        for goal in range(self.goals):
            self.view(slot, goal)[:] = np.inf

    def view(self, slot: int, goal: int) -> Field:
        """The field of one goal, flat, shape (cells,), writable, [m]."""
        nx, ny, *_, layers = self._meta[slot]
        cells = int(nx * ny * max(layers, 1))
        at = int(self._offset[slot]) + (goal + (layers > 0)) * cells
        return self._data[at : at + cells]

    def distance(self, slots: Ints, goals: Ints, position: Floats) -> Floats:
        """Walking distance from `position` (n, 3) to the goals, shape (n,), [m].

        On flat levels `position` may lack its height, shape (n, 2).
        """
        return _distances(slots, goals, position, self._data, self._offset, self._meta)

    def direction(self, slots: Ints, goals: Ints, position: Floats) -> Floats:
        """Unit vectors of the shortest path at `position`, shape (n, 2), world frame."""
        return _directions(slots, goals, position, self._data, self._offset, self._meta)

    def floor(self, slots: Ints, goals: Ints, position: Floats) -> Floats:
        """Heights of the floors at `position` (n, 3) with a way to the goals, (n,), [m].

        Those of `position` where there is none, and on flat levels.
        """
        return _floors(slots, goals, position, self._data, self._offset, self._meta)


@njit(cache=True)
def _row(data, offset, meta, slot, plane):
    cells = int(meta[slot, 0] * meta[slot, 1] * max(meta[slot, 5], 1.0))
    at = offset[slot] + plane * cells
    return data[at : at + cells]


@njit(cache=True)
def _layers(data, offset, meta, slot, plane):
    m = meta[slot]
    return _row(data, offset, meta, slot, plane).reshape(
        int(m[5]), int(m[1]), int(m[0])
    )


@njit(cache=True)
def _distances(slots, goals, position, data, offset, meta):
    out = np.empty(slots.shape[0])
    for i in range(slots.shape[0]):
        m = meta[slots[i]]
        x, y = position[i, 0], position[i, 1]
        if m[5] > 0.0:
            height = _layers(data, offset, meta, slots[i], 0)
            field = _layers(data, offset, meta, slots[i], goals[i] + 1)
            z = position[i, 2] if position.shape[1] > 2 else 0.0
            out[i] = layer_distance(field, height, m[2], m[3], m[4], x, y, z)
        else:
            row = _row(data, offset, meta, slots[i], goals[i])
            out[i] = field_distance(row, int(m[0]), int(m[1]), m[2], m[3], m[4], x, y)
    return out


@njit(cache=True)
def _directions(slots, goals, position, data, offset, meta):
    out = np.empty((slots.shape[0], 2))
    for i in range(slots.shape[0]):
        m = meta[slots[i]]
        x, y = position[i, 0], position[i, 1]
        if m[5] > 0.0:
            height = _layers(data, offset, meta, slots[i], 0)
            field = _layers(data, offset, meta, slots[i], goals[i] + 1)
            z = position[i, 2] if position.shape[1] > 2 else 0.0
            dx, dy = layer_direction(field, height, m[2], m[3], m[4], x, y, z)
        else:
            row = _row(data, offset, meta, slots[i], goals[i])
            nx, ny = int(m[0]), int(m[1])
            dx, dy = field_direction(row, nx, ny, m[2], m[3], m[4], x, y)
        out[i, 0], out[i, 1] = dx, dy
    return out


@njit(cache=True)
def _floors(slots, goals, position, data, offset, meta):
    out = position[:, 2].copy()
    for i in range(slots.shape[0]):
        m = meta[slots[i]]
        if m[5] > 0.0:
            height = _layers(data, offset, meta, slots[i], 0)
            field = _layers(data, offset, meta, slots[i], goals[i] + 1)
            x, y, z = position[i, 0], position[i, 1], position[i, 2]
            out[i] = layer_floor(field, height, m[2], m[3], m[4], x, y, z)
    return out
