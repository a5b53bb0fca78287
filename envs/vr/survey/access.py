"""For whom which parts and places of a level cannot be reached."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count

import numpy as np
from scipy.ndimage import distance_transform_edt
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from ambulo.configs.arrays import Bools, Ints
from ambulo.envs.vr.levels.layers import CLEARANCE, with_lifts
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.levels.moving import CARRIERS
from ambulo.envs.vr.levels.solids import Solids
from ambulo.envs.vr.survey.bodies import Access, Body, MissedPart
from ambulo.envs.vr.survey.floor import GAP_AREA, Area, letters
from ambulo.envs.vr.survey.movers import poses, rides
from ambulo.envs.vr.survey.nodes import Nodes
from ambulo.envs.vr.survey.parts import Parts, find_parts

NEAR_PLACE = 0.5
"""Agents begin within this distance of a place that the level names, [m]."""
_MOST_PAIRS = 4e8
"""Most pairs of shapes that are compared."""


@dataclass(frozen=True, eq=False)
class _Reach:
    """Parts of the floor that one body reaches."""

    parts: Parts
    """Parts for a body as tall as it, or for one that fits wherever it fits."""
    reached: Bools
    """Whether it reaches each part, shape (parts + 1,)."""


def access_of(
    level: Level,
    judged: Level,
    first: Parts,
    main: int,
    areas: Sequence[Area],
    bodies: Sequence[Body],
) -> tuple[Access, ...]:
    """Parts that each of `bodies` cannot reach; bodies that reach the same are grouped.

    Args:
        level: as its file has it.
        judged: with boxes for things that stand still.
        first: its parts for the first body.
        main: the part that this one is in.
        areas: parts that it cannot reach.
        bodies: which, the first one a capsule.
    """
    reaches = [_reach(level, first, main)]
    for body in bodies[1:]:
        alike = (r for r in reaches if _fit_alike(judged, r.parts.body, body))
        reach = next(alike, None)
        reaches.append(reach or _other_reach(level, judged, first, main, body))
    missed = _missed(first, areas, reaches)
    found: dict[tuple[object, ...], Access] = {}
    for k, (body, reach) in enumerate(zip(bodies, reaches, strict=True)):
        mine = tuple(part for part, missing in missed if missing >> k & 1)
        places = tuple(_missed_places(level, reach))
        key = (tuple(part.name for part in mine), places)
        known = found[key].bodies if key in found else ()
        found[key] = Access((*known, body), mine, places)
    return tuple(found.values())


def _reach(level: Level, parts: Parts, main: int) -> _Reach:
    """Parts that a body reaches from the part `main`; platforms carry capsules."""
    reached = np.zeros(len(parts.size), np.bool_)
    reached[main] = main > 0
    if main > 0 and not parts.body.level_only:
        reached[list(rides(level, parts.nodes, parts.label, main))] = True
    return _Reach(parts, reached)


def _other_reach(
    level: Level, judged: Level, first: Parts, main: int, body: Body
) -> _Reach:
    """Parts that `body` reaches from the starts, or else from where the first body is."""
    home, begins = first.label == main, first.start_nodes(level)
    z = first.nodes.z[begins if len(begins) else home]
    heights, counts = np.unique(z.round(2), return_counts=True)
    usual = float(heights[np.argmax(counts)])
    parts = find_parts(judged, first.nodes.grid.resolution, body, usual)
    begins = parts.start_nodes(level)
    if len(begins) == 0:
        at = first.nodes.matching(parts.nodes)
        begins = at[home & (at >= 0)]
    labels = np.bincount(parts.label[begins], minlength=1)
    return _reach(level, parts, int(labels.argmax()))


def _fit_alike(level: Level, one: Body, other: Body) -> bool:
    """Whether both bodies fit wherever one of them does in `level`."""
    if (one.clearance, one.level_only) != (other.clearance, other.level_only):
        return False
    low, high = sorted((one.height, other.height))
    return low == high or not _hangs_between(level, low, high)


def _hangs_between(level: Level, low: float, high: float) -> bool:
    """Whether anything of `level` may hang from `low` to `high` [m] above a floor."""
    solids = Solids.of(with_lifts(level))
    p, c, t = solids.prisms, solids.cylinders, solids.triangles
    under = np.concatenate([p[:, 6], c[:, 3], t[:, 12]])
    under_most = np.concatenate([p[:, 6], c[:, 3], t[:, 13]])
    floor = np.concatenate([p[:, 7], c[:, 4], t[:, 13]])
    floor_least = np.concatenate([p[:, 7], c[:, 4], t[:, 12]])
    for mover in level.movers:
        if mover.kind not in CARRIERS:
            z = poses(mover)[:, 2] - mover.half_size[2]
            if ((z.min() - floor < high) & (z.max() - floor_least > low)).any():
                return True
    west_south, east_north = solids.extents()
    hanging = np.flatnonzero(under_most > floor_least.min() + low)
    if len(hanging) * len(floor) > _MOST_PAIRS:
        return True
    for k in hanging:
        near = (west_south < east_north[k] + CLEARANCE).all(axis=1)
        near &= (east_north > west_south[k] - CLEARANCE).all(axis=1)
        near &= (under[k] - floor < high) & (under_most[k] - floor_least > low)
        near[k] = False
        if near.any():
            return True
    return False


def _missed(
    first: Parts, areas: Sequence[Area], reaches: Sequence[_Reach]
) -> list[tuple[MissedPart, int]]:
    """The parts that some body misses, and for each the bits of those that do.

    Floor counts if some body reaches it, or the first one would fit there. Parts that are no
    area of the first body have at least `GAP_AREA`.
    """
    capsules = [r.parts for r in reaches if not r.parts.body.level_only]
    lowest = min(capsules, key=lambda parts: parts.body.height)
    base, cell = lowest.ground, lowest.nodes.grid.resolution**2
    missing, some = np.zeros(len(base), np.int64), np.zeros(len(base), np.bool_)
    for k, reach in enumerate(reaches):
        cover = _on_base(reach.parts, reach.reached[reach.parts.owner], base) > 0
        missing |= np.where(cover, 0, 1 << k)
        some |= cover
    known = {a.label: a for a in areas if a.kind in ("sealed", "tight")}
    owner = np.where(np.isin(first.owner, list(known)), first.owner, 0)
    owner = _on_base(first, owner, base)
    cells = np.flatnonzero((some | (owner > 0)) & (missing > 0))
    key = (owner << len(reaches)) | missing
    part = _components(base, cells, key)
    groups = np.split(cells[np.argsort(part)], np.cumsum(np.bincount(part))[:-1])
    found: list[tuple[MissedPart, int]] = []
    names = (letters(k) for k in count(len(areas)))
    for mine in sorted(groups, key=len, reverse=True):
        if len(mine) == 0:
            continue
        bits = int(missing[mine[0]])
        area = known.pop(int(owner[mine[0]]), None)
        if area is not None:  # the largest piece has the area's name
            found.append((MissedPart(area.name, area.area, area.position), bits))
        elif len(mine) * cell >= GAP_AREA:
            middle = base.points()[_middle(base, mine)]
            found.append((MissedPart(next(names), len(mine) * cell, middle), bits))
    return sorted(found, key=lambda item: (len(item[0].name), item[0].name))


def _middle(base: Nodes, cells: Ints) -> int:
    """The one of `cells` that is farthest from all others, seen from above."""
    row, column = base.row[cells], base.column[cells]
    row, column = row - row.min() + 1, column - column.min() + 1
    mask = np.zeros((row.max() + 2, column.max() + 2), np.bool_)
    mask[row, column] = True
    return int(cells[np.argmax(distance_transform_edt(mask)[row, column])])


def _on_base(parts: Parts, values: Ints | Bools, base: Nodes) -> Ints:
    """`values` (m,) of the ground of `parts` on the cells of `base`, 0: none there."""
    found = np.zeros(len(base), np.int64)
    if parts.ground is base:
        found[:] = values
        return found
    at = parts.ground.matching(base)
    found[at[at >= 0]] = values[at >= 0]
    return found


def _components(base: Nodes, cells: Ints, key: Ints) -> Ints:
    """Number of the connected part of equal `key` of each of `cells` (n,), shape (n,)."""
    most = len(cells)
    number = np.full(len(base) + 1, most, np.int64)
    number[cells] = np.arange(most)
    begin, end = [], []
    for d in range(8):
        to = number[base.neighbour[cells, d]]
        joined = np.flatnonzero(to < most)
        joined = joined[key[cells[joined]] == key[cells[to[joined]]]]
        begin.append(joined)
        end.append(to[joined])
    ends = (np.concatenate(begin), np.concatenate(end))
    graph = coo_array((np.ones(len(ends[0])), ends), (most, most))
    return np.asarray(connected_components(graph, directed=False)[1], np.int64)


def _missed_places(level: Level, reach: _Reach) -> list[str]:
    """Keys of the places of `level` that are not near to what is reached."""
    nodes = reach.parts.nodes
    free = np.zeros_like(nodes.grid.free)
    mine = reach.reached[reach.parts.label]
    free[nodes.layer[mine], nodes.row[mine], nodes.column[mine]] = True
    grid = replace(nodes.grid, free=free)
    return [
        key.removesuffix(".position")
        for key, place in level.places().items()
        if grid.nearest(place, NEAR_PLACE) is None
    ]
