"""The widest ways into parts of a floor: thinner bodies try to get in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ambulo.configs.arrays import Floats, Ints
from ambulo.envs.vr.contract import BODY_RADIUS
from ambulo.envs.vr.levels.layers import CLEARANCE, LayeredGrid
from ambulo.envs.vr.levels.level import Level
from ambulo.evaluate.playtest.areas import Area
from ambulo.evaluate.playtest.movers import never_blocked
from ambulo.evaluate.playtest.nodes import Nodes
from ambulo.evaluate.playtest.parts import Parts

RADII = (0.27, 0.25, 0.225, 0.2, 0.175, 0.15, 0.125, 0.1, 0.075, 0.05)
"""Radii of the bodies, the thinnest last, [m]."""
FEW_RADII = (0.27, 0.25, 0.2, 0.1)
"""Those in large levels, [m]."""
_BESIDE = 1.0
"""Room around a way that is measured, [m]."""
_FINE, _MOST_CELLS = 0.01, 500
"""Cell size, and cells along a side, of the measurement of a width."""
_BISECTIONS = 6
_LARGE = 4e5
"""Levels with more cells are large."""


def with_ways_in(
    level: Level, parts: Parts, main: int, areas: Sequence[Area]
) -> list[Area]:
    """Return `areas`, the `sealed` ones with the widest way in; it may make them `tight`.

    The widest body of `RADII` (`FEW_RADII`) that gets in shows the way, whose width is then
    measured on finer cells.

    Args:
        level: with boxes for things that stand still.
        parts: of bodies with the usual clearance.
        main: the part that people are in.
        areas: parts that are not connected with it.
    """
    found = list(areas)
    nodes, label, tall = parts.nodes, parts.label, parts.body.height
    left = [k for k, area in enumerate(found) if area.kind == "sealed"]
    large = nodes.grid.nx * nodes.grid.ny > _LARGE
    widest, *others, thinnest = FEW_RADII if large else RADII
    # What the thinnest body cannot enter, no other one need try.
    for radius in (widest, thinnest, *others):
        if not left:
            break
        thin = Nodes.of(_grid(level, nodes.grid.resolution, radius, tall))
        part = thin.parts()
        at = nodes.matching(thin)
        home = set(np.unique(part[at[(label == main) & (at >= 0)]]).tolist())
        for k in left.copy():
            mine = at[(label == found[k].label) & (at >= 0)]
            enters = len(mine) > 0 and int(part[mine[0]]) in home
            if enters:
                found[k] = _entered(level, parts, thin, at, main, found[k])
            if enters != (radius == thinnest):
                left.remove(k)
    return found


def _entered(
    level: Level, parts: Parts, thin: Nodes, at: Ints, main: int, area: Area
) -> Area:
    """`area`, which a body that `thin` is made for enters from the part `main`."""
    grid, label = thin.grid, parts.label
    field = grid.field(area.position)
    from_main = at[(label == main) & (at >= 0)]
    ways = field[thin.layer[from_main], thin.row[from_main], thin.column[from_main]]
    begin = thin.points()[from_main[int(np.argmin(ways))]]
    path = grid.path(field, begin)
    room = grid.edge_distances()
    inside = set(at[(label == area.label) & (at >= 0)].tolist())
    number = np.full(grid.free.shape, -1, np.int64)
    number[thin.layer, thin.row, thin.column] = np.arange(len(thin))
    place, end, least = begin, begin, np.inf
    way = []
    for point in _dense(path, grid.resolution):
        cell = grid.nearest(point, grid.resolution)
        if cell is None:
            continue
        end = grid.points(np.array([cell]))[0]
        way.append(end)
        if int(number.ravel()[cell]) in inside:
            break
        if room.ravel()[cell] < least:
            place, least = end, float(room.ravel()[cell])
    width = _width(level, parts.body.height, begin, end, np.array(way))
    return replace(
        area,
        kind="tight" if width >= 2.0 * BODY_RADIUS else area.kind,
        opening=round(width, 2),
        opening_position=place,
    )


def _grid(level: Level, resolution: float, radius: float, tall: float) -> LayeredGrid:
    """Cells of a body of this `radius`; one as wide as people is kept out by what moves."""
    grid = LayeredGrid.of(level, resolution, radius, tall)
    return never_blocked(level, grid, tall) if radius >= BODY_RADIUS else grid


def _width(
    level: Level, tall: float, begin: Floats, end: Floats, path: Floats
) -> float:
    """Width of the widest way from `begin` to `end` (3,) near `path` (n, 3), [m]."""
    low = np.maximum(path[:, :2].min(axis=0) - _BESIDE, level.bounds[:2])
    high = np.minimum(path[:, :2].max(axis=0) + _BESIDE, level.bounds[2:])
    window = replace(level, bounds=np.concatenate([low, high]))
    cell = max(_FINE, float((high - low).max()) / _MOST_CELLS)
    least, most = 0.0, CLEARANCE
    for _ in range(_BISECTIONS):
        radius = (least + most) / 2.0
        grid = _grid(window, cell, radius, tall)
        parts = grid.parts().ravel()
        ends = [grid.nearest(place, _BESIDE / 2.0) for place in (begin, end)]
        joined = (
            None not in ends
            and len({int(parts[e]) for e in ends if e is not None}) == 1
        )
        least, most = (radius, most) if joined else (least, radius)
    return 2.0 * least


def _dense(path: Floats, step: float) -> Floats:
    """Points at most `step` [m] apart on `path` (n, 3)."""
    lengths = np.linalg.norm(np.diff(path, axis=0), axis=1)
    at = np.concatenate([[0.0], np.cumsum(lengths)])
    along = np.linspace(0.0, at[-1], max(2, int(np.ceil(at[-1] / step)) + 1))
    return np.column_stack([np.interp(along, at, path[:, k]) for k in range(3)])
