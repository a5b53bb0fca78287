"""Rooms with swinging and sliding doors, and now and then a wall that sweeps a room."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.envs.vr.families.draft import WALL_THICKNESS, Draft
from ambulo.envs.vr.families.place import place
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.levels.moving import Mover, hinged_door

LEAF = (1.0, 1.4)
"""Range of the widths of doors, [m]."""
HEIGHT = 2.1
"""Of doors, [m]."""
_THICK = 0.06
_PERIOD = (6.0, 14.0)
"""Range of the times from opening to opening, [s]."""
_SWINGS = 0.6
"""Chance that a door swings; others slide."""
_SEALED = 0.15
"""Chance that a wall between rooms has no door."""
_SWEEPER = 0.35
"""Chance of a sweeping wall in a room."""


def doors(rng: np.random.Generator) -> Level | None:
    """A level of the family `doors`; None: start and goal found no place."""
    draft = Draft(rng, sizes=(11.0, 20.0))
    draft.border(0.0)
    x0, y0, x1, y1 = draft.region
    xs = _cuts(rng, x0, x1)
    ys = _cuts(rng, y0, y1)
    movers: list[Mover] = []
    for i, at in enumerate(xs[1:-1], 1):
        for j in range(len(ys) - 1):
            movers += _wall(draft, 1, at, ys[j], ys[j + 1], sealed=i + j > 1)
    for j, at in enumerate(ys[1:-1], 1):
        for i in range(len(xs) - 1):
            movers += _wall(draft, 0, at, xs[i], xs[i + 1], sealed=i + j > 1)
    for i in range(len(xs) - 1):
        for j in range(len(ys) - 1):
            if rng.random() < _SWEEPER:
                room = (xs[i], ys[j], xs[i + 1], ys[j + 1])
                movers.append(_sweeper(rng, room))
    level = place(draft, draft.level("", "doors"))
    if level is None:
        return None
    return dataclasses.replace(level, heights=True, movers=tuple(movers))


def _cuts(rng: np.random.Generator, low: float, high: float) -> Floats:
    """Lines of walls from `low` to `high`, borders included, [m]."""
    count = max(1, round((high - low) / rng.uniform(4.5, 7.5)))
    widths = rng.uniform(1.0, 1.6, count)
    return low + np.concatenate([[0.0], np.cumsum(widths)]) / widths.sum() * (
        high - low
    )


def _wall(
    draft: Draft, axis: int, at: float, low: float, high: float, *, sealed: bool
) -> list[Mover]:
    """Build a wall along `axis` with a door in it, or without one; its door."""
    rng = draft.rng
    width = rng.uniform(*LEAF)
    start, end = draft.gap(low + 1.0, high - 1.0, width)
    closed = sealed and rng.random() < _SEALED
    draft.line(axis, at, low, high, () if closed else ((start, end),))
    if closed:
        return []
    period = rng.uniform(*_PERIOD)
    hinge, way = (start, 1.0) if rng.random() < 0.5 else (end, -1.0)
    along = np.array([1.0, 0.0]) if axis == 0 else np.array([0.0, 1.0])
    across = np.array([0.0, 1.0]) if axis == 0 else np.array([1.0, 0.0])
    if rng.random() < _SWINGS:
        yaw = math.atan2(*(way * along)[::-1])
        opening = float(rng.choice([-1.0, 1.0])) * rng.uniform(1.3, 1.7)
        # The leaf is hung inside of the opening, so that it turns free of the wall.
        inner = hinge + way * 0.5 * _THICK
        place_of_hinge = np.append(inner * along + at * across, 0.0)
        size = (width - _THICK, _THICK, HEIGHT)
        half, path = hinged_door(place_of_hinge, size, yaw, opening, period)
        return [Mover("door", half, path, "loop", None)]
    middle = (start + end) / 2
    shut, opened = middle, middle - way * (width - 0.05)
    half = np.array([width / 2, _THICK / 2, HEIGHT / 2])
    yaw = math.atan2(along[1], along[0])
    rows = []
    for share, position in (
        (0, shut),
        (0.3, shut),
        (0.5, opened),
        (0.8, opened),
        (1, shut),
    ):
        where = position * along + at * across
        rows.append([share * period, *where, HEIGHT / 2, yaw])
    return [Mover("door", half, np.array(rows), "loop", None)]


def _sweeper(
    rng: np.random.Generator, room: tuple[float, float, float, float]
) -> Mover:
    """A wall that goes to and fro in a room, and leaves room beside it."""
    x0, y0, x1, y1 = room
    spare = WALL_THICKNESS / 2 + 0.75
    along_x = rng.random() < 0.5
    span, side = (x1 - x0, y1 - y0) if along_x else (y1 - y0, x1 - x0)
    half = min(rng.uniform(0.5, 1.2), max(side / 2 - spare - 0.2, 0.3))
    shift = rng.uniform(-1, 1) * max(side / 2 - spare - half, 0.0)
    reach = max(span / 2 - spare, 0.3)
    speed = rng.uniform(0.4, 1.0)
    rows = []
    for time, where in ((0.0, -reach), (2 * reach / speed, reach)):
        x, y = (where, shift) if along_x else (shift, where)
        rows.append([time, (x0 + x1) / 2 + x, (y0 + y1) / 2 + y, 0.75, 0.0])
    size = [0.08, half, 0.75] if along_x else [half, 0.08, 0.75]
    return Mover("wall", np.array(size), np.array(rows), "back_and_forth", None)
