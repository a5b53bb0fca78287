"""The shapes of many levels in flat arrays, for compiled code."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ambulo.envs.vr.contract import BODY_HEIGHT
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.levels.solids import Solids

_NOTHING = Solids(
    np.zeros((0, 8)), np.zeros((0, 5)), np.zeros((0, 15)),
    np.array([0.0, 0.0, 1.0, 1.0, 1.0]), np.zeros(2, np.int64), np.zeros(0, np.int32),
)  # fmt: skip


class PackedSolids:
    """The shapes of each slot's level."""

    def __init__(self, *, as_drawn: bool = False) -> None:
        """Create it without slots; `as_drawn` as of `Solids.of`."""
        self._as_drawn = as_drawn
        self._slots: list[Solids] = []
        self._arrays: dict[float, tuple[NDArray[np.generic], ...]] = {}

    def set(self, slots: Sequence[int], levels: Sequence[Level]) -> None:
        """Put the shapes of `levels[i]` into slot `slots[i]`."""
        for slot, level in zip(slots, levels, strict=True):
            self._slots += [_NOTHING] * (slot + 1 - len(self._slots))
            self._slots[slot] = Solids.of(level, as_drawn=self._as_drawn)
        self._arrays.clear()

    def arrays(self, tall: float = BODY_HEIGHT) -> tuple[NDArray[np.generic], ...]:
        """prisms, cylinders, triangles, grids, first, items, offsets of each slot (S + 1, 5).

        They are for bodies of height `tall`, [m], the last number of each grid.
        """
        if tall not in self._arrays:
            parts = [
                (s.prisms, s.cylinders, s.triangles, s.first, s.items)
                for s in self._slots
            ]
            offsets = np.zeros((len(parts) + 1, 5), np.int64)
            np.cumsum([[len(a) for a in part] for part in parts], 0, out=offsets[1:])
            prisms, cylinders, triangles, first, items = (
                np.concatenate(kind) for kind in zip(*parts, strict=True)
            )
            grids = np.array([np.append(s.grid, tall) for s in self._slots])
            packed = prisms, cylinders, triangles, grids, first, items, offsets
            self._arrays[tall] = packed
        return self._arrays[tall]


@njit(cache=True)
def solids_of(pack, s):  # type: ignore[no-untyped-def]
    """The shapes of slot `s`: views into the arrays of `pack`."""
    prisms, cylinders, triangles, grid, first, items, offsets = pack
    o = offsets[s]
    p = offsets[s + 1]
    return (
        prisms[o[0] : p[0]], cylinders[o[1] : p[1]], triangles[o[2] : p[2]], grid[s],
        first[o[3] : p[3]], items[o[4] : p[4]],
    )  # fmt: skip
