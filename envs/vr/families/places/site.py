"""Furniture on a floor: groups of parts, placed where they leave walkways free.

A `Site` has its own axes, which may be rotated against those of the level, and lists the
obstacles and the reserved floor.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.envs.vr.families.draft import WALL_HEIGHT, Draft, Region
from ambulo.envs.vr.families.places.fitting import Regions, around, fits

_OFF_WALL = 0.02
"""Gap between a wall and furniture at it, [m]."""


@dataclass(frozen=True)
class FurniturePart:
    """A box or a cylinder of a group, in the frame of the group, [m] and [rad]."""

    x: float
    y: float
    a: float
    """Half width, or the radius of a cylinder."""
    b: float
    """Half depth."""
    top: float
    """Height of the upper side."""
    base: float = 0.0
    """Height of the lower side."""
    turn: float = 0.0
    round: bool = False


@dataclass(frozen=True)
class FurnitureGroup:
    """Parts that stand together: x along the wall, y from the wall into the room."""

    parts: tuple[FurniturePart, ...]
    clear: tuple[Region, ...] = ()
    """Floor that must stay free, in the frame of the group."""

    @cached_property
    def rows(self) -> Floats:
        """Footprints as x, y, half width, half depth, yaw, 1 if round, shape (n, 6)."""
        parts = [(p.x, p.y, p.a, p.b, p.turn, float(p.round)) for p in self.parts]
        return np.array(parts)

    @cached_property
    def free(self) -> Floats:
        """`clear` like `rows`, shape (m, 6)."""
        r = np.array(self.clear).reshape(-1, 4)
        middle, half = (r[:, :2] + r[:, 2:]) / 2, (r[:, 2:] - r[:, :2]) / 2
        return np.hstack([middle, half, np.zeros((len(r), 2))])

    @cached_property
    def extent(self) -> Region:
        """The bounding rectangle of all parts."""
        rows = around(self.rows, 0.0, 0.0, 0.0)
        low, high = rows[:, :2].min(axis=0), rows[:, 2:].max(axis=0)
        return (float(low[0]), float(low[1]), float(high[0]), float(high[1]))


@dataclass
class Room:
    """A rectangle between walls."""

    region: Region
    """The floor between the walls, in the axes of the site, [m]."""
    kind: str = ""
    """Its use."""
    doors: list[Region] = field(default_factory=list)
    """Openings in its walls as rectangles, [m]."""

    @property
    def width(self) -> float:
        """Extent along x, [m]."""
        return self.region[2] - self.region[0]

    @property
    def height(self) -> float:
        """Extent along y, [m]."""
        return self.region[3] - self.region[1]

    @property
    def area(self) -> float:
        """Area, [m^2]."""
        return self.width * self.height

    @property
    def middle(self) -> tuple[float, float]:
        """Centre, [m]."""
        x0, y0, x1, y1 = self.region
        return (x0 + x1) / 2, (y0 + y1) / 2


class Site:
    """Walls and furniture in axes that are rotated by `yaw` about the origin."""

    def __init__(self, draft: Draft, yaw: float = 0.0, z: float = 0.0) -> None:
        self.draft, self.yaw, self.z = draft, yaw, z
        self.rng = draft.rng
        self.solid = Regions()
        """Obstacles, [m]."""
        self.clear = Regions()
        """Regions that must stay free, [m]."""

    def world(self, x: float, y: float) -> tuple[float, float]:
        """(x, y) of the site in the axes of the level."""
        c, s = math.cos(self.yaw), math.sin(self.yaw)
        return (x * c - y * s, x * s + y * c)

    def wall(
        self,
        start: tuple[float, float],
        end: tuple[float, float],
        thickness: float,
        height: float = WALL_HEIGHT,
    ) -> None:
        """Build a wall between two points that share a coordinate.

        It is longer by half its thickness at both ends, so that corners are closed.
        """
        (x0, y0), (x1, y1) = sorted([start, end])
        half = thickness / 2
        self.slab((x0 - half, y0 - half, x1 + half, y1 + half), height)

    def slab(self, region: Region, height: float) -> None:
        """Build a box that fills `region`; other pieces keep off it."""
        x0, y0, x1, y1 = region
        if x1 - x0 < 0.02 or y1 - y0 < 0.02:
            return
        x, y = self.world((x0 + x1) / 2, (y0 + y1) / 2)
        a, b = (x1 - x0) / 2, (y1 - y0) / 2
        self.draft.box(x, y, a, b, self.yaw, height, self.z)
        self.solid.add(region)

    def put(
        self,
        group: FurnitureGroup,
        x: float,
        y: float,
        yaw: float,
        room: Region,
        gap: float = 0.0,
    ) -> bool:
        """Place `group` at (x, y), rotated by `yaw`, if it fits into `room`.

        Parts stay `gap` [m] from obstacles and off reserved floor.
        """
        parts, clear = around(group.rows, x, y, yaw), around(group.free, x, y, yaw)
        within = np.array(room)
        if not fits(parts, clear, within, self.solid.rows, self.clear.rows, gap):
            return False
        for row in parts:
            self.solid.add(row)
        for row in clear:
            self.clear.add(row)
        for part in group.parts:
            self._stand(part, x, y, yaw)
        return True

    def at_wall(
        self,
        room: Room,
        group: FurnitureGroup | None,
        sides: Sequence[int] = (0, 1, 2, 3),
        tries: int = 8,
        corner: float = 0.35,
    ) -> bool:
        """Place `group` with its back to one of the walls `sides` (0: south, then left).

        With probability `corner` it stands in a corner.
        """
        if group is None:
            return False
        left, back, right, _ = group.extent
        for _ in range(tries):
            side = sides[int(self.rng.integers(len(sides)))]
            ox, oy, length, yaw = _wall_frame(room.region, side)
            low, high = _OFF_WALL - left, length - _OFF_WALL - right
            if high < low:
                continue
            along = self.rng.uniform(low, high)
            if self.rng.random() < corner:
                along = low if self.rng.random() < 0.5 else high
            c, s = math.cos(yaw), math.sin(yaw)
            off = _OFF_WALL - back
            x, y = ox + along * c - off * s, oy + along * s + off * c
            if self.put(group, x, y, yaw, room.region):
                return True
        return False

    def amid(
        self,
        room: Room,
        group: FurnitureGroup | None,
        gap: float,
        tries: int = 8,
        turned: float = 0.0,
    ) -> bool:
        """Place `group` in the room with `gap` [m] to walls and obstacles.

        With probability `turned` at any angle, else along a wall.
        """
        if group is None:
            return False
        left, back, right, front = group.extent
        for _ in range(tries):
            yaw = float(self.rng.integers(4)) * math.pi / 2
            if self.rng.random() < turned:
                yaw = self.rng.uniform(-math.pi, math.pi)
            c, s = math.cos(yaw), math.sin(yaw)
            mx, my = (left + right) / 2, (back + front) / 2
            box = around(group.rows, 0.0, 0.0, yaw)
            a = (box[:, 2].max() - box[:, 0].min()) / 2 + gap
            b = (box[:, 3].max() - box[:, 1].min()) / 2 + gap
            x0, y0, x1, y1 = room.region
            if x1 - x0 < 2 * a or y1 - y0 < 2 * b:
                continue
            x, y = self.rng.uniform(x0 + a, x1 - a), self.rng.uniform(y0 + b, y1 - b)
            if self.rng.random() < 0.4:
                x, y = room.middle
            px, py = x - mx * c + my * s, y - mx * s - my * c
            if self.put(group, px, py, yaw, room.region, gap):
                return True
        return False

    def _stand(self, part: FurniturePart, x: float, y: float, yaw: float) -> None:
        c, s = math.cos(yaw), math.sin(yaw)
        px, py = self.world(x + part.x * c - part.y * s, y + part.x * s + part.y * c)
        if part.round:
            self.draft.cylinder(px, py, part.a, part.top, self.z + part.base)
            return
        self.draft.box(
            px, py, part.a, part.b, self.yaw + yaw + part.turn,
            part.top - part.base, self.z + part.base,
        )  # fmt: skip


def _wall_frame(region: Region, side: int) -> tuple[float, float, float, float]:
    """Left end, length and direction of a wall, seen with one's back to it."""
    x0, y0, x1, y1 = region
    ends = ((x0, y0), (x1, y0), (x1, y1), (x0, y1))
    return (*ends[side], (x1 - x0, y1 - y0)[side % 2], side * math.pi / 2)
