"""Compiled preparation of the crowd's paths: directions of cells, near shapes."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from ambulo.envs.vr.contract import CLIMB_HEIGHT
from ambulo.envs.vr.geometry.solid_kernels import nearby, room_for_shapes, within
from ambulo.envs.vr.levels.layer_kernels import NEIGHBOURS
from ambulo.envs.vr.world.crowd_kernels import NO_WAY, WALL_FAR

_AHEAD = 3
"""Number of cells along the path to the cell that a direction points at."""
_STEP = 0.4
"""Largest displacement of people in a step of the model, pushes included, [m]."""


@njit(cache=True)
def directions(links, field, res):
    """Direction code down `field` (layers, ny, nx) from every cell, flat; see `NO_WAY`."""
    layers, ny, nx = field.shape
    out = np.full(layers * ny * nx, NO_WAY, np.uint8)
    for layer in range(layers):
        for j in range(ny):
            for i in range(nx):
                if field[layer, j, i] == np.inf:
                    continue
                at, row, column = layer, j, i
                for _ in range(_AHEAD):
                    best = 0.0
                    side = -1
                    for d in range(8):
                        to = links[at, row, column, d]
                        if to < 0:
                            continue
                        value = field[
                            to, row + NEIGHBOURS[d, 1], column + NEIGHBOURS[d, 0]
                        ]
                        length = 1.0 if d % 2 == 0 else np.sqrt(2.0)
                        slope = (field[at, row, column] - value) / length
                        if slope > best:
                            best = slope
                            side = d
                    if side < 0:
                        break
                    at = links[at, row, column, side]
                    row += NEIGHBOURS[side, 1]
                    column += NEIGHBOURS[side, 0]
                if row == j and column == i:
                    continue
                angle = np.arctan2(row - j, column - i)
                turn = int(np.round(angle / (2.0 * np.pi) * 254.0)) % 254
                out[(layer * ny + j) * nx + i] = turn
    return out


@njit(cache=True)
def shapes_near(solids, x0, y0, res, nx, ny):
    """Shapes within `WALL_FAR` of each block: `blocks`, `items` (`CrowdWays`)."""
    near, seen = room_for_shapes(solids)
    reach = WALL_FAR + res * math.sqrt(0.5)
    blocks = np.full((ny * nx, 3), np.nan)
    items = np.empty(ny * nx * 4, np.int32)
    used = 0
    for cell in range(ny * nx):
        x = x0 + (cell % nx + 0.5) * res
        y = y0 + (cell // nx + 0.5) * res
        first = used
        blocks[cell, 0] = first
        n = nearby(solids, x, y, reach, near, seen, cell)
        for k in range(within(solids, near, n, x, y, reach)):
            if used == items.shape[0]:
                grown = np.empty(2 * used, np.int32)
                for i in range(used):
                    grown[i] = items[i]
                items = grown
            items[used] = near[k]
            used += 1
        blocks[cell, 1] = used - first
    return blocks, items[:used].copy()


@njit(cache=True)
def find_plain(solids, blocks, items, x0, y0, res, nx, ny):
    """Write the heights of blocks with one level floor to `blocks` (`CrowdWays`)."""
    prisms = solids[0]
    n_prisms = prisms.shape[0]
    n_still = n_prisms + solids[1].shape[0]
    reach = res * math.sqrt(0.5) + _STEP
    for cell in range(ny * nx):
        x = x0 + (cell % nx + 0.5) * res
        y = y0 + (cell // nx + 0.5) * res
        floor = -1
        first = int(blocks[cell, 0])
        last = first + int(blocks[cell, 1])
        for k in range(first, last):
            if items[k] < n_prisms and inside_by(x, y, prisms[items[k]]) >= reach:
                floor = items[k]
        if floor < 0:
            continue
        z = prisms[floor, 7]
        alone = True
        for k in range(first, last):
            item = items[k]
            if item == floor:
                continue
            if item >= n_still:
                alone = False
            elif item < n_prisms:
                alone = alone and prisms[item, 7] > z + CLIMB_HEIGHT
            else:
                alone = alone and solids[1][item - n_prisms, 4] > z + CLIMB_HEIGHT
        if alone:
            blocks[cell, 2] = z


@njit(cache=True)
def inside_by(x, y, row):
    """Depth of (x, y) inside the base of a prism, negative outside, [m]."""
    dx = x - row[0]
    dy = y - row[1]
    u = row[2] - abs(row[4] * dx + row[5] * dy)
    v = row[3] - abs(-row[5] * dx + row[4] * dy)
    return min(u, v)
