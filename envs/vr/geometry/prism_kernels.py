"""Compiled geometry of the world contract: push-out, floor support and rays.

Shapes are vertical prisms in the plane. A level occupies one row of padded arrays:
boxes (S, B, 6: x, y, a, b, cos, sin), cylinders (S, C, 3: x, y, r), holes (S, H, 4) and
bounds (S, 4), with the counts in `counts` (S, 3).
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from ambulo.envs.vr.contract import SLIDE_ITERATIONS

_PASSES = SLIDE_ITERATIONS

TOUCH_DEPTH = 1e-6
"""Overlap up to this is rounding: a body that stands at a wall does not touch it, [m]."""
_TOUCH = TOUCH_DEPTH
STUCK_DEPTH = 0.001
"""A body that still overlaps by more after all passes takes its step back, [m]."""
_STUCK = STUCK_DEPTH
MOST_OVERLAPS = 8
"""Overlaps at one place that are looked at."""


@njit(cache=True, inline="always")
def on_floor(x, y, bounds, holes, n_holes):
    """Whether the point (x, y) has floor below it."""
    if x < bounds[0] or y < bounds[1] or x > bounds[2] or y > bounds[3]:
        return False
    for h in range(n_holes):
        hole = holes[h]
        if hole[0] < x < hole[2] and hole[1] < y < hole[3]:
            return False
    return True


@njit(cache=True, inline="always")
def box_distance(x, y, box):
    """Distance from (x, y) to a box prism, 0 inside, [m]."""
    dx = x - box[0]
    dy = y - box[1]
    u = abs(box[4] * dx + box[5] * dy) - box[2]
    v = abs(-box[5] * dx + box[4] * dy) - box[3]
    u = max(u, 0.0)
    v = max(v, 0.0)
    return math.sqrt(u * u + v * v)


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
def near_shapes(x, y, reach, boxes, n_boxes, cylinders, n_cylinders, index):
    """How many boxes and cylinders are nearer than `reach`.

    Their indices are written into `index`: boxes from its front, cylinders from its
    back.
    """
    nb = 0
    for k in range(n_boxes):
        if box_distance(x, y, boxes[k]) < reach:
            index[nb] = k
            nb += 1
    nc = 0
    last = index.shape[0] - 1
    for k in range(n_cylinders):
        c = cylinders[k]
        far = reach + c[2]
        if (x - c[0]) ** 2 + (y - c[1]) ** 2 < far * far:
            index[last - nc] = k
            nc += 1
    return nb, nc


@njit(cache=True)
def overlaps(x, y, boxes, cylinders, index, nb, nc, found, radius):
    """How many near shapes the body of `radius` at (x, y) overlaps, at most K.

    Each is written into `found` (K, 3): unit vector out, and depth [m].
    """
    last = index.shape[0] - 1
    n = 0
    for k in range(nb + nc):
        if k < nb:
            px, py, depth = push_from_box(x, y, boxes[index[k]], radius)
        else:
            px, py, depth = push_from_cylinder(
                x, y, cylinders[index[last - (k - nb)]], radius
            )
        if depth > _TOUCH and n < found.shape[0]:
            found[n, 0] = (px - x) / depth
            found[n, 1] = (py - y) / depth
            found[n, 2] = depth
            n += 1
    return n


@njit(cache=True)
def way_out(found, n):
    """The shortest move that undoes the first `n` overlaps of `found`.

    Each overlap is a half-plane that the move must leave, so the shortest one is along
    a single direction or to the corner of two. Opposed half-planes have no common way
    out: then it is the deepest overlap's.
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


@njit(cache=True)
def slide(x0, y0, x, y, boxes, cylinders, index, nb, nc, found, radius):
    """(x, y) pushed out of all near shapes to `radius`, and whether any was touched.

    Where no way out is found (a gap narrower than the body), it is back at (x0, y0).
    `found` (K, 3) is work space.
    """
    touched = False
    for _ in range(_PASSES):
        n = overlaps(x, y, boxes, cylinders, index, nb, nc, found, radius)
        if n == 0:
            return x, y, touched
        touched = True
        ux, uy = way_out(found, n)
        x += ux
        y += uy
    n = overlaps(x, y, boxes, cylinders, index, nb, nc, found, radius)
    for k in range(n):
        if found[k, 2] > _STUCK:
            return x0, y0, True
    return x, y, True


@njit(cache=True)
def moved_out(x, y, radius, boxes, n_boxes, cylinders, n_cylinders):
    """(x, y) moved to `radius` from all shapes, or left where there is no such place."""
    index = np.empty(boxes.shape[0] + cylinders.shape[0], np.int64)
    found = np.empty((MOST_OVERLAPS, 3))
    nb, nc = near_shapes(
        x, y, 2.0 * radius, boxes, n_boxes, cylinders, n_cylinders, index
    )
    x, y, _ = slide(x, y, x, y, boxes, cylinders, index, nb, nc, found, radius)
    return x, y


@njit(cache=True, inline="always")
def ray_box(x, y, cx, sy, box):
    """Distance along the ray from (x, y) to a box prism, or inf, [m]."""
    dx = x - box[0]
    dy = y - box[1]
    u = box[4] * dx + box[5] * dy
    v = -box[5] * dx + box[4] * dy
    du = box[4] * cx + box[5] * sy
    dv = -box[5] * cx + box[4] * sy
    enter = 0.0
    leave = np.inf
    if abs(du) < 1e-12:
        if abs(u) > box[2]:
            return np.inf
    else:
        t0 = (-box[2] - u) / du
        t1 = (box[2] - u) / du
        enter = max(enter, min(t0, t1))
        leave = min(leave, max(t0, t1))
    if abs(dv) < 1e-12:
        if abs(v) > box[3]:
            return np.inf
    else:
        t0 = (-box[3] - v) / dv
        t1 = (box[3] - v) / dv
        enter = max(enter, min(t0, t1))
        leave = min(leave, max(t0, t1))
    return enter if enter <= leave else np.inf


@njit(cache=True, inline="always")
def ray_cylinder(x, y, cx, sy, cylinder):
    """Distance along the ray from (x, y) to a cylinder prism, or inf, [m]."""
    dx = x - cylinder[0]
    dy = y - cylinder[1]
    b = dx * cx + dy * sy
    c = dx * dx + dy * dy - cylinder[2] * cylinder[2]
    if c <= 0.0:
        return 0.0
    disc = b * b - c
    if b >= 0.0 or disc < 0.0:
        return np.inf
    return -b - math.sqrt(disc)


@njit(cache=True)
def ray_edge(x, y, cx, sy, bounds, holes, n_holes):
    """Distance along the ray from (x, y) on the floor to the first floor edge, [m]."""
    reach = np.inf
    if cx > 1e-12:
        reach = min(reach, (bounds[2] - x) / cx)
    elif cx < -1e-12:
        reach = min(reach, (bounds[0] - x) / cx)
    if sy > 1e-12:
        reach = min(reach, (bounds[3] - y) / sy)
    elif sy < -1e-12:
        reach = min(reach, (bounds[1] - y) / sy)
    box = np.empty(6)
    box[4] = 1.0
    box[5] = 0.0
    for h in range(n_holes):
        hole = holes[h]
        box[0] = 0.5 * (hole[0] + hole[2])
        box[1] = 0.5 * (hole[1] + hole[3])
        box[2] = 0.5 * (hole[2] - hole[0])
        box[3] = 0.5 * (hole[3] - hole[1])
        reach = min(reach, ray_box(x, y, cx, sy, box))
    return max(reach, 0.0)


@njit(cache=True)
def cast_rays(
    x, y, angle, length, edges, out, boxes, cylinders, index, nb, nc, bounds, holes, nh
):
    """Fills `out` with the ray readings of a player whose ray 0 points along `angle`.

    `index` lists the shapes within `length`, as `near_shapes` leaves them.
    """
    n = out.shape[0]
    last = index.shape[0] - 1
    supported = on_floor(x, y, bounds, holes, nh)
    for r in range(n):
        if not supported:
            out[r] = length
            continue
        heading = angle + 2.0 * math.pi * r / n
        cx = math.cos(heading)
        sy = math.sin(heading)
        reach = length
        if edges:
            reach = min(reach, ray_edge(x, y, cx, sy, bounds, holes, nh))
        for k in range(nb):
            reach = min(reach, ray_box(x, y, cx, sy, boxes[index[k]]))
        for k in range(nc):
            reach = min(reach, ray_cylinder(x, y, cx, sy, cylinders[index[last - k]]))
        out[r] = reach
