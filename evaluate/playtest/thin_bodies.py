"""The widest ways into parts of a floor with heights: thinner bodies try to get in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ambulo.configs.arrays import Floats, Ints
from ambulo.envs.vr.contract import BODY_RADIUS
from ambulo.envs.vr.levels.layers import LayeredGrid
from ambulo.envs.vr.levels.level import Level
from ambulo.evaluate.playtest.areas import Area
from ambulo.evaluate.playtest.movers import never_blocked
from ambulo.evaluate.playtest.nodes import Nodes

RADII = (0.27, 0.25, 0.225, 0.2, 0.175, 0.15, 0.125, 0.1, 0.075, 0.05)
"""Radii of the bodies, the thinnest last, [m]."""
FEW_RADII = (0.27, 0.25, 0.2, 0.1)
"""Those in large levels, [m]."""
_LARGE = 4e5
"""Levels with more cells are large."""


def with_ways_in(
    level: Level, nodes: Nodes, label: Ints, main: int, areas: Sequence[Area]
) -> list[Area]:
    """Return `areas`, the `sealed` ones with the widest way in; it may make them `tight`.

    Widths are those of the widest body of `RADII` (`FEW_RADII`) that gets in.

    Args:
        level: with boxes for things that stand still.
        nodes: cells of bodies with the usual clearance.
        label: part of each, shape (n,).
        main: the part that people are in.
        areas: parts that are not connected with it.
    """
    found = list(areas)
    left = [k for k, area in enumerate(found) if area.kind == "sealed"]
    large = nodes.grid.nx * nodes.grid.ny > _LARGE
    widest, *others, thinnest = FEW_RADII if large else RADII
    # What the thinnest body cannot enter, no other one need try.
    for radius in (widest, thinnest, *others):
        if not left:
            break
        grid = LayeredGrid.of(level, nodes.grid.resolution, radius)
        thin = Nodes.of(never_blocked(level, grid) if radius >= BODY_RADIUS else grid)
        part = thin.parts()
        at = nodes.matching(thin)
        home = set(np.unique(part[at[(label == main) & (at >= 0)]]).tolist())
        for k in left.copy():
            mine = at[(label == found[k].label) & (at >= 0)]
            enters = len(mine) > 0 and int(part[mine[0]]) in home
            if enters:
                found[k] = _entered(nodes, label, thin, at, main, found[k], radius)
            if enters != (radius == thinnest):
                left.remove(k)
    return found


def _entered(
    nodes: Nodes,
    label: Ints,
    thin: Nodes,
    at: Ints,
    main: int,
    area: Area,
    radius: float,
) -> Area:
    """`area`, which a body of this `radius` enters over `thin` from the part `main`."""
    grid = thin.grid
    field = grid.field(area.position)
    from_main = at[(label == main) & (at >= 0)]
    ways = field[thin.layer[from_main], thin.row[from_main], thin.column[from_main]]
    begin = thin.points()[from_main[int(np.argmin(ways))]]
    path = grid.path(field, begin)
    room = grid.edge_distances()
    inside = set(at[(label == area.label) & (at >= 0)].tolist())
    number = np.full(grid.free.shape, -1, np.int64)
    number[thin.layer, thin.row, thin.column] = np.arange(len(thin))
    place, least = begin, np.inf
    for point in _dense(path, grid.resolution):
        cell = grid.nearest(point, grid.resolution)
        if cell is None:
            continue
        if int(number.ravel()[cell]) in inside:
            break
        if room.ravel()[cell] < least:
            place, least = grid.points(np.array([cell]))[0], float(room.ravel()[cell])
    return replace(
        area,
        kind="tight" if radius >= BODY_RADIUS else area.kind,
        opening=2.0 * radius,
        opening_position=place,
    )


def _dense(path: Floats, step: float) -> Floats:
    """Points at most `step` [m] apart on `path` (n, 3)."""
    lengths = np.linalg.norm(np.diff(path, axis=0), axis=1)
    at = np.concatenate([[0.0], np.cumsum(lengths)])
    along = np.linspace(0.0, at[-1], max(2, int(np.ceil(at[-1] / step)) + 1))
    return np.column_stack([np.interp(along, at, path[:, k]) for k in range(3)])
