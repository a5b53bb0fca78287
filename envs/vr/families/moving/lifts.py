"""Two floors that a lift joins: whoever does not wait for it falls into its shaft."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from ambulo.envs.vr.families.draft import WALL_THICKNESS, Draft, Region, spread
from ambulo.envs.vr.levels.layers import LayeredGrid
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.levels.moving import Mover

_SLAB = 0.2
"""Thickness of the upper floor, [m]."""
_HALF = 0.1
"""Half the thickness of the platform, [m]."""
_SHORTEST = 5.0
"""Least way from start to goal, [m]."""
_FURNITURE = 4
"""Most things on each floor."""


def lifts(rng: np.random.Generator) -> Level | None:
    """A level of the family `lifts`; None: start and goal found no place."""
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
        movers=(_lift(rng, shaft, storey),),
    )
    if rng.random() < 0.5:
        level = _turned(level)
    return _placed(rng, level, storey)


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
    """A few things on one floor, away from the shaft."""
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


def _lift(rng: np.random.Generator, shaft: Region, storey: float) -> Mover:
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
    """`level` turned by a quarter."""
    x0, y0, x1, y1 = level.bounds
    boxes, drums = level.boxes.copy(), level.cylinders.copy()
    for rows in (boxes, drums):
        rows[:, :2] = np.column_stack([-rows[:, 1], rows[:, 0]])
    boxes[:, 6] += np.pi / 2
    movers = []
    for mover in level.movers:
        path = mover.path.copy()
        path[:, 1:3] = np.column_stack([-path[:, 2], path[:, 1]])
        half = mover.half_size[[1, 0, 2]]
        movers.append(dataclasses.replace(mover, path=path, half_size=half))
    return dataclasses.replace(
        level, bounds=np.array([-y1, x0, -y0, x1]), boxes=boxes, cylinders=drums,
        movers=tuple(movers),
    )  # fmt: skip


def _placed(rng: np.random.Generator, level: Level, storey: float) -> Level | None:
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
    return dataclasses.replace(
        level,
        start=np.array([*start[:2], rng.uniform(-math.pi, math.pi)]),
        start_height=float(start[2]),
        goal=goal[:2].copy(),
        goal_height=float(goal[2]),
    )
