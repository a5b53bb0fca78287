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
MOST_CUTS = 256
"""Shapes along one ray that are looked at."""
NOTHING, WALL, DROP, MOVER = 0, 1, 2, 3
"""What ends a ray: its length, a still shape, an edge of the floor, or what moves."""
FLOOR_PARTS = 4
"""Floor heights told along a ray: at equal parts of the way to its end."""
_SAME_END = 0.03
"""What stands this near behind an edge of the floor ends a ray as well, [m]."""
_TRAIL = 128
"""Parts of a ray between which its floor bends, at most."""


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
def cut_box(x, y, cx, sy, row):
    """Where a ray enters and leaves the base of a prism, [m]; enter > leave: it misses."""
    return _cut_rectangle(
        x - row[0], y - row[1], row[2], row[3], row[4], row[5], cx, sy
    )


@njit(cache=True, error_model="numpy")
def cut_disc(x, y, cx, sy, px, py, radius):
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
    """Add a cut: begin, end, bottom and top at both, and whether its top is a floor.

    `floor` is 0 for none, 1 for one of a still shape, and 2 for one that moves.
    """
    if enter > leave or leave < 0.0 or enter >= length or n >= cuts.shape[0]:
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
def _span(prisms, cylinders, triangles, movers, item):
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
def _cut_item(prisms, cylinders, triangles, movers, item, x, y, cx, sy):
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
        enter, leave = cut_disc(
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
            enter, leave = cut_disc(
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
            enter, leave = _cut_item(
                prisms, cylinders, triangles, movers, item, x, y, cx, sy
            )
            low, top = _span(prisms, cylinders, triangles, movers, item)
            floor = 2.0 if item >= shapes else 1.0
            count = _keep(cuts, count, enter, leave, length, low, top, low, top, floor)
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
def _kind_at(cuts, count, at, aside, floor, tall):
    """What stands over `floor` at `at` along a ray, or up to `aside` behind: WALL or MOVER.

    NOTHING where nothing does.
    """
    for k in range(count):
        c = cuts[k]
        if c[0] <= at + aside and c[1] > at:
            low = c[2] + (at - c[0]) * c[4]
            top = c[3] + (at - c[0]) * c[5]
            if top > floor + _CLIMB and low < floor + tall:
                return MOVER if c[6] == 2.0 else WALL
    return NOTHING


@njit(cache=True, error_model="numpy")
def free_way(cuts, count, z, tall, length, edges, trail):
    """How far a ray whose feet are at height `z` gets over `cuts`, at most `length`, [m].

    `tall` is the height of the body, [m]. `trail` (T, 3) takes where parts of the floor begin,
    their heights there and their slopes; with T = 0 none is kept.

    Returns:
        The way, what ends it, and the number of parts of the trail.
    """
    at = 0.0
    floor = z
    gap = -1.0  # where the floor ended, while it may be a seam
    gap_floor = z
    parts = 0
    while at < length:
        here = at + _BEYOND
        best = -np.inf
        slope = 0.0
        next_at = length
        for k in range(count):
            c = cuts[k]
            if c[0] > here:
                next_at = min(next_at, c[0])
            elif c[1] > here:
                next_at = min(next_at, c[1])
                top = c[3] + (here - c[0]) * c[5]
                if c[6] > 0.0 and best < top <= floor + _CLIMB:
                    best = top
                    slope = c[5]
        if best < floor - _CLIMB:
            if edges and gap < 0.0:
                gap = at
                gap_floor = floor
            if edges and next_at - gap > _SEAM:
                kind = _kind_at(cuts, count, gap, _SAME_END, gap_floor, tall)
                return gap, DROP if kind == NOTHING else kind, parts
            best = floor
            slope = 0.0
        else:
            gap = -1.0
        # A floor that rises into something is looked at again and again.
        if slope != 0.0:
            next_at = min(next_at, at + _STRIDE)
        floor = best
        if parts < trail.shape[0]:
            trail[parts, 0] = at
            trail[parts, 1] = floor
            trail[parts, 2] = slope
            parts += 1
        for k in range(count):
            c = cuts[k]
            if c[0] <= here < c[1]:
                low = c[2] + (here - c[0]) * c[4]
                top = c[3] + (here - c[0]) * c[5]
                if top > floor + _CLIMB and low < floor + tall:
                    kind = MOVER if c[6] == 2.0 else WALL
                    return at if gap < 0.0 else gap, kind, parts
        floor += slope * (next_at - here)
        at = next_at
    if gap >= 0.0:
        return gap, DROP, parts
    return length, NOTHING, parts


@njit(cache=True)
def _read_trail(trail, parts, z, reach, out):
    """Write the floor along a ray of `reach`, from feet at `z`, to `out` (FLOOR_PARTS,), [m].

    The last one is a little before the end.
    """
    k = 0
    for p in range(FLOOR_PARTS):
        at = reach * (p + 1) / FLOOR_PARTS
        if p == FLOOR_PARTS - 1:
            at = max(reach - 0.02, 0.0)
        while k + 1 < parts and trail[k + 1, 0] <= at:
            k += 1
        out[p] = 0.0
        if parts > 0:
            out[p] = trail[k, 1] + trail[k, 2] * (at - trail[k, 0]) - z


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
        bottom, top = _span(prisms, cylinders, triangles, movers, item)
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
        elif begin - at > _SEAM or begin >= length:
            return at
        else:
            at = begin
    return length


@njit(cache=True, error_model="numpy")
def _cast_level_ways(
    solids, movers, n_walls, n_floors, x, y, angle, length, edges, out, kinds, work
):
    """Fill `out` and `kinds` with the ways of rays among walls on a level floor.

    Arguments are those of `cast_free_ways`.
    """
    prisms, cylinders, triangles = solids[0], solids[1], solids[2]
    cuts, _, hubs, walls, floors, ways, _ = work
    shapes = prisms.shape[0] + cylinders.shape[0] + triangles.shape[0]
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
            enter, leave = _cut_item(
                prisms, cylinders, triangles, movers, item, x, y, cx, sy
            )
            if enter <= leave and max(leave, enter + 2.0 * _BEYOND) > _BEYOND:  # noqa: SIM102
                if max(enter, 0.0) < out[r]:
                    out[r] = max(enter, 0.0)
                    if kinds.shape[0] > 0:
                        kinds[r] = MOVER if item >= shapes else WALL
    if not edges:
        return
    for r in range(rays):
        for k in range(n_floors):
            item = floors[k]
            enter, leave = _cut_item(
                prisms, cylinders, triangles, movers, item, x, y, ways[r, 0], ways[r, 1]
            )
            cuts[k, 0] = enter if enter <= leave else -1.0
            cuts[k, 1] = leave if enter <= leave else -1.0
        edge = _level_edge(cuts, n_floors, out[r])
        if kinds.shape[0] > 0 and edge < out[r] - _SAME_END:
            kinds[r] = DROP
        out[r] = edge


@njit(cache=True)
def ray_work(most, rays):
    """Work space of `cast_free_ways` for `rays` and at most `most` shapes and movers."""
    return (
        np.empty((MOST_CUTS, 7)), np.empty(4), np.empty((most, 3)),
        np.empty(most, np.int64), np.empty(most, np.int64), np.empty((rays, 2)),
        np.empty((_TRAIL, 3)),
    )  # fmt: skip


@njit(cache=True, error_model="numpy")
def cast_free_ways(
    solids, near, n, movers, x, y, z, angle, length, edges, out, more, work
):
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
        more: what ends each way, shape (rays,), and the floor along it above the feet, shape
            (rays, FLOOR_PARTS), [m]; of shapes (0,) and (0, FLOOR_PARTS) to leave them out.
        work: what `ray_work` made.
    """
    cuts, ends, hubs, walls, floors, _, trail = work
    kinds, profiles = more
    shapes = solids[0].shape[0] + solids[1].shape[0] + solids[2].shape[0]
    for m in range(movers.shape[0]):
        if movers[m, 8] != 0.0:
            near[n] = shapes + m
            n += 1
    n_walls, n_floors = sort_level_shapes(solids, movers, near, n, z, walls, floors)
    if 0 <= n_floors <= cuts.shape[0]:
        kinds[:] = NOTHING
        profiles[:] = 0.0
        _cast_level_ways(
            solids,
            movers,
            n_walls,
            n_floors,
            x,
            y,
            angle,
            length,
            edges,
            out,
            kinds,
            work,
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
        out[r], kind, parts = free_way(
            cuts, count, z, solids[3][5], length, edges, trail[: _TRAIL * len(kinds)]
        )
        if kinds.shape[0] > 0:
            kinds[r] = kind
            _read_trail(trail, parts, z, out[r], profiles[r])
