"""Compiled look-ups in distance fields on layers of floor."""

# ruff: noqa: RUF046 - int(math.floor(x)) is what numba needs

from __future__ import annotations

import math

import numpy as np
from numba import njit

SAME_FLOOR = 0.6
"""Largest height difference between a point and its floor, [m]."""


@njit(cache=True, inline="always")
def layer_near(field, height, j, i, z):
    """Layer of column (j, i) nearest to height `z` with a path to the goal; -1: none near."""
    best = SAME_FLOOR
    nearest = -1
    for layer in range(field.shape[0]):
        away = abs(height[layer, j, i] - z)
        if away < best and field[layer, j, i] < np.inf:
            best = away
            nearest = layer
    return nearest


@njit(cache=True)
def _mean_around(values, field, height, fx, fy, z):
    """Mean of `values` on the floor at `z` around (fx, fy), in cells; inf: no path."""
    _, ny, nx = field.shape
    i0 = int(math.floor(fx))
    j0 = int(math.floor(fy))
    tx = fx - i0
    ty = fy - j0
    total = 0.0
    weight = 0.0
    for j in range(max(j0, 0), min(j0 + 2, ny)):
        wy = ty if j > j0 else 1.0 - ty
        for i in range(max(i0, 0), min(i0 + 2, nx)):
            layer = layer_near(field, height, j, i, z)
            if layer >= 0:
                w = wy * (tx if i > i0 else 1.0 - tx)
                total += w * values[layer, j, i]
                weight += w
    return total / weight if weight > 1e-6 else np.inf


@njit(cache=True)
def layer_floor(field, height, x0, y0, res, x, y, z):
    """Height of the floor at (x, y, z) [m] with a path in `field`; `z`: none."""
    floor = _mean_around(
        height, field, height, (x - x0) / res - 0.5, (y - y0) / res - 0.5, z
    )
    return floor if floor < np.inf else z


@njit(cache=True)
def layer_distance(field, height, x0, y0, res, x, y, z):
    """Walking distance at (x, y, z) [m] from `field` (L, ny, nx), [m]; inf: none."""
    _, ny, nx = field.shape
    fx = (x - x0) / res - 0.5
    fy = (y - y0) / res - 0.5
    result = _mean_around(field, field, height, fx, fy, z)
    if result < np.inf:
        return result
    best = np.inf
    i0 = int(math.floor(fx + 0.5))
    j0 = int(math.floor(fy + 0.5))
    for j in range(max(j0 - 2, 0), min(j0 + 3, ny)):
        for i in range(max(i0 - 2, 0), min(i0 + 3, nx)):
            layer = layer_near(field, height, j, i, z)
            d = math.hypot(i - fx, j - fy)
            if layer >= 0 and d < best:
                best = d
                result = field[layer, j, i] + d * res
    return result


@njit(cache=True)
def layer_direction(field, height, x0, y0, res, x, y, z):
    """Unit vector (dx, dy) of steepest descent at (x, y, z); (0, 0) at the goal.

    The best of the 5 x 5 cells around, per metre, without those behind blocked cells.
    """
    _, ny, nx = field.shape
    here = layer_distance(field, height, x0, y0, res, x, y, z)
    best = 1e-6
    dx = 0.0
    dy = 0.0
    if here == np.inf:
        return dx, dy
    fx = (x - x0) / res - 0.5
    fy = (y - y0) / res - 0.5
    ic = int(math.floor(fx + 0.5))
    jc = int(math.floor(fy + 0.5))
    for j in range(max(jc - 2, 0), min(jc + 3, ny)):
        for i in range(max(ic - 2, 0), min(ic + 3, nx)):
            layer = layer_near(field, height, j, i, z)
            d = math.hypot(i - fx, j - fy)
            if layer < 0 or d < 0.75:
                continue
            if abs(i - ic) > 1 or abs(j - jc) > 1:
                im = int(math.floor(0.5 * (fx + i) + 0.5))
                jm = int(math.floor(0.5 * (fy + j) + 0.5))
                inside = 0 <= im < nx and 0 <= jm < ny
                if not inside or layer_near(field, height, jm, im, z) < 0:
                    continue
            slope = (here - field[layer, j, i]) / (d * res)
            if slope > best:
                best = slope
                dx = (i - fx) / d
                dy = (j - fy) / d
    return dx, dy
