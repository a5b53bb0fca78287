"""Ways on from a stuck spot: what of the level, if anything, is in the way there."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.envs.vr.levels.layer_way_kernels import SAME_FLOOR
from ambulo.envs.vr.levels.layers import SNAP, Field, LayeredGrid
from ambulo.evaluate.playtest.journeys import Ground, Journey

Obstacle = Literal["no way", "gap", "floor", "detour", "none"]
_MOST_GOALS = 12
"""Goals of a spot that ways are measured to."""
_LONGER, _MORE = 1.25, 1.0
"""A way of a wide body is the shortest one too if it is at most this many times as long [1],
and this much longer, [m]; a straight way is measured by the same numbers."""
_STEP = 0.1
"""Distance of the points of a way that are looked at, [m]."""


@dataclass(frozen=True, eq=False)
class WayOn:
    """The shortest way from a stuck spot to a goal."""

    obstacle: Obstacle
    """`no way`; `gap`: it is narrower than `ROOMY`; `floor`: the goal is on another floor, of
    which the agent knows nothing; `detour`: it leads round something; `none`."""
    length: float
    """Of the way, [m]; inf: there is none."""
    straight: float
    """Horizontal distance of the goal, [m]."""
    place: Floats
    """Where a gap begins, else the goal, shape (3,), [m]."""


def way_on(
    ground: Ground, spot: Floats, journeys: list[Journey], *, reads_heights: bool
) -> WayOn:
    """The commonest way from `spot` (3,) to the goals of the `journeys` that end there.

    Args:
        ground: of the level.
        spot: where agents were stuck, [m].
        journeys: of these agents; `_MOST_GOALS` goals are looked at.
        reads_heights: whether the agents see other floors than their own.
    """
    goals = np.unique(np.array([journey.goal for journey in journeys]), axis=0)
    chosen = np.unique(np.linspace(0, len(goals) - 1, _MOST_GOALS).round().astype(int))
    ways = [_way(ground, spot, goal, reads_heights) for goal in goals[chosen]]
    [(most, _)] = Counter(way.obstacle for way in ways).most_common(1)
    return next(way for way in ways if way.obstacle == most)


def _way(ground: Ground, spot: Floats, goal: Floats, reads_heights: bool) -> WayOn:
    """The way from `spot` to one `goal`, both (3,)."""
    grid, roomy = ground.grid, ground.roomy
    field, wide = grid.field(goal), roomy.field(goal)
    length, straight = _left(grid, field, spot), float(np.hypot(*(goal - spot)[:2]))
    if not np.isfinite(length):
        return WayOn("no way", length, straight, goal)
    more = _left(roomy, wide, spot) - length
    if more > (_LONGER - 1.0) * length + _MORE:
        points = _along(grid.path(field, spot))
        extra = (_left(roomy, wide, p) - _left(grid, field, p) for p in points)
        passed = (p for p, e in zip(points, extra, strict=True) if e < 0.5 * more)
        return WayOn("gap", length, straight, next(passed, goal))
    if abs(goal[2] - spot[2]) > SAME_FLOOR and not reads_heights:
        return WayOn("floor", length, straight, goal)
    detour = length > _LONGER * straight + _MORE
    return WayOn("detour" if detour else "none", length, straight, goal)


def _left(grid: LayeredGrid, field: Field, place: Floats) -> float:
    """Way that is left at `place` (3,), [m]; inf: no cell near it, or no way."""
    cell = grid.nearest(place, SNAP)
    return np.inf if cell is None else float(field.ravel()[cell])


def _along(path: Floats) -> Floats:
    """Points of `path` (n, 3), close together, shape (m, 3), [m]."""
    rows = [path[:1]]
    for begin, end in pairwise(path):
        parts = max(1, int(np.ceil(np.hypot(*(end - begin)[:2]) / _STEP)))
        rows.append(begin + np.linspace(0.0, 1.0, parts + 1)[1:, None] * (end - begin))
    return np.vstack(rows)
