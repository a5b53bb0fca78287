"""Lifts in walking distances: floors where they wait, and the way from stop to stop."""

from __future__ import annotations

import dataclasses
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.arrays import Floats, Ints
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.levels.moving import lift_stops

Centres = tuple[NDArray[np.floating[Any]], NDArray[np.floating[Any]]]
"""x of columns and y of rows of cells, [m]."""

_SAME = 0.02
"""A floor this near to the top of a lift is the lift's, [m]."""
_EAST, _WEST = 0, 4
"""Neighbours at +x and -x, see `layer_kernels.NEIGHBOURS`."""


def with_lifts(level: Level) -> Level:
    """`level` with a box wherever a lift waits."""
    stops = [lift_stops(m) for m in level.movers if m.kind == "lift"]
    if not stops:
        return level
    return dataclasses.replace(level, boxes=np.vstack([level.boxes, *stops]))


def join_stops(
    level: Level,
    height: NDArray[np.float32],
    free: NDArray[np.bool_],
    links: NDArray[np.int8],
    centre: Centres,
) -> None:
    """Link the cells on a lift with those one stop higher, in place.

    Two cells beside each other are joined, the western one of the lower stop with the
    eastern one of the upper: a ride is as long as a cell, seen from above.

    Args:
        level: its movers are looked at.
        height: floors, shape (layers, ny, nx), [m].
        free: where the body fits, of the same shape.
        links: layers of neighbours, shape (layers, ny, nx, 8).
        centre: x of the columns (nx,) and y of the rows (ny,), [m].
    """
    for mover in level.movers:
        if mover.kind != "lift":
            continue
        for low, high in pairwise(lift_stops(mover)):
            lower = _layer_on(low, height, free, centre)
            upper = _layer_on(high, height, free, centre)
            pairs = np.argwhere((lower[:, :-1] >= 0) & (upper[:, 1:] >= 0))
            if len(pairs) == 0:
                continue
            x, y = centre[0][pairs[:, 1]], centre[1][pairs[:, 0]]
            j, i = pairs[int(np.argmin(np.hypot(x - low[0], y - low[1])))]
            a, b = lower[j, i], upper[j, i + 1]
            links[a, j, i, _EAST] = b
            links[b, j, i + 1, _WEST] = a


def _layer_on(
    stop: Floats,
    height: NDArray[np.float32],
    free: NDArray[np.bool_],
    centre: Centres,
) -> Ints:
    """Layer of the free cells on top of a waiting lift (7,), -1: not there, (ny, nx)."""
    dx = centre[0][None, :] - stop[0]
    dy = centre[1][:, None] - stop[1]
    cos, sin = np.cos(stop[6]), np.sin(stop[6])
    on = (np.abs(cos * dx + sin * dy) <= stop[3]) & (
        np.abs(cos * dy - sin * dx) <= stop[4]
    )
    top = stop[2] + stop[5]
    fits = free & on & (np.abs(np.nan_to_num(height, nan=np.inf) - top) < _SAME)
    return np.where(fits.any(axis=0), fits.argmax(axis=0), -1)
