"""Why parts of a floor cannot be reached, and the widest ways in, which thinner bodies try.

Things that stay where they are, high steps and steep stairs keep bodies out.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from ambulo.configs.arrays import Floats, Ints
from ambulo.envs.vr.contract import BODY_RADIUS, CLIMB_HEIGHT
from ambulo.envs.vr.levels.layers import CLEARANCE, LayeredGrid
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.levels.moving import CARRIERS
from ambulo.envs.vr.survey.floor import Area
from ambulo.envs.vr.survey.movers import is_beside, never_blocked, stays
from ambulo.envs.vr.survey.nodes import Nodes
from ambulo.envs.vr.survey.parts import Parts

_BESIDE_STAIRS = 1.0
"""Largest distance of a place to which stairs lead from their end, [m]."""
_HIGHEST = 0.8
"""Higher than this is no step, [m]."""


def with_causes(
    level: Level, parts: Parts, main: int, areas: Sequence[Area]
) -> list[Area]:
    """Return `areas`, those without a way in with what keeps bodies out, if that is known.

    Args:
        level: as its file has it.
        parts: of its floor.
        main: the part that people are in.
        areas: parts that they cannot reach.
    """
    shut = [k for k, a in enumerate(areas) if a.kind in ("sealed", "top")]
    if not shut:
        return list(areas)
    found, steps = list(areas), _Steps(parts.ground)
    for k in shut:
        mine, home = parts.owner == areas[k].label, parts.owner == main
        cause = _what_stays(level, parts.ground.points(), mine, home)
        cause = cause or steps.between(mine, home)
        cause = cause or _steep_stairs(level, parts, mine, home)
        cause = cause or _apart(parts, mine, home)
        found[k] = replace(areas[k], cause=cause)
    return found


def _what_stays(level: Level, points: Floats, mine: Ints, home: Ints) -> str:
    """Mover or stairs beside both parts of `points` that do not connect them; '' for none."""
    for k, mover in enumerate(level.movers):
        if not all(is_beside(mover, points[part]).any() for part in (mine, home)):
            continue
        low, high = np.sort(mover.path[:, 3])[[0, -1]] + mover.half_size[2]
        name, carries = f"movers[{k}], a {mover.kind}", mover.kind in CARRIERS
        if stays(mover):
            top = mover.path[-1, 3] + mover.half_size[2]
            return f"{name}, stays {f'at z {top:.1f} m' if carries else 'in the way'} for ever"
        if carries:
            return f"{name}, moves between z {low:.1f} and {high:.1f} m only"
    return ""


def _steep_stairs(level: Level, parts: Parts, mine: Ints, home: Ints) -> str:
    """The stairs from one part to the other that no body climbs, or ''.

    The body touches the second step before it is on the first one where the first is less
    deep than the body's radius, and both together are higher than it climbs.
    """
    points = parts.ground.points()
    for k, row in enumerate(level.stairs):
        ends = (row[:3], row[3:6])
        if not any(
            all(
                (np.linalg.norm(points[part] - end, axis=1) < _BESIDE_STAIRS).any()
                for part, end in zip((one, other), ends, strict=True)
            )
            for one, other in ((mine, home), (home, mine))
        ):
            continue
        depth = float(np.linalg.norm(row[3:5] - row[:2])) / row[8]
        rise = float(row[5] - row[2]) / row[8]
        if depth < BODY_RADIUS and 2.0 * rise > CLIMB_HEIGHT:
            return (
                f"stairs[{k}], too steep: its steps are {depth:.2f} m deep and {rise:.2f} m "
                f"high, and bodies need {BODY_RADIUS:g} m of depth"
            )
    return ""


def _apart(parts: Parts, mine: Ints, home: Ints) -> str:
    """That no floor of one part is as high as any of the other, or ''."""
    z = parts.ground.z
    low, high = z[home].min(), z[home].max()
    if z[mine].max() > low - _HIGHEST and z[mine].min() < high + _HIGHEST:
        return ""
    return "no stairs, ramp or lift leads there"


class _Steps:
    """Steps between cells beside each other, up to `_HIGHEST`."""

    def __init__(self, ground: Nodes) -> None:
        layers = ground.grid.free.shape[0]
        number = np.full(ground.grid.free.shape, -1, np.int64)
        number[ground.layer, ground.row, ground.column] = np.arange(len(ground))
        pairs = [
            np.column_stack([one[k].ravel(), other[m].ravel()])
            for one, other in (
                (number[:, :-1], number[:, 1:]),
                (number[:, :, :-1], number[:, :, 1:]),
            )
            for k in range(layers)
            for m in range(layers)
        ]
        ends = np.vstack(pairs)
        ends = ends[(ends >= 0).all(axis=1)]
        rise = np.abs(ground.z[ends[:, 0]] - ground.z[ends[:, 1]])
        self._ends, self._rise = ends[rise <= _HIGHEST], rise[rise <= _HIGHEST]
        self._count = len(ground)

    def between(self, mine: Ints, home: Ints) -> str:
        """The highest step of the lowest way between two parts, if it is too high, or ''."""
        rises = np.unique(self._rise[self._rise > CLIMB_HEIGHT].round(2)) + 0.005
        if len(rises) == 0 or self._joins(CLIMB_HEIGHT, mine, home):
            return ""
        least = bisect_left(rises, True, key=lambda h: self._joins(h, mine, home))
        if least == len(rises):
            return ""
        return (
            f"the lowest way there has a step of {rises[least] - 0.005:.2f} m, and bodies "
            f"climb {CLIMB_HEIGHT:g} m"
        )

    def _joins(self, most: float, mine: Ints, home: Ints) -> bool:
        """Whether steps of at most `most` [m] lead from one part to the other."""
        ends = self._ends[self._rise <= most]
        graph = coo_array((np.ones(len(ends)), ends.T), (self._count,) * 2)
        part = connected_components(graph, directed=False)[1]
        return bool(np.isin(part[mine], part[home]).any())


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
