"""Walking-distance fields of many levels in one flat buffer, read by compiled code.

Each slot holds the fields of its goals one behind the other, as large as its own grid, so a
large level among small ones costs its own size only.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ambulo.configs.arrays import Floats, Ints
from ambulo.envs.vr.levels.geodesic import FreeGrid, field_direction, field_distance

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
        self._meta = np.zeros((slots, 5))

    def hold(self, slot: int, grid: FreeGrid) -> None:
        """Make room for the fields of `grid` in `slot`; they are unreachable (inf) first."""
        cells = grid.nx * grid.ny
        if cells > self._room[slot]:
            # A slot that moves takes the largest room so far, so that it moves seldom.
            room = max(cells, self._largest) if self._room[slot] else cells
            self._offset[slot], self._room[slot] = self._used, room
            self._used += self.goals * room
            self._largest = max(self._largest, room)
            if self._used > len(self._data):
                grown = np.empty(max(self._used, len(self._data) * 5 // 4), np.float32)
                grown[: len(self._data)] = self._data
                self._data = grown
        self._meta[slot] = grid.nx, grid.ny, grid.x0, grid.y0, grid.resolution
        for goal in range(self.goals):
            self.view(slot, goal)[:] = np.inf

    def view(self, slot: int, goal: int) -> Field:
        """The field of one goal, flat, shape (nx * ny,), writable, [m]."""
        cells = int(self._meta[slot, 0] * self._meta[slot, 1])
        at = int(self._offset[slot]) + goal * cells
        return self._data[at : at + cells]

    def distance(self, slots: Ints, goals: Ints, position: Floats) -> Floats:
        """Walking distance from `position` (n, >= 2) to the goals, shape (n,), [m]."""
        return _distances(slots, goals, position, self._data, self._offset, self._meta)

    def direction(self, slots: Ints, goals: Ints, position: Floats) -> Floats:
        """Unit vectors of the shortest path at `position`, shape (n, 2), world frame."""
        return _directions(slots, goals, position, self._data, self._offset, self._meta)


@njit(cache=True)
def _row(data, offset, meta, slot, goal):
    cells = int(meta[slot, 0] * meta[slot, 1])
    at = offset[slot] + goal * cells
    return data[at : at + cells]


@njit(cache=True)
def _distances(slots, goals, position, data, offset, meta):
    out = np.empty(slots.shape[0])
    for i in range(slots.shape[0]):
        m = meta[slots[i]]
        row = _row(data, offset, meta, slots[i], goals[i])
        out[i] = field_distance(
            row, int(m[0]), int(m[1]), m[2], m[3], m[4], position[i, 0], position[i, 1]
        )
    return out


@njit(cache=True)
def _directions(slots, goals, position, data, offset, meta):
    out = np.empty((slots.shape[0], 2))
    for i in range(slots.shape[0]):
        m = meta[slots[i]]
        row = _row(data, offset, meta, slots[i], goals[i])
        out[i] = field_direction(
            row, int(m[0]), int(m[1]), m[2], m[3], m[4], position[i, 0], position[i, 1]
        )
    return out
