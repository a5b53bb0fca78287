"""Compiled survey of what stands at several heights around bodies, and of the floor ahead."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from ambulo.envs.vr.geometry.solid_kernels import nearby, support
from ambulo.envs.vr.geometry.solid_ray_kernels import cut_item, span
from ambulo.envs.vr.geometry.triangle_kernels import cut_by_ray


@njit(cache=True)
def level_ray(solids, movers, near, n, x, y, z, cx, sy, length, ends):
    """Distance along a level ray from (x, y, z) to the first shape, at most `length`, [m]."""
    prisms, drums, triangles = solids[0], solids[1], solids[2]
    n_still = prisms.shape[0] + drums.shape[0]
    reach = length
    for k in range(n):
        item = near[k]
        if item < n_still:
            bottom, top = span(prisms, drums, triangles, movers, item)
            if bottom < z < top:
                enter, leave = cut_item(
                    prisms, drums, triangles, movers, item, x, y, cx, sy
                )
                if enter <= leave and leave >= 0.0:
                    reach = min(reach, max(enter, 0.0))
        else:
            row = triangles[item - n_still]
            if row[12] <= z <= row[13] and cut_by_ray(x, y, cx, sy, row, ends):
                low = min(ends[1], ends[3])
                high = max(ends[1], ends[3])
                if low <= z <= high and high > low:
                    w = (z - ends[1]) / (ends[3] - ends[1])
                    at = ends[0] + w * (ends[2] - ends[0])
                    if at >= 0.0:
                        reach = min(reach, at)
    return reach


@njit(cache=True)
def survey(
    solids,
    position,
    yaw,
    turn,
    heights,
    length,
    places,
    deepest,
    rays,
    floor,
    near,
    seen,
):
    """Fill `rays` (heights, R) and `floor` (places,) of one body.

    Args:
        solids: the level's shapes.
        position: x, y, z of the feet, shape (3,), [m].
        yaw: heading, [rad].
        turn: direction of ray 0, [rad].
        heights: of the level rays above the feet, [m].
        length: range of the rays, [m].
        places: ahead and left of the body, shape (P, 2), [m].
        deepest: the floor is looked for this far up and down, [m].
        rays: distances, written.
        floor: heights relative to the feet, within `deepest`, written.
        near: work space for the numbers of shapes.
        seen: work space, -1 everywhere.
    """
    x = position[0]
    y = position[1]
    z = position[2]
    ends = np.empty(4)
    movers = np.zeros((0, 9))
    n = nearby(solids, x, y, length, near, seen, 0)
    count = rays.shape[1]
    for r in range(count):
        heading = turn + 2.0 * math.pi * r / count
        cx = math.cos(heading)
        sy = math.sin(heading)
        for h in range(heights.shape[0]):
            rays[h, r] = level_ray(
                solids, movers, near, n, x, y, z + heights[h], cx, sy, length, ends
            )
    c = math.cos(yaw)
    s = math.sin(yaw)
    for p in range(places.shape[0]):
        px = x + c * places[p, 0] - s * places[p, 1]
        py = y + s * places[p, 0] + c * places[p, 1]
        m = nearby(solids, px, py, 0.01, near, seen, p + 1)
        found, _ = support(solids, near, m, movers, px, py, z + deepest)
        floor[p] = max(found - z, -deepest)
