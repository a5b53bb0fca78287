"""Compiled rays of levels: how far the way is free, along the floor.

A ray follows the floor from the feet on: up and down slopes and steps of at most
`CLIMB_HEIGHT`. It ends where something stands between `CLIMB_HEIGHT` and the height of the
body above that floor, and, if it sees edges, where the floor drops by more along more than
`MAX_SEAM`.
"""

# ruff: noqa: PLR0912 - compiled loops take their arrays one by one

from __future__ import annotations

import math

import numpy as np
from numba import njit

from ambulo.envs.vr.contract import (
    CLIMB_HEIGHT,
    MAX_SEAM,
    STEEPEST_FLOOR,
)
from ambulo.envs.vr.geometry.solid_kernels import BOX
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
def _cut_disc(x, y, cx, sy, px, py, radius):
    """Where a ray enters and leaves a disc, [m]; enter > leave: it misses."""
    dx = x - px
    dy = y - py
    b = dx * cx + dy * sy
    root = b * b - (dx * dx + dy * dy - radius * radius)
    if root < 0.0:
        return 1.0, 0.0
    root = math.sqrt(root)
    return -b - root, -b + root


@njit(cache=True, error_model="numpy")
def _keep(cuts, n, enter, leave, length, low0, top0, low1, top1, floor):
    """Add a cut: begin, end, bottom and top at both, and whether its top is a floor."""
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
def reach_around(solids, movers, items, n, x, y, hubs):
    """Write where shapes lie from (x, y), and how far they reach, to `hubs`.

    `items` (n,) are numbers of shapes, and after all of them of movers; `hubs` (n, 3) are
    x, y and a radius, so that rays can leave most shapes out.
    """
    prisms, cylinders, triangles = solids[0], solids[1], solids[2]
    n_prisms = prisms.shape[0]
    n_still = n_prisms + cylinders.shape[0]
    shapes = n_still + triangles.shape[0]
    for k in range(n):
        item = items[k]
        if n_still <= item < shapes:
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
            m = item - shapes
            hubs[k, 0] = movers[m, 0] - x
            hubs[k, 1] = movers[m, 1] - y
            hubs[k, 2] = movers[m, 2]
            if movers[m, 8] == BOX:
                hubs[k, 2] = math.sqrt(movers[m, 2] ** 2 + movers[m, 3] ** 2)
        hubs[k, 2] += _BEYOND


@njit(cache=True, inline="always")
def _misses(dx, dy, radius, cx, sy, length):
    """Whether a ray passes by all within `radius` of (dx, dy), or does not get there."""
    along = dx * cx + dy * sy
    return abs(dx * sy - dy * cx) > radius or along < -radius or along > length + radius


@njit(cache=True, inline="always")
def span(prisms, cylinders, triangles, movers, item):
    """Bottom and top of a shape or mover, [m]."""
    n_prisms = prisms.shape[0]
    n_still = n_prisms + cylinders.shape[0]
    shapes = n_still + triangles.shape[0]
    if item < n_prisms:
        bottom = prisms[item, 6]
        top = prisms[item, 7]
    elif item < n_still:
        bottom = cylinders[item - n_prisms, 3]
        top = cylinders[item - n_prisms, 4]
    elif item < shapes:
        bottom = triangles[item - n_still, 12]
        top = triangles[item - n_still, 13]
    else:
        bottom = movers[item - shapes, 6]
        top = movers[item - shapes, 7]
    return bottom, top


@njit(cache=True, inline="always", error_model="numpy")
def cut_item(prisms, cylinders, triangles, movers, item, x, y, cx, sy):
    """Where a ray enters and leaves the base of a prism, cylinder or mover, [m].

    Rows are read number by number: a view of one costs more than the ray.
    """
    n_prisms = prisms.shape[0]
    n_still = n_prisms + cylinders.shape[0]
    if item < n_prisms:
        p = prisms
        k = item
        enter, leave = _cut_rectangle(
            x - p[k, 0], y - p[k, 1], p[k, 2], p[k, 3], p[k, 4], p[k, 5], cx, sy
        )
    elif item < n_still:
        k = item - n_prisms
        enter, leave = _cut_disc(
            x, y, cx, sy, cylinders[k, 0], cylinders[k, 1], cylinders[k, 2]
        )
    else:
        k = item - n_still - triangles.shape[0]
        if movers[k, 8] == BOX:
            p = movers
            enter, leave = _cut_rectangle(
                x - p[k, 0], y - p[k, 1], p[k, 2], p[k, 3], p[k, 4], p[k, 5], cx, sy
            )
        else:
            enter, leave = _cut_disc(
                x, y, cx, sy, movers[k, 0], movers[k, 1], movers[k, 2]
            )
    return enter, leave


@njit(cache=True, error_model="numpy")
def collect_cuts(solids, movers, items, n, x, y, cx, sy, length, cuts, ends, hubs):
    """Write what a ray of `length` passes over or through to `cuts` (K, 7); how many.

    `items` (n,) and `hubs` are as in `reach_around`, `ends` (4,) is work space.
    """
    prisms, cylinders, triangles = solids[0], solids[1], solids[2]
    n_still = prisms.shape[0] + cylinders.shape[0]
    shapes = n_still + triangles.shape[0]
    count = 0
    for k in range(n):
        if _misses(hubs[k, 0], hubs[k, 1], hubs[k, 2], cx, sy, length):
            continue
        item = items[k]
        if item < n_still or item >= shapes:
            enter, leave = cut_item(
                prisms, cylinders, triangles, movers, item, x, y, cx, sy
            )
            low, top = span(prisms, cylinders, triangles, movers, item)
            count = _keep(cuts, count, enter, leave, length, low, top, low, top, 1.0)
            continue
        row = triangles[item - n_still]
        if cut_by_ray(x, y, cx, sy, row, ends):
            a, za, b, zb = ends[0], ends[1], ends[2], ends[3]
            if row[11] >= _FLOOR:
                count = _keep(cuts, count, a, b, length, za, za, zb, zb, 1.0)
            elif b - a < _STRIDE:
                low = min(za, zb)
                top = max(za, zb)
                count = _keep(cuts, count, a, b, length, low, top, low, top, 0.0)
            else:
                count = _keep(cuts, count, a, b, length, za, za, zb, zb, 0.0)
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
def sort_level_shapes(solids, movers, items, n, z, walls, floors):
    """Write which of `items` (n,) are walls and floors of rays that stay at height `z`.

    Returns:
        How many walls and floors there are; -1, -1 where a floor is higher or lower within
        a climb, or slopes, so that rays have to follow it.
    """
    prisms, cylinders, triangles = solids[0], solids[1], solids[2]
    n_still = prisms.shape[0] + cylinders.shape[0]
    shapes = n_still + triangles.shape[0]
    tall = z + solids[3][5]
    n_walls = 0
    n_floors = 0
    for k in range(n):
        item = items[k]
        bottom, top = span(prisms, cylinders, triangles, movers, item)
        if bottom >= tall or top < z - _CLIMB:
            continue
        if n_still <= item < shapes or _EVEN < abs(top - z) <= _CLIMB:
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
def _cast_level_ways(
    solids, movers, n_walls, n_floors, x, y, angle, length, edges, out, work
):
    """Fill `out` with the ways of rays among walls on a level floor, as `cast_free_ways`."""
    prisms, cylinders, triangles = solids[0], solids[1], solids[2]
    cuts, _, hubs, walls, floors, ways = work
    rays = out.shape[0]
    for r in range(rays):
        heading = angle + 2.0 * math.pi * r / rays
        ways[r, 0] = math.cos(heading)
        ways[r, 1] = math.sin(heading)
        out[r] = length
    reach_around(solids, movers, walls, n_walls, x, y, hubs)
    for k in range(n_walls):
        dx = hubs[k, 0]
        dy = hubs[k, 1]
        radius = hubs[k, 2]
        item = walls[k]
        for r in range(rays):
            cx = ways[r, 0]
            sy = ways[r, 1]
            if abs(dx * sy - dy * cx) > radius or dx * cx + dy * sy < -radius:
                continue
            enter, leave = cut_item(
                prisms, cylinders, triangles, movers, item, x, y, cx, sy
            )
            if enter <= leave and max(leave, enter + 2.0 * _BEYOND) > _BEYOND:
                out[r] = min(out[r], max(enter, 0.0))
    if not edges:
        return
    for r in range(rays):
        for k in range(n_floors):
            item = floors[k]
            enter, leave = cut_item(
                prisms, cylinders, triangles, movers, item, x, y, ways[r, 0], ways[r, 1]
            )
            cuts[k, 0] = enter if enter <= leave else -1.0
            cuts[k, 1] = leave if enter <= leave else -1.0
        out[r] = _level_edge(cuts, n_floors, out[r])


@njit(cache=True)
def ray_work(most, rays):
    """Work space of `cast_free_ways` for `rays` and at most `most` shapes and movers."""
    return (
        np.empty((most, 7)), np.empty(4), np.empty((most, 3)),
        np.empty(most, np.int64), np.empty(most, np.int64), np.empty((rays, 2)),
    )  # fmt: skip


@njit(cache=True, error_model="numpy")
def cast_free_ways(solids, near, n, movers, x, y, z, angle, length, edges, out, work):
    """Fill `out` with the ways of rays of which number 0 points along `angle`.

    Args:
        solids: shapes of the level.
        near: numbers of the shapes within `length`, with room for all movers behind them.
        n: number of these shapes.
        movers: rows of what moves, shape (M, 9).
        x: of the feet, [m].
        y: of the feet, [m].
        z: of the feet, [m].
        angle: of ray 0, [rad].
        length: of a ray, [m].
        edges: whether rays end where the floor does.
        out: ways, shape (rays,), [m].
        work: what `ray_work` made.
    """
    cuts, ends, hubs, walls, floors, _ = work
    shapes = solids[0].shape[0] + solids[1].shape[0] + solids[2].shape[0]
    for m in range(movers.shape[0]):
        if movers[m, 8] != 0.0:
            near[n] = shapes + m
            n += 1
    n_walls, n_floors = sort_level_shapes(solids, movers, near, n, z, walls, floors)
    if n_floors >= 0:
        _cast_level_ways(
            solids, movers, n_walls, n_floors, x, y, angle, length, edges, out, work
        )
        return
    rays = out.shape[0]
    reach_around(solids, movers, near, n, x, y, hubs)
    for r in range(rays):
        heading = angle + 2.0 * math.pi * r / rays
        cx = math.cos(heading)
        sy = math.sin(heading)
        count = collect_cuts(
            solids, movers, near, n, x, y, cx, sy, length, cuts, ends, hubs
        )
        out[r] = free_way(cuts, count, z, solids[3][5], length, edges)
