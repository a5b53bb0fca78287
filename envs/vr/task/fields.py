"""Walking-distance fields of many levels in one flat buffer for compiled code.

Each slot holds the heights of its cells and then the fields of its goals, on its own grid, so
that a large level among small ones costs only its own size.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ambulo.configs.arrays import Floats, Ints
from ambulo.envs.vr.levels.layer_field_kernels import (
    layer_direction,
    layer_distance,
    layer_floor,
)
from ambulo.envs.vr.levels.layers import LayeredGrid

Field = NDArray[np.float32]

_DISTANCE, _DIRECTION, _FLOOR = range(3)
"""Quantities that can be looked up."""


class DistanceFields:
    """`goals` fields of each of `slots` grids."""

    def __init__(self, slots: int, goals: int) -> None:
        """Create it without grids."""
        self.goals = goals
        self._data = np.zeros(0, np.float32)
        self._used = 0
        self._largest = 0
        self._room = np.zeros(slots, np.int64)
        self._offset = np.zeros(slots, np.int64)
        self._meta = np.zeros((slots, 6))

    def allocate(self, slot: int, grid: LayeredGrid) -> None:
        """Allocate the fields of `grid` in `slot`, unreachable (inf) at first."""
        cells = grid.free.size
        size = cells * (self.goals + 1)
        if size > self._room[slot]:
            # A moved slot gets the largest size so far, so that it rarely moves.
            room = max(size, self._largest) if self._room[slot] else size
            self._offset[slot], self._room[slot] = self._used, room
            self._used += room
            self._largest = max(self._largest, room)
            if self._used > len(self._data):
                grown = np.empty(max(self._used, len(self._data) * 5 // 4), np.float32)
                grown[: len(self._data)] = self._data
                self._data = grown
        self._meta[slot] = (
            grid.nx, grid.ny, grid.x0, grid.y0, grid.resolution, len(grid.free),
        )  # fmt: skip
        at = int(self._offset[slot])
        self._data[at : at + cells] = grid.height.ravel()
        for goal in range(self.goals):
            self.view(slot, goal)[:] = np.inf

    def view(self, slot: int, goal: int) -> Field:
        """The field of one goal, flat, shape (cells,), writable, [m]."""
        nx, ny, *_, layers = self._meta[slot]
        cells = int(nx * ny * layers)
        at = int(self._offset[slot]) + (goal + 1) * cells
        return self._data[at : at + cells]

    def distance(self, slots: Ints, goals: Ints, position: Floats) -> Floats:
        """Walking distance from `position` (n, 3) to the goals, shape (n,), [m]."""
        return self._at(slots, goals, position, _DISTANCE)[:, 0]

    def direction(self, slots: Ints, goals: Ints, position: Floats) -> Floats:
        """Unit vectors of the shortest path at `position`, shape (n, 2), world frame."""
        return self._at(slots, goals, position, _DIRECTION)

    def floor(self, slots: Ints, goals: Ints, position: Floats) -> Floats:
        """Heights of the floors at `position` (n, 3) with a path to the goals, (n,), [m].

        The height of `position` where there is none.
        """
        return self._at(slots, goals, position, _FLOOR)[:, 0]

    def _at(self, slots: Ints, goals: Ints, position: Floats, what: int) -> Floats:
        """Values of the fields at `position` (n, 3), one or two columns, shape (n, 2)."""
        found = np.empty((len(slots), 2))
        places = slots, goals, position
        _look_up(*places, self._data, self._offset, self._meta, what, found)
        return found


@njit(cache=True)
def _plane(data, offset, meta, slot, plane):
    """Heights (plane 0) or a field of a slot, shape (layers, ny, nx)."""
    m = meta[slot]
    cells = int(m[0] * m[1] * m[5])
    at = offset[slot] + plane * cells
    return data[at : at + cells].reshape(int(m[5]), int(m[1]), int(m[0]))


@njit(cache=True)
def _look_up(slots, goals, position, data, offset, meta, what, found):
    """Write distances, directions or floors at `position` (n, 3) to `found` (n, 2)."""
    for i in range(slots.shape[0]):
        m = meta[slots[i]]
        height = _plane(data, offset, meta, slots[i], 0)
        field = _plane(data, offset, meta, slots[i], goals[i] + 1)
        x, y, z = position[i]
        if what == _DISTANCE:
            found[i, 0] = layer_distance(field, height, m[2], m[3], m[4], x, y, z)
        elif what == _DIRECTION:
            found[i, 0], found[i, 1] = layer_direction(
                field, height, m[2], m[3], m[4], x, y, z
            )
        else:
            found[i, 0] = layer_floor(field, height, m[2], m[3], m[4], x, y, z)
