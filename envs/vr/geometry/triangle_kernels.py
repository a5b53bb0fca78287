"""Compiled geometry of triangles: height of their plane, distance from a vertical axis.

A triangle is a row of 15 numbers: corners, unit normal, lowest and highest z, and whether
there is matter behind it.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

_INSIDE = 1e-9


@njit(cache=True)
def plane_height(x, y, row):
    """Height of the triangle at (x, y); NaN beside it, or if it is vertical."""
    nz = row[11]
    if abs(nz) < 1e-9:
        return np.nan
    sign = 1.0 if nz > 0.0 else -1.0
    for k in range(3):
        a = 3 * k
        b = 3 * ((k + 1) % 3)
        ex = row[b] - row[a]
        ey = row[b + 1] - row[a + 1]
        side = ex * (y - row[a + 1]) - ey * (x - row[a])
        if sign * side < -_INSIDE:
            return np.nan
    return row[2] - (row[9] * (x - row[0]) + row[10] * (y - row[1])) / nz


@njit(cache=True)
def _from_edge(x, y, z, row, a, b):
    """Vector from the nearest point of the edge between corners at a, b to the point."""
    ex = row[b] - row[a]
    ey = row[b + 1] - row[a + 1]
    ez = row[b + 2] - row[a + 2]
    dx = x - row[a]
    dy = y - row[a + 1]
    dz = z - row[a + 2]
    t = (dx * ex + dy * ey + dz * ez) / (ex * ex + ey * ey + ez * ez)
    t = min(max(t, 0.0), 1.0)
    dx -= t * ex
    dy -= t * ey
    dz -= t * ez
    return dx, dy, dz


@njit(cache=True)
def _over_face(x, y, z, row):
    """Whether the point's projection onto the triangle's plane lies in the triangle."""
    nx = row[9]
    ny = row[10]
    nz = row[11]
    for k in range(3):
        a = 3 * k
        b = 3 * ((k + 1) % 3)
        ex = row[b] - row[a]
        ey = row[b + 1] - row[a + 1]
        ez = row[b + 2] - row[a + 2]
        dx = x - row[a]
        dy = y - row[a + 1]
        dz = z - row[a + 2]
        cx = ey * dz - ez * dy
        cy = ez * dx - ex * dz
        cz = ex * dy - ey * dx
        if cx * nx + cy * ny + cz * nz < -_INSIDE:
            return False
    return True


@njit(cache=True)
def axis_to_triangle(x, y, low, high, row):
    """Shortest vector from the triangle to the vertical segment at (x, y), `low` to `high`.

    Ericson, Real-Time Collision Detection (2005), sections 5.1.9 and 5.1.10: the nearest
    points are ends of the segment against the face, or the segment against an edge.
    """
    z = plane_height(x, y, row)
    if low <= z <= high:
        return 0.0, 0.0, 0.0
    best = np.inf
    hx = 0.0
    hy = 0.0
    hz = 0.0
    for end in range(2):
        pz = low if end == 0 else high
        away = row[9] * (x - row[0]) + row[10] * (y - row[1]) + row[11] * (pz - row[2])
        if away * away < best and _over_face(x, y, pz, row):
            best = away * away
            hx = away * row[9]
            hy = away * row[10]
            hz = away * row[11]
    for k in range(3):
        a = 3 * k
        b = 3 * ((k + 1) % 3)
        ex = row[b] - row[a]
        ey = row[b + 1] - row[a + 1]
        ez = row[b + 2] - row[a + 2]
        flat = ex * ex + ey * ey
        # Nearest point of the infinite axis, clamped to the segment: the distance is convex.
        if flat > 1e-18:
            t = ((x - row[a]) * ex + (y - row[a + 1]) * ey) / flat
            t = min(max(t, 0.0), 1.0)
            pz = min(max(row[a + 2] + t * ez, low), high)
        else:
            pz = min(max(row[a + 2], low), high)
            if (row[a + 2] - pz) * (row[b + 2] - pz) > 0.0:
                pz = min(max(row[b + 2], low), high)
        dx, dy, dz = _from_edge(x, y, pz, row, a, b)
        square = dx * dx + dy * dy + dz * dz
        if square < best:
            best = square
            hx = dx
            hy = dy
            hz = dz
    return hx, hy, hz


@njit(cache=True)
def cut_by_ray(x, y, cx, sy, row, out):
    """Cut of the triangle with the vertical plane through a ray; False: no cut.

    Writes distance along the ray and height of both ends of the cut to `out` (4,), the nearer
    end first.
    """
    n = 0
    for k in range(3):
        a = 3 * k
        b = 3 * ((k + 1) % 3)
        ta = -sy * (row[a] - x) + cx * (row[a + 1] - y)
        tb = -sy * (row[b] - x) + cx * (row[b + 1] - y)
        if (ta > 0.0) == (tb > 0.0):
            continue
        w = ta / (ta - tb)
        px = row[a] + w * (row[b] - row[a])
        py = row[a + 1] + w * (row[b + 1] - row[a + 1])
        out[2 * n] = cx * (px - x) + sy * (py - y)
        out[2 * n + 1] = row[a + 2] + w * (row[b + 2] - row[a + 2])
        n += 1
    if n < 2:
        return False
    if out[0] > out[2]:
        out[0], out[2] = out[2], out[0]
        out[1], out[3] = out[3], out[1]
    return math.isfinite(out[0])


@njit(cache=True)
def is_inside(shapes, x, y, z):
    """Whether (x, y, z) is in a closed body: the first face above it faces up."""
    prisms, cylinders, triangles, _, near, n, _ = shapes
    n_still = prisms.shape[0] + cylinders.shape[0]
    lowest = np.inf
    inside = False
    for k in range(n):
        item = near[k] - n_still
        if item < 0:
            continue
        row = triangles[item]
        if row[14] == 0.0 or row[13] <= z:
            continue
        above = plane_height(x, y, row)
        if z < above < lowest:
            lowest = above
            inside = row[11] > 0.0
    return inside
