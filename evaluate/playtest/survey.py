"""The walkable floors of a level, and the parts of them that agents cannot reach."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from ambulo.configs.arrays import Bools, Floats, Ints
from ambulo.configs.errors import LevelError
from ambulo.envs.vr.contract import BODY_RADIUS, CLIMB_HEIGHT
from ambulo.envs.vr.geometry.edge_kernels import are_drops
from ambulo.envs.vr.levels.geodesic import FINE_RESOLUTION
from ambulo.envs.vr.levels.layer_kernels import NEIGHBOURS
from ambulo.envs.vr.levels.layers import CLEARANCE, LayeredGrid
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.levels.solids import Solids
from ambulo.evaluate.playtest.areas import Area, AreaKind, letters
from ambulo.evaluate.playtest.floor import MAX_AREAS, MIN_AREA, Floor
from ambulo.evaluate.playtest.movers import judged_level, never_blocked, rides
from ambulo.evaluate.playtest.nodes import Nodes, parts_at
from ambulo.evaluate.playtest.storeys import split
from ambulo.evaluate.playtest.thin_bodies import with_ways_in

CELL_SIZES = (0.05, 0.1, 0.25)
"""Cell sizes of the floor grid; the first with few enough cells is used, [m]."""
_MAX_CELLS, _MAX_FLAT_CELLS = 1e6, 4e6
"""Most cells of the floor grid, and those of flat levels, which have one layer."""
GAP_WIDTH = 0.8
"""A part that is nowhere wider, and small, is a gap between things, [m]."""
GAP_AREA = 2.0
"""Larger parts are never gaps, [m^2]."""
_OPEN, _SHARED = 0.5, 0.1
"""A part with more of its edge open, where one would fall, is the top of something, unless
more of the reachable floor than this is as high."""
TOP_AREA, TOP_HEIGHT, _SOME = 6.0, 1.2, 0.15
"""So is one with less floor than this [m^2], at most so high above floor beside it [m], and
with more of its edge open than this."""
_TALL = 2.8
"""Tops smaller than gaps may be so high, as those of wardrobes are, [m]."""
_COMPARABLE = 0.5
"""Without starts, people are in the lowest part that has this fraction of the largest."""
_BESIDE = 0.75
_SHARED_CELLS = 4
"""A part belongs to one of larger cells if it shares at least so many cells with it."""
MAX_TOPS = 10
"""Tops that are listed, the largest first; the others are counted."""


@dataclass(frozen=True, eq=False)
class _Parts:
    """The parts of a level, and the numbers of each."""

    nodes: Nodes
    """Cells on which the axis of a body can be."""
    label: Ints
    """Part of each node, from 1 on, shape (n,)."""
    ground: Nodes
    """Cells of all floor on which a point has room."""
    owner: Ints
    """Part whose people cover each cell of `ground`, 0: none, shape (m,)."""
    clear: Floats
    """Distance of each of `nodes` from the nearest obstacle or edge, shape (n,), [m]."""
    size: Floats
    """Floor of each part, shape (parts + 1,), [m^2]; 0 has none."""


def survey(level: Level, min_area: float = MIN_AREA) -> Floor:
    """Return the floor of `level`, and every part that cannot be reached.

    Things that move stand in the way only where they always do; see `movers`.

    Raises:
        LevelError: no place for a body.
    """
    judged = judged_level(level)
    parts = _parts(judged, cell_size(level))
    if len(parts.nodes) == 0:
        raise LevelError(f"level {level.name!r}: no free floor for the body")
    main = _main_part(level, parts)
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
    areas = with_ways_in(judged, parts.nodes, parts.label, main, areas)
    areas = [_ridden(area, carriers) for area, carriers in zip(
        areas, rides(level, parts.nodes, parts.label, main, areas), strict=True,
    )]  # fmt: skip
    planned = ("sealed", "tight", "ride", "top")
    shown = [main, *(area.label for area in areas if area.kind in planned)]
    limits, storeys = split(
        parts.nodes,
        parts.label,
        parts.ground,
        parts.owner,
        main,
        shown,
        [area.label for area in areas],
    )
    grid = parts.nodes.grid
    return Floor(
        level=level,
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


def _parts(level: Level, resolution: float) -> _Parts:
    """The connected parts of `level`."""
    grid = LayeredGrid.of(level, resolution, CLEARANCE)
    nodes = Nodes.of(never_blocked(level, grid))
    label = _joined(level, nodes, nodes.parts())
    ground = Nodes.of(LayeredGrid.of(level, resolution, 0.0))
    at = nodes.matching(ground)
    known = at >= 0
    owner = np.zeros(len(ground), np.int64)
    owner[at[known]] = label[known]
    owner = ground.spread(owner, round((CLEARANCE + resolution) / resolution))
    room = ground.grid.edge_distances()[ground.layer, ground.row, ground.column]
    clear = np.where(known, room[at] - 0.5 * resolution, 0.0)
    count = int(label.max(initial=0)) + 1
    cells = np.bincount(owner, minlength=count).astype(np.float64)
    cells[0] = 0.0
    return _Parts(nodes, label, ground, owner, clear, cells * resolution**2)


def _joined(level: Level, nodes: Nodes, label: Ints) -> Ints:
    """`label` (n,), the same for parts that larger cells join: fine ones miss seams of floors.

    Larger cells keep the same distance from obstacles, and ways are measured on them.
    """
    if nodes.grid.resolution >= FINE_RESOLUTION or len(nodes) == 0:
        return label
    coarse = never_blocked(level, LayeredGrid.of(level, FINE_RESOLUTION, CLEARANCE))
    other = parts_at(coarse, coarse.parts(), nodes.points())
    pairs, counts = np.unique(
        np.column_stack([label, other])[other > 0], axis=0, return_counts=True
    )
    fine, wide = pairs[counts >= _SHARED_CELLS].T
    size = int(label.max()) + 1
    graph = coo_array(
        (np.ones(len(fine)), (fine, size + wide)), (size + int(other.max()) + 1,) * 2
    )
    _, part = connected_components(graph, directed=False)
    _, number = np.unique(part[label], return_inverse=True)
    return np.asarray(number + 1, np.int64)


def _main_part(level: Level, parts: _Parts) -> int:
    """The part that holds the level's starts; without any, a large one that lies low."""
    starts = [] if level.start_place is None else [level.start_place]
    starts += [*level.starts[:, :3]]
    points = parts.nodes.points()
    found = []
    for start in np.array(starts).reshape(-1, 3):
        away = np.linalg.norm(points - start, axis=1)
        nearest = int(np.argmin(away))
        if away[nearest] <= 2.0 * BODY_RADIUS:
            found.append(int(parts.label[nearest]))
    if found:
        return int(np.bincount(found).argmax())
    large = np.flatnonzero(parts.size >= _COMPARABLE * parts.size.max())
    heights = [float(np.median(parts.nodes.z[parts.label == k])) for k in large]
    return int(large[int(np.argmin(heights))])


def _measured(level: Level, parts: _Parts, which: list[int], main: int) -> list[Area]:
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
    parts: _Parts,
    points: Floats,
    mine: Ints,
    area: float,
    reachable: Bools,
) -> bool:
    """Whether the nodes `mine`, of all at `points`, are on top of something.

    As on a table or on a roof.
    """
    own = points[mine]
    edge = _open_fraction(solids, parts.nodes, mine, own)
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


def _open_fraction(solids: Solids, nodes: Nodes, mine: Ints, points: Floats) -> float:
    """Fraction of the edge of the nodes `mine` at which one would fall."""
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
        solids.arrays(), edge, np.vstack(way), reach, 1.5 * reach, cell
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


def _ridden(area: Area, carrier: str) -> Area:
    """`area`, which a platform with the key `carrier` (empty: none) leads to."""
    if not carrier:
        return area
    return replace(area, kind="ride", carrier=carrier)
