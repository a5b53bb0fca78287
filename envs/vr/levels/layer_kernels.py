"""Compiled kernels of `ambulo.envs.vr.levels.layers`: floors of columns, and links.

Arrays have axes layer, row (y), column (x); cell (j, i) has its centre at i, j in cell units.
"""

# ruff: noqa: RUF046 - compiled loops; int(math.floor(x)) is what numba needs

from __future__ import annotations

import math

import numpy as np
from numba import njit

from ambulo.envs.vr.contract import CLIMB_HEIGHT, MAX_SEAM, STEEPEST_FLOOR
from ambulo.envs.vr.geometry.contact_kernels import (
    has_headroom,
    no_contacts,
    overlaps,
    support,
)
from ambulo.envs.vr.geometry.edge_kernels import floor_beside_seam
from ambulo.envs.vr.geometry.solid_kernels import (
    even_floor,
    in_box,
    in_disc,
    local_shapes,
    nearby,
    room_around,
    room_for_shapes,
    sort_shapes,
)
from ambulo.envs.vr.geometry.triangle_kernels import is_inside, plane_height

_CLIMB = CLIMB_HEIGHT
_SEAM = MAX_SEAM
_FLOOR = STEEPEST_FLOOR
_SAME = 0.02
"""Height difference below which floors count as equal, [m]."""
_STRIDE = 0.05
"""Distance between the checked floor points of a link, [m]."""
_AHEAD = 0.75
"""Extra distance beyond the clearance in which shapes are collected, [m]."""
_AROUND = 12
"""Number of points around the body that need floor."""
_TINY = 1e-6
_ROUNDING = 1e-9
NEIGHBOURS = np.array(
    [[1, 0], [1, 1], [0, 1], [-1, 1], [-1, 0], [-1, -1], [0, -1], [1, -1]]
)
"""dx, dy of the eight neighbours, counter-clockwise."""


@njit(cache=True)
def _floors(solids, near, n, x, y, out):
    """Write the heights of all floors at (x, y) to `out`, highest first; how many."""
    prisms, cylinders, triangles = solids[0], solids[1], solids[2]
    n_prisms = prisms.shape[0]
    n_still = n_prisms + cylinders.shape[0]
    count = 0
    for k in range(n):
        item = near[k]
        z = np.nan
        if item < n_prisms:
            if in_box(x, y, prisms[item]):
                z = prisms[item, 7]
        elif item < n_still:
            row = cylinders[item - n_prisms]
            if in_disc(x, y, row[0], row[1], row[2]):
                z = row[4]
        else:
            row = triangles[item - n_still]
            if row[11] >= _FLOOR:
                z = plane_height(x, y, row)
        if not math.isfinite(z):
            continue
        if count == out.shape[0]:
            continue
        place = count
        while place > 0 and out[place - 1] < z:
            out[place] = out[place - 1]
            place -= 1
        out[place] = z
        count += 1
    kept = 0
    for k in range(count):  # a body is lifted at once onto a floor this close above
        if kept == 0 or out[k] < out[kept - 1] - _CLIMB - _TINY:
            out[kept] = out[k]
            kept += 1
    return kept


@njit(cache=True)
def _is_free(shapes, x, y, z, clearance, spare, contacts):
    """Whether the body can stand at (x, y, z) with `clearance` to obstacles and edges."""
    if not has_headroom(shapes, x, y, z):
        return False
    if overlaps(shapes, x, y, z, spare, contacts) != 0:
        return False
    if is_inside(shapes, x, y, z + _CLIMB):
        return False
    if _carries_disc(shapes, x, y, z, clearance):
        return True
    for k in range(_AROUND):
        angle = 2.0 * math.pi * k / _AROUND
        px = x + clearance * math.cos(angle)
        py = y + clearance * math.sin(angle)
        floor, _ = support(shapes, px, py, z + 2.0 * _CLIMB)
        if floor < z - 2.0 * _CLIMB:
            floor = floor_beside_seam(shapes, px, py, z, 2.0 * _CLIMB)
        if floor < z - 2.0 * _CLIMB:
            return False
    return True


@njit(cache=True)
def _carries_disc(shapes, x, y, z, radius):
    """Whether the level top of one prism is the floor at `z` all around (x, y)."""
    prisms, _, _, _, near, n, _ = shapes
    for k in range(n):
        if near[k] >= prisms.shape[0]:
            continue
        row = prisms[near[k]]
        dx = x - row[0]
        dy = y - row[1]
        u = abs(row[4] * dx + row[5] * dy)
        v = abs(row[4] * dy - row[5] * dx)
        if abs(row[7] - z) < _TINY and u <= row[2] - radius and v <= row[3] - radius:
            return True
    return False


@njit(cache=True)
def _has_floor_near(height, j, i, z):
    """Whether column (j, i) has a floor within a climb of `z`."""
    for layer in range(height.shape[0]):
        h = height[layer, j, i]
        if math.isnan(h):
            return False
        if abs(h - z) <= _CLIMB + _TINY:
            return True
    return False


@njit(cache=True)
def _insert(height, free, even, j, i, z):
    """Insert a free floor at `z` into column (j, i), keeping its floors in order."""
    layer = height.shape[0] - 1
    if free[layer, j, i]:
        return
    while layer > 0 and not height[layer - 1, j, i] < z:
        height[layer, j, i] = height[layer - 1, j, i]
        free[layer, j, i] = free[layer - 1, j, i]
        even[layer, j, i] = even[layer - 1, j, i]
        layer -= 1
    height[layer, j, i] = z
    free[layer, j, i] = True
    even[layer, j, i] = -1.0


@njit(cache=True)
def _close_seams(solids, x0, y0, res, height, free, even, clearance, spare):
    """Add the floors of columns whose centre is over a seam, in place.

    Such a column has a neighbour along an axis with a floor that it lacks.
    """
    layers, ny, nx = free.shape
    reach = int(math.floor(0.5 * _SEAM / res)) + 1
    near, seen = room_for_shapes(solids)
    no_people = np.zeros((0, 9))
    contacts = no_contacts()
    before = free.copy()
    for j in range(ny):
        for i in range(nx):
            n = -1
            x = x0 + (i + 0.5) * res
            y = y0 + (j + 0.5) * res
            for side in range(4 * reach):
                far = side // 4 + 1
                bj = j + far * NEIGHBOURS[2 * (side % 4), 1]
                bi = i + far * NEIGHBOURS[2 * (side % 4), 0]
                if not (0 <= bj < ny and 0 <= bi < nx):
                    continue
                for layer in range(layers):
                    if not before[layer, bj, bi]:
                        break
                    z = height[layer, bj, bi]
                    if _has_floor_near(height, j, i, z):
                        continue
                    if n < 0:
                        n = nearby(
                            solids, x, y, clearance + 0.1, near, seen, j * nx + i
                        )
                    shapes = local_shapes(solids, near, n, no_people)
                    floor, _ = support(shapes, x, y, z + _CLIMB)
                    if floor >= z - _CLIMB:
                        continue
                    z = floor_beside_seam(shapes, x, y, z, _CLIMB)
                    if z > -np.inf and _is_free(
                        shapes, x, y, z, clearance, spare, contacts
                    ):
                        _insert(height, free, even, j, i, z)


@njit(cache=True)
def stand(solids, x0, y0, res, nx, ny, layers, clearance, spare):
    """Find the floors of every column, from below, and where the body fits.

    Returns:
        Heights [m], whether the body fits, and the radius in which the floor stays level [m],
        all of shape (layers, ny, nx).
    """
    near, seen = room_for_shapes(solids)
    pushing = np.empty_like(near)
    carrying = np.empty_like(near)
    no_people = np.zeros((0, 9))
    contacts = no_contacts()
    floors = np.empty(64)
    height = np.full((layers, ny, nx), np.nan, np.float32)
    free = np.zeros((layers, ny, nx), np.bool_)
    even = np.full((layers, ny, nx), -1.0, np.float32)
    least = max(clearance, res + 2.0 * _TINY)
    reach = least + _AHEAD
    n_still = solids[0].shape[0] + solids[1].shape[0]
    for j in range(ny):
        i = -1
        while i < nx - 1:
            i += 1
            x = x0 + (i + 0.5) * res
            y = y0 + (j + 0.5) * res
            n = nearby(solids, x, y, reach, near, seen, j * nx + i)
            shapes = local_shapes(solids, near, n, no_people)
            plain = True
            for k in range(n):
                plain = plain and near[k] < n_still
            count = _floors(solids, near, n, x, y, floors)
            layer = 0
            for k in range(count - 1, -1, -1):
                z = floors[k]
                if layer == layers:
                    break
                level = -1.0
                run = 0
                if plain:
                    n_pushing, n_floors = sort_shapes(
                        shapes, z, spare, pushing, carrying
                    )
                    level = min(even_floor(solids, carrying, n_floors, x, y, z), reach)
                    room = room_around(solids, pushing, n_pushing, x, y)
                    fits = room > 0.0 and min(level, room) >= clearance - _ROUNDING
                    if fits and count == 1 and n == n_pushing + n_floors:
                        run = max(int((min(level, room, reach) - least) / res), 0)
                if run == 0 and (not plain or not fits):
                    fits = _is_free(shapes, x, y, z, clearance, spare, contacts)
                if fits:
                    height[layer, j, i] = z
                    free[layer, j, i] = True
                    even[layer, j, i] = level
                    layer += 1
                # Without shapes nearby, the next cells are like this one.
                for _ in range(min(run, nx - 1 - i)):
                    i += 1
                    level -= res
                    height[0, j, i] = z
                    free[0, j, i] = True
                    even[0, j, i] = level
    _close_seams(solids, x0, y0, res, height, free, even, clearance, spare)
    return height, free, even


@njit(cache=True)
def _walk(shapes, x, y, z, tx, ty):
    """Height of the floor at (tx, ty) after a straight walk there; NaN: only with a drop."""
    steps = int(math.ceil(math.hypot(tx - x, ty - y) / _STRIDE))
    for k in range(1, steps + 1):
        px = x + (tx - x) * k / steps
        py = y + (ty - y) * k / steps
        floor, _ = support(shapes, px, py, z + _CLIMB + _TINY)
        if floor < z - _CLIMB - _TINY:
            over = floor_beside_seam(shapes, px, py, z, _CLIMB + _TINY)
            if over == -np.inf:
                return np.nan
            # Seams do not lift feet; a cell over one has the height of its higher side.
            floor = over if k == steps else min(over, z)
        z = floor
    return z


@njit(cache=True)
def link(solids, x0, y0, res, height, free, even):
    """Layer on which each free cell's neighbours are reached, -1: none, (L, ny, nx, 8).

    `even` is a result of `stand`: where the floor stays level, no check is needed.
    """
    layers, ny, nx = height.shape
    near, seen = room_for_shapes(solids)
    no_people = np.zeros((0, 9))
    links = np.full((layers, ny, nx, 8), -1, np.int8)
    for j in range(ny):
        for i in range(nx):
            n = -1
            for layer in range(layers):
                if not free[layer, j, i]:
                    continue
                x = x0 + (i + 0.5) * res
                y = y0 + (j + 0.5) * res
                for d in range(0, 8, 2):
                    ni = i + NEIGHBOURS[d, 0]
                    nj = j + NEIGHBOURS[d, 1]
                    if not (0 <= ni < nx and 0 <= nj < ny):
                        continue
                    some = False
                    for m in range(layers):
                        some = some or free[m, nj, ni]
                    if not some:
                        continue
                    z = np.float64(height[layer, j, i])
                    if even[layer, j, i] < res + _TINY:
                        if n < 0:
                            n = nearby(
                                solids, x, y, 1.5 * res + _SEAM, near, seen, j * nx + i
                            )
                        z = _walk(
                            local_shapes(solids, near, n, no_people), x, y, z,
                            x0 + (ni + 0.5) * res, y0 + (nj + 0.5) * res,
                        )  # fmt: skip
                    for m in range(layers):
                        if free[m, nj, ni] and abs(height[m, nj, ni] - z) <= _SAME:
                            links[layer, j, i, d] = m
    join_diagonals(links)
    return links


@njit(cache=True)
def join_diagonals(links):
    """Link the diagonal neighbours that are reached along both sides, in place."""
    layers, ny, nx, _ = links.shape
    for layer in range(layers):
        for j in range(ny):
            for i in range(nx):
                for d in range(1, 8, 2):
                    links[layer, j, i, d] = -1
                    e = d - 1
                    f = (d + 1) % 8
                    a = links[layer, j, i, e]
                    b = links[layer, j, i, f]
                    if a < 0 or b < 0:
                        continue
                    one = links[a, j + NEIGHBOURS[e, 1], i + NEIGHBOURS[e, 0], f]
                    other = links[b, j + NEIGHBOURS[f, 1], i + NEIGHBOURS[f, 0], e]
                    if one == other:
                        links[layer, j, i, d] = one
