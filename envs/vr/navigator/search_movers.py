"""Movers in the search: carriers are nodes, other movers add a cost.

Compiled.
"""

# ruff: noqa: PLR0912 - compiled loops take their arrays one by one

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ambulo.envs.vr.navigator.columns import (
    BUMP,
    HIT,
    LEVELS,
    PER_METRE,
    SAME,
    SIDE,
    cell,
    centre,
    copy,
    in_units,
)
from ambulo.envs.vr.navigator.evading import stands_in
from ambulo.envs.vr.navigator.heap import LIFTS
from ambulo.envs.vr.navigator.tracks import (
    RECENT,
    STOPS,
    TRACKS,
    carrier_under,
    gap_at,
    in_base,
)

INSIDE = 1 << LIFTS
RING = (0.3, 0.62)
"""Range of distances around a carrier of the columns for boarding and leaving it, [m]."""
BESIDE = 0.15
"""Distance to a carrier within which columns are no floor, [m]."""
_STEP_IN = 0.3
"""Distance of the boarding point from the edges of a carrier, [m]."""
_SAME_STOP = 0.3
_IN_THE_WAY = 3.0
"""Cost of a column inside a mover, [m]."""
_SHUT = 0.4
"""Cost of a column inside a closed door, which will open, [m]."""
_THING_ROOM = 0.3
"""Distance to a mover within which columns count as inside, [m]."""
ABOARD = 0.12
"""Height difference within which a body stands on a carrier, [m]."""


class Movers(NamedTuple):
    """Movers in the form that a search needs."""

    lifts: NDArray[np.float64]
    """Rows of carriers and their stops (NaN: none), shape (LIFTS, 8 + STOPS)."""
    price: NDArray[np.float32]
    """Additional cost of each column on the floor of the body, shape (SIDE, SIDE), [m]."""
    near: NDArray[np.uint16]
    """Bit k: the column is in the boarding ring around lift k; `INSIDE`: in or right beside any
    lift; shape (SIDE, SIDE)."""


@njit(cache=True)
def cells_around(row, x, y):
    """First and last x, and y, of the cells around a mover, in a map around (x, y), [m].

    The last ones are exclusive.
    """
    far = int((math.hypot(row[2], row[3]) + RING[1]) * PER_METRE) + 2
    half = SIDE // 2
    cx = cell(row[0])
    cy = cell(row[1])
    bx = cell(x)
    by = cell(y)
    return (
        max(cx - far, bx - half), min(cx + far + 1, bx + half),
        max(cy - far, by - half), min(cy + far + 1, by + half),
    )  # fmt: skip


@njit(cache=True)
def stops_at(lift, z):
    """Whether a lift is known to stop at height `z`; and whether it may, as far as is known."""
    known = False
    count = 0
    for s in range(8, 8 + STOPS):
        if not np.isnan(lift[s]):
            count += 1
            if abs(lift[s] - z) < _SAME_STOP:
                known = True
    return known, known or count < STOPS


@njit(cache=True)
def is_open_between(columns, x, y, h, lift):
    """Whether no wall is known between (x, y) at height `h` and the inside of a lift."""
    dx = x - lift[0]
    dy = y - lift[1]
    u = lift[4] * dx + lift[5] * dy
    v = -lift[5] * dx + lift[4] * dy
    a = max(lift[2] - _STEP_IN, 0.0)
    b = max(lift[3] - _STEP_IN, 0.0)
    u = min(max(u, -a), a)
    v = min(max(v, -b), b)
    dx = lift[0] + lift[4] * u - lift[5] * v - x
    dy = lift[1] + lift[5] * u + lift[4] * v - y
    n = int(math.hypot(dx, dy) / 0.08) + 1
    for s in range(1, n + 1):
        r = cell(y + dy * s / n) & (SIDE - 1)
        c = cell(x + dx * s / n) & (SIDE - 1)
        for k in range(LEVELS):
            if columns.bits[r, c, k] & (HIT | BUMP):  # noqa: SIM102
                if abs(int(columns.heights[r, c, k]) - h) < SAME:
                    return False
    return True


@njit(cache=True)
def _is_shut(columns, row, z):
    """Whether both ends of a mover are at walls, as those of a closed door."""
    far = max(row[2], row[3]) + 0.12
    ux = row[4]
    uy = row[5]
    if row[3] > row[2]:
        ux = -row[5]
        uy = row[4]
    h = in_units(z)
    for side in (-1.0, 1.0):
        cx = cell(row[0] + side * ux * far)
        cy = cell(row[1] + side * uy * far)
        at_wall = False
        for dy in range(-1, 2):
            for dx in range(-1, 2):
                r = (cy + dy) & (SIDE - 1)
                c = (cx + dx) & (SIDE - 1)
                for k in range(LEVELS):
                    if columns.bits[r, c, k] & HIT:  # noqa: SIM102
                        if abs(int(columns.heights[r, c, k]) - h) < SAME:
                            at_wall = True
        if not at_wall:
            return False
    return True


@njit(cache=True)
def enter_movers(columns, tracks, movers, position, step, enter, of):
    """Write movers into the inputs of the search (or, with `enter` 0, remove them).

    `of` (LIFTS,) receives the track of each lift.

    Returns:
        The lift that carries the body, -1: none.
    """
    aboard = -1
    lifts = 0
    on = carrier_under(tracks, position, ABOARD)
    room = LIFTS if on < 0 else LIFTS - 1
    for m in range(TRACKS):
        if tracks.seen[m] < 0:
            continue
        row = tracks.rows[m]
        x0, x1, y0, y1 = cells_around(row, position[0], position[1])
        if tracks.carries[m]:
            if m == on:
                room = LIFTS
                aboard = lifts
            elif lifts == room:
                continue
            ring = np.uint16(1 << lifts)
            if enter:
                copy(row, movers.lifts[lifts], 8)
                copy(tracks.stops[m], movers.lifts[lifts, 8:], STOPS)
                of[lifts] = m
            lifts += 1
            for y in range(y0, y1):
                for x in range(x0, x1):
                    r = y & (SIDE - 1)
                    c = x & (SIDE - 1)
                    if not enter:
                        movers.near[r, c] = 0
                        continue
                    px = centre(x)
                    py = centre(y)
                    if in_base(row, px, py, BESIDE):
                        movers.near[r, c] |= INSIDE
                    elif in_base(row, px, py, RING[1]):  # noqa: SIM102
                        if not in_base(row, px, py, RING[0]):
                            movers.near[r, c] |= ring
        elif step - tracks.seen[m] <= RECENT and stands_in(row, position[2]):
            price = np.float32(0.0)
            if enter:
                shut = _is_shut(columns, row, position[2])
                price = np.float32(_SHUT if shut else _IN_THE_WAY)
            for y in range(y0, y1):
                for x in range(x0, x1):
                    r = y & (SIDE - 1)
                    c = x & (SIDE - 1)
                    if not enter:
                        movers.price[r, c] = 0.0
                    elif (
                        gap_at(row, tracks.velocity[m], 0.0, centre(x), centre(y))
                        < _THING_ROOM
                    ):
                        movers.price[r, c] = max(movers.price[r, c], price)
    return aboard
