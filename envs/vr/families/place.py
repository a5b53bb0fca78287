"""Choice of the designed start and goal of a draft, and proof that it is solvable."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.envs.vr.families.draft import Draft
from ambulo.envs.vr.levels.layers import LayeredGrid
from ambulo.envs.vr.levels.level import GOAL_DISTANCE, Level

MAX_WAY = 90.0
"""Longest path from designed start to designed goal, [m]: 45 s at full speed."""
_WISH_RADIUS = 2.5
"""How far a wished start or goal may move to a free cell, [m]."""
_SHORTLIST = 6
"""Goal candidates of which the one with the longest path may be taken."""


def _wish(grid: LayeredGrid, xy: tuple[float, float] | None) -> Floats | None:
    cell = None if xy is None else grid.nearest(xy, _WISH_RADIUS)
    return None if cell is None else grid.points(np.array([cell]))[0, :2]


def _far_goal(
    rng: np.random.Generator, cells: Floats, ways: Floats, straight: Floats
) -> int | None:
    """Index of a goal cell: all distances about as likely, long ways preferred."""
    low, high = GOAL_DISTANCE
    usable = np.flatnonzero((straight >= low) & (straight <= high) & (ways <= MAX_WAY))
    if usable.size == 0:
        return None
    aim = rng.uniform(low, min(high, straight[usable].max()))
    nearest = usable[np.abs(straight[usable] - aim) < 1.5]
    shortlist = rng.choice(nearest if nearest.size else usable, _SHORTLIST)
    if rng.random() < 0.5:
        return int(shortlist[0])
    return int(shortlist[np.argmax(ways[shortlist] / straight[shortlist])])


def place(draft: Draft, level: Level) -> Level | None:
    """`level` with a start and a goal that the body can walk between, or None."""
    rng, grid = draft.rng, LayeredGrid.of(level)
    cells = grid.points(np.flatnonzero(grid.free))[:, :2]
    if len(cells) == 0:
        return None
    start = _wish(grid, draft.start)
    if start is None:
        start = cells[rng.integers(len(cells))]
    ways = grid.field(start)[grid.free].astype(np.float64)
    straight = np.hypot(*(cells - start).T)
    goal = _wish(grid, draft.goal)
    k: int | None = None
    if goal is not None:
        k = int(np.argmin(np.hypot(*(cells - goal).T)))
        low, high = GOAL_DISTANCE
        if not (ways[k] <= MAX_WAY and low <= straight[k] <= high):
            k = None
    if k is None:
        k = _far_goal(rng, cells, ways, straight)
    if k is None or ways[k] < draft.min_detour * straight[k]:
        return None
    if np.isfinite(ways).sum() * grid.resolution**2 < draft.min_floor:
        return None
    yaw = rng.uniform(-math.pi, math.pi)
    return dataclasses.replace(
        level, start=np.array([*start, yaw]), goal=cells[k].copy()
    )
