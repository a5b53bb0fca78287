"""Obstacles of a level that the mouse can drag."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.envs.vr.contract import BODY_RADIUS
from ambulo.envs.vr.levels.level import Level
from ambulo.viz.viewer.stage import Drag

_FLAT = 0.02
"""Slope of a ray below which it does not reach the floor."""
_SAME = 1e-3
"""Largest distance of a drawn shape from its obstacle, [m]."""


@dataclass(frozen=True)
class Obstacle:
    """A box or a cylinder of a level."""

    kind: Literal["boxes", "cylinders"]
    """The field of `Level`."""
    row: int
    """Its row there."""


def obstacle_at(level: Level, kind: str, place: Floats) -> Obstacle | None:
    """Return the obstacle whose drawn shape is at `place` (3,), [m].

    Args:
        level: The level.
        kind: Shape: `boxes` or `cylinders`.
        place: Centre of the shape.
    """
    if kind == "boxes":
        centres = level.boxes[:, :3]
        found = _nearest(centres, place)
        return None if found is None else Obstacle("boxes", found)
    if kind == "cylinders":
        centres = _cylinder_centres(level)
        found = _nearest(centres, place)
        return None if found is None else Obstacle("cylinders", found)
    return None


def level_way(drag: Drag) -> Floats:
    """Return the horizontal displacement of a drag, x and y, [m]. Shape (2,).

    The pointer's ray is followed to the height of the held point; zero if it does not reach it.
    """
    ray = drag.end - drag.eye
    fall = drag.start[2] - drag.eye[2]
    if abs(ray[2]) < _FLAT * np.linalg.norm(ray) or fall / ray[2] <= 0.0:
        return np.zeros(2)
    pointer = drag.eye + fall / ray[2] * ray
    way: Floats = pointer[:2] - drag.start[:2]
    return way


def moved_obstacle(level: Level, obstacle: Obstacle, way: Floats) -> Level:
    """Return the level with an obstacle moved by `way` (2,), [m]."""
    shapes = np.array(getattr(level, obstacle.kind))
    shapes[obstacle.row, :2] += way
    if obstacle.kind == "boxes":
        return replace(level, boxes=shapes)
    return replace(level, cylinders=shapes)


def stands_on(level: Level, obstacle: Obstacle, player: Floats) -> bool:
    """Return whether a body at `player` (3,), [m], would overlap an obstacle."""
    if obstacle.kind == "cylinders":
        x, y, radius = level.cylinders[obstacle.row, :3]
        return bool(np.hypot(player[0] - x, player[1] - y) < radius + BODY_RADIUS)
    x, y, _, a, b, _, yaw = level.boxes[obstacle.row]
    c, s = np.cos(yaw), np.sin(yaw)
    away = player[:2] - [x, y]
    along = np.abs([c * away[0] + s * away[1], c * away[1] - s * away[0]])
    return bool(np.linalg.norm(np.maximum(along - [a, b], 0.0)) < BODY_RADIUS)


def _cylinder_centres(level: Level) -> Floats:
    """Centres of cylinders, [m]. Shape (C, 3)."""
    middle = level.cylinders[:, 4] + 0.5 * level.cylinders[:, 3]
    return np.column_stack([level.cylinders[:, :2], middle])


def _nearest(centres: Floats, place: Floats) -> int | None:
    """The row of `centres` (n, 3) at `place` (3,), or None."""
    if not len(centres):
        return None
    away = np.linalg.norm(centres - place, axis=1)
    row = int(np.argmin(away))
    return row if away[row] < _SAME else None
