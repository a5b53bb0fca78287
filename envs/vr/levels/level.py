"""A level: floor, holes, obstacles, surfaces at other heights, start and goal."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.envs.vr.levels.moving import Mover, People
from ambulo.envs.vr.levels.surfaces import (
    RAMP_COLUMNS,
    STAIR_COLUMNS,
    HeightField,
    Mesh,
)

MAX_OBSTACLES = 100_000
"""Largest number of boxes, cylinders and holes together."""
GOAL_DISTANCE = (5.0, 30.0)
"""Default range of sampled straight-line distances, [m]."""


def _empty(columns: int) -> Floats:
    return np.zeros((0, columns))


@dataclass(frozen=True, eq=False)
class Level:
    """One level, in metres and radians, Z up; the ground is at z = 0.

    With `heights`, shapes have their true heights, and the body climbs ramps and steps. In a
    flat level obstacles are walls, whatever their heights (`solids.obstacles_of`).
    """

    name: str
    """Unique within a set, for tables and pictures."""
    bounds: Floats
    """Floor rectangle x0, y0, x1, y1, shape (4,); outside it, bodies fall."""
    holes: Floats = field(default_factory=lambda: _empty(4))
    """Axis-aligned holes x0, y0, x1, y1, shape (H, 4); in them, bodies fall."""
    boxes: Floats = field(default_factory=lambda: _empty(7))
    """Centre x, y, z, half sizes a, b, c, yaw, shape (B, 7)."""
    cylinders: Floats = field(default_factory=lambda: _empty(5))
    """Centre x, y, radius, height, height of the base, shape (C, 5); rows of four numbers stand
    on the ground."""
    start: Floats | None = None
    """Designed start x, y, yaw, shape (3,)."""
    goal: Floats | None = None
    """Designed goal x, y, shape (2,)."""
    goal_distance: tuple[float, float] | None = None
    """Range of the straight-line start-goal distance when one of the two is sampled."""
    family: str = "custom"
    """Family for per-family tables."""
    heights: bool = False
    """Whether shapes have their true heights; ramps, stairs, height fields and meshes need
    it."""
    ground: bool = True
    """Whether there is a floor at z = 0 within `bounds`; else only shapes carry the body."""
    ramps: Floats = field(default_factory=lambda: _empty(RAMP_COLUMNS))
    """Middle of the lower edge x, y, z, of the upper edge x, y, z, width, thickness (0:
    solid), shape (R, 8)."""
    stairs: Floats = field(default_factory=lambda: _empty(STAIR_COLUMNS))
    """As ramps, and the number of steps, shape (S, 9)."""
    heightfields: tuple[HeightField, ...] = ()
    """Terrains."""
    meshes: tuple[Mesh, ...] = ()
    """Triangle meshes, obstacles and floors alike."""
    start_height: float = 0.0
    """Height of the floor at the designed start, [m]."""
    goal_height: float = 0.0
    """Height of the floor at the designed goal, [m]."""
    starts: Floats = field(default_factory=lambda: _empty(4))
    """Starts x, y, z, yaw to draw from, shape (n, 4)."""
    goals: Floats = field(default_factory=lambda: _empty(3))
    """Goals x, y, z to draw from, shape (n, 3)."""
    waypoints: Floats = field(default_factory=lambda: _empty(3))
    """Goals of `patrol`, in order, x, y, z, shape (n, 3)."""
    movers: tuple[Mover, ...] = ()
    """Obstacles that move along paths; they need `heights`."""
    people: People | None = None
    """People; they need `heights`."""

    def __post_init__(self) -> None:
        """Append the base height 0 to cylinders without one."""
        if self.cylinders.shape[1] == 4:
            based = np.pad(self.cylinders, ((0, 0), (0, 1)))
            object.__setattr__(self, "cylinders", based)

    @property
    def start_place(self) -> Floats | None:
        """Floor of the designed start: x, y, z, shape (3,), [m]."""
        start = self.start
        return None if start is None else np.append(start[:2], self.start_height)

    @property
    def goal_place(self) -> Floats | None:
        """Floor of the designed goal: x, y, z, shape (3,), [m]."""
        return None if self.goal is None else np.append(self.goal, self.goal_height)

    def places(self) -> dict[str, Floats]:
        """x, y, z of all places of the level by their keys in level files, [m]."""
        fixed = {"start.position": self.start_place, "goal": self.goal_place}
        found = {key: place for key, place in fixed.items() if place is not None}
        for key in ("starts", "goals", "waypoints"):
            for k, place in enumerate(getattr(self, key)):
                found[f"{key}[{k}]"] = place[:3]
        return found

    @property
    def moving(self) -> bool:
        """Whether the level has movers or people."""
        people = self.people
        crowded = people is not None and (people.count > 0 or len(people.walkers) > 0)
        return len(self.movers) > 0 or crowded


AnyLevel = TypeVar("AnyLevel", bound=Level)


def with_places(
    level: AnyLevel, starts: Floats, goals: Floats, waypoints: Floats | None = None
) -> AnyLevel:
    """`level` with other places: a single start or goal is designed, of several one is drawn.

    Args:
        level: The level; it keeps its waypoints if none are given.
        starts: Rows x, y, z [m], yaw [rad], shape (n, 4).
        goals: Rows x, y, z, shape (m, 3), [m].
        waypoints: Rows x, y, z, shape (k, 3), [m].
    """
    changes: dict[str, Any] = {"start": None, "start_height": 0.0, "starts": starts}
    changes |= {"goal": None, "goal_height": 0.0, "goals": goals}
    if len(starts) == 1:
        ((x, y, z, yaw),) = starts.tolist()
        place = np.array([x, y, yaw])
        changes |= {"start": place, "start_height": z, "starts": starts[:0]}
    if len(goals) == 1:
        height = float(goals[0, 2])
        place = goals[0, :2].copy()
        changes |= {"goal": place, "goal_height": height, "goals": goals[:0]}
    if waypoints is not None:
        changes["waypoints"] = waypoints
    return replace(level, **changes)
