"""Compiled rays of levels with heights: how far the way is free, along the floor.

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
_BEYOND = 1e-6
"""A cut is looked at this far behind its beginning, and lasts at least twice as long, [m]."""
_STRIDE = 0.25
"""Longest part of a sloping floor on which obstacles are looked for once, [m]."""
MOST_CUTS = 256
"""Shapes along one ray that are looked at."""


@njit(cache=True, error_model="numpy")
def cut_box(x, y, cx, sy, row):
    """Where a ray enters and leaves the base of a prism, [m]; enter > leave: it misses."""
    dx = x - row[0]
    dy = y - row[1]
    u = row[4] * dx + row[5] * dy
    v = -row[5] * dx + row[4] * dy
    du = row[4] * cx + row[5] * sy
    dv = -row[5] * cx + row[4] * sy
    enter = -np.inf
    leave = np.inf
    if abs(du) < 1e-12:
        if abs(u) > row[2]:
            return 1.0, 0.0
    else:
        t0 = (-row[2] - u) / du
        t1 = (row[2] - u) / du
        enter = max(enter, min(t0, t1))
        leave = min(leave, max(t0, t1))
    if abs(dv) < 1e-12:
        if abs(v) > row[3]:
            return 1.0, 0.0
    else:
        t0 = (-row[3] - v) / dv
        t1 = (row[3] - v) / dv
        enter = max(enter, min(t0, t1))
        leave = min(leave, max(t0, t1))
    return enter, leave


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
    """Add a cut: begin, end, bottom and top at both, and whether its top is a floor."""
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
def reach_around(solids, near, n, movers, x, y, hubs):
    """Write where shapes and movers lie from (x, y), and how far they reach, to `hubs`.

    `hubs` (n + M, 3) are x, y and a radius, so that rays can leave most shapes out.
    """
    prisms, drums, triangles = solids[0], solids[1], solids[2]
    n_prisms = prisms.shape[0]
    n_still = n_prisms + drums.shape[0]
    for k in range(n):
        item = near[k]
        hub = hubs[k]
        if item < n_prisms:
            row = prisms[item]
            hub[0] = row[0] - x
            hub[1] = row[1] - y
            hub[2] = math.sqrt(row[2] * row[2] + row[3] * row[3]) + _BEYOND
        elif item < n_still:
            row = drums[item - n_prisms]
            hub[0] = row[0] - x
            hub[1] = row[1] - y
            hub[2] = row[2] + _BEYOND
        else:
            row = triangles[item - n_still]
            px = (row[0] + row[3] + row[6]) / 3.0
            py = (row[1] + row[4] + row[7]) / 3.0
            far = max(
                (row[0] - px) ** 2 + (row[1] - py) ** 2,
                (row[3] - px) ** 2 + (row[4] - py) ** 2,
            )
            far = max(far, (row[6] - px) ** 2 + (row[7] - py) ** 2)
            hub[0] = px - x
            hub[1] = py - y
            hub[2] = math.sqrt(far) + _BEYOND
    for m in range(movers.shape[0]):
        row = movers[m]
        hub = hubs[n + m]
        hub[0] = row[0] - x
        hub[1] = row[1] - y
        hub[2] = row[2] + _BEYOND
        if row[8] == BOX:
            hub[2] = math.sqrt(row[2] * row[2] + row[3] * row[3]) + _BEYOND


@njit(cache=True, inline="always")
def _misses(hub, cx, sy, length):
    """Whether a ray passes by all that a hub reaches, or does not get there."""
    across = hub[0] * sy - hub[1] * cx
    along = hub[0] * cx + hub[1] * sy
    return abs(across) > hub[2] or along < -hub[2] or along > length + hub[2]


@njit(cache=True, error_model="numpy")
def _cut_movers(movers, x, y, cx, sy, length, cuts, count, hubs):
    """Add what a ray passes over or through of `movers` to `cuts` (K, 7); how many."""
    for m in range(movers.shape[0]):
        row = movers[m]
        if row[8] == 0.0 or _misses(hubs[m], cx, sy, length):
            continue
        if row[8] == BOX:
            enter, leave = cut_box(x, y, cx, sy, row)
        else:
            enter, leave = cut_disc(x, y, cx, sy, row[0], row[1], row[2])
        count = _keep(
            cuts, count, enter, leave, length, row[6], row[7], row[6], row[7], 1.0
        )
    return count


@njit(cache=True, error_model="numpy")
def collect_cuts(solids, near, n, movers, x, y, cx, sy, length, cuts, ends, hubs):
    """Write what a ray of `length` passes over or through to `cuts` (K, 7); how many.

    `hubs` is what `reach_around` made of the shapes.
    """
    prisms, drums, triangles = solids[0], solids[1], solids[2]
    n_prisms = prisms.shape[0]
    n_still = n_prisms + drums.shape[0]
    count = 0
    for k in range(n):
        if _misses(hubs[k], cx, sy, length):
            continue
        item = near[k]
        if item < n_prisms:
            row = prisms[item]
            enter, leave = cut_box(x, y, cx, sy, row)
            count = _keep(
                cuts, count, enter, leave, length, row[6], row[7], row[6], row[7], 1.0
            )
        elif item < n_still:
            row = drums[item - n_prisms]
            enter, leave = cut_disc(x, y, cx, sy, row[0], row[1], row[2])
            count = _keep(
                cuts, count, enter, leave, length, row[3], row[4], row[3], row[4], 1.0
            )
        else:
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
    return _cut_movers(movers, x, y, cx, sy, length, cuts, count, hubs[n:])


@njit(cache=True, error_model="numpy")
def free_way(cuts, count, z, tall, length, edges):
    """How far a ray whose feet are at height `z` gets over `cuts`, at most `length`, [m].

    `tall` is the height of the body, [m].
    """
    at = 0.0
    floor = z
    gap = -1.0  # where the floor ended, while it may be a seam
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
            if edges and next_at - gap > _SEAM:
                return gap
            best = floor
            slope = 0.0
        else:
            gap = -1.0
        # A floor that rises into something is looked at again and again.
        if slope != 0.0:
            next_at = min(next_at, at + _STRIDE)
        floor = best
        for k in range(count):
            c = cuts[k]
            if c[0] <= here < c[1]:
                low = c[2] + (here - c[0]) * c[4]
                top = c[3] + (here - c[0]) * c[5]
                if top > floor + _CLIMB and low < floor + tall:
                    return at if gap < 0.0 else gap
        floor += slope * (next_at - here)
        at = next_at
    return length if gap < 0.0 else gap


@njit(cache=True, error_model="numpy")
def cast_free_ways(
    solids, near, n, movers, x, y, z, angle, length, edges, out, cuts, ends, hubs
):
    """Fill `out` with the ways of rays of which number 0 points along `angle`.

    `cuts` (K, 7), `ends` (4,) and `hubs` (n + M, 3) are work space.
    """
    rays = out.shape[0]
    reach_around(solids, near, n, movers, x, y, hubs)
    for r in range(rays):
        heading = angle + 2.0 * math.pi * r / rays
        cx = math.cos(heading)
        sy = math.sin(heading)
        count = collect_cuts(
            solids, near, n, movers, x, y, cx, sy, length, cuts, ends, hubs
        )
        out[r] = free_way(cuts, count, z, solids[3][5], length, edges)
