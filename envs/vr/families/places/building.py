"""Floor plans: rectangles that tile a floor, walls between them, doors that join them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ambulo.envs.vr.families.draft import WALL_HEIGHT, Region
from ambulo.envs.vr.families.places.site import Room, Site
from ambulo.envs.vr.families.places.sizes import (
    DOOR_HEIGHT,
    DOORS,
    INNER_WALLS,
    LEAF_THICKNESS,
)

OUTER = 0.2
"""Thickness of outer walls, [m]."""
_LANDING = 0.9
"""Depth of the free floor on both sides of a door, [m]."""


@dataclass(frozen=True)
class Side:
    """Common side of two rectangles of a plan."""

    first: int
    second: int
    axis: int
    """Direction of the wall: 0 along x, 1 along y."""
    at: float
    low: float
    high: float


@dataclass(frozen=True)
class Style:
    """Style of walls and doors of a plan."""

    loops: float = 0.15
    """Probability of a redundant door."""
    leaves: float = 0.4
    """Probability that a door has an open leaf."""
    wide: float = 0.1
    """Probability that two rooms are joined by a wide opening."""
    thickness: float | None = None
    """Thickness of inner walls, [m]; None: a random usual one."""
    height: float = WALL_HEIGHT
    """Height of walls, [m]."""


def split(
    rng: np.random.Generator, region: Region, least: float, most: float, depth: int = 0
) -> list[Region]:
    """Rectangles that tile `region`, split until none is longer than `most` [m]."""
    x0, y0, x1, y1 = region
    width, height = x1 - x0, y1 - y0
    along_x = width * rng.uniform(0.8, 1.25) > height
    span = width if along_x else height
    if span < 2 * least or (span < most and rng.random() < 0.55) or depth > 5:
        return [region]
    cut = rng.uniform(least, span - least)
    if along_x:
        halves = (x0, y0, x0 + cut, y1), (x0 + cut, y0, x1, y1)
    else:
        halves = (x0, y0, x1, y0 + cut), (x0, y0 + cut, x1, y1)
    return [r for half in halves for r in split(rng, half, least, most, depth + 1)]


def along_hall(
    rng: np.random.Generator, region: Region, hall: float, rooms: tuple[float, float]
) -> list[Region]:
    """A hall of width `hall` [m] along the longer side, rooms on both; the hall is first."""
    x0, y0, x1, y1 = region
    if y1 - y0 > x1 - x0:
        turned = along_hall(rng, (y0, x0, y1, x1), hall, rooms)
        return [(b, a, d, c) for a, b, c, d in turned]
    free = y1 - y0 - hall
    below = free * rng.uniform(0.38, 0.62)
    h0, h1 = y0 + below, y0 + below + hall
    left, right = x0, x1
    plan: list[Region] = []
    if rng.random() < 0.4:
        end = rng.uniform(*rooms)
        if right - left - end > 2 * rooms[0]:
            plan.append((right - end, h0, right, y1))
            right -= end
    tiles = [(left, h0, right, h1), *plan]
    for low, high, last in ((y0, h0, x1), (h1, y1, right)):
        tiles += [(a, low, b, high) for a, b in _cuts(rng, left, last, rooms)]
    return tiles


def _cuts(
    rng: np.random.Generator, low: float, high: float, widths: tuple[float, float]
) -> list[tuple[float, float]]:
    """Intervals that tile low to high, with widths near `widths`, [m]."""
    count = max(1, round((high - low) / rng.uniform(*widths)))
    parts = rng.uniform(1.0, 1.8, count)
    edges = low + np.concatenate([[0.0], np.cumsum(parts)]) / parts.sum() * (high - low)
    return [(float(a), float(b)) for a, b in pairwise(edges)]


def build(
    site: Site, tiles: list[Region], kinds: list[str], style: Style
) -> list[Room]:
    """Build walls around and between `tiles`, with doors that join all of them.

    Rooms of kind "bath" have one door where possible.
    """
    rng = site.rng
    t = style.thickness or float(rng.choice(INNER_WALLS))
    hull = hull_of(tiles)
    outer_walls(site, hull, style.height)
    rooms = [
        Room(_within(tile, hull, t), kind)
        for tile, kind in zip(tiles, kinds, strict=True)
    ]
    sides = _sides(tiles)
    joined = _joined(rng, sides, kinds, style.loops)
    leaves = []
    for side, open_ in zip(sides, joined, strict=True):
        gap = _wall(site, rooms, side, open_, t, style)
        if gap is not None and rng.random() < style.leaves:
            leaves.append((side, gap))
    for side, gap in leaves:
        _leaf(site, rooms, side, gap, t)
    return rooms


def outer_walls(site: Site, region: Region, height: float = WALL_HEIGHT) -> None:
    """Build four walls around `region`; they come first in the level."""
    x0, y0, x1, y1 = region
    for ends in (
        ((x0, y0), (x1, y0)), ((x0, y1), (x1, y1)), ((x0, y0), (x0, y1)), ((x1, y0), (x1, y1)),
    ):  # fmt: skip
        site.wall(*ends, OUTER, height)


def _within(tile: Region, hull: Region, t: float) -> Region:
    """The floor of `tile` between its walls."""
    edges = [
        OUTER / 2 if abs(e - h) < 1e-6 else t / 2
        for e, h in zip(tile, hull, strict=True)
    ]
    return (
        tile[0] + edges[0],
        tile[1] + edges[1],
        tile[2] - edges[2],
        tile[3] - edges[3],
    )


def hull_of(tiles: list[Region]) -> Region:
    """The bounding rectangle of `tiles`."""
    rows = np.array(tiles)
    return (*rows[:, :2].min(axis=0).tolist(), *rows[:, 2:].max(axis=0).tolist())


def _sides(tiles: list[Region]) -> list[Side]:
    """Every pair of touching tiles, with its common side."""
    found = []
    for i, a in enumerate(tiles):
        for j in range(i + 1, len(tiles)):
            b = tiles[j]
            for axis in (0, 1):
                low, high = max(a[axis], b[axis]), min(a[axis + 2], b[axis + 2])
                if high - low < 0.02:
                    continue
                for at, other in (
                    (a[3 - axis], b[1 - axis]),
                    (a[1 - axis], b[3 - axis]),
                ):
                    if abs(at - other) < 1e-6:
                        found.append(Side(i, j, axis, at, low, high))
    return found


def _joined(
    rng: np.random.Generator, sides: list[Side], kinds: list[str], loops: float
) -> list[bool]:
    """Mask of the sides with a door: a random spanning tree of the tiles, and a few more."""

    def cost(side: Side) -> float:
        pair = kinds[side.first], kinds[side.second]
        value = rng.random() + 3.0 * pair.count("bath") - 1.5 * pair.count("hall")
        return value + (100.0 if side.high - side.low < min(DOORS) + 0.5 else 0.0)

    costs = [cost(side) for side in sides]
    tree = list(range(len(kinds)))

    def root(i: int) -> int:
        while tree[i] != i:
            i = tree[i]
        return i

    joined = [False] * len(sides)
    for k in np.argsort(costs):
        side = sides[k]
        a, b = root(side.first), root(side.second)
        room = side.high - side.low >= min(DOORS) + 0.5
        private = "bath" in (kinds[side.first], kinds[side.second])
        if a != b or (room and not private and rng.random() < loops):
            tree[a] = b
            joined[k] = True
    return joined


def _wall(
    site: Site, rooms: list[Room], side: Side, joined: bool, t: float, style: Style
) -> tuple[float, float] | None:
    """Build the wall between two tiles, with an opening if they are `joined`.

    Returns:
        Interval of the opening along the wall, [m].
    """
    rng = site.rng
    wide = True
    gaps: list[tuple[float, float]] = []
    if joined:
        length = side.high - side.low
        wide = rng.random() < style.wide and length > 2.2
        wide = wide and "bath" not in (rooms[side.first].kind, rooms[side.second].kind)
        width = rng.uniform(1.4, 0.8 * length) if wide else float(rng.choice(DOORS))
        spare = max(0.0, length - width - 2 * t)
        first = side.low + t + spare * float(rng.choice([0.05, 0.95, rng.random()]))
        gaps = [(first, first + width)]
        _door(site, rooms, side, gaps[0], t)
    position = side.low
    for low, high in [*gaps, (side.high, side.high)]:
        piece = (
            position - t / 2 * (position == side.low),
            low + t / 2 * (low == side.high),
        )
        if piece[1] - piece[0] > t * 1.01:
            site.slab(_strip(side.axis, side.at, *piece, t), style.height)
        position = high
    return None if wide else gaps[0]


def _strip(axis: int, at: float, low: float, high: float, t: float) -> Region:
    if axis == 0:
        return (low, at - t / 2, high, at + t / 2)
    return (at - t / 2, low, at + t / 2, high)


def _door(
    site: Site, rooms: list[Room], side: Side, gap: tuple[float, float], t: float
) -> None:
    """Keep the floor on both sides of an opening free, and add the door to its rooms."""
    site.clear.add(_strip(side.axis, side.at, *gap, t + 2 * _LANDING))
    for room in (rooms[side.first], rooms[side.second]):
        room.doors.append(_strip(side.axis, side.at, *gap, t))


def _leaf(
    site: Site, rooms: list[Room], side: Side, gap: tuple[float, float], t: float
) -> None:
    """An open door leaf beside the opening that it belongs to."""
    rng = site.rng
    into = int(rng.choice([-1, 1]))
    at_low = rng.random() < 0.5
    length = gap[1] - gap[0]
    lean = rng.uniform(0.0, 0.3)
    hinge = gap[0] - LEAF_THICKNESS / 2 if at_low else gap[1] + LEAF_THICKNESS / 2
    swing = length / 2
    along = hinge + (-1 if at_low else 1) * swing * math.sin(lean)
    off = t / 2 + LEAF_THICKNESS / 2 * math.sin(lean) + 0.002
    across = side.at + into * (off + swing * math.cos(lean))
    yaw = math.pi / 2 + (lean if at_low else -lean) * into
    if side.axis == 1:
        x, y, yaw = across, along, math.pi / 2 - yaw
    else:
        x, y = along, across
    a, b = length / 2, LEAF_THICKNESS / 2
    c, s = abs(math.cos(yaw)), abs(math.sin(yaw))
    half = (a * c + b * s, a * s + b * c)
    region = (x - half[0], y - half[1], x + half[0], y + half[1])
    room = next(
        (
            r
            for r in (rooms[side.first], rooms[side.second])
            if _holds(r.region, region)
        ),
        None,
    )
    if room is None or site.solid.meets(region) or site.clear.meets(region):
        return
    px, py = site.world(x, y)
    site.draft.box(px, py, a, b, site.yaw + yaw, DOOR_HEIGHT, site.z)
    site.solid.add(region)


def _holds(room: Region, region: Region) -> bool:
    return (
        room[0] - 0.02 <= region[0] and region[2] <= room[2] + 0.02
        and room[1] - 0.02 <= region[1] and region[3] <= room[3] + 0.02
    )  # fmt: skip
