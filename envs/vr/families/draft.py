"""A level under construction: walls, shapes, holes, and preferred start and goal."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ambulo.configs.arrays import Floats
from ambulo.envs.vr.levels.layers import LayeredGrid
from ambulo.envs.vr.levels.level import GOAL_DISTANCE, Level

Region = tuple[float, float, float, float]
"""Rectangle x0, y0, x1, y1, [m]."""
Gap = tuple[float, float]
"""Opening in a wall: from, to, along the wall, [m]."""

MAX_EXTENT = 36.0
"""Largest extent of a generated level, [m]; buffers of level banks rely on it."""
MAX_OBSTACLES = 160
"""Largest number of boxes and cylinders in a generated level."""
MAX_HOLES = 40
"""Largest number of holes in a generated level."""
WALL_HEIGHT = 2.5
"""Height of walls, [m]."""
WALL_THICKNESS = 0.2
"""Usual thickness of walls, [m]."""
MAX_WAY = 90.0
"""Longest path from designed start to designed goal, [m]: 45 s at full speed."""
_WISH_RADIUS = 2.5
"""Largest distance of a start or goal from its preferred position, [m]."""
_SHORTLIST = 6
"""Number of goal candidates, of which the one with the longest path is preferred."""


@njit(cache=True)
def _keep_apart(circles, gap):  # type: ignore[no-untyped-def]
    """Greedy selection of circles (n, 3: x, y, r) with at least `gap` between them."""
    n = circles.shape[0]
    keep = np.zeros(n, np.bool_)
    for i in range(n):
        keep[i] = True
        for j in range(i):
            if keep[j]:
                dx = circles[i, 0] - circles[j, 0]
                dy = circles[i, 1] - circles[j, 1]
                reach = circles[i, 2] + circles[j, 2] + gap
                if dx * dx + dy * dy < reach * reach:
                    keep[i] = False
                    break
    return keep


def spread(
    rng: np.random.Generator, region: Region, radii: Gap, gap: float, count: int
) -> Floats:
    """At most `count` random circles x, y, r with `gap` [m] between, shape (n, 3)."""
    x0, y0, x1, y1 = region
    tries = 10 * count
    circles = np.column_stack(
        [
            rng.uniform(x0, x1, tries),
            rng.uniform(y0, y1, tries),
            rng.uniform(*radii, tries),
        ]
    )
    keep: NDArray[np.bool_] = _keep_apart(circles, gap)
    return circles[keep][:count]


class Draft:
    """A draft of a level: centred floor, obstacles, preferred start and goal."""

    def __init__(
        self,
        rng: np.random.Generator,
        width: float | None = None,
        height: float | None = None,
        sizes: Gap = (12.0, 34.0),
    ) -> None:
        self.rng = rng
        w = float(rng.uniform(*sizes)) if width is None else width
        h = float(rng.uniform(*sizes)) if height is None else height
        self.region: Region = (-w / 2, -h / 2, w / 2, h / 2)
        """The floor, [m]."""
        self.boxes: list[tuple[float, ...]] = []
        self.cylinders: list[tuple[float, ...]] = []
        self.holes: list[Region] = []
        self.start: tuple[float, float] | None = None
        """Where the start should be (the nearest free cell is taken), [m]."""
        self.goal: tuple[float, float] | None = None
        """Where the goal should be, [m]."""
        self.min_detour = 1.0
        """Least ratio of walking distance to straight distance, start to goal."""
        self.min_floor = 0.0
        """Least free floor that one can walk to from the start, [m^2]."""

    @property
    def width(self) -> float:
        """Extent along x, [m]."""
        return self.region[2] - self.region[0]

    @property
    def height(self) -> float:
        """Extent along y, [m]."""
        return self.region[3] - self.region[1]

    def inner(self, margin: float) -> Region:
        """The floor without a margin, [m]."""
        x0, y0, x1, y1 = self.region
        return (x0 + margin, y0 + margin, x1 - margin, y1 - margin)

    def holds(self, x: float, y: float) -> bool:
        """Whether (x, y) [m] is on the floor."""
        x0, y0, x1, y1 = self.region
        return x0 <= x <= x1 and y0 <= y <= y1

    def somewhere(self, margin: float) -> tuple[float, float]:
        """A random point at least `margin` [m] (or half the width) from the edges."""
        x = max(self.width / 2 - margin, self.width / 4)
        y = max(self.height / 2 - margin, self.height / 4)
        return self.rng.uniform(-x, x), self.rng.uniform(-y, y)

    def box(
        self,
        x: float,
        y: float,
        a: float,
        b: float,
        yaw: float = 0.0,
        height: float = WALL_HEIGHT,
        base: float = 0.0,
    ) -> None:
        """Add a box of half sizes a, b [m], rotated by yaw [rad], `base` [m] above z = 0."""
        self.boxes.append((x, y, base + height / 2, a, b, height / 2, yaw))

    def cylinder(
        self,
        x: float,
        y: float,
        r: float,
        height: float = WALL_HEIGHT,
        base: float = 0.0,
    ) -> None:
        """Add a cylinder of radius r [m], `base` [m] above z = 0."""
        self.cylinders.append((x, y, r, height, base))

    def hole(self, x0: float, y0: float, x1: float, y1: float) -> None:
        """Cut a hole, clipped to the floor; slivers are skipped."""
        rx0, ry0, rx1, ry1 = self.region
        x0, x1, y0, y1 = max(x0, rx0), min(x1, rx1), max(y0, ry0), min(y1, ry1)
        if x1 - x0 > 0.1 and y1 - y0 > 0.1:
            self.holes.append((x0, y0, x1, y1))

    def segment(
        self,
        start: tuple[float, float],
        end: tuple[float, float],
        thickness: float = WALL_THICKNESS,
        height: float = WALL_HEIGHT,
    ) -> None:
        """Build a straight wall between two points, of any direction."""
        dx, dy = end[0] - start[0], end[1] - start[1]
        length = math.hypot(dx, dy)
        if length < 0.05:
            return
        x, y = (start[0] + end[0]) / 2, (start[1] + end[1]) / 2
        if abs(dx) < 1e-9:
            self.box(x, y, thickness / 2, length / 2, 0.0, height)
        else:
            yaw = math.atan2(dy, dx)
            self.box(x, y, length / 2, thickness / 2, yaw, height)

    def line(
        self,
        axis: int,
        at: float,
        low: float,
        high: float,
        gaps: Iterable[Gap] = (),
        thickness: float = WALL_THICKNESS,
        trench: bool = False,
    ) -> None:
        """Build a wall or trench along `axis` (0: x) at `at`, from low to high except gaps."""
        position = low
        for g0, g1 in [*sorted(gaps), (high, high)]:
            if g0 - position > 0.1:
                self._piece(axis, at, position, min(g0, high), thickness, trench)
            position = max(position, g1)

    def _piece(
        self, axis: int, at: float, low: float, high: float, t: float, trench: bool
    ) -> None:
        if trench:
            piece = (low, at - t / 2, high, at + t / 2)
            self.hole(*(piece if axis == 0 else (piece[1], low, piece[3], high)))
        elif axis == 0:
            self.box((low + high) / 2, at, (high - low) / 2, t / 2)
        else:
            self.box(at, (low + high) / 2, t / 2, (high - low) / 2)

    def border(self, open_chance: float = 0.15) -> None:
        """Build outer walls; at random, all or some sides are open edges."""
        x0, y0, x1, y1 = self.region
        t = WALL_THICKNESS
        keep = np.ones(4, bool)
        if self.rng.random() < open_chance:
            keep = self.rng.random(4) < self.rng.choice([0.0, 0.5])
        sides = [(0, y0 + t / 2), (0, y1 - t / 2), (1, x0 + t / 2), (1, x1 - t / 2)]
        for (axis, at), wall in zip(sides, keep, strict=True):
            if wall:
                low, high = (x0, x1) if axis == 0 else (y0, y1)
                self.line(axis, at, low, high)

    def gap(self, low: float, high: float, width: float) -> Gap:
        """A random opening of `width` [m] between low and high, away from the corners."""
        margin = min(0.2, max(0.0, (high - low - width) / 2))
        start = self.rng.uniform(low + margin, max(low + margin, high - margin - width))
        return (start, start + width)

    def thin(self, fraction: float) -> None:
        """Remove a random fraction of all but the first four boxes (the border)."""
        keep = self.rng.random(len(self.boxes)) >= fraction
        keep[:4] = True
        self.boxes = [b for b, k in zip(self.boxes, keep, strict=True) if k]
        keep = self.rng.random(len(self.cylinders)) >= fraction
        self.cylinders = [c for c, k in zip(self.cylinders, keep, strict=True) if k]
        keep = self.rng.random(len(self.holes)) >= fraction
        self.holes = [h for h, k in zip(self.holes, keep, strict=True) if k]

    def level(self) -> Level:
        """The level so far, without name, start and goal; surplus obstacles are dropped."""
        boxes = [b for b in self.boxes if self.holds(b[0], b[1])][:MAX_OBSTACLES]
        drums = [c for c in self.cylinders if self.holds(c[0], c[1])]
        return Level(
            name="",
            bounds=np.array(self.region),
            holes=np.array(self.holes[:MAX_HOLES]).reshape(-1, 4),
            boxes=np.array(boxes).reshape(-1, 7),
            cylinders=np.array(drums[: MAX_OBSTACLES - len(boxes)]).reshape(-1, 5),
        )


def _wish(grid: LayeredGrid, xy: tuple[float, float] | None) -> Floats | None:
    cell = None if xy is None else grid.nearest(xy, _WISH_RADIUS)
    return None if cell is None else grid.points(np.array([cell]))[0, :2]


def _far_goal(
    rng: np.random.Generator, cells: Floats, ways: Floats, straight: Floats
) -> int | None:
    """Index of a goal cell: all distances about equally likely, long paths preferred."""
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


def place(draft: Draft) -> Level | None:
    """The level of `draft` with a start and a goal joined by a path, or None."""
    level = draft.level()
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
