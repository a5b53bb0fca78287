"""Levels with moving obstacles: halls with people, rooms with doors, floors with a lift."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.envs.vr.families.draft import WALL_THICKNESS, Draft, Region, place, spread
from ambulo.envs.vr.levels.layers import LayeredGrid
from ambulo.envs.vr.levels.level import Level, with_places
from ambulo.envs.vr.levels.moving import Mover, People, hinged_door

PEOPLE = (5, 20)
"""Smallest and largest number of people."""
_SPEED = ((0.6, 1.0), (1.2, 1.8))
"""Ranges of the lowest and of the highest speed of a crowd, [m/s]."""
_OBLIVIOUS = 0.15
"""Probability that a crowd does not give way to the agent."""
_LEAF = (1.0, 1.4)
"""Range of the widths of doors, [m]."""
_HEIGHT = 2.1
"""Height of doors, [m]."""
_THICK = 0.06
_PERIOD = (6.0, 14.0)
"""Range of the times between openings, [s]."""
_SWINGS = 0.6
"""Probability that a door swings; others slide."""
_SEALED = 0.15
"""Probability that a wall between rooms has no door."""
_SWEEPER = 0.35
"""Probability of a sweeping wall in a room."""
_SLAB = 0.2
"""Thickness of the upper floor, [m]."""
_HALF = 0.1
"""Half the thickness of the platform, [m]."""
_SHORTEST = 5.0
"""Shortest path from start to goal, [m]."""
_FURNITURE = 4
"""Largest number of pieces of furniture on each floor."""


def crowd(rng: np.random.Generator) -> Level | None:
    """A level of the family `crowd`; None if no start and goal fit."""
    draft, goals = _hall(rng) if rng.random() < 0.5 else _crossing(rng)
    level = place(draft)
    if level is None:
        return None
    people = People(
        count=int(rng.integers(PEOPLE[0], PEOPLE[1] + 1)),
        speed=(rng.uniform(*_SPEED[0]), rng.uniform(*_SPEED[1])),
        see_agent=bool(rng.random() >= _OBLIVIOUS),
        goals=goals,
    )
    return dataclasses.replace(level, heights=True, people=people)


def _hall(rng: np.random.Generator) -> tuple[Draft, Floats]:
    """An open hall with pillars and counters; people walk anywhere."""
    draft = Draft(rng, sizes=(10.0, 22.0))
    draft.border(0.0)
    for x, y, r in spread(
        rng, draft.inner(1.5), (0.2, 0.6), 1.6, int(rng.integers(0, 9))
    ):
        if rng.random() < 0.5:
            draft.cylinder(x, y, r)
        else:
            draft.box(x, y, r, rng.uniform(0.5, 1.0) * r, rng.uniform(-np.pi, np.pi))
    return draft, np.zeros((0, 3))


def _crossing(rng: np.random.Generator) -> tuple[Draft, Floats]:
    """Two corridors that cross; people come from all four ends."""
    draft = Draft(rng, sizes=(14.0, 24.0))
    draft.border(0.0)
    x0, y0, x1, y1 = draft.region
    wide, tall = rng.uniform(2.4, 4.5, 2)
    x, y = (rng.uniform(0.35, 0.65, 2) - 0.5) * [x1 - x0, y1 - y0]
    west, east, south, north = x - wide / 2, x + wide / 2, y - tall / 2, y + tall / 2
    for a, b in ((x0, west), (east, x1)):
        for c, d in ((y0, south), (north, y1)):
            draft.box((a + b) / 2, (c + d) / 2, (b - a) / 2, (d - c) / 2)
    ends = [[x, y0 + 1.2], [x, y1 - 1.2], [x0 + 1.2, y], [x1 - 1.2, y]]
    pair = rng.permutation(4)[:2]
    draft.start, draft.goal = ((float(ends[k][0]), float(ends[k][1])) for k in pair)
    return draft, np.array([[*end, 0.0] for end in ends])


def doors(rng: np.random.Generator) -> Level | None:
    """A level of the family `doors`; None if no start and goal fit."""
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
    level = place(draft)
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
    """Build a wall along `axis`, with a door unless `sealed`; returns the door."""
    rng = draft.rng
    width = rng.uniform(*_LEAF)
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
        # The leaf hangs inside the opening, so that it turns clear of the wall.
        inner = hinge + way * 0.5 * _THICK
        place_of_hinge = np.append(inner * along + at * across, 0.0)
        size = (width - _THICK, _THICK, _HEIGHT)
        half, path = hinged_door(place_of_hinge, size, yaw, opening, period)
        return [Mover("door", half, path, "loop", None)]
    middle = (start + end) / 2
    shut, opened = middle, middle - way * (width - 0.05)
    half = np.array([width / 2, _THICK / 2, _HEIGHT / 2])
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
        rows.append([share * period, *where, _HEIGHT / 2, yaw])
    return [Mover("door", half, np.array(rows), "loop", None)]


def _sweeper(
    rng: np.random.Generator, room: tuple[float, float, float, float]
) -> Mover:
    """A wall that moves back and forth in a room, with space beside it."""
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


def lifts(rng: np.random.Generator) -> Level | None:
    """A level of the family `lifts`; None if no start and goal fit."""
    draft = Draft(rng, sizes=(7.5, 13.0))
    storey = rng.uniform(2.5, 3.2)
    x0, y0, x1, _ = draft.region
    thick = WALL_THICKNESS
    _outer_walls(draft, storey + 2.2)
    size = rng.uniform(1.5, 2.2)
    x = rng.uniform(x0 + thick + 0.9, x1 - thick - size - 0.9)
    shaft = (x, y0 + thick, x + size, y0 + thick + size)
    _shaft(draft, shaft, storey)
    for base in (0.0, storey):
        _furniture(draft, shaft, base)
    level = Level(
        name="",
        bounds=np.array(draft.region),
        boxes=np.array(draft.boxes),
        cylinders=np.array(draft.cylinders).reshape(-1, 5),
        heights=True,
        movers=(_moving_lift(rng, shaft, storey),),
    )
    if rng.random() < 0.5:
        level = _turned(level)
    return _on_two_floors(rng, level, storey)


def _outer_walls(draft: Draft, height: float) -> None:
    x0, y0, x1, y1 = draft.region
    t = WALL_THICKNESS / 2
    wide, tall = (x1 - x0) / 2, (y1 - y0) / 2
    for y in (y0 + t, y1 - t):
        draft.box(0.0, y, wide, t, height=height)
    for x in (x0 + t, x1 - t):
        draft.box(x, 0.0, t, tall, height=height)


def _shaft(draft: Draft, shaft: Region, storey: float) -> None:
    """The upper floor around the shaft, and walls on both sides of it; its north is open."""
    x0, y0, x1, y1 = draft.region
    a, b, c, d = shaft
    for piece in ((x0, y0, a, y1), (c, y0, x1, y1), (a, d, c, y1)):
        middle = (piece[0] + piece[2]) / 2, (piece[1] + piece[3]) / 2
        half = (piece[2] - piece[0]) / 2, (piece[3] - piece[1]) / 2
        draft.box(*middle, *half, height=_SLAB, base=storey - _SLAB)
    for x in (a - 0.05, c + 0.05):
        draft.box(x, (b + d) / 2, 0.05, (d - b) / 2, height=storey - _SLAB)
        draft.box(x, (b + d) / 2, 0.05, (d - b) / 2, height=1.1, base=storey)


def _furniture(draft: Draft, shaft: Region, base: float) -> None:
    """A few obstacles on one floor, away from the shaft."""
    rng = draft.rng
    count = int(rng.integers(0, _FURNITURE + 1))
    for x, y, r in spread(rng, draft.inner(1.0), (0.25, 0.6), 1.4, count):
        near_x = max(shaft[0] - x, x - shaft[2], 0.0)
        if math.hypot(near_x, max(y - shaft[3], 0.0)) < r + 1.4:
            continue
        height = rng.uniform(0.5, 1.8)
        if rng.random() < 0.3:
            draft.cylinder(x, y, r, height, base)
        else:
            draft.box(x, y, r, 0.7 * r, rng.uniform(0, np.pi), height, base)


def _moving_lift(rng: np.random.Generator, shaft: Region, storey: float) -> Mover:
    x, y = (shaft[0] + shaft[2]) / 2, (shaft[1] + shaft[3]) / 2
    waits = rng.uniform(1.5, 3.0)
    rides = (storey - 2 * _HALF) / rng.uniform(0.7, 1.5)
    low, high = _HALF, storey - _HALF
    times = np.cumsum([0.0, waits, rides, waits])
    rows = [
        [t, x, y, z, 0.0] for t, z in zip(times, (low, low, high, high), strict=True)
    ]
    half = np.array([(shaft[2] - shaft[0]) / 2, (shaft[3] - shaft[1]) / 2, _HALF])
    return Mover("lift", half, np.array(rows), "back_and_forth", None)


def _turned(level: Level) -> Level:
    """`level` rotated by a quarter turn."""
    x0, y0, x1, y1 = level.bounds
    boxes, cylinders = level.boxes.copy(), level.cylinders.copy()
    for rows in (boxes, cylinders):
        rows[:, :2] = np.column_stack([-rows[:, 1], rows[:, 0]])
    boxes[:, 6] += np.pi / 2
    movers = []
    for mover in level.movers:
        path = mover.path.copy()
        path[:, 1:3] = np.column_stack([-path[:, 2], path[:, 1]])
        half = mover.half_size[[1, 0, 2]]
        movers.append(dataclasses.replace(mover, path=path, half_size=half))
    return dataclasses.replace(
        level, bounds=np.array([-y1, x0, -y0, x1]), boxes=boxes, cylinders=cylinders,
        movers=tuple(movers),
    )  # fmt: skip


def _on_two_floors(
    rng: np.random.Generator, level: Level, storey: float
) -> Level | None:
    """`level` with start and goal on different floors."""
    grid = LayeredGrid.of(level)
    cells = np.flatnonzero(grid.free)
    points = grid.points(cells)
    low = np.flatnonzero(np.abs(points[:, 2]) < 0.01)
    high = np.flatnonzero(np.abs(points[:, 2] - storey) < 0.01)
    if len(low) == 0 or len(high) == 0:
        return None
    first, last = (low, high) if rng.random() < 0.6 else (high, low)
    start = points[rng.choice(first)]
    ways = grid.field(start).ravel()[cells[last]]
    last = last[np.isfinite(ways) & (ways >= _SHORTEST)]
    if len(last) == 0:
        return None
    goal = points[rng.choice(last)]
    start = np.append(start, rng.uniform(-math.pi, math.pi))
    return with_places(level, start[None], goal[None])
