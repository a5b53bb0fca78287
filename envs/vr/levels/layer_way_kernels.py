"""Compiled kernels of `ambulo.envs.vr.levels.layers`: distances and paths over links.

Arrays have axes layer, row (y), column (x); cell (j, i) has its centre at i, j in cell units.
"""

# ruff: noqa: RUF046 - int(math.floor(x)) is what numba needs

from __future__ import annotations

import heapq
import math

import numpy as np
from numba import njit

from ambulo.envs.vr.contract import CLIMB_HEIGHT
from ambulo.envs.vr.levels.layer_kernels import NEIGHBOURS

_CLIMB = CLIMB_HEIGHT
SAME_FLOOR = 0.6
"""A point belongs to the nearest floor within this height, [m]."""


@njit(cache=True)
def follow(links, layer, j, i, d):
    """Layer of the cell two steps on, `d` and `d` + 1 in any order; -1: not both ways."""
    e = (d + 1) % 8
    di, dj = NEIGHBOURS[d, 0], NEIGHBOURS[d, 1]
    ei, ej = NEIGHBOURS[e, 0], NEIGHBOURS[e, 1]
    a = links[layer, j, i, d]
    b = links[layer, j, i, e]
    if a < 0 or b < 0:
        return -1
    one = links[a, j + dj, i + di, e]
    other = links[b, j + ej, i + ei, d]
    return one if one == other else -1


@njit(cache=True)
def _spread(dist, heap, links):
    """Lower `dist` (L, ny, nx) to the distances over links from the cells in `heap`."""
    _, ny, nx = dist.shape
    diagonal, knight = math.sqrt(2.0), math.sqrt(5.0)
    while len(heap) > 0:
        d, node = heapq.heappop(heap)
        i = node % nx
        j = (node // nx) % ny
        layer = node // (nx * ny)
        if d > dist[layer, j, i]:
            continue
        for k in range(16):
            side = k % 8
            if k < 8:
                to = links[layer, j, i, side]
                ni = i + NEIGHBOURS[side, 0]
                nj = j + NEIGHBOURS[side, 1]
                cost = 1.0 if side % 2 == 0 else diagonal
            else:
                to = follow(links, layer, j, i, side)
                ni = i + NEIGHBOURS[side, 0] + NEIGHBOURS[(side + 1) % 8, 0]
                nj = j + NEIGHBOURS[side, 1] + NEIGHBOURS[(side + 1) % 8, 1]
                cost = knight
            if to < 0:
                continue
            through = d + cost
            if through < dist[to, nj, ni]:
                dist[to, nj, ni] = through
                heapq.heappush(heap, (through, (to * ny + nj) * nx + ni))


@njit(cache=True)
def edge_distances(links, free):
    """Distances in cells from the nearest cell that lacks a neighbour, inf: not free."""
    layers, ny, nx = free.shape
    dist = np.full((layers, ny, nx), np.inf)
    heap = [(0.0, 0)]
    heap.pop()
    for layer in range(layers):
        for j in range(ny):
            for i in range(nx):
                if free[layer, j, i] and links[layer, j, i].min() < 0:
                    dist[layer, j, i] = 0.5
                    heapq.heappush(heap, (0.5, (layer * ny + j) * nx + i))
    _spread(dist, heap, links)
    return dist


@njit(cache=True)
def flood_layers(links, free, height, gx, gy, gz):
    """Distances in cells to the goal (cell units, and height [m]), inf: none, (L, ny, nx)."""
    layers, ny, nx = free.shape
    dist = np.full((layers, ny, nx), np.inf)
    heap = [(0.0, 0)]
    heap.pop()
    for reach in (1.5, 4.0):  # the cells around the goal, or those a little farther
        for layer in range(layers):
            for j in range(max(0, int(gy - reach)), min(ny, int(gy + reach) + 2)):
                for i in range(max(0, int(gx - reach)), min(nx, int(gx + reach) + 2)):
                    d = math.hypot(i - gx, j - gy)
                    if (
                        d <= reach
                        and free[layer, j, i]
                        and abs(height[layer, j, i] - gz) < SAME_FLOOR
                    ):
                        dist[layer, j, i] = d
                        heapq.heappush(heap, (d, (layer * ny + j) * nx + i))
        if len(heap) > 0:
            break
    _spread(dist, heap, links)
    return dist


@njit(cache=True, inline="always")
def layer_near(field, height, j, i, z):
    """Floor of column (j, i) nearest to height `z` that has a way; -1: none near."""
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
    """Mean of `values` on the floor at `z` around (fx, fy), in cells; inf: no way there."""
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
    """Height of the floor at (x, y, z) [m] from which `field` has a way; `z`: none."""
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
    """Unit vector (dx, dy) of steepest descent at (x, y, z); (0, 0) at the goal."""
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
    for j in range(max(jc - 1, 0), min(jc + 2, ny)):
        for i in range(max(ic - 1, 0), min(ic + 2, nx)):
            layer = layer_near(field, height, j, i, z)
            d = math.hypot(i - fx, j - fy)
            if layer < 0 or d < 0.5:
                continue
            slope = (here - field[layer, j, i]) / (d * res)
            if slope > best:
                best = slope
                dx = (i - fx) / d
                dy = (j - fy) / d
    return dx, dy


@njit(cache=True)
def straight_on_cells(free, height, ai, aj, az, bi, bj, bz):
    """Whether the straight way from a point to another stays on free cells.

    Points are in cell units, and their heights in metres; the way is walked, not ridden.
    """
    layers, ny, nx = free.shape
    steps = int(math.ceil(2.0 * math.hypot(bi - ai, bj - aj)))
    z = az
    for k in range(1, steps + 1):
        i = int(math.floor(ai + (bi - ai) * k / steps + 0.5))
        j = int(math.floor(aj + (bj - aj) * k / steps + 0.5))
        found = False
        if 0 <= i < nx and 0 <= j < ny:
            for layer in range(layers):
                if free[layer, j, i] and abs(height[layer, j, i] - z) <= _CLIMB:
                    z = height[layer, j, i]
                    found = True
                    break
        if not found:
            return False
    return abs(z - bz) <= _CLIMB


@njit(cache=True)
def descend_layers(links, free, height, field, layer, row, column):
    """Taut chain of cells (layer, row, column) down to the goal, shape (n, 3)."""
    chain = [(layer, row, column)]
    while True:
        best = field[layer, row, column]
        to_layer, to_row, to_column = layer, row, column
        for d in range(8):
            to = links[layer, row, column, d]
            j = row + NEIGHBOURS[d, 1]
            i = column + NEIGHBOURS[d, 0]
            if to >= 0 and field[to, j, i] < best:
                best = field[to, j, i]
                to_layer, to_row, to_column = to, j, i
        if to_layer == layer and to_row == row and to_column == column:
            break
        layer, row, column = to_layer, to_row, to_column
        chain.append((layer, row, column))
    taut = [chain[0]]
    k = 0
    while k < len(chain) - 1:
        far = k + 1
        hidden = 0
        n = k + 2
        l0, j0, i0 = chain[k]
        while n < len(chain) and hidden < 20:
            l1, j1, i1 = chain[n]
            if straight_on_cells(
                free, height, i0, j0, height[l0, j0, i0], i1, j1, height[l1, j1, i1]
            ):
                far = n
                hidden = 0
            else:
                hidden += 1
            n += 1
        taut.append(chain[far])
        k = far
    return np.array(taut)
