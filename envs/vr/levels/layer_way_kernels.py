"""Compiled kernels of `ambulo.envs.vr.levels.layers`: distances and paths over links.

Arrays have axes layer, row (y), column (x); cell (j, i) has its centre at i, j in cell units.
"""

# ruff: noqa: RUF046 - int(math.floor(x)) is what numba needs

from __future__ import annotations

import math

import numpy as np
from numba import njit

from ambulo.envs.vr.contract import CLIMB_HEIGHT
from ambulo.envs.vr.levels.layer_kernels import NEIGHBOURS

_CLIMB = CLIMB_HEIGHT
_NEAR = 3.9
"""Cells within this distance of the goal and in sight of it start with their straight distance,
[cells]."""


_ASIDE = 8
"""Index of the first move of two cells along a side and one to its left or right."""


def _moves() -> np.ndarray:
    """dx, dy of the 16 moves: to the neighbours, then along each side, left and right."""
    aside = [
        2 * NEIGHBOURS[along] + NEIGHBOURS[(along + turn) % 8]
        for along in (0, 2, 4, 6)
        for turn in (2, 6)
    ]
    return np.vstack([NEIGHBOURS, aside])


_MOVES = _moves()
_COSTS = np.hypot(_MOVES[:, 0], _MOVES[:, 1])


@njit(cache=True)
def targets(links, layer, j, i, rides, height, out):
    """Write the layers that the 16 moves from a cell lead to, -1: none, to `out` (16,).

    A move of two cells and one passes the two cells between. With `rides` these moves are left
    out: lifts are ridden from one cell to the next.
    """
    for d in range(8):
        out[d] = links[layer, j, i, d]
    for k in range(8):
        along = k // 2 * 2
        aside = (along + (2 if k % 2 == 0 else 6)) % 8
        out[_ASIDE + k] = -1
        a = out[along]
        if a < 0:
            continue
        ja = j + NEIGHBOURS[along, 1]
        ia = i + NEIGHBOURS[along, 0]
        b = links[a, ja, ia, aside]
        if b < 0:
            continue
        jb = ja + NEIGHBOURS[aside, 1]
        ib = ia + NEIGHBOURS[aside, 0]
        c = links[b, jb, ib, along]
        if c < 0:
            continue
        if rides:
            jc = jb + NEIGHBOURS[along, 1]
            ic = ib + NEIGHBOURS[along, 0]
            z = height[layer, j, i]
            if (
                abs(height[a, ja, ia] - z) > 2.0 * _CLIMB
                or abs(height[b, jb, ib] - z) > 2.0 * _CLIMB
                or abs(height[c, jc, ic] - z) > 3.0 * _CLIMB
            ):
                continue
        out[_ASIDE + k] = c


@njit(cache=True)
def _layer_at(free, height, j, i, z):
    """Layer of the free floor of a column within a climb of `z`; -1: none."""
    for layer in range(free.shape[0]):
        if free[layer, j, i] and abs(height[layer, j, i] - z) <= _CLIMB:
            return layer
    return -1


@njit(cache=True)
def visible(free, height, ax, ay, az, bx, by, bz):
    """Whether the straight segment between points stays on free cells, without lifts.

    Points are in cell units, and their heights in metres.
    """
    ny, nx = free.shape[1:]
    i, j = int(math.floor(ax + 0.5)), int(math.floor(ay + 0.5))
    i_end, j_end = int(math.floor(bx + 0.5)), int(math.floor(by + 0.5))
    si = 1 if bx > ax else -1
    sj = 1 if by > ay else -1
    tx = ty = step_x = step_y = np.inf
    if bx != ax:
        step_x = 1.0 / abs(bx - ax)
        tx = (i + 0.5 * si - ax) / (bx - ax)
    if by != ay:
        step_y = 1.0 / abs(by - ay)
        ty = (j + 0.5 * sj - ay) / (by - ay)
    z = az
    for _ in range(abs(i_end - i) + abs(j_end - j) + 1):
        if not (0 <= j < ny and 0 <= i < nx):
            return False
        layer = _layer_at(free, height, j, i, z)
        if layer < 0:
            return False
        z = height[layer, j, i]
        if i == i_end and j == j_end:
            return abs(z - bz) <= _CLIMB
        if abs(tx - ty) < 1e-9:
            if not (0 <= i + si < nx and _layer_at(free, height, j, i + si, z) >= 0):
                return False
            if not (0 <= j + sj < ny and _layer_at(free, height, j + sj, i, z) >= 0):
                return False
            i, j, tx, ty = i + si, j + sj, tx + step_x, ty + step_y
        elif tx < ty:
            i, tx = i + si, tx + step_x
        else:
            j, ty = j + sj, ty + step_y
    return False


@njit(cache=True)
def _spread(dist, height, links, rides):
    """Lower `dist` (L, ny, nx) to the distances over links from its finite cells.

    Buckets are one cell wide: no move is shorter, so a bucket is final when it is opened.
    """
    _, ny, nx = dist.shape
    flat = dist.ravel()
    buckets = np.empty((4, flat.size), np.int32)
    count = np.zeros(4, np.int64)
    filed = np.full(flat.size, -1, np.int32)
    lead = np.empty(16, np.int64)
    level = 1 << 30
    for u in range(flat.size):
        if flat[u] < np.inf:
            b = int(flat[u])
            level = min(level, b)
            filed[u] = b
            buckets[b & 3, count[b & 3]] = u
            count[b & 3] += 1
    empty = 0
    while empty < 4:
        slot = level & 3
        empty = empty + 1 if count[slot] == 0 else 0
        n = 0
        while n < count[slot]:
            u = buckets[slot, n]
            n += 1
            d = flat[u]
            if int(d) != level:
                continue
            i = u % nx
            j = (u // nx) % ny
            layer = u // (nx * ny)
            targets(links, layer, j, i, rides, height, lead)
            for move in range(16):
                to = lead[move]
                if to < 0:
                    continue
                v = (to * ny + j + _MOVES[move, 1]) * nx + i + _MOVES[move, 0]
                through = np.float32(d + _COSTS[move])
                if through < flat[v]:
                    flat[v] = through
                    b = int(through)
                    if filed[v] != b:
                        filed[v] = b
                        buckets[b & 3, count[b & 3]] = v
                        count[b & 3] += 1
        count[slot] = 0
        level += 1


@njit(cache=True)
def part_numbers(links, free):
    """Index of the connected part of each free cell, from 1 on, 0: not free, (L, ny, nx)."""
    layers, ny, nx = free.shape
    lower = np.arange(free.size)  # representative cell of the same part
    flat = free.ravel()
    for u in range(free.size):
        if not flat[u]:
            continue
        i = u % nx
        j = (u // nx) % ny
        for d in range(0, 8, 2):
            to = links[u // (nx * ny), j, i, d]
            if to < 0:
                continue
            a = u
            b = (to * ny + j + NEIGHBOURS[d, 1]) * nx + i + NEIGHBOURS[d, 0]
            while lower[a] != lower[b]:
                if lower[a] < lower[b]:
                    a, b = b, a
                above = lower[a]
                lower[a] = lower[b]
                if above == a:
                    break
                a = above
    number = np.zeros(free.size, np.int64)
    count = 0
    for u in range(free.size):
        if flat[u] and lower[u] == u:
            count += 1
            number[u] = count
        elif flat[u]:
            number[u] = number[lower[u]]
    return number.reshape(layers, ny, nx)


@njit(cache=True)
def edge_distances(links, free, height, rides):
    """Distances in cells from the nearest cell without a neighbour, inf: not free."""
    layers, ny, nx = free.shape
    dist = np.full((layers, ny, nx), np.inf, np.float32)
    for layer in range(layers):
        for j in range(ny):
            for i in range(nx):
                if free[layer, j, i] and links[layer, j, i].min() < 0:
                    dist[layer, j, i] = 0.5
    _spread(dist, height, links, rides)
    return dist


@njit(cache=True)
def flood(links, free, height, rides, gx, gy, gz):
    """Distances in cells to the goal (cell units, and height [m]), inf: none, (L, ny, nx).

    16-move Dijkstra: at most 2.8 % above the true length.
    """
    layers, ny, nx = free.shape
    dist = np.full((layers, ny, nx), np.inf, np.float32)
    for j in range(max(0, int(gy) - 4), min(ny, int(gy) + 6)):
        for i in range(max(0, int(gx) - 4), min(nx, int(gx) + 6)):
            d = np.float32(math.hypot(i - gx, j - gy))
            if d >= _NEAR:
                continue
            for layer in range(layers):
                z = height[layer, j, i]
                if free[layer, j, i] and visible(free, height, gx, gy, gz, i, j, z):
                    dist[layer, j, i] = d
    _spread(dist, height, links, rides)
    return dist


@njit(cache=True)
def descend(links, free, height, rides, field, res, layer, row, column):
    """Shortened chain of cells (layer, row, column) down to the goal, shape (n, 3)."""
    chain = [(layer, row, column)]
    lead = np.empty(16, np.int64)
    while True:
        best = np.inf
        next_layer, next_row, next_column = layer, row, column
        targets(links, layer, row, column, rides, height, lead)
        for move in range(16):
            to = lead[move]
            if to < 0:
                continue
            j = row + _MOVES[move, 1]
            i = column + _MOVES[move, 0]
            if field[to, j, i] < field[layer, row, column]:
                through = field[to, j, i] + _COSTS[move] * res
                if through < best:
                    best = through
                    next_layer, next_row, next_column = to, j, i
        if next_layer == layer and next_row == row and next_column == column:
            break
        layer, row, column = next_layer, next_row, next_column
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
            if visible(
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
