"""Frontiers: ends of the known map that may lead to another floor, and their cost.

Searches for goals on another floor end at them. Compiled.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from ambulo.envs.vr.navigator.columns import (
    DROP,
    FREE,
    HIT,
    LEVELS,
    LOOKED,
    SAME,
    SEEN,
    SIDE,
    SLOPE,
    TIGHT,
    UNIT,
    VOID,
    bits_at,
    find,
)

DX = np.array([1, 1, 0, -1, -1, -1, 0, 1])
DY = np.array([0, 1, 1, 1, 0, -1, -1, -1])
LENGTH = np.array([0.25, 0.25 * math.sqrt(2.0)] * 4)
"""From a column to its eight neighbours, [m]."""
_LIKE_STEEPEST = 0.8
"""Directions in which a slope rises by this fraction of its steepest one count as its
continuation."""
_LEAST_RISE = 0.12
"""Smallest rise per metre of a slope that leads to another floor."""
_FLIGHT = 10
"""Length of a flight of stairs, [columns]."""
_STOREY = 2.6
"""Smallest height between two floors, [m]."""


class FrontierPrices(NamedTuple):
    """Estimated costs beyond a frontier."""

    slope: float = 1.0
    """Cost at the end of a slope, [m]."""
    level: float = 8.0
    """Cost at the end of a level floor, [m]."""
    edge: float = 5.0
    """Cost at an edge of the floor, below which a lift may be, [m]."""
    rise: float = 4.0
    """Cost per metre up or down."""
    away: float = 0.3
    """Cost per horizontal metre to the goal, at the end of a level floor."""
    same: float = 1.5
    """Reduction near the end of the last plan, [m]."""


@njit(cache=True)
def rise_towards(columns, r, c, h, q):
    """Rise of a floor towards neighbour `q`, by the opposite one, [UNIT]; nan: unknown."""
    r0 = (r - DY[q]) & (SIDE - 1)
    c0 = (c - DX[q]) & (SIDE - 1)
    k = find(columns, r0, c0, h)
    if k < 0 or not columns.bits[r0, c0, k] & FREE:
        return np.nan
    return float(h - columns.heights[r0, c0, k])


@njit(cache=True)
def goes_on(columns, r, c, h, step, sign):
    """Whether the slope at (r, c) rises (`sign` 1) or falls (-1) with `step`, (2,): dr, dc."""
    towards = 0.0
    best = _LEAST_RISE
    for q in range(8):
        rise = rise_towards(columns, r, c, h, q) * sign * UNIT / LENGTH[q]
        best = max(best, rise)
        if DY[q] == step[0] and DX[q] == step[1]:
            towards = rise
    return towards >= _LIKE_STEEPEST * best


@njit(cache=True)
def _flight_fits(columns, r, c, h):
    """Whether a strip of columns in one of the eight directions is unknown."""
    for q in range(8):
        fits = True
        for s in range(1, _FLIGHT + 1):
            for w in range(-1, 2):
                y = (r + DY[q] * s - DX[q] * w) & (SIDE - 1)
                x = (c + DX[q] * s + DY[q] * w) & (SIDE - 1)
                k = find(columns, y, x, h)
                known = k >= 0 and columns.bits[y, x, k] & (FREE | SEEN | HIT | DROP)
                if k == VOID or known:
                    fits = False
                    break
            if not fits:
                break
        if fits:
            return True
    return False


@njit(cache=True)
def _is_level(columns, r, c, h):
    """Whether no slope is known in the columns around (r, c)."""
    for dy in range(-1, 2):
        for dx in range(-1, 2):
            y = (r + dy) & (SIDE - 1)
            x = (c + dx) & (SIDE - 1)
            for k in range(LEVELS):
                if columns.bits[y, x, k] & SLOPE:  # noqa: SIM102
                    if abs(int(columns.heights[y, x, k]) - h) < SAME:
                        return False
    return True


@njit(cache=True)
def rest_from_edge(prices, away, climb):
    """Estimated cost beyond an edge of the floor, arguments as in `rest_from`, [m]."""
    rise = prices.rise * max(abs(climb), _STOREY)
    return prices.away * away + prices.edge + rise


@njit(cache=True)
def rest_from(columns, prices, at, before, edge, any_end, away, climb):
    """Estimated cost from the unknown place `at`, [m]; -1: it is no frontier.

    Args:
        columns: The map.
        prices: Estimated costs.
        at: Row, column and height of the place.
        before: Row, column and height of the previous place on the path.
        edge: Whether the previous place is the start of the path, or a lift.
        any_end: Accept any unknown place.
        away: Horizontal distance to the goal, [m].
        climb: Height difference to the goal, [m].
    """
    r, c, h = at
    r0, c0, h0 = before
    here = bits_at(columns, r, c, h)
    known = bits_at(columns, r0, c0, h0)
    if known & SLOPE and known & FREE:
        step = (
            (r - r0 + SIDE // 2) % SIDE - SIDE // 2,
            (c - c0 + SIDE // 2) % SIDE - SIDE // 2,
        )
        sign = 1.0 if climb > 0.0 else -1.0
        if not here & (TIGHT | LOOKED) and goes_on(columns, r0, c0, h0, step, sign):
            return away + prices.slope + prices.rise * abs(climb)
        if not any_end:
            return -1.0
    if any_end:
        if here & (SEEN | TIGHT | LOOKED):
            return -1.0
    elif (
        not (edge or known & (FREE | SEEN))
        or here & (SEEN | LOOKED)
        or not _is_level(columns, r, c, h)
        or not _flight_fits(columns, r, c, h)
    ):
        return -1.0
    rise = prices.rise * max(abs(climb), _STOREY)
    return prices.away * away + prices.level + rise
