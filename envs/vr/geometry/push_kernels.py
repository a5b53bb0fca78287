"""Compiled push-out of a disc from boxes and cylinders seen from above."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

TOUCH_DEPTH = 1e-6
"""Overlap up to this is rounding, not contact, [m]."""
STUCK_DEPTH = 0.001
"""A body whose overlap exceeds this after all passes undoes its step, [m]."""
MOST_OVERLAPS = 8
"""Largest number of simultaneous overlaps."""
_TOUCH = TOUCH_DEPTH


@njit(cache=True)
def push_from_box(x, y, box, radius):
    """(x, y) moved out of the box grown by the body's radius, and the depth moved."""
    dx = x - box[0]
    dy = y - box[1]
    u = box[4] * dx + box[5] * dy
    v = -box[5] * dx + box[4] * dy
    cu = min(max(u, -box[2]), box[2])
    cv = min(max(v, -box[3]), box[3])
    du = u - cu
    dv = v - cv
    gap = math.sqrt(du * du + dv * dv)
    if gap >= radius:
        return x, y, 0.0
    if gap > 0.0:
        depth = radius - gap
        nu = du / gap
        nv = dv / gap
    else:
        side_u = box[2] - abs(u)
        side_v = box[3] - abs(v)
        if side_u < side_v:
            depth = radius + side_u
            nu = 1.0 if u >= 0.0 else -1.0
            nv = 0.0
        else:
            depth = radius + side_v
            nu = 0.0
            nv = 1.0 if v >= 0.0 else -1.0
    nx = box[4] * nu - box[5] * nv
    ny = box[5] * nu + box[4] * nv
    return x + nx * depth, y + ny * depth, depth


@njit(cache=True)
def push_from_cylinder(x, y, cylinder, radius):
    """(x, y) moved out of the cylinder grown by the body's radius, and the depth."""
    dx = x - cylinder[0]
    dy = y - cylinder[1]
    gap = math.sqrt(dx * dx + dy * dy)
    depth = cylinder[2] + radius - gap
    if depth <= 0.0:
        return x, y, 0.0
    if gap == 0.0:
        return x + depth, y, depth
    return x + dx / gap * depth, y + dy / gap * depth, depth


@njit(cache=True)
def way_out(found, n):
    """The shortest move that resolves the first `n` overlaps of `found`.

    Each overlap is a half-plane that the move must leave, so the shortest one is along a single
    direction or to the corner of two. Opposed half-planes have no common solution: then it is
    that of the deepest overlap.
    """
    best = np.inf
    bx = 0.0
    by = 0.0
    deepest = 0
    for i in range(n):
        if found[i, 2] > found[deepest, 2]:
            deepest = i
        for j in range(i, n):
            if i == j:
                ux = found[i, 0] * found[i, 2]
                uy = found[i, 1] * found[i, 2]
            else:
                det = found[i, 0] * found[j, 1] - found[i, 1] * found[j, 0]
                if abs(det) < 1e-6:
                    continue
                ux = (found[i, 2] * found[j, 1] - found[j, 2] * found[i, 1]) / det
                uy = (found[j, 2] * found[i, 0] - found[i, 2] * found[j, 0]) / det
            length = ux * ux + uy * uy
            if length >= best:
                continue
            leaves = True
            for k in range(n):
                out = found[k, 0] * ux + found[k, 1] * uy
                if out < found[k, 2] - 0.5 * _TOUCH:
                    leaves = False
            if leaves:
                best = length
                bx = ux
                by = uy
    if best == np.inf:
        bx = found[deepest, 0] * found[deepest, 2]
        by = found[deepest, 1] * found[deepest, 2]
    return bx, by
