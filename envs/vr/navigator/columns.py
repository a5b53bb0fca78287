"""Entries of a partial map: floors and obstacles by column and height, compiled.

A map is a grid of columns that wraps around, each with a few entries: a window around the body,
outside of which everything is forgotten. Heights are whole multiples of `UNIT`, so that they
take two bytes and compare as integers.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ambulo.configs.arrays import Floats, Ints

SIDE = 256
"""Columns along a side; a power of two."""
PER_METRE = 4
"""Columns per metre."""
LEVELS = 3
"""Entries of a column."""
UNIT = 1.0 / 256.0
"""Step of the heights, [m]."""
FREE, SLOPE, HIT, DROP, BUMP = 1, 2, 4, 8, 16
"""Bits of an entry: a ray has passed (the height is measured); it rose or fell there; it ended
at a wall; it ended at an edge; the body was stuck here."""
TIGHT, NEAR, WALL = 32, 64, 128
"""Bits of an entry: so near to a hit that no body fits; so near that it just fits; a wall may
continue here."""
SEEN, LOOKED = 256, 512
"""Bits of an entry: between two rays that have passed; an explored frontier."""
CLOSED = HIT | DROP | BUMP
UNKNOWN, VOID = -1, -2
"""Results of `find`: unknown; blocked, too near above or below a known floor to be one."""
HIGHEST = 32767
"""Largest height, [UNIT]."""
_NOWHERE = np.array([1, 1, -1, -1]) << 40
"""`known` of an empty map."""


def units(metres: float) -> int:
    """Convert a height [m] to steps of `UNIT`, for constants."""
    return round(metres / UNIT)


STEP = units(0.5)
"""Largest height difference of joined floors of neighbouring columns, [UNIT]."""
SAME = units(0.8)
"""Height above a floor within which obstacles stand on it, [UNIT]."""
HEADROOM = units(1.7)
"""Smallest height between floors of one column, [UNIT]."""
_TIGHT_GAP, _NEAR_GAP = 0.27, 0.47
_BESIDE = 2
"""Radius of columns around a hit that may be `TIGHT` or `NEAR`."""
_WALLS = 6
"""Radius of columns around a hit that are marked `WALL`."""


class Columns(NamedTuple):
    """A map of one env, or of N with a leading axis."""

    heights: NDArray[np.int16]
    """Heights of the entries, shape (SIDE, SIDE, LEVELS), [UNIT]."""
    bits: NDArray[np.uint16]
    """Bits of the entries, 0: unknown; shape (SIDE, SIDE, LEVELS)."""
    known: Ints
    """Bounds of the known cells: smallest x and y, largest x and y, not wrapped, shape (4,)."""

    @classmethod
    def empty(cls, num_envs: int) -> Columns:
        """Maps of `num_envs` envs without entries."""
        shape = (num_envs, SIDE, SIDE, LEVELS)
        columns = cls(
            np.zeros(shape, np.int16), np.zeros(shape, np.uint16),
            np.zeros((num_envs, 4), np.int64),
        )  # fmt: skip
        columns.forget(np.arange(num_envs))
        return columns

    def forget(self, envs: Ints) -> None:
        """Clear the maps of `envs` (k,)."""
        self.bits[envs] = 0
        self.known[envs] = _NOWHERE


@njit(cache=True)
def map_of(columns, i):
    """The map of env `i` (views)."""
    return Columns(columns.heights[i], columns.bits[i], columns.known[i])


@njit(cache=True)
def cell(v: Any) -> Any:
    """Index of the cell of a coordinate [m], not yet wrapped."""
    return math.floor(v * PER_METRE)


@njit(cache=True)
def centre(i: Any) -> Any:
    """Coordinate of the middle of cell `i`, [m]."""
    return (i + 0.5) / PER_METRE


@njit(cache=True)
def in_units(z: Any) -> Any:
    """A height [m] in steps of `UNIT`, clipped to the range of maps."""
    return int(min(max(round(z / UNIT), -HIGHEST), HIGHEST))


def cell_centres(
    rows: Ints, columns: Ints, side: int, around: Floats, per_metre: float
) -> Floats:
    """Centres of cells (k,) of a square grid that wraps around, shape (k, 2), [m].

    Of the possible positions of a cell, the one nearest to `around` (>= 2,), [m]. The grid has
    `side` cells along a side, `per_metre` per metre.
    """
    index = np.stack([columns, rows], axis=1)
    base = np.floor(around[:2] * per_metre).astype(np.int64)
    near = (index - base + side // 2) % side - side // 2 + base
    return np.asarray((near + 0.5) / per_metre, np.float64)


@njit(cache=True)
def copy(numbers, out, count):
    """Write the first `count` numbers to `out`; slices would take long to compile."""
    for k in range(count):
        out[k] = numbers[k]


@njit(cache=True)
def find(columns, r, c, h):
    """Entry of column (r, c) at height `h`; `UNKNOWN` or `VOID` without one.

    A measured floor within a step has priority, then the nearest obstacle, then other entries.
    """
    best = UNKNOWN
    off = SAME
    void = False
    for k in range(LEVELS):
        bits = columns.bits[r, c, k]
        if bits == 0:
            continue
        gap = abs(int(columns.heights[r, c, k]) - h)
        if bits & FREE:
            if gap <= STEP:
                return k
            if gap < HEADROOM:
                void = True
        elif gap < SAME:
            if bits & CLOSED:
                gap -= SAME
            if gap < off:
                off = gap
                best = k
    return VOID if void else best


@njit(cache=True)
def bits_at(columns, r, c, h):
    """Bits of the entry that `find` returns; 0 without one."""
    k = find(columns, r, c, h)
    return int(columns.bits[r, c, k]) if k >= 0 else 0


@njit(cache=True)
def _entry(columns, r, c, h, make):
    """Entry for writing at height `h`, created if `make`; -1: none."""
    best = -1
    off = SAME
    spare = -1
    far = -1
    worst = 0
    for k in range(LEVELS):
        if columns.bits[r, c, k] == 0:
            if spare < 0:
                spare = k
            continue
        gap = abs(int(columns.heights[r, c, k]) - h)
        if gap < off:
            off = gap
            best = k
        if gap > far:
            far = gap
            worst = k
    if best >= 0 or not make:
        return best
    if spare < 0:
        spare = worst
    columns.heights[r, c, spare] = h
    columns.bits[r, c, spare] = 0
    return spare


@njit(cache=True)
def add_bits(columns, x, y, h, bits):
    """Add `bits` to the entry at (x, y), [m], and height `h`."""
    r = cell(y) & (SIDE - 1)
    c = cell(x) & (SIDE - 1)
    columns.bits[r, c, _entry(columns, r, c, h, True)] |= bits


@njit(cache=True)
def add_floor(columns, x, y, h, slope):
    """Add a measured floor of height `h` at (x, y), [m]; `slope`: 0 or `SLOPE`."""
    r = cell(y) & (SIDE - 1)
    c = cell(x) & (SIDE - 1)
    k = _entry(columns, r, c, h, True)
    old = int(columns.heights[r, c, k])
    columns.heights[r, c, k] = (old + h) // 2 if columns.bits[r, c, k] & FREE else h
    columns.bits[r, c, k] |= FREE | slope


@njit(cache=True)
def _is_void(columns, r, c, h):
    """Whether a measured floor is so near above or below `h` that no other floor fits."""
    for k in range(LEVELS):
        if columns.bits[r, c, k] & FREE:  # noqa: SIM102
            if abs(int(columns.heights[r, c, k]) - h) < HEADROOM:
                return True
    return False


@njit(cache=True)
def add_hit(columns, x, y, h, bit):
    """Add an obstacle (`HIT`) or edge (`DROP`) at (x, y), [m], and tight places around it."""
    cx = cell(x)
    cy = cell(y)
    r = cy & (SIDE - 1)
    c = cx & (SIDE - 1)
    k = _entry(columns, r, c, h, True)
    # Around a known hit only the exact distances change.
    far = _BESIDE if columns.bits[r, c, k] & bit else _WALLS
    columns.bits[r, c, k] |= bit
    for dy in range(-far, far + 1):
        for dx in range(-far, far + 1):
            r = (cy + dy) & (SIDE - 1)
            c = (cx + dx) & (SIDE - 1)
            k = _entry(columns, r, c, h, False)
            if k < 0:
                if _is_void(columns, r, c, h):
                    continue
                k = _entry(columns, r, c, h, True)
            bits = WALL
            if max(abs(dx), abs(dy)) <= _BESIDE:
                gap = math.hypot(centre(cx + dx) - x, centre(cy + dy) - y)
                if gap < _TIGHT_GAP:
                    bits |= TIGHT
                elif gap < _NEAR_GAP:
                    bits |= NEAR
            columns.bits[r, c, k] |= bits


@njit(cache=True)
def keep_around(columns, x, y, reach):
    """Forget cells outside of the window around (x, y), [m], where the map wraps around.

    Cells up to `reach` [m] away may then be written.
    """
    half = SIDE // 2
    far = min(int(reach * PER_METRE) + _WALLS + 2, half)
    for axis in range(2):
        at = cell(y) if axis else cell(x)
        low = at - half
        first = columns.known[axis]
        last = columns.known[axis + 2]
        for i in range(max(first, last - 2 * SIDE), min(last + 1, low)):
            _forget_line(columns, axis, i & (SIDE - 1))
        for i in range(max(first, low + SIDE), min(last, first + 2 * SIDE) + 1):
            _forget_line(columns, axis, i & (SIDE - 1))
        columns.known[axis] = min(max(first, low), at - far)
        columns.known[axis + 2] = max(min(last, low + SIDE - 1), at + far)


@njit(cache=True)
def _forget_line(columns, axis, i):
    """Forget row (axis 1) or column (axis 0) `i` of the grid."""
    for j in range(SIDE):
        for k in range(LEVELS):
            if axis:
                columns.bits[i, j, k] = 0
            else:
                columns.bits[j, i, k] = 0


@njit(cache=True)
def forget_bits(columns, bit):
    """Remove `bit` from all entries; returns whether any had it."""
    found = False
    for r in range(SIDE):
        for c in range(SIDE):
            for k in range(LEVELS):
                if columns.bits[r, c, k] & bit:
                    columns.bits[r, c, k] &= ~np.uint16(bit)
                    found = True
    return found
