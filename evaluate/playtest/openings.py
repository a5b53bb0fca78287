"""The widest ways into parts of a floor that a body cannot enter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy import ndimage

from ambulo.configs.arrays import Floats, Ints
from ambulo.envs.vr.contract import BODY_RADIUS
from ambulo.envs.vr.levels.geodesic import (
    CLEARANCE,
    FreeGrid,
    distance_field,
    free_grid,
    shortest_path,
)
from ambulo.envs.vr.levels.level import Level
from ambulo.evaluate.playtest.areas import Area

RADII = (0.27, 0.25, 0.225, 0.2, 0.175, 0.15, 0.125, 0.1, 0.075, 0.05)
"""Radii of ever thinner bodies that try to get in, [m]."""

_AROUND = 1.0
"""Room around a way that is measured, [m]."""
_FINE, _MOST_CELLS = 0.01, 500
"""Cell size, and cells along a side, of the measurement of a width."""
_BISECTIONS = 6


def with_openings(
    level: Level, grid: FreeGrid, labels: Ints, main: int, areas: Sequence[Area]
) -> list[Area]:
    """Return `areas` with the widest way into each.

    An area that a body of the true radius enters, without the usual clearance, is `tight`.

    Args:
        level: the level.
        grid: cells of bodies with the usual clearance.
        labels: connected part of each cell of `grid`, shape (ny, nx).
        main: the part that people are in.
        areas: parts that are not connected with it.
    """
    found = list(areas)
    left = list(range(len(found)))
    for radius in RADII:
        if not left:
            break
        thin = free_grid(level, grid.resolution, radius)
        parts, _ = ndimage.label(thin.free)
        home = set(np.unique(parts[labels == main]).tolist())
        for k in left.copy():
            row, column = thin.cell(found[k].position)
            if int(parts[row, column]) in home:
                found[k] = _entered(level, thin, labels, main, found[k])
                left.remove(k)
    return found


def _entered(level: Level, thin: FreeGrid, labels: Ints, main: int, area: Area) -> Area:
    """`area`, which a body that `thin` is made for enters from the part `main`."""
    field = distance_field(thin, area.position)
    ways = np.where(labels == main, field, np.inf)
    row, column = np.unravel_index(int(np.argmin(ways)), ways.shape)
    corner = np.array([thin.x0, thin.y0])
    begin = corner + (np.array([column, row]) + 0.5) * thin.resolution
    path = _dense(shortest_path(thin, field, begin), thin.resolution)
    room = ndimage.distance_transform_edt(np.pad(thin.free, 1))[1:-1, 1:-1]
    cells = [thin.cell(point) for point in path]
    inside = next(k for k, cell in enumerate(cells) if labels[cell] == area.label)
    place = path[min(range(inside + 1), key=lambda k: float(room[cells[k]]))]
    width = _width(level, begin, path[inside], path[: inside + 1])
    tight = area.kind == "sealed" and width >= 2.0 * BODY_RADIUS
    return replace(
        area,
        kind="tight" if tight else area.kind,
        opening=width,
        opening_position=np.append(place, area.position[2]),
    )


def _width(level: Level, begin: Floats, end: Floats, path: Floats) -> float:
    """Width of the widest way from `begin` to `end` (2,) near `path` (n, 2), [m]."""
    low = np.maximum(path.min(axis=0) - _AROUND, level.bounds[:2])
    high = np.minimum(path.max(axis=0) + _AROUND, level.bounds[2:])
    window = replace(level, bounds=np.concatenate([low, high]))
    cell = max(_FINE, float((high - low).max()) / _MOST_CELLS)
    least, most = 0.0, CLEARANCE
    for _ in range(_BISECTIONS):
        radius = (least + most) / 2.0
        grid = free_grid(window, cell, radius)
        parts, _ = ndimage.label(grid.free)
        ends = [grid.nearest_free(xy, _AROUND / 2.0) for xy in (begin, end)]
        joined = None not in ends and len({int(parts[e]) for e in ends if e}) == 1
        least, most = (radius, most) if joined else (least, radius)
    return round(2.0 * least, 2)


def _dense(path: Floats, step: float) -> Floats:
    """Points at most `step` [m] apart on `path` (n, 2)."""
    if len(path) < 2:
        return path
    lengths = np.hypot(*np.diff(path, axis=0).T)
    at = np.concatenate([[0.0], np.cumsum(lengths)])
    along = np.linspace(0.0, at[-1], max(2, int(np.ceil(at[-1] / step)) + 1))
    return np.column_stack([np.interp(along, at, path[:, k]) for k in range(2)])
