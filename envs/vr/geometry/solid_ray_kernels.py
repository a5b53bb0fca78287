"""Compiled rays of levels: free distance along the floor.

A ray follows the floor from the feet on: up and down slopes and steps of at most
`CLIMB_HEIGHT`. It ends at an obstacle between `CLIMB_HEIGHT` and the height of the body above
that floor, and, if it detects edges, where the floor drops by more over more than `MAX_SEAM`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from ambulo.configs.arrays import Floats, Ints
from ambulo.envs.vr.contract import (
    CLIMB_HEIGHT,
    MAX_SEAM,
)
from ambulo.envs.vr.geometry.cut_kernels import (
    BEYOND,
    STRIDE,
    Ray,
    RayWork,
    collect_cuts,
    cut_item,
    reach_around,
    span_of,
)
from ambulo.envs.vr.geometry.solid_kernels import LocalShapes

_CLIMB = CLIMB_HEIGHT
_SEAM = MAX_SEAM
_EVEN = 1e-9
"""Height difference below which floors count as equal, [m]."""
NOTHING, WALL, DROP, MOVER = 0, 1, 2, 3
"""Kinds of ends of a ray: its length, a static shape, an edge of the floor, or a mover."""
FLOOR_PARTS = 4
"""Floor heights reported along a ray, at equal distances up to its end."""
_SAME_END = 0.03
"""An obstacle this near behind an edge of the floor ends a ray as well, [m]."""
_TRAIL = 128
"""Largest number of parts of a ray between which its floor bends."""


class RayFan(NamedTuple):
    """Rays from a body to all sides, at equal angles."""

    x: float
    """x of the feet, [m]."""
    y: float
    z: float
    angle: float
    """Angle of ray 0, [rad]."""
    length: float
    """Length of each, [m]."""
    edges: bool
    """Whether rays end where the floor does."""


class RayEnds(NamedTuple):
    """Readings of a body's rays, written by `cast_free_ways`."""

    ways: Floats
    """Free distance of each ray, shape (rays,), [m]."""
    kinds: Ints
    """Kind of the end of each ray, shape (rays,); (0,): not requested."""
    floors: Floats
    """The floor along each ray above the feet, (rays, FLOOR_PARTS) or (0, FLOOR_PARTS), [m]."""


@njit(cache=True, error_model="numpy")
def _kind_at(cuts, count, at, aside, floor, tall):
    """Kind of shape above `floor` at `at` along a ray, or up to `aside` behind: WALL or MOVER.

    NOTHING if there is none.
    """
    for k in range(count):
        c = cuts[k]
        if c[0] <= at + aside and c[1] > at:
            low = c[2] + (at - c[0]) * c[4]
            top = c[3] + (at - c[0]) * c[5]
            if top > floor + _CLIMB and low < floor + tall:
                return MOVER if c[6] == 2.0 else WALL
    return NOTHING


@njit(cache=True, inline="always")
def _first_below(a, b, c, d, most):
    """First s in [0, `most`] at which a + b s and c + d s are both negative; `most`: none."""
    if (a >= 0.0 and b >= 0.0) or (c >= 0.0 and d >= 0.0):
        return most
    first = max(-a / b if a >= 0.0 else 0.0, -c / d if c >= 0.0 else 0.0)
    last = min(-a / b if b > 0.0 else np.inf, -c / d if d > 0.0 else np.inf)
    return first if first < min(last, most) else most


@njit(cache=True, inline="always", error_model="numpy")
def _floor_at(cuts, count, here, floor, length):
    """Highest floor at `here` up to a climb above `floor` (-inf: none), and its surroundings.

    Its slope, whether any shape slopes, and where the next cut begins or ends, at most
    `length`.
    """
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
    return best, slope, slopes, next_at


@njit(cache=True, inline="always", error_model="numpy")
def _first_wall(cuts, count, here, floor, slope, tall, most):
    """Free distance from `here` on a sloping floor, at most `most`, and what ends it.

    WALL or MOVER; NOTHING if it reaches `most`.
    """
    kind = NOTHING
    for k in range(count):
        c = cuts[k]
        if c[0] <= here < c[1]:
            low = c[2] + (here - c[0]) * c[4] - floor - tall
            top = c[3] + (here - c[0]) * c[5] - floor - _CLIMB
            first = _first_below(low, c[4] - slope, BEYOND - top, slope - c[5], most)
            if first < most:
                most = first
                kind = MOVER if c[6] == 2.0 else WALL
    return most, kind


@njit(cache=True, error_model="numpy")
def free_way(cuts, count, z, tall, length, edges, trail):
    """Free distance of a ray from feet at height `z` over `cuts`, at most `length`, [m].

    `tall` is the height of the body, [m]. `trail` (T, 3) receives the start, height and slope
    of each part of the floor; with T = 0 none is stored.

    Returns:
        The distance, what ends it, and the number of parts of the trail.
    """
    at = 0.0
    floor = z
    gap = -1.0  # where the floor ended, while it may be a seam
    rim = -1.0  # start and end of the last seam
    back = -1.0
    gap_floor = z
    parts = 0
    while at < length:
        here = at + BEYOND
        best, slope, slopes, next_at = _floor_at(cuts, count, here, floor, length)
        if best < floor - _CLIMB:
            if edges and gap < 0.0:
                gap = at
                gap_floor = floor
            if edges and next_at - gap > _SEAM:
                kind = _kind_at(cuts, count, gap, _SAME_END, gap_floor, tall)
                return gap, DROP if kind == NOTHING else kind, parts
            best = floor
            slope = 0.0
        elif gap >= 0.0:
            rim = gap
            back = at
            gap = -1.0
        # Where shapes slope, the highest floor may change along the ray.
        if slopes:
            next_at = min(next_at, at + STRIDE)
        floor = best
        if parts < trail.shape[0]:
            trail[parts, 0] = at
            trail[parts, 1] = floor
            trail[parts, 2] = slope
            parts += 1
        free, kind = _first_wall(cuts, count, here, floor, slope, tall, next_at - here)
        if kind != NOTHING:
            end = at if free <= 0.0 else min(here + free, length)
            if gap >= 0.0:
                end = gap
            elif rim >= 0.0 and end <= back + BEYOND:
                end = rim
            return end, kind, parts
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
def sort_level_shapes(shapes, z, walls, floors):
    """Write which shapes are walls and floors of rays that stay at height `z`.

    Returns:
        The numbers of walls and floors; -1, -1 if a floor within a climb is higher, lower or
        sloping, so that rays have to follow it.
    """
    prisms, cylinders, triangles, tall, items, n, movers = shapes
    n_still = prisms.shape[0] + cylinders.shape[0]
    n_shapes = n_still + triangles.shape[0]
    high = z + tall
    n_walls = 0
    n_floors = 0
    for k in range(n):
        item = items[k]
        bottom, top = span_of(prisms, cylinders, triangles, movers, item)
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
    """Distance over which `count` floors, entered and left at `floors`, carry a ray."""
    at = 0.0
    while at < length:
        here = at + BEYOND
        end = at
        begin = length
        for k in range(count):
            if floors[k, 0] > here:
                begin = min(begin, floors[k, 0])
            else:
                end = max(end, floors[k, 1])
        if end > here:
            at = end
        elif begin - at > _SEAM or begin >= length - BEYOND:
            return at
        else:
            at = begin
    return length


@njit(cache=True, error_model="numpy")
def _cast_level_ways(shapes, n_walls, n_floors, fan, out, work):
    """Write the readings of rays among walls on a level floor to `out`, as `cast_free_ways`."""
    prisms, cylinders, triangles, tall, _, _, movers = shapes
    cuts, _, hubs, walls, floors, directions, _ = work
    ways, kinds, _ = out
    n_shapes = prisms.shape[0] + cylinders.shape[0] + triangles.shape[0]
    rays = ways.shape[0]
    for r in range(rays):
        heading = fan.angle + 2.0 * math.pi * r / rays
        directions[r, 0] = math.cos(heading)
        directions[r, 1] = math.sin(heading)
        ways[r] = fan.length
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
            enter, leave = cut_item(prisms, cylinders, triangles, movers, item, ray)
            if enter > leave or max(leave, enter + 2.0 * BEYOND) <= BEYOND:
                continue
            if max(enter, 0.0) < ways[r]:
                ways[r] = max(enter, 0.0)
                if kinds.shape[0] > 0:
                    kinds[r] = MOVER if item >= n_shapes else WALL
    if not fan.edges:
        return
    for r in range(rays):
        ray = Ray(fan.x, fan.y, directions[r, 0], directions[r, 1], fan.length)
        for k in range(n_floors):
            item = floors[k]
            enter, leave = cut_item(prisms, cylinders, triangles, movers, item, ray)
            cuts[k, 0] = enter if enter <= leave else -1.0
            cuts[k, 1] = leave if enter <= leave else -1.0
        edge = _level_edge(cuts, n_floors, ways[r])
        if kinds.shape[0] > 0 and edge < ways[r] - _SAME_END:
            kinds[r] = DROP
        ways[r] = edge


@njit(cache=True)
def ray_work(most, rays):
    """Work space of `cast_free_ways` for `rays` and at most `most` shapes and movers."""
    return RayWork(
        np.empty((most, 7)), np.empty(4), np.empty((most, 3)),
        np.empty(most, np.int64), np.empty(most, np.int64), np.empty((rays, 2)),
        np.empty((_TRAIL, 3)),
    )  # fmt: skip


@njit(cache=True, error_model="numpy")
def cast_free_ways(shapes, fan, out, work):
    """Write the free distances of rays, and what ends them, to `out`.

    Args:
        shapes: Shapes within the length of the rays; their index array has space for all
            movers.
        fan: The rays.
        out: `RayEnds` (output).
        work: Result of `ray_work`.
    """
    prisms, cylinders, triangles, tall, near, n, movers = shapes
    n_shapes = prisms.shape[0] + cylinders.shape[0] + triangles.shape[0]
    ways, kinds, floors = out
    for m in range(movers.shape[0]):
        if movers[m, 8] != 0.0:
            near[n] = n_shapes + m
            n += 1
    shapes = LocalShapes(prisms, cylinders, triangles, tall, near, n, movers)
    n_walls, n_floors = sort_level_shapes(shapes, fan.z, work.walls, work.floors)
    if n_floors >= 0:
        kinds[:] = NOTHING
        floors[:] = 0.0
        _cast_level_ways(shapes, n_walls, n_floors, fan, out, work)
        return
    rays = ways.shape[0]
    reach_around(shapes, fan.x, fan.y, work.hubs)
    for r in range(rays):
        heading = fan.angle + 2.0 * math.pi * r / rays
        ray = Ray(fan.x, fan.y, math.cos(heading), math.sin(heading), fan.length)
        count = collect_cuts(shapes, ray, work)
        ways[r], kind, parts = free_way(
            work.cuts, count, fan.z, tall, fan.length, fan.edges,
            work.trail[: _TRAIL * len(kinds)],
        )  # fmt: skip
        if kinds.shape[0] > 0:
            kinds[r] = kind
            _read_trail(work.trail, parts, fan.z, ways[r], floors[r])
