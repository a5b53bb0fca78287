"""Moving parts of a level, for its survey.

A place counts as reachable if a body gets there at some time: a thing that moves is in the
way only where it is in the way at every time. A thing that moves once, lifts too, is looked at
where it ends. Nothing carries a body but lifts; places behind a moving platform are reported
separately.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from ambulo.configs.arrays import Bools, Floats, Ints
from ambulo.envs.vr.contract import BODY_HEIGHT, CLIMB_HEIGHT
from ambulo.envs.vr.levels.layers import CLEARANCE, LayeredGrid
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.levels.moving import CARRIERS, Mover, lift_stops
from ambulo.envs.vr.survey.nodes import Nodes

_STEP, _TURN = 0.1, 0.1
"""Largest way [m] and turn [rad] between two places at which a thing is looked at."""
_WAITING = 1.5
"""A body that stays this near to a door or lift waits for it, [m]."""
_BOARDING = 0.45
"""A body boards a platform whose edge is this near to the axis, [m]."""


def played_level(level: Level) -> Level:
    """`level` with a box for each thing that never moves, which then is in distances too."""
    still = [m for m in level.movers if m.kind not in CARRIERS and _stands_still(m)]
    return _boxed(level, still)


def judged_level(level: Level) -> Level:
    """`level` with a box for each thing that comes to rest, where it does."""
    return _boxed(level, [m for m in level.movers if stays(m)])


def stays(mover: Mover) -> bool:
    """Whether `mover` comes to rest for ever, at the end of its path."""
    return mover.loop == "once" or _stands_still(mover)


def is_beside(mover: Mover, points: Floats) -> Bools:
    """Which of `points` (n, 3) are beside `mover` at the end of its path, shape (n,).

    Beside what carries is also what is above and below it.
    """
    end = mover.path[-1, 1:]
    near = _distances(mover, end, points) <= _BOARDING
    if mover.kind in CARRIERS:
        return near
    low, high = end[2] - mover.half_size[2], end[2] + mover.half_size[2]
    return near & (low < points[:, 2] + BODY_HEIGHT) & (high > points[:, 2])


def _boxed(level: Level, movers: Sequence[Mover]) -> Level:
    if not movers:
        return level
    rows = [[*m.path[-1, 1:4], *m.half_size, m.path[-1, 4]] for m in movers]
    return replace(
        level,
        boxes=np.vstack([level.boxes, rows]),
        movers=tuple(m for m in level.movers if all(m is not one for one in movers)),
    )


def _stands_still(mover: Mover) -> bool:
    return bool((np.ptp(mover.path[:, 1:], axis=0) < 1e-6).all())


def poses(mover: Mover) -> Floats:
    """Where `mover` comes by: x, y, z, yaw, close together, shape (n, 4), [m], [rad]."""
    keys = mover.path[:, 1:]
    rows = [keys[:1]]
    reach = float(np.hypot(*mover.half_size[:2]))
    for before, after in pairwise(keys):
        way = float(np.linalg.norm(after[:3] - before[:3]))
        turn = abs(float(after[3] - before[3])) * max(reach, 1.0)
        parts = max(1, int(np.ceil(max(way / _STEP, turn / _TURN))))
        share = np.linspace(0.0, 1.0, parts + 1)[1:, None]
        rows.append(before + share * (after - before))
    return np.vstack(rows)


def never_blocked(
    level: Level, grid: LayeredGrid, tall: float = BODY_HEIGHT
) -> LayeredGrid:
    """`grid` without the cells where a moving thing always obstructs bodies so `tall`, [m]."""
    moving = [m for m in level.movers if m.kind not in CARRIERS]
    if not moving:
        return grid
    free = grid.free.copy()
    layer, row, column = np.nonzero(free)
    x = grid.x0 + (column + 0.5) * grid.resolution
    y = grid.y0 + (row + 0.5) * grid.resolution
    points = np.column_stack([x, y, grid.height[layer, row, column]])
    for mover in moving:
        blocked = np.arange(len(points))
        for pose in poses(mover):
            blocked = blocked[_in_the_way(mover, pose, points[blocked], tall)]
            if len(blocked) == 0:
                break
        free[layer[blocked], row[blocked], column[blocked]] = False
    return grid.restricted(free)


def clear_of_doors(level: Level, points: Floats) -> Bools:
    """Which of `points` (n, 3) no door comes by, and which are on no lift, shape (n,)."""
    clear = np.ones(len(points), np.bool_)
    for mover in level.movers:
        if mover.kind == "door":
            for pose in poses(mover):
                clear &= ~_in_the_way(mover, pose, points)
        elif mover.kind == "lift":
            for pose in lift_stops(mover)[:, [0, 1, 2, 6]]:
                away = np.abs(points[:, 2] - pose[2] - mover.half_size[2])
                clear &= (away > CLIMB_HEIGHT) | (_distances(mover, pose, points) > 0.0)
    return clear


def waited_for(level: Level, place: Floats) -> str:
    """The key of the door or lift beside `place` (3,), or ''."""
    for k, mover in enumerate(level.movers):
        if mover.kind not in ("door", "lift"):
            continue
        found = poses(mover)
        low, high = found[:, 2].min(), found[:, 2].max()
        beside = low - mover.half_size[2] - BODY_HEIGHT < place[2]
        beside &= place[2] < high + mover.half_size[2] + CLIMB_HEIGHT
        if beside and any(
            _distances(mover, pose, place[None])[0] <= _WAITING for pose in found
        ):
            return f"movers[{k}]"
    return ""


def _in_the_way(
    mover: Mover, pose: Floats, points: Floats, tall: float = BODY_HEIGHT
) -> Bools:
    """Whether `mover` at `pose` (4,) obstructs a body at each of `points` (n, 3), (n,)."""
    low, high = pose[2] - mover.half_size[2], pose[2] + mover.half_size[2]
    z = points[:, 2]
    beside = (low < z + tall) & (high > z + CLIMB_HEIGHT)
    return beside & (_distances(mover, pose, points) < CLEARANCE)


def _distances(mover: Mover, pose: Floats, points: Floats) -> Floats:
    """Distance of `points` (n, >= 2) from the base of `mover` at `pose`, (n,), [m]."""
    away = points[:, :2] - pose[:2]
    cos, sin = np.cos(pose[3]), np.sin(pose[3])
    u = np.abs(cos * away[:, 0] + sin * away[:, 1]) - mover.half_size[0]
    v = np.abs(cos * away[:, 1] - sin * away[:, 0]) - mover.half_size[1]
    return np.asarray(np.hypot(np.maximum(u, 0.0), np.maximum(v, 0.0)))


def rides(level: Level, nodes: Nodes, label: Ints, main: int) -> dict[int, str]:
    """Parts that platforms alone lead to from the part `main`, with the keys of these."""
    found: dict[int, str] = {}
    points = nodes.points()
    joined: list[tuple[str, set[int]]] = []
    for k, mover in enumerate(level.movers):
        if mover.kind in CARRIERS and not stays(mover):
            joined.append((f"movers[{k}]", _stops(mover, points, label)))
    reached = {main}
    for _ in joined:  # one platform may lead to the next
        for key, parts in joined:
            if parts & reached:
                found |= dict.fromkeys(parts - reached, key)
                reached |= parts
    return found


def _stops(mover: Mover, points: Floats, label: Ints) -> set[int]:
    """The parts from which a body steps onto `mover`, or off it."""
    parts: set[int] = set()
    for pose in poses(mover):
        level_with = np.abs(points[:, 2] - pose[2] - mover.half_size[2]) <= CLIMB_HEIGHT
        near = np.flatnonzero(level_with)
        near = near[_distances(mover, pose, points[near]) <= _BOARDING]
        parts |= set(np.unique(label[near]).tolist())
    return parts
