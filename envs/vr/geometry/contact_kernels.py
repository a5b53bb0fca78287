"""Compiled contacts of bodies with shapes near them: support, headroom, overlaps, sliding."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from ambulo.configs.arrays import Bools, Floats
from ambulo.envs.vr.contract import (
    BODY_RADIUS,
    CAPSULE_LOW,
    CLIMB_HEIGHT,
    MAX_PUSH,
    SLIDE_ITERATIONS,
    STEEPEST_FLOOR,
)
from ambulo.envs.vr.geometry.push_kernels import (
    MOST_OVERLAPS,
    STUCK_DEPTH,
    TOUCH_DEPTH,
    push_from_box,
    push_from_cylinder,
    way_out,
)
from ambulo.envs.vr.geometry.solid_kernels import (
    BOX,
    DIAGONAL,
    MARGIN,
    PERSON,
    in_box,
    in_disc,
    local_shapes,
    nearby,
    reach_beside,
    room_for_shapes,
    shapes_within,
)
from ambulo.envs.vr.geometry.triangle_kernels import (
    axis_to_triangle,
    is_inside,
    plane_height,
)

_PASSES = SLIDE_ITERATIONS
_TOUCH = TOUCH_DEPTH
_STUCK = STUCK_DEPTH
_OVERHEAD = math.tan(math.radians(6.0))
"""Sloping ceilings flatter than this do not push sideways."""
_ALONG = 0.999
"""Cosine above which two directions count as equal."""
_R = BODY_RADIUS
_LOW = CAPSULE_LOW
_CLIMB = CLIMB_HEIGHT
_FLOOR = STEEPEST_FLOOR


class Contacts(NamedTuple):
    """Overlaps of a body with shapes; work space of `slide`."""

    pushes: Floats
    """Unit vector out of each shape, and depth [m], shape (K, 3)."""
    touched_kind: Bools
    """Flags: touched a person, touched another shape, shape (2,); set, never cleared."""


@njit(cache=True)
def no_contacts():
    """Contacts of a body without any contact so far."""
    return Contacts(np.empty((MOST_OVERLAPS, 3)), np.zeros(2, np.bool_))


@njit(cache=True)
def support(shapes, x, y, highest):
    """Height of the highest floor at (x, y) up to `highest`, and its mover.

    -inf without a floor; the mover is -1 for a static floor.
    """
    prisms, cylinders, triangles, _, near, n, movers = shapes
    n_prisms = prisms.shape[0]
    n_still = n_prisms + cylinders.shape[0]
    best = -np.inf
    carrier = -1
    for k in range(n):
        item = near[k]
        if item < n_prisms:
            row = prisms[item]
            if best < row[7] <= highest and in_box(x, y, row):
                best = row[7]
        elif item < n_still:
            row = cylinders[item - n_prisms]
            if best < row[4] <= highest and in_disc(x, y, row[0], row[1], row[2]):
                best = row[4]
        else:
            row = triangles[item - n_still]
            if row[11] >= _FLOOR and row[13] > best and row[12] <= highest:
                z = plane_height(x, y, row)
                if best < z <= highest:
                    best = z
    for m in range(movers.shape[0]):
        row = movers[m]
        if row[8] == BOX and best < row[7] <= highest and in_box(x, y, row):
            best = row[7]
            carrier = m
    return best, carrier


@njit(cache=True)
def has_headroom(shapes, x, y, z):
    """Whether the space above a body that stands at (x, y, z) is free."""
    prisms, cylinders, triangles, tall, near, n, movers = shapes
    n_prisms = prisms.shape[0]
    n_still = n_prisms + cylinders.shape[0]
    low = z + _CLIMB + MARGIN
    high = z + tall - MARGIN
    for k in range(n):
        item = near[k]
        if item < n_prisms:
            row = prisms[item]
            if row[6] < high and row[7] > low and in_box(x, y, row):
                return False
        elif item < n_still:
            row = cylinders[item - n_prisms]
            if row[3] < high and row[4] > low and in_disc(x, y, row[0], row[1], row[2]):
                return False
        else:
            row = triangles[item - n_still]
            if row[12] < high and row[13] > low:
                above = plane_height(x, y, row)
                if low < above < high:
                    return False
    for m in range(movers.shape[0]):
        row = movers[m]
        if row[8] == BOX and row[6] < high and row[7] > low and in_box(x, y, row):
            return False
    return True


@njit(cache=True)
def push_from_flat(x, y, z, axis, row, round_base, bottom, top, spare):
    """(x, y) moved out of a flat shape, and the depth; a shape overhead does not push.

    `axis` is as in `reach_beside`, `spare` is a clearance beside the body, [m].
    """
    radius = reach_beside(z, axis, bottom, top)
    if radius == 0.0:
        return x, y, 0.0
    if radius < _R - MARGIN:  # only its rim pushes
        if round_base and in_disc(x, y, row[0], row[1], row[2]):
            return x, y, 0.0
        if not round_base and in_box(x, y, row):
            return x, y, 0.0
    if round_base:
        return push_from_cylinder(x, y, row, radius + spare)
    return push_from_box(x, y, row, radius + spare)


@njit(cache=True, inline="always")
def is_steep(hx, hy, hz, aside, gap, row):
    """Whether a push (hx, hy, hz) of length `gap` from a triangle is too vertical.

    `aside` is its horizontal component. Sloping ceilings push at more angles than other faces,
    so that bodies cannot walk through them.
    """
    if aside < 1e-9:
        return True
    if hz < 0.0 and abs(hx * row[9] + hy * row[10] + hz * row[11]) > _ALONG * gap:
        return aside < _OVERHEAD * -hz
    return abs(hz) > aside


@njit(cache=True)
def push_from_triangle(x, y, z, axis, row, spare):
    """(x, y) moved out of a triangle, and the depth; -1: it cuts the axis.

    `axis` is as in `reach_beside`.
    """
    low = z + _LOW
    high = z + axis
    radius = _R + spare
    if (
        row[13] < low - radius
        or row[12] > high + radius
        or max(row[0], row[3], row[6]) < x - radius
        or min(row[0], row[3], row[6]) > x + radius
        or max(row[1], row[4], row[7]) < y - radius
        or min(row[1], row[4], row[7]) > y + radius
    ):
        return x, y, 0.0
    hx, hy, hz = axis_to_triangle(x, y, low, high, row)
    aside = math.sqrt(hx * hx + hy * hy)
    gap = math.sqrt(aside * aside + hz * hz)
    if gap >= radius:
        return x, y, 0.0
    if gap < 1e-9:
        return x, y, -1.0
    if is_steep(hx, hy, hz, aside, gap, row):
        return x, y, 0.0
    depth = (radius - gap) * gap / aside
    return x + hx / aside * depth, y + hy / aside * depth, depth


@njit(cache=True, inline="always")
def _is_apart(x, y, row, radius):
    """Whether (x, y) is farther than `radius` from a round mover; False for boxes."""
    apart = radius + row[2]
    return row[8] != BOX and (x - row[0]) ** 2 + (y - row[1]) ** 2 >= apart * apart


@njit(cache=True)
def overlaps(shapes, x, y, z, spare, contacts):
    """Number of shapes that the body at (x, y, z) overlaps, at most K; -1: one cuts its axis.

    They are written to `contacts`. `spare` is a clearance beside the body, [m].
    """
    prisms, cylinders, triangles, tall, near, n, movers = shapes
    pushes, touched_kind = contacts
    n_prisms = prisms.shape[0]
    n_still = n_prisms + cylinders.shape[0]
    axis = tall - DIAGONAL
    count = 0
    for k in range(n + movers.shape[0]):
        person = False
        if k >= n:
            row = movers[k - n]
            if row[8] == 0.0 or _is_apart(x, y, row, _R + spare):
                continue
            person = row[8] == PERSON
            px, py, depth = push_from_flat(
                x, y, z, axis, row, row[8] != BOX, row[6], row[7], spare
            )
        else:
            item = near[k]
            if item < n_prisms:
                row = prisms[item]
                px, py, depth = push_from_flat(
                    x, y, z, axis, row, False, row[6], row[7], spare
                )
            elif item < n_still:
                row = cylinders[item - n_prisms]
                px, py, depth = push_from_flat(
                    x, y, z, axis, row, True, row[3], row[4], spare
                )
            else:
                px, py, depth = push_from_triangle(
                    x, y, z, axis, triangles[item - n_still], spare
                )
                if depth < 0.0:
                    return -1
        if depth > _TOUCH and count < pushes.shape[0]:
            pushes[count, 0] = (px - x) / depth
            pushes[count, 1] = (py - y) / depth
            pushes[count, 2] = depth
            count += 1
            if person:
                touched_kind[0] = True
            else:
                touched_kind[1] = True
    return count


@njit(cache=True)
def slide(shapes, x0, y0, x, y, z, spare, contacts):
    """(x, y) pushed out of all `shapes` at height `z`, and whether any was touched.

    If there is no way out, or it is so far that it may lead through a wall, the body moves back
    to (x0, y0). `spare` and `contacts` are as in `overlaps`.
    """
    touched = False
    for _ in range(_PASSES):
        count = overlaps(shapes, x, y, z, spare, contacts)
        if count == 0:
            if touched and (x - x0) ** 2 + (y - y0) ** 2 > MAX_PUSH * MAX_PUSH:
                return x0, y0, True
            return x, y, touched
        if count < 0:
            return x0, y0, True
        touched = True
        ux, uy = way_out(contacts.pushes, count)
        x += ux
        y += uy
    count = overlaps(shapes, x, y, z, spare, contacts)
    stuck = count < 0 or (x - x0) ** 2 + (y - y0) ** 2 > MAX_PUSH * MAX_PUSH
    for k in range(count):
        stuck = stuck or contacts.pushes[k, 2] > _STUCK
    if stuck:
        return x0, y0, True
    return x, y, True


@njit(cache=True)
def standing(solids, places):
    """Heights of the floors at `places` (n, 3) up to a climb above them, and where bodies fit.

    Both of shape (n,); -inf: no floor.
    """
    near, seen = room_for_shapes(solids)
    contacts = no_contacts()
    floors = np.empty(places.shape[0])
    free = np.zeros(places.shape[0], np.bool_)
    for k in range(places.shape[0]):
        x, y, z = places[k]
        n = nearby(solids, x, y, _R + 0.1, near, seen, k)
        shapes = local_shapes(solids, near, n, np.zeros((0, 9)))
        floor, _ = support(shapes, x, y, z + _CLIMB)
        floors[k] = floor
        if (
            floor == -np.inf
            or not has_headroom(shapes, x, y, floor)
            or is_inside(shapes, x, y, floor + _CLIMB)
        ):
            continue
        count = overlaps(shapes, x, y, floor, 0.0, contacts)
        free[k] = count >= 0
        for m in range(count):
            free[k] = free[k] and contacts.pushes[m, 2] <= _STUCK
    return floors, free


@njit(cache=True)
def moved_out(solids, x, y, z, radius):
    """(x, y) moved to `radius` from all that a body at `z` touches; unmoved if impossible."""
    near, seen = room_for_shapes(solids)
    n = shapes_within(solids, x, y, 2.0 * radius, near, seen, 0)
    shapes = local_shapes(solids, near, n, np.zeros((0, 9)))
    x, y, _ = slide(shapes, x, y, x, y, z, radius - _R, no_contacts())
    return x, y
