"""Compiled cuts of rays through shapes: intervals and heights of each shape along a ray."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from ambulo.configs.arrays import Floats, Ints
from ambulo.envs.vr.contract import STEEPEST_FLOOR
from ambulo.envs.vr.geometry.solid_kernels import BOX
from ambulo.envs.vr.geometry.triangle_kernels import cut_by_ray

_FLOOR = STEEPEST_FLOOR
BEYOND = 1e-6
"""A cut is evaluated this far after its beginning, and is at least twice as long, [m]."""
STRIDE = 0.25
"""Longest part of a sloping floor with a single check for obstacles, [m]."""


class Ray(NamedTuple):
    """One ray, seen from above."""

    x: float
    """x of its origin, [m]."""
    y: float
    cos: float
    """Cosine of its direction."""
    sin: float
    length: float
    """Its length, [m]."""


class RayWork(NamedTuple):
    """Work space of `cast_free_ways`."""

    cuts: Floats
    """Cuts of a ray, see `_keep`, shape (K, 7)."""
    ends: Floats
    """Ends of a cut through a triangle, shape (4,)."""
    hubs: Floats
    """Positions and radii of shapes, see `reach_around`, shape (S, 3)."""
    walls: Ints
    """Indices of shapes, shape (S,)."""
    floors: Ints
    """Indices of shapes, shape (S,)."""
    directions: Floats
    """Unit vectors of the rays, shape (rays, 2)."""
    trail: Floats
    """Parts of the floor along a ray, see `free_way`, shape (T, 3)."""


@njit(cache=True, inline="always", error_model="numpy")
def _cut_rectangle(dx, dy, a, b, cos, sin, cx, sy):
    """Distances at which a ray from (dx, dy) enters and leaves a centred rectangle, [m]."""
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
    """Distances at which a ray enters and leaves a prism's base, [m]; enter > leave: a miss."""
    return _cut_rectangle(
        ray.x - row[0], ray.y - row[1], row[2], row[3], row[4], row[5], ray.cos, ray.sin
    )


@njit(cache=True, error_model="numpy")
def cut_disc(ray, px, py, radius):
    """Distances at which a ray enters and leaves a disc, [m]; enter > leave: a miss."""
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

    `begin` and `end` are the bottom and top there; `cuts` stores their slopes for the latter.
    `floor` is 0 for none, 1 for a static floor, and 2 for a moving one.
    """
    low0, top0 = begin
    low1, top1 = end
    if enter > leave or leave < 0.0 or enter >= length:
        return n
    leave = max(leave, enter + 2.0 * BEYOND)
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
    """Write positions of shapes relative to (x, y), and their radii, to `hubs`.

    Movers follow the shapes; `hubs` (n, 3) are x, y and a radius, so that rays can skip most
    shapes.
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
            hubs[k, 2] = math.sqrt(far) + BEYOND
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
        hubs[k, 2] += BEYOND


@njit(cache=True, inline="always")
def _misses(dx, dy, radius, ray):
    """Whether a ray misses the disc of `radius` around (dx, dy), or ends before it."""
    along = dx * ray.cos + dy * ray.sin
    aside = abs(dx * ray.sin - dy * ray.cos)
    return aside > radius or along < -radius or along > ray.length + radius


@njit(cache=True, inline="always")
def span_of(prisms, cylinders, triangles, movers, item):
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
def cut_item(prisms, cylinders, triangles, movers, item, ray):
    """Distances at which a ray enters and leaves the base of a prism, cylinder or mover, [m].

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
    """Write the cuts of a ray to `work`; returns their number.

    `reach_around` must have written the hubs of `work`.
    """
    prisms, cylinders, triangles, _, items, n, movers = shapes
    cuts, ends, hubs, _, _, _, _ = work
    n_still = prisms.shape[0] + cylinders.shape[0]
    n_shapes = n_still + triangles.shape[0]
    count = 0
    for k in range(n):
        if _misses(hubs[k, 0], hubs[k, 1], hubs[k, 2], ray):
            continue
        item = items[k]
        if item < n_still or item >= n_shapes:
            enter, leave = cut_item(prisms, cylinders, triangles, movers, item, ray)
            span = span_of(prisms, cylinders, triangles, movers, item)
            floor = 2.0 if item >= n_shapes else 1.0
            count = _keep(cuts, count, enter, leave, ray.length, span, span, floor)
            continue
        row = triangles[item - n_still]
        if cut_by_ray(ray.x, ray.y, ray.cos, ray.sin, row, ends):
            a, za, b, zb = ends[0], ends[1], ends[2], ends[3]
            begin = (za, za)
            end = (zb, zb)
            is_floor = 1.0 if row[11] >= _FLOOR else 0.0
            if is_floor == 0.0 and b - a < STRIDE:
                begin = end = (min(za, zb), max(za, zb))
            count = _keep(cuts, count, a, b, ray.length, begin, end, is_floor)
    return count
