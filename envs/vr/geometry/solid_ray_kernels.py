"""Compiled rays of levels: how far the way is free, along the floor.

A ray follows the floor from the feet on: up and down slopes and steps of at most
`CLIMB_HEIGHT`. It ends where something stands between `CLIMB_HEIGHT` and the height of the
body above that floor, and, if it sees edges, where the floor drops by more along more than
`MAX_SEAM`.
"""

# ruff: noqa: PLR0912 - compiled loops take their arrays one by one

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from ambulo.configs.arrays import Floats, Ints
from ambulo.envs.vr.contract import (
    CLIMB_HEIGHT,
    MAX_SEAM,
    STEEPEST_FLOOR,
)
from ambulo.envs.vr.geometry.solid_kernels import BOX, LocalShapes
from ambulo.envs.vr.geometry.triangle_kernels import cut_by_ray

_CLIMB = CLIMB_HEIGHT
_FLOOR = STEEPEST_FLOOR
_SEAM = MAX_SEAM
_EVEN = 1e-9
"""Floors that differ by less are one, [m]."""
_BEYOND = 1e-6
"""A cut is looked at this far behind its beginning, and lasts at least twice as long, [m]."""
_STRIDE = 0.25
"""Longest part of a sloping floor on which obstacles are looked for once, [m]."""


class Ray(NamedTuple):
    """One ray, seen from above."""

    x: float
    """Where it begins, [m]."""
    y: float
    cos: float
    """Of its direction."""
    sin: float
    length: float
    """[m]."""


class RayFan(NamedTuple):
    """Rays from a body to all sides, at even angles."""

    x: float
    """Of the feet, [m]."""
    y: float
    z: float
    angle: float
    """Of ray 0, [rad]."""
    length: float
    """Of each, [m]."""
    edges: bool
    """Whether rays end where the floor does."""


class RayWork(NamedTuple):
    """Work space of `cast_free_ways`."""

    cuts: Floats
    """What a ray passes over or through, see `_keep`, shape (K, 7)."""
    ends: Floats
    """Of a cut through a triangle, shape (4,)."""
    hubs: Floats
    """Where shapes are, see `reach_around`, shape (S, 3)."""
    walls: Ints
    """Numbers of shapes, shape (S,)."""
    floors: Ints
    """Numbers of shapes, shape (S,)."""
    directions: Floats
    """Unit vectors of the rays, shape (rays, 2)."""


@njit(cache=True, inline="always", error_model="numpy")
def _cut_rectangle(dx, dy, a, b, cos, sin, cx, sy):
    """Where a ray from (dx, dy) enters and leaves a rectangle about the origin, [m]."""
    u = cos * dx + sin * dy
    v = -sin * dx + cos * dy
    du = cos * cx + sin * sy
    dv = -sin * cx + cos * sy
    enter = -np.inf
    leave = np.inf
    if abs(du) < 1e-12:
        if abs(u) > a:
            leave = -np.inf
    else:
        t0 = (-a - u) / du
        t1 = (a - u) / du
        enter = max(enter, min(t0, t1))
        leave = min(leave, max(t0, t1))
    if abs(dv) < 1e-12:
        if abs(v) > b:
            leave = -np.inf
    else:
        t0 = (-b - v) / dv
        t1 = (b - v) / dv
        enter = max(enter, min(t0, t1))
        leave = min(leave, max(t0, t1))
    return enter, leave


@njit(cache=True, error_model="numpy")
def cut_box(ray, row):
    """Where a ray enters and leaves the base of a prism, [m]; enter > leave: it misses."""
    return _cut_rectangle(
        ray.x - row[0], ray.y - row[1], row[2], row[3], row[4], row[5], ray.cos, ray.sin
    )


@njit(cache=True, error_model="numpy")
def cut_disc(ray, px, py, radius):
    """Where a ray enters and leaves a disc, [m]; enter > leave: it misses."""
    dx = ray.x - px
    dy = ray.y - py
    b = dx * ray.cos + dy * ray.sin
    root = b * b - (dx * dx + dy * dy - radius * radius)
    if root < 0.0:
        return 1.0, 0.0
    root = math.sqrt(root)
    return -b - root, -b + root


@njit(cache=True, error_model="numpy")
def _keep(cuts, n, enter, leave, length, begin, end, floor):
    """Add a cut: begin, end, bottom and top at both, and whether its top is a floor.

    `begin` and `end` are the bottom and top there; `cuts` gets their slopes for the latter.
    """
    low0, top0 = begin
    low1, top1 = end
    if enter > leave or leave < 0.0 or enter >= length:
        return n
    leave = max(leave, enter + 2.0 * _BEYOND)
    cuts[n, 0] = enter
    cuts[n, 1] = leave
    cuts[n, 2] = low0
    cuts[n, 3] = top0
    slope = 1.0 / (leave - enter)
    cuts[n, 4] = (low1 - low0) * slope
    cuts[n, 5] = (top1 - top0) * slope
    cuts[n, 6] = floor
    return n + 1


@njit(cache=True, error_model="numpy")
def reach_around(shapes, x, y, hubs):
    """Write where shapes lie from (x, y), and how far they reach, to `hubs`.

    Numbers after those of all shapes are movers; `hubs` (n, 3) are x, y and a radius, so
    that rays can leave most shapes out.
    """
    prisms, cylinders, triangles, _, items, n, movers = shapes
    n_prisms = prisms.shape[0]
    n_still = n_prisms + cylinders.shape[0]
    n_shapes = n_still + triangles.shape[0]
    for k in range(n):
        item = items[k]
        if n_still <= item < n_shapes:
            row = triangles[item - n_still]
            px = (row[0] + row[3] + row[6]) / 3.0
            py = (row[1] + row[4] + row[7]) / 3.0
            far = max(
                (row[0] - px) ** 2 + (row[1] - py) ** 2,
                (row[3] - px) ** 2 + (row[4] - py) ** 2,
            )
            far = max(far, (row[6] - px) ** 2 + (row[7] - py) ** 2)
            hubs[k, 0] = px - x
            hubs[k, 1] = py - y
            hubs[k, 2] = math.sqrt(far) + _BEYOND
            continue
        if n_prisms <= item < n_still:
            c = item - n_prisms
            hubs[k, 0] = cylinders[c, 0] - x
            hubs[k, 1] = cylinders[c, 1] - y
            hubs[k, 2] = cylinders[c, 2]
        elif item < n_prisms:
            hubs[k, 0] = prisms[item, 0] - x
            hubs[k, 1] = prisms[item, 1] - y
            hubs[k, 2] = math.sqrt(prisms[item, 2] ** 2 + prisms[item, 3] ** 2)
        else:
            m = item - n_shapes
            hubs[k, 0] = movers[m, 0] - x
            hubs[k, 1] = movers[m, 1] - y
            hubs[k, 2] = movers[m, 2]
            if movers[m, 8] == BOX:
                hubs[k, 2] = math.sqrt(movers[m, 2] ** 2 + movers[m, 3] ** 2)
        hubs[k, 2] += _BEYOND


@njit(cache=True, inline="always")
def _misses(dx, dy, radius, ray):
    """Whether a ray passes by all within `radius` of (dx, dy), or does not get there."""
    along = dx * ray.cos + dy * ray.sin
    aside = abs(dx * ray.sin - dy * ray.cos)
    return aside > radius or along < -radius or along > ray.length + radius


@njit(cache=True, inline="always")
def _span(prisms, cylinders, triangles, movers, item):
    """Bottom and top of a shape or mover, [m]."""
    n_prisms = prisms.shape[0]
    n_still = n_prisms + cylinders.shape[0]
    n_shapes = n_still + triangles.shape[0]
    if item < n_prisms:
        bottom = prisms[item, 6]
        top = prisms[item, 7]
    elif item < n_still:
        bottom = cylinders[item - n_prisms, 3]
        top = cylinders[item - n_prisms, 4]
    elif item < n_shapes:
        bottom = triangles[item - n_still, 12]
        top = triangles[item - n_still, 13]
    else:
        bottom = movers[item - n_shapes, 6]
        top = movers[item - n_shapes, 7]
    return bottom, top


@njit(cache=True, inline="always", error_model="numpy")
def _cut_item(prisms, cylinders, triangles, movers, item, ray):
    """Where a ray enters and leaves the base of a prism, cylinder or mover, [m].

    Rows are read number by number: a view of one costs more than the ray.
    """
    n_prisms = prisms.shape[0]
    n_still = n_prisms + cylinders.shape[0]
    if item < n_prisms:
        p = prisms
        k = item
        enter, leave = _cut_rectangle(
            ray.x - p[k, 0], ray.y - p[k, 1], p[k, 2], p[k, 3], p[k, 4], p[k, 5],
            ray.cos, ray.sin,
        )  # fmt: skip
    elif item < n_still:
        k = item - n_prisms
        enter, leave = cut_disc(ray, cylinders[k, 0], cylinders[k, 1], cylinders[k, 2])
    else:
        k = item - n_still - triangles.shape[0]
        if movers[k, 8] == BOX:
            p = movers
            enter, leave = _cut_rectangle(
                ray.x - p[k, 0],
                ray.y - p[k, 1],
                p[k, 2],
                p[k, 3],
                p[k, 4],
                p[k, 5],
                ray.cos,
                ray.sin,
            )
        else:
            enter, leave = cut_disc(ray, movers[k, 0], movers[k, 1], movers[k, 2])
    return enter, leave


@njit(cache=True, error_model="numpy")
def collect_cuts(shapes, ray, work):
    """Write what a ray passes over or through to the cuts of `work`; how many.

    The hubs of `work` are what `reach_around` has written.
    """
    prisms, cylinders, triangles, _, items, n, movers = shapes
    cuts, ends, hubs, _, _, _ = work
    n_still = prisms.shape[0] + cylinders.shape[0]
    n_shapes = n_still + triangles.shape[0]
    count = 0
    for k in range(n):
        if _misses(hubs[k, 0], hubs[k, 1], hubs[k, 2], ray):
            continue
        item = items[k]
        if item < n_still or item >= n_shapes:
            enter, leave = _cut_item(prisms, cylinders, triangles, movers, item, ray)
            span = _span(prisms, cylinders, triangles, movers, item)
            count = _keep(cuts, count, enter, leave, ray.length, span, span, 1.0)
            continue
        row = triangles[item - n_still]
        if cut_by_ray(ray.x, ray.y, ray.cos, ray.sin, row, ends):
            a, za, b, zb = ends[0], ends[1], ends[2], ends[3]
            begin = (za, za)
            end = (zb, zb)
            is_floor = 1.0 if row[11] >= _FLOOR else 0.0
            if is_floor == 0.0 and b - a < _STRIDE:
                begin = end = (min(za, zb), max(za, zb))
            count = _keep(cuts, count, a, b, ray.length, begin, end, is_floor)
    return count


@njit(cache=True, error_model="numpy")
def free_way(cuts, count, z, tall, length, edges):
    """How far a ray whose feet are at height `z` gets over `cuts`, at most `length`, [m].

    `tall` is the height of the body, [m].
    """
    at = 0.0
    floor = z
    gap = -1.0  # where the floor ended, while it may be a seam
    rim = -1.0  # where the last seam began, and where it ended
    back = -1.0
    while at < length:
        here = at + _BEYOND
        best = -np.inf
        slope = 0.0
        slopes = False
        next_at = length
        for k in range(count):
            c = cuts[k]
            if c[0] > here:
                next_at = min(next_at, c[0])
            elif c[1] > here:
                next_at = min(next_at, c[1])
                slopes |= c[4] != 0.0 or c[5] != 0.0
                top = c[3] + (here - c[0]) * c[5]
                if c[6] > 0.0 and best < top <= floor + _CLIMB:
                    best = top
                    slope = c[5]
        if best < floor - _CLIMB:
            if edges and gap < 0.0:
                gap = at
            if edges and next_at - gap > _SEAM:
                return gap
            best = floor
            slope = 0.0
        elif gap >= 0.0:
            rim = gap
            back = at
            gap = -1.0
        # Where something slopes the highest floor may change on the way.
        if slopes:
            next_at = min(next_at, at + _STRIDE)
        floor = best
        free = next_at - here
        for k in range(count):
            c = cuts[k]
            if c[0] <= here < c[1]:
                low = c[2] + (here - c[0]) * c[4] - floor - tall
                top = c[3] + (here - c[0]) * c[5] - floor - _CLIMB
                free = _first_below(
                    low, c[4] - slope, _BEYOND - top, slope - c[5], free
                )
        if free < next_at - here:
            end = at if free <= 0.0 else min(here + free, length)
            if gap >= 0.0:
                return gap
            return rim if rim >= 0.0 and end <= back + _BEYOND else end
        floor += slope * (next_at - here)
        at = next_at
    return length if gap < 0.0 else gap


@njit(cache=True, inline="always")
def _first_below(a, b, c, d, most):
    """First s from 0 to `most` at which a + b s and c + d s are both below 0; `most`: none."""
    if (a >= 0.0 and b >= 0.0) or (c >= 0.0 and d >= 0.0):
        return most
    first = max(-a / b if a >= 0.0 else 0.0, -c / d if c >= 0.0 else 0.0)
    last = min(-a / b if b > 0.0 else np.inf, -c / d if d > 0.0 else np.inf)
    return first if first < min(last, most) else most


@njit(cache=True)
def sort_level_shapes(shapes, z, walls, floors):
    """Write which shapes are walls and floors of rays that stay at height `z`.

    Returns:
        How many walls and floors there are; -1, -1 where a floor is higher or lower within
        a climb, or slopes, so that rays have to follow it.
    """
    prisms, cylinders, triangles, tall, items, n, movers = shapes
    n_still = prisms.shape[0] + cylinders.shape[0]
    n_shapes = n_still + triangles.shape[0]
    high = z + tall
    n_walls = 0
    n_floors = 0
    for k in range(n):
        item = items[k]
        bottom, top = _span(prisms, cylinders, triangles, movers, item)
        if bottom >= high or top < z - _CLIMB:
            continue
        if n_still <= item < n_shapes or _EVEN < abs(top - z) <= _CLIMB:
            return -1, -1
        if top > z + _CLIMB:
            walls[n_walls] = item
            n_walls += 1
        else:
            floors[n_floors] = item
            n_floors += 1
    return n_walls, n_floors


@njit(cache=True, error_model="numpy")
def _level_edge(floors, count, length):
    """How far a ray is carried by `count` floors, which it enters and leaves as `floors`."""
    at = 0.0
    while at < length:
        here = at + _BEYOND
        end = at
        begin = length
        for k in range(count):
            if floors[k, 0] > here:
                begin = min(begin, floors[k, 0])
            else:
                end = max(end, floors[k, 1])
        if end > here:
            at = end
        elif begin - at > _SEAM or begin >= length - _BEYOND:
            return at
        else:
            at = begin
    return length


@njit(cache=True, error_model="numpy")
def _cast_level_ways(shapes, n_walls, n_floors, fan, out, work):
    """Fill `out` with the ways of rays among walls on a level floor, as `cast_free_ways`."""
    prisms, cylinders, triangles, tall, _, _, movers = shapes
    cuts, _, hubs, walls, floors, directions = work
    rays = out.shape[0]
    for r in range(rays):
        heading = fan.angle + 2.0 * math.pi * r / rays
        directions[r, 0] = math.cos(heading)
        directions[r, 1] = math.sin(heading)
        out[r] = fan.length
    around = LocalShapes(prisms, cylinders, triangles, tall, walls, n_walls, movers)
    reach_around(around, fan.x, fan.y, hubs)
    for k in range(n_walls):
        dx = hubs[k, 0]
        dy = hubs[k, 1]
        radius = hubs[k, 2]
        item = walls[k]
        for r in range(rays):
            cx = directions[r, 0]
            sy = directions[r, 1]
            if abs(dx * sy - dy * cx) > radius or dx * cx + dy * sy < -radius:
                continue
            ray = Ray(fan.x, fan.y, cx, sy, fan.length)
            enter, leave = _cut_item(prisms, cylinders, triangles, movers, item, ray)
            if enter <= leave and max(leave, enter + 2.0 * _BEYOND) > _BEYOND:
                out[r] = min(out[r], max(enter, 0.0))
    if not fan.edges:
        return
    for r in range(rays):
        ray = Ray(fan.x, fan.y, directions[r, 0], directions[r, 1], fan.length)
        for k in range(n_floors):
            item = floors[k]
            enter, leave = _cut_item(prisms, cylinders, triangles, movers, item, ray)
            cuts[k, 0] = enter if enter <= leave else -1.0
            cuts[k, 1] = leave if enter <= leave else -1.0
        out[r] = _level_edge(cuts, n_floors, out[r])


@njit(cache=True)
def ray_work(most, rays):
    """Work space of `cast_free_ways` for `rays` and at most `most` shapes and movers."""
    return RayWork(
        np.empty((most, 7)), np.empty(4), np.empty((most, 3)),
        np.empty(most, np.int64), np.empty(most, np.int64), np.empty((rays, 2)),
    )  # fmt: skip


@njit(cache=True, error_model="numpy")
def cast_free_ways(shapes, fan, out, work):
    """Fill `out` with how far the ways of rays are free.

    Args:
        shapes: shapes within the length of the rays; the array of their numbers has room for
            those of all movers.
        fan: the rays.
        out: ways, shape (rays,), [m].
        work: what `ray_work` made.
    """
    prisms, cylinders, triangles, tall, near, n, movers = shapes
    n_shapes = prisms.shape[0] + cylinders.shape[0] + triangles.shape[0]
    for m in range(movers.shape[0]):
        if movers[m, 8] != 0.0:
            near[n] = n_shapes + m
            n += 1
    shapes = LocalShapes(prisms, cylinders, triangles, tall, near, n, movers)
    n_walls, n_floors = sort_level_shapes(shapes, fan.z, work.walls, work.floors)
    if n_floors >= 0:
        _cast_level_ways(shapes, n_walls, n_floors, fan, out, work)
        return
    rays = out.shape[0]
    reach_around(shapes, fan.x, fan.y, work.hubs)
    for r in range(rays):
        heading = fan.angle + 2.0 * math.pi * r / rays
        ray = Ray(fan.x, fan.y, math.cos(heading), math.sin(heading), fan.length)
        count = collect_cuts(shapes, ray, work)
        out[r] = free_way(work.cuts, count, fan.z, tall, fan.length, fan.edges)
