"""Compiled kernels of `ambulo.envs.vr.levels.geodesic`: block, flood, read, descend.

Cell units: the centre of cell (row j, column i) of a grid is at (i, j).
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit


@njit(cache=True)
def block_cells(  # type: ignore[no-untyped-def]
    free, x0, y0, res, clearance, prisms, cylinders
):
    """Clear the cells of `free` (ny, nx) nearer than `clearance` to a shape."""
    ny, nx = free.shape
    limit = (clearance - 1e-9) ** 2
    for k in range(prisms.shape[0] + cylinders.shape[0]):
        box = k < prisms.shape[0]
        if box:
            x, y, a, b, c, s = prisms[k]
            ex = abs(a * c) + abs(b * s) + clearance
            ey = abs(a * s) + abs(b * c) + clearance
        else:
            x, y, a = cylinders[k - prisms.shape[0]]
            ex = ey = a + clearance
            b, c, s = a, 1.0, 0.0
        i0 = max(0, math.floor((x - ex - x0) / res - 0.5))
        i1 = min(nx, math.ceil((x + ex - x0) / res + 0.5))
        j0 = max(0, math.floor((y - ey - y0) / res - 0.5))
        j1 = min(ny, math.ceil((y + ey - y0) / res + 0.5))
        for j in range(j0, j1):
            dy = y0 + (j + 0.5) * res - y
            for i in range(i0, i1):
                dx = x0 + (i + 0.5) * res - x
                if box:
                    u = max(abs(c * dx + s * dy) - a, 0.0)
                    v = max(abs(c * dy - s * dx) - b, 0.0)
                    near = u * u + v * v < limit
                else:
                    reach = a + clearance - 1e-9
                    near = dx * dx + dy * dy < reach * reach
                if near:
                    free[j, i] = False


@njit(cache=True)
def visible(free, ax, ay, bx, by):  # type: ignore[no-untyped-def]
    """Whether the segment between two points in cell units stays on free cells."""
    ny, nx = free.shape
    i, j = math.floor(ax + 0.5), math.floor(ay + 0.5)
    i_end, j_end = math.floor(bx + 0.5), math.floor(by + 0.5)
    si, sj = (1 if bx > ax else -1), (1 if by > ay else -1)
    tx = ty = step_x = step_y = np.inf
    if bx != ax:
        step_x = 1.0 / abs(bx - ax)
        tx = (i + 0.5 * si - ax) / (bx - ax)
    if by != ay:
        step_y = 1.0 / abs(by - ay)
        ty = (j + 0.5 * sj - ay) / (by - ay)
    for _ in range(abs(i_end - i) + abs(j_end - j) + 1):
        if not (0 <= j < ny and 0 <= i < nx and free[j, i]):
            return False
        if i == i_end and j == j_end:
            return True
        if abs(tx - ty) < 1e-9:
            if not (0 <= i + si < nx and free[j, i + si]):
                return False
            if not (0 <= j + sj < ny and free[j + sj, i]):
                return False
            i, j, tx, ty = i + si, j + sj, tx + step_x, ty + step_y
        elif tx < ty:
            i, tx = i + si, tx + step_x
        else:
            j, ty = j + sj, ty + step_y
    return True


@njit(cache=True)
def flood(free, gx, gy, moves, costs):  # type: ignore[no-untyped-def]
    """Distances in cells to (gx, gy) in cell units, padded by 2 cells; blocked: -1.

    The cells around the goal that see it start with their straight distance.

    Buckets one cell wide: no move is shorter, so a bucket is final when it is opened.
    """
    ny, nx = free.shape
    width = nx + 4
    dist = np.full((ny + 4) * width, -1, np.float32)
    for j in range(ny):
        for i in range(nx):
            if free[j, i]:
                dist[(j + 2) * width + i + 2] = np.inf
    offset = moves[:, 1] * width + moves[:, 0]
    block1 = moves[:, 3] * width + moves[:, 2]
    block2 = moves[:, 5] * width + moves[:, 4]
    buckets = np.empty((4, dist.size), np.int32)
    count = np.zeros(4, np.int64)
    filed = np.full(dist.size, -1, np.int32)
    for j in range(max(0, int(gy) - 4), min(ny, int(gy) + 6)):
        for i in range(max(0, int(gx) - 4), min(nx, int(gx) + 6)):
            d = np.float32(math.hypot(i - gx, j - gy))
            if d < 3.9 and free[j, i] and visible(free, gx, gy, i, j):
                u = (j + 2) * width + i + 2
                b = int(d)
                dist[u] = d
                filed[u] = b
                buckets[b, count[b]] = u
                count[b] += 1
    level, empty = 0, 0
    while empty < 4:
        slot = level & 3
        empty = empty + 1 if count[slot] == 0 else 0
        for n in range(count[slot]):
            u = buckets[slot, n]
            d = dist[u]
            if int(d) != level:
                continue
            for m in range(offset.size):
                v = u + offset[m]
                nd = np.float32(d + costs[m])
                if (
                    nd < dist[v]
                    and dist[u + block1[m]] >= 0.0
                    and dist[u + block2[m]] >= 0.0
                ):
                    dist[v] = nd
                    b = int(nd)
                    if filed[v] != b:
                        filed[v] = b
                        buckets[b & 3, count[b & 3]] = v
                        count[b & 3] += 1
        count[slot] = 0
        level += 1
    return dist.reshape(ny + 4, width)


@njit(cache=True)
def field_distance(row, nx, ny, x0, y0, res, x, y):  # type: ignore[no-untyped-def]
    """Walking distance [m] at world (x, y) [m] from a flat field `row`, (>= nx * ny,).

    Bilinear over the reachable corner cells; off the free cells, the nearest reachable
    cell within two cells plus the way to it; else inf.
    """
    fx = (x - x0) / res - 0.5
    fy = (y - y0) / res - 0.5
    i0 = math.floor(fx)
    j0 = math.floor(fy)
    tx = fx - i0
    ty = fy - j0
    total = 0.0
    weight = 0.0
    for j in range(max(j0, 0), min(j0 + 2, ny)):
        wy = ty if j > j0 else 1.0 - ty
        for i in range(max(i0, 0), min(i0 + 2, nx)):
            value = row[j * nx + i]
            if value < np.inf:
                w = wy * (tx if i > i0 else 1.0 - tx)
                total += w * value
                weight += w
    if weight > 1e-6:
        return total / weight
    i0 = math.floor(fx + 0.5)
    j0 = math.floor(fy + 0.5)
    best = np.inf
    result = np.inf
    for j in range(max(j0 - 2, 0), min(j0 + 3, ny)):
        for i in range(max(i0 - 2, 0), min(i0 + 3, nx)):
            value = row[j * nx + i]
            if value < np.inf:
                d = math.hypot(i - fx, j - fy)
                if d < best:
                    best = d
                    result = value + d * res
    return result


@njit(cache=True)
def field_direction(row, nx, ny, x0, y0, res, x, y):  # type: ignore[no-untyped-def]
    """Unit world vector (dx, dy) of steepest descent at (x, y) [m]; (0, 0) at the goal.

    The best of the 5 x 5 cells around, per metre; none behind blocked cells.
    """
    here = field_distance(row, nx, ny, x0, y0, res, x, y)
    fx = (x - x0) / res - 0.5
    fy = (y - y0) / res - 0.5
    ic = math.floor(fx + 0.5)
    jc = math.floor(fy + 0.5)
    best = 1e-6
    dx = 0.0
    dy = 0.0
    if here == np.inf:
        return dx, dy
    for j in range(max(jc - 2, 0), min(jc + 3, ny)):
        for i in range(max(ic - 2, 0), min(ic + 3, nx)):
            value = row[j * nx + i]
            d = math.hypot(i - fx, j - fy)
            if value == np.inf or d < 0.75:
                continue
            if abs(i - ic) > 1 or abs(j - jc) > 1:
                im = math.floor(0.5 * (fx + i) + 0.5)
                jm = math.floor(0.5 * (fy + j) + 0.5)
                inside = 0 <= im < nx and 0 <= jm < ny
                if not inside or row[jm * nx + im] == np.inf:
                    continue
            slope = (here - value) / (d * res)
            if slope > best:
                best = slope
                dx = (i - fx) / d
                dy = (j - fy) / d
    return dx, dy


@njit(cache=True)
def descend(  # type: ignore[no-untyped-def]
    free, field, res, moves, costs, row, column
):
    """Taut chain of cells (column, row) from a cell down to the goal, shape (n, 2)."""
    ny, nx = free.shape
    chain = [(column, row)]
    while True:
        best = np.inf
        next_row, next_column = row, column
        for m in range(costs.size):
            j, i = row + moves[m, 1], column + moves[m, 0]
            if 0 <= j < ny and 0 <= i < nx and field[j, i] < field[row, column]:
                b1 = free[row + moves[m, 3], column + moves[m, 2]]
                if b1 and free[row + moves[m, 5], column + moves[m, 4]]:
                    through = field[j, i] + costs[m] * res
                    if through < best:
                        best = through
                        next_row, next_column = j, i
        if next_row == row and next_column == column:
            break
        row, column = next_row, next_column
        chain.append((column, row))
    taut = [chain[0]]
    k = 0
    while k < len(chain) - 1:
        far = k + 1
        hidden = 0
        n = k + 2
        while n < len(chain) and hidden < 20:
            if visible(free, chain[k][0], chain[k][1], chain[n][0], chain[n][1]):
                far = n
                hidden = 0
            else:
                hidden += 1
            n += 1
        taut.append(chain[far])
        k = far
    return np.array(taut)
