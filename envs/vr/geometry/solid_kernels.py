"""Compiled geometry of levels: the shapes near a place.

A level is a tuple `solids` of the arrays of `ambulo.envs.vr.levels.solids.Solids`, for bodies
whose height is the last number of its grid. Shapes are numbered: prisms first, then cylinders,
then triangles. Moving shapes come beside them as rows x, y, half sizes a, b, cos(yaw),
sin(yaw), bottom, top, kind: a box (1), a cylinder of radius a (2), a person (3), or unused (0).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from ambulo.configs.arrays import Floats, Ints
from ambulo.envs.vr.contract import (
    BODY_RADIUS,
    CAPSULE_LOW,
    CLIMB_HEIGHT,
    STEEPEST_FLOOR,
)

BOX, CYLINDER, PERSON = 1.0, 2.0, 3.0
"""Kinds of moving shapes."""

_R = BODY_RADIUS
_LOW = CAPSULE_LOW
_CLIMB = CLIMB_HEIGHT
_FLOOR = STEEPEST_FLOOR
DIAGONAL = BODY_RADIUS * math.sqrt(0.5)
"""Shapes farther above or below the capsule's axis are touched too steeply to obstruct, [m]."""
_EDGE = 1e-9
MARGIN = 1e-6
_FEW = 64
"""Levels with at most this many shapes are searched without their bins."""


class LocalShapes(NamedTuple):
    """A subset of a level's shapes, such as those near a body, and its movers."""

    prisms: Floats
    """All prisms of the level, see `Solids`."""
    cylinders: Floats
    triangles: Floats
    tall: float
    """Height of bodies, [m]."""
    near: Ints
    """Indices of the subset: the first `num_near` of this array."""
    num_near: int
    movers: Floats
    """Rows of moving shapes, shape (M, 9)."""


@njit(cache=True)
def local_shapes(solids, near, n, movers):
    """Return the first `n` of `near` (indices of shapes of a level), and `movers`."""
    return LocalShapes(solids[0], solids[1], solids[2], solids[3][5], near, n, movers)


@njit(cache=True)
def shape_count(solids):
    """Number of shapes of a level."""
    return solids[0].shape[0] + solids[1].shape[0] + solids[2].shape[0]


@njit(cache=True)
def room_for_shapes(solids):
    """Work space `near` and `seen` of `nearby` for the shapes of a level."""
    count = max(shape_count(solids), 1)
    return np.empty(count, np.int64), np.full(count, -1, np.int64)


@njit(cache=True)
def nearby(solids, x, y, reach, near, seen, stamp):
    """Write the indices of shapes in bins near (x, y) to `near`; returns their number.

    The bins are those within `reach`, [m]. `seen` (shapes,) marks listed shapes with `stamp`.
    """
    grid, first, items = solids[3], solids[4], solids[5]
    side = grid[2]
    nx = int(grid[3])
    ny = int(grid[4])
    i0 = max(math.floor((x - reach - grid[0]) / side), 0)
    i1 = min(math.floor((x + reach - grid[0]) / side), nx - 1)
    j0 = max(math.floor((y - reach - grid[1]) / side), 0)
    j1 = min(math.floor((y + reach - grid[1]) / side), ny - 1)
    n = 0
    for j in range(j0, j1 + 1):
        for i in range(i0, i1 + 1):
            b = j * nx + i
            for k in range(first[b], first[b + 1]):
                item = items[k]
                if seen[item] != stamp:
                    seen[item] = stamp
                    near[n] = item
                    n += 1
    return n


@njit(cache=True, inline="always")
def nearest_of(x, y, row, round_base):
    """Vector to (x, y) from the nearest point of the base of a flat shape; 0 inside it."""
    dx = x - row[0]
    dy = y - row[1]
    if round_base:
        far = math.sqrt(dx * dx + dy * dy)
        if far <= row[2]:
            return 0.0, 0.0
        share = (far - row[2]) / far
        return dx * share, dy * share
    u = row[4] * dx + row[5] * dy
    v = -row[5] * dx + row[4] * dy
    u -= min(max(u, -row[2]), row[2])
    v -= min(max(v, -row[3]), row[3])
    return row[4] * u - row[5] * v, row[5] * u + row[4] * v


@njit(cache=True)
def within(solids, near, n, x, y, reach):
    """Keep those of the first `n` of `near` within `reach` of (x, y); returns their number."""
    prisms, cylinders, triangles = solids[0], solids[1], solids[2]
    n_prisms = prisms.shape[0]
    n_still = n_prisms + cylinders.shape[0]
    kept = 0
    for k in range(n):
        item = near[k]
        if item < n_prisms:
            dx, dy = nearest_of(x, y, prisms[item], False)
        elif item < n_still:
            dx, dy = nearest_of(x, y, cylinders[item - n_prisms], True)
        else:
            t = triangles[item - n_still]
            dx = max(min(t[0], t[3], t[6]) - x, x - max(t[0], t[3], t[6]), 0.0)
            dy = max(min(t[1], t[4], t[7]) - y, y - max(t[1], t[4], t[7]), 0.0)
        if dx * dx + dy * dy <= reach * reach:
            near[kept] = item
            kept += 1
    return kept


@njit(cache=True)
def shapes_within(solids, x, y, reach, near, seen, stamp):
    """Write the indices of the shapes within `reach` of (x, y) to `near`; returns their number.

    `seen` (shapes,) marks listed shapes with `stamp`.
    """
    count = shape_count(solids)
    if count > _FEW:
        count = nearby(solids, x, y, reach, near, seen, stamp)
    else:
        for k in range(count):
            near[k] = k
    return within(solids, near, count, x, y, reach)


@njit(cache=True)
def sort_shapes(shapes, z, spare, pushing, floors):
    """Find which of `shapes` can push a body at height `z`, or carry it.

    Their indices are written to `pushing` and `floors`, which are long enough for all.

    Returns:
        How many can push and how many have a floor within a climb of `z`.
    """
    prisms, cylinders, triangles, tall, near, n, _ = shapes
    n_prisms = prisms.shape[0]
    n_still = n_prisms + cylinders.shape[0]
    axis = tall - DIAGONAL
    lowest = z - _CLIMB
    highest = z + _CLIMB
    n_pushing = 0
    n_floors = 0
    for k in range(n):
        item = near[k]
        if item < n_still:
            if item < n_prisms:
                bottom = prisms[item, 6]
                top = prisms[item, 7]
            else:
                bottom = cylinders[item - n_prisms, 3]
                top = cylinders[item - n_prisms, 4]
            pushes = reach_beside(z, axis, bottom, top) > 0.0
            carries = lowest <= top <= highest
        else:
            row = triangles[item - n_still]
            radius = _R + spare
            pushes = row[13] >= z + _LOW - radius and row[12] <= z + axis + radius
            carries = row[11] >= _FLOOR and row[12] <= highest and row[13] >= lowest
        if pushes:
            pushing[n_pushing] = item
            n_pushing += 1
        if carries:
            floors[n_floors] = item
            n_floors += 1
    return n_pushing, n_floors


@njit(cache=True)
def even_floor(solids, floors, n_floors, x, y, z):
    """Radius around (x, y) in which the floor stays at height `z`, [m]; -1 or less: none.

    `floors` is a result of `sort_shapes`; sloping floors count as not even.
    """
    prisms, cylinders = solids[0], solids[1]
    n_prisms = prisms.shape[0]
    n_still = n_prisms + cylinders.shape[0]
    on_floor = -1.0
    even = np.inf
    for k in range(n_floors):
        item = floors[k]
        if item >= n_still:
            return -1.0
        if item >= n_prisms:
            if cylinders[item - n_prisms, 4] <= z:
                continue
            dx, dy = nearest_of(x, y, cylinders[item - n_prisms], True)
        elif prisms[item, 7] < z:
            continue
        elif prisms[item, 7] == z:
            dx = x - prisms[item, 0]
            dy = y - prisms[item, 1]
            cos = prisms[item, 4]
            sin = prisms[item, 5]
            inside = min(
                prisms[item, 2] - abs(cos * dx + sin * dy),
                prisms[item, 3] - abs(cos * dy - sin * dx),
            )
            on_floor = max(on_floor, inside)
            continue
        else:
            dx, dy = nearest_of(x, y, prisms[item], False)
        even = min(even, math.sqrt(dx * dx + dy * dy))
    return min(even, on_floor)


@njit(cache=True)
def room_around(solids, pushing, n_pushing, x, y):
    """Distance from (x, y) to the nearest of `pushing`, [m]; -1: unknown, inf: none."""
    prisms, cylinders = solids[0], solids[1]
    n_prisms = prisms.shape[0]
    n_still = n_prisms + cylinders.shape[0]
    room = np.inf
    for k in range(n_pushing):
        item = pushing[k]
        if item >= n_still:
            return -1.0
        if item < n_prisms:
            dx, dy = nearest_of(x, y, prisms[item], False)
        else:
            dx, dy = nearest_of(x, y, cylinders[item - n_prisms], True)
        room = min(room, math.sqrt(dx * dx + dy * dy))
    return room


@njit(cache=True, inline="always")
def in_box(x, y, row):
    """Whether (x, y) is in the base of a prism or moving box, its border included."""
    dx = x - row[0]
    dy = y - row[1]
    u = abs(row[4] * dx + row[5] * dy)
    v = abs(-row[5] * dx + row[4] * dy)
    return u <= row[2] + _EDGE and v <= row[3] + _EDGE


@njit(cache=True, inline="always")
def in_disc(x, y, cx, cy, radius):
    """Whether (x, y) is in a disc, its border included."""
    return (x - cx) ** 2 + (y - cy) ** 2 <= (radius + _EDGE) ** 2


@njit(cache=True, inline="always")
def reach_of(gap):
    """Radius of the capsule at `gap` above or below its axis; 0: no contact."""
    if gap >= DIAGONAL - MARGIN:
        return 0.0
    return math.sqrt(_R * _R - gap * gap)


@njit(cache=True, inline="always")
def reach_beside(z, axis, bottom, top):
    """Radius of the capsule of a body at height `z` beside a flat shape; 0: no contact.

    `axis` is the height of the upper end of its axis above `z`, [m].
    """
    return reach_of(max(z + _LOW - top, bottom - (z + axis), 0.0))
