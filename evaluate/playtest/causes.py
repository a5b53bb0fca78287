"""Why parts of a floor cannot be reached: things that stay where they are, and high steps."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from ambulo.configs.arrays import Floats, Ints
from ambulo.envs.vr.contract import BODY_RADIUS, CLIMB_HEIGHT
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.levels.moving import CARRIERS
from ambulo.evaluate.playtest.areas import Area
from ambulo.evaluate.playtest.movers import is_beside, stays
from ambulo.evaluate.playtest.nodes import Nodes
from ambulo.evaluate.playtest.parts import Parts

_BESIDE_STAIRS = 1.0
"""What is nearer to an end of stairs is where they lead, [m]."""
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
    """What of the thing beside both parts of `points` that does not lead on there, or ''."""
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
