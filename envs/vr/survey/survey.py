"""The walkable floors of a level, and the parts of them that agents cannot reach."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ambulo.configs.arrays import Bools, Floats, Ints
from ambulo.configs.errors import LevelError
from ambulo.configs.playtest import MIN_AREA
from ambulo.envs.vr.contract import CLIMB_HEIGHT
from ambulo.envs.vr.geometry.edge_kernels import are_drops
from ambulo.envs.vr.levels.layer_kernels import NEIGHBOURS
from ambulo.envs.vr.levels.layers import CLEARANCE
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.levels.solids import Solids
from ambulo.envs.vr.survey.access import access_of
from ambulo.envs.vr.survey.bodies import STANDING, Body
from ambulo.envs.vr.survey.causes import with_causes, with_ways_in
from ambulo.envs.vr.survey.floor import (
    GAP_AREA,
    MAX_AREAS,
    Area,
    AreaKind,
    Floor,
    letters,
    split,
)
from ambulo.envs.vr.survey.movers import judged_level, rides
from ambulo.envs.vr.survey.nodes import Nodes
from ambulo.envs.vr.survey.parts import Parts, find_parts

CELL_SIZES = (0.05, 0.1, 0.25)
"""Cell sizes of the floor grid; the first with few enough cells is used, [m]."""
_MAX_CELLS, _MAX_FLAT_CELLS = 1e6, 4e6
"""Most cells of the floor grid, and those of flat levels, which have one layer."""
GAP_WIDTH = 0.8
"""A part that is nowhere wider, and small, is a gap between things, [m]."""
_OPEN, _SHARED = 0.5, 0.1
"""A part with more of its edge open, where one would fall, is the top of something, unless
more of the reachable floor than this is as high."""
TOP_AREA, TOP_HEIGHT, _SOME = 6.0, 1.2, 0.15
"""So is one with less floor than this [m^2], at most so high above floor beside it [m], and
with more of its edge open than this."""
_TALL = 2.8
"""Tops smaller than gaps may be so high, as those of wardrobes are, [m]."""
_BESIDE = 0.75
MAX_TOPS = 10
"""Tops that are listed, the largest first; the others are counted."""


def survey(
    level: Level, min_area: float = MIN_AREA, bodies: Sequence[Body] = (STANDING,)
) -> Floor:
    """Return the floor of `level`, and every part that cannot be reached.

    Things that move stand in the way only where they always do; see `movers`.

    Args:
        level: flat or with heights.
        min_area: smaller parts are slivers, [m^2].
        bodies: the first one, a capsule, has the floor; `Floor.access` is of all.

    Raises:
        LevelError: no place for the first body.
    """
    judged = judged_level(level)
    parts = find_parts(judged, cell_size(level), bodies[0])
    if len(parts.nodes) == 0:
        raise LevelError(f"level {level.name!r}: no free floor for the body")
    main = parts.main_part(level)
    sizes = parts.size.copy()
    sizes[main] = 0.0
    order = [int(k) for k in np.argsort(-sizes) if sizes[k] > 0.0]
    large = [k for k in order if sizes[k] >= min_area]
    small = [k for k in order if sizes[k] < min_area]
    measured = _measured(judged, parts, large, main)
    tops = [a for a in measured if a.kind == "top" and a.area >= TOP_AREA][:MAX_TOPS]
    floors = sorted(
        (a for a in measured if a.kind != "top"), key=lambda a: a.kind != "sealed"
    )
    listed = sorted([*floors[:MAX_AREAS], *tops], key=lambda a: -a.area)
    areas = [replace(a, name=letters(k)) for k, a in enumerate(listed)]
    areas = with_ways_in(judged, parts, main, areas)
    carriers = rides(level, parts.nodes, parts.label, main)
    areas = [
        replace(area, kind="ride", carrier=carriers[area.label])
        if area.label in carriers
        else area
        for area in areas
    ]
    areas = with_causes(level, parts, main, areas)
    planned = ("sealed", "tight", "ride", "top")
    shown = [main, *(area.label for area in areas if area.kind in planned)]
    limits, storeys = split(parts, main, shown, [area.label for area in areas])
    grid = parts.nodes.grid
    return Floor(
        level=level,
        body=bodies[0],
        access=access_of(level, judged, parts, main, areas, bodies),
        x0=grid.x0,
        y0=grid.y0,
        resolution=grid.resolution,
        main=main,
        storeys=storeys,
        limits=limits,
        areas=tuple(areas),
        slivers=len(small),
        sliver_area=float(parts.size[small].sum()),
        unlisted=sum(a.kind == "sealed" for a in floors[MAX_AREAS:]),
        tops=len(measured) - len(floors) - len(tops),
    )


def cell_size(level: Level) -> float:
    """The finest of `CELL_SIZES` with few enough cells in `level`, [m]."""
    x0, y0, x1, y1 = level.bounds
    area = float((x1 - x0) * (y1 - y0))
    most = _MAX_CELLS if level.heights else _MAX_FLAT_CELLS
    fits = [size for size in CELL_SIZES if area <= most * size**2]
    return fits[0] if fits else CELL_SIZES[-1]


def _measured(level: Level, parts: Parts, which: list[int], main: int) -> list[Area]:
    """The unreachable parts `which`, without names and openings."""
    nodes, grid = parts.nodes, parts.nodes.grid
    points, solids = nodes.points(), Solids.of(level)
    reachable = parts.label == main
    rim = _at_rim(nodes, reachable)
    areas = []
    for part in which:
        mine = np.flatnonzero(parts.label == part)
        best = mine[int(np.argmax(parts.clear[mine]))]
        width, area = 2.0 * float(parts.clear[best]), float(parts.size[part])
        kind: AreaKind = "sealed"
        if _is_top(solids, parts, points, mine, area, reachable):
            kind = "top"
        elif width < GAP_WIDTH and area < GAP_AREA:
            kind = "gap"
        elif not rim and _at_rim(nodes, parts.label == part):
            kind = "outside"
        low, high = points[mine, :2].min(axis=0), points[mine, :2].max(axis=0)
        edge = CLEARANCE + grid.resolution / 2
        areas.append(
            Area(
                name="",
                kind=kind,
                label=part,
                area=area,
                position=points[best],
                box=np.concatenate([low - edge, high + edge]),
                width=width,
            )
        )
    return areas


def _is_top(
    solids: Solids,
    parts: Parts,
    points: Floats,
    mine: Ints,
    area: float,
    reachable: Bools,
) -> bool:
    """Whether the nodes `mine`, of all at `points`, are on top of something.

    As on a table or on a roof.
    """
    own = points[mine]
    edge = _open_fraction(solids, parts, mine, own)
    if edge > _SOME and area < TOP_AREA:
        tall = _TALL if area < GAP_AREA else TOP_HEIGHT
        low, high = own.min(axis=0), own.max(axis=0)
        near = np.abs(points[:, 0] - (low[0] + high[0]) / 2) < (
            (high[0] - low[0]) / 2 + _BESIDE
        )
        around = np.flatnonzero(near & (parts.label != parts.label[mine[0]]))
        x_y_z = points[around]
        beside = (x_y_z[:, 1] > low[1] - _BESIDE) & (x_y_z[:, 1] < high[1] + _BESIDE)
        lower = x_y_z[:, 2] < low[2] - CLIMB_HEIGHT
        if (beside & lower & (x_y_z[:, 2] > high[2] - tall)).any():
            return True
    if edge <= _OPEN:
        return False
    usual = float(np.median(own[:, 2]))
    same = np.abs(parts.nodes.z[reachable] - usual) < CLIMB_HEIGHT
    return float(same.mean()) < _SHARED


def _open_fraction(solids: Solids, parts: Parts, mine: Ints, points: Floats) -> float:
    """Fraction of the edge of the nodes `mine` at which one would fall."""
    nodes = parts.nodes
    begin, way = [], []
    for d in range(0, 8, 2):
        ends = points[nodes.neighbour[mine, d] == len(nodes)]
        begin.append(ends)
        way.append(np.tile(NEIGHBOURS[d].astype(np.float64), (len(ends), 1)))
    edge = np.vstack(begin)
    if len(edge) == 0:
        return 0.0
    cell = nodes.grid.resolution
    reach = CLEARANCE + cell
    drops: Bools = are_drops(
        solids.arrays(parts.body.height), edge, np.vstack(way), reach, 1.5 * reach, cell
    )
    return float(drops.mean())


def _at_rim(nodes: Nodes, mine: Bools) -> bool:
    """Whether the nodes `mine` come as near to the edge of the level as a body can."""
    grid = nodes.grid
    reach = int(np.ceil(CLEARANCE / grid.resolution)) + 1
    row, column = nodes.row[mine], nodes.column[mine]
    return bool(
        row.min() <= reach
        or column.min() <= reach
        or row.max() >= grid.ny - 1 - reach
        or column.max() >= grid.nx - 1 - reach
    )
