"""A level: floor, holes, box and cylinder obstacles, start and goal."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.envs.vr.contract import BODY_HEIGHT, STEP_HEIGHT


def _empty(columns: int) -> Floats:
    return np.zeros((0, columns))


@dataclass(frozen=True, eq=False)
class Level:
    """One level, in metres and radians, Z up; the floor is at z = 0."""

    name: str
    """Unique within a set, for tables and pictures."""
    bounds: Floats
    """Floor rectangle x0, y0, x1, y1, shape (4,); outside it one falls."""
    holes: Floats = field(default_factory=lambda: _empty(4))
    """Axis-aligned holes x0, y0, x1, y1, shape (H, 4); inside them one falls."""
    boxes: Floats = field(default_factory=lambda: _empty(7))
    """Centre x, y, z, half sizes a, b, c, yaw, shape (B, 7)."""
    cylinders: Floats = field(default_factory=lambda: _empty(4))
    """Centre x, y, radius, height (standing on the floor), shape (C, 4)."""
    start: Floats | None = None
    """Designed start x, y, yaw, shape (3,)."""
    goal: Floats | None = None
    """Designed goal x, y, shape (2,)."""
    goal_distance: tuple[float, float] | None = None
    """Range of the straight-line start-goal distance when one of the two is sampled."""
    family: str = "custom"
    """Family for per-family tables."""

    def box_prisms(self) -> Floats:
        """Boxes that obstruct, as prisms: x, y, a, b, cos(yaw), sin(yaw), shape (n, 6)."""
        b = self.boxes
        keep = (b[:, 2] - b[:, 5] < BODY_HEIGHT) & (b[:, 2] + b[:, 5] > STEP_HEIGHT)
        b = b[keep]
        return np.column_stack(
            [b[:, 0], b[:, 1], b[:, 3], b[:, 4], np.cos(b[:, 6]), np.sin(b[:, 6])]
        )

    def cylinder_prisms(self) -> Floats:
        """Cylinders that obstruct: x, y, radius, shape (n, 3)."""
        c = self.cylinders
        return np.ascontiguousarray(c[c[:, 3] > STEP_HEIGHT][:, :3])
