"""What shapes of levels look like: the rules that maps and films share."""

from __future__ import annotations

from ambulo.configs.arrays import Bools, Floats
from ambulo.envs.vr.contract import BODY_HEIGHT
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.levels.solids import Solids

LEAST_WALL = 1.0
"""Least height of a wall, from its bottom to its top, [m]."""
WALL_THICKNESS = 0.25
"""Boxes that are no thicker are walls, if they are high enough, [m]."""
WALL_RATIO = 8.0
"""Thicker ones are if they are so many times as long as thick, as hedges are."""
SLAB_HEIGHT, SLAB_SIDE = 0.5, 1.5
"""Boxes at most so high, on sides of at least so much, look like floors, [m]."""


def are_walls(boxes: Floats) -> Bools:
    """Which of `boxes` (n, 7) look like walls; the others are furniture. Shape (n,).

    The same rule is in `godot/addons/ambulo_rl/view/level_view.gd`.
    """
    long, thin = 2 * boxes[:, 3:5].max(axis=1), 2 * boxes[:, 3:5].min(axis=1)
    slender = (thin <= WALL_THICKNESS) | (long > WALL_RATIO * thin)
    walls: Bools = slender & (2 * boxes[:, 5] >= LEAST_WALL)
    return walls


def are_slabs(boxes: Floats) -> Bools:
    """Which of `boxes` (n, 7) look like floors of a level with heights. Shape (n,)."""
    wide = 2 * boxes[:, 3:5].min(axis=1) >= SLAB_SIDE
    slabs: Bools = wide & (2 * boxes[:, 5] <= SLAB_HEIGHT)
    return slabs


def boxes_overhead(level: Level) -> Bools:
    """Which boxes hang over whoever walks on the ground, shape (B,)."""
    overhead: Bools = level.boxes[:, 2] - level.boxes[:, 5] >= BODY_HEIGHT
    return overhead


def cylinders_overhead(level: Level) -> Bools:
    """Which cylinders hang over whoever walks on the ground, shape (C,)."""
    overhead: Bools = level.cylinders[:, 4] >= BODY_HEIGHT
    return overhead


def height_range(level: Level) -> tuple[float, float]:
    """Lowest and highest z of the shapes of `level`, the ground at 0 among them, [m]."""
    low, high = Solids.of(level).floor_heights()
    return min(float(low), 0.0), max(float(high), 0.0)
