"""Offices: corridors with cells, open plans of desk groups, meeting rooms, columns.

Glass walls are ordinary walls, solid and opaque.
"""

from __future__ import annotations

import math

import numpy as np

from ambulo.envs.vr.families.draft import Draft, Region
from ambulo.envs.vr.families.places import pieces
from ambulo.envs.vr.families.places.building import Style, along_hall, build, split
from ambulo.envs.vr.families.places.furnished import aim, turned_site
from ambulo.envs.vr.families.places.site import (
    FurnitureGroup,
    FurniturePart,
    Room,
    Site,
)

_STYLE = Style(loops=0.12, leaves=0.25, wide=0.05, thickness=0.1)
_COLUMN_GRID = (4.8, 7.2)
"""Range of distances between columns, [m]."""


def offices(rng: np.random.Generator) -> Draft:
    """A floor of an office building: cells along a corridor, an open plan, or both."""
    kind = rng.random()
    w, h = (
        (rng.uniform(14, 27), rng.uniform(9, 17))
        if kind < 0.8
        else rng.uniform(9, 14, 2)
    )
    if rng.random() < 0.5:
        w, h = h, w
    draft, site = turned_site(rng, w, h, 0.25)
    region = (-w / 2, -h / 2, w / 2, h / 2)
    density = rng.uniform(0.55, 1.0)
    if kind < 0.4:
        tiles = along_hall(rng, region, rng.uniform(1.5, 2.4), (3.0, 6.0))
        kinds = ["hall", *(_use(rng, t) for t in tiles[1:])]
    elif kind < 0.8:
        tiles, kinds = _beside_open(rng, region)
    else:
        tiles, kinds = [region], ["open"]
    rooms = build(site, tiles, kinds, _STYLE)
    for room in rooms:
        _furnish(site, room, density)
    aim(site, rooms)
    return draft


def _beside_open(
    rng: np.random.Generator, region: Region
) -> tuple[list[Region], list[str]]:
    """An open plan with a strip of rooms along one of its longer sides."""
    x0, y0, x1, y1 = region
    if y1 - y0 > x1 - x0:
        tiles, kinds = _beside_open(rng, (y0, x0, y1, x1))
        return [(b, a, d, c) for a, b, c, d in tiles], kinds
    deep = rng.uniform(2.8, 4.2)
    cut = y0 + deep
    strip = split(rng, (x0, y0, x1, cut), 2.6, 5.5)
    tiles = [(x0, cut, x1, y1), *strip]
    if rng.random() < 0.5:
        tiles = [(a, -d, c, -b) for a, b, c, d in tiles]
    return tiles, ["open", *(_use(rng, t) for t in strip)]


def _use(rng: np.random.Generator, tile: Region) -> str:
    area = (tile[2] - tile[0]) * (tile[3] - tile[1])
    if area < 7:
        return str(rng.choice(["copy", "bath", "cell"]))
    return str(rng.choice(["cell", "cell", "meeting", "team", "kitchenette"]))


def _furnish(site: Site, room: Room, density: float) -> None:
    rng = site.rng
    if room.kind == "open":
        _open_plan(site, room, density)
    elif room.kind == "meeting":
        _meeting(site, room, density)
    elif room.kind == "team":
        _columns(site, room, 0.3)
        _desk_groups(site, room, density, 4)
        _shelves(site, room, density, 3)
    elif room.kind == "cell":
        for _ in range(1 + (room.area > 10) + (room.area > 18)):
            site.at_wall(room, pieces.desk(rng), tries=12)
        _shelves(site, room, density, 3)
    elif room.kind == "copy":
        for _ in range(2):
            site.at_wall(room, pieces.single(rng, "copier"))
        _shelves(site, room, density, 3)
    elif room.kind == "kitchenette":
        longest = max(room.width, room.height)
        site.at_wall(room, pieces.kitchen(rng, longest), corner=0.8, tries=12)
        for _ in range(int(room.area / 9)):
            site.amid(room, pieces.round_dining(rng), 0.5, turned=0.3)
    elif room.kind == "bath":
        for name in ("toilet", "basin", "toilet", "basin"):
            site.at_wall(room, pieces.single(rng, name, 0.6))
    else:
        _shelves(site, room, 0.5 * density * (min(room.width, room.height) > 1.7), 4)


def _open_plan(site: Site, room: Room, density: float) -> None:
    """Desk groups between columns, glass meeting rooms, lockers and a copier."""
    rng = site.rng
    _columns(site, room, 0.6)
    for _ in range(int(rng.integers(0, 1 + (room.area > 70) + (room.area > 140)))):
        _glass_box(site, room)
    _desk_groups(site, room, density, int(room.area / 9))
    if rng.random() < 0.6:
        site.at_wall(room, pieces.kitchen(rng, 3.2), tries=12)
    if rng.random() < 0.6:
        site.at_wall(room, pieces.sofa(rng))
    for _ in range(2):
        if rng.random() < density:
            site.at_wall(room, pieces.single(rng, "copier"))
    _shelves(site, room, density, 8)
    for _ in range(int(rng.integers(0, 7))):
        site.amid(room, pieces.round_piece(rng, "plant"), 0.7, tries=3)


def _columns(site: Site, room: Room, chance: float) -> None:
    """Round or square columns on a grid."""
    rng = site.rng
    if rng.random() > chance or min(room.width, room.height) < 6:
        return
    pitch = rng.uniform(*_COLUMN_GRID)
    r = rng.uniform(0.15, 0.3)
    square = rng.random() < 0.5
    x0, y0, x1, y1 = room.region
    xs = np.arange(x0 + ((x1 - x0) % pitch) / 2, x1, pitch)
    ys = np.arange(y0 + ((y1 - y0) % pitch) / 2, y1, pitch)
    for x in xs[(xs > x0 + 1.3) & (xs < x1 - 1.3)]:
        for y in ys[(ys > y0 + 1.3) & (ys < y1 - 1.3)]:
            part = FurniturePart(0.0, 0.0, r, r, 2.5, round=not square)
            site.put(FurnitureGroup((part,)), float(x), float(y), 0.0, room.region)


def _desk_groups(site: Site, room: Room, density: float, most: int) -> None:
    """Groups of desks of one kind, in rows in a large room."""
    rng = site.rng
    columns, facing = int(rng.integers(1, 4)), rng.random() < 0.75
    group = pieces.desks(rng, columns, facing)
    x0, y0, x1, y1 = room.region
    left, back, right, front = group.extent
    w, d = right - left + rng.uniform(0.9, 1.4), front - back + rng.uniform(0.9, 1.4)
    quarter = rng.random() < 0.5
    if quarter:
        w, d = d, w
    tilt = rng.uniform(-0.35, 0.35) if rng.random() < 0.15 else 0.0
    placed = 0
    for y in np.arange(y0 + d / 2 + 0.3, y1 - d / 2 - 0.2, d):
        for x in np.arange(x0 + w / 2 + 0.3, x1 - w / 2 - 0.2, w):
            if placed >= most:
                return
            if rng.random() > density:
                continue
            group = pieces.desks(rng, columns, facing)
            yaw = tilt + (math.pi / 2 if quarter else 0.0)
            placed += site.put(group, float(x), float(y), yaw, room.region, 0.3)


def _glass_box(site: Site, room: Room) -> None:
    """A meeting room with thin walls in a corner of the open plan, with a door."""
    rng = site.rng
    w, d = rng.uniform(2.8, 4.5), rng.uniform(2.6, 4.0)
    x0, y0, x1, y1 = room.region
    if x1 - x0 < w + 2.5 or y1 - y0 < d + 2.5:
        return
    right, upper = rng.random() < 0.5, rng.random() < 0.5
    a, b = (x1 - w if right else x0), (y1 - d if upper else y0)
    box = (a, b, a + w, b + d)
    wall_x, wall_y = (a if right else a + w), (b if upper else b + d)
    door = rng.uniform(0.85, 1.0)
    gap = rng.uniform(a + 0.3, a + w - door - 0.3)
    front = (gap, wall_y - 0.9, gap + door, wall_y + 0.9)
    inside = (
        max(a - 0.05, x0), max(b - 0.05, y0), min(a + w + 0.05, x1), min(b + d + 0.05, y1)
    )  # fmt: skip
    if site.solid.meets(inside) or site.clear.meets(inside):
        return
    t = 0.03
    site.slab((wall_x - t, b, wall_x + t, b + d), 2.5)
    site.slab((a, wall_y - t, gap, wall_y + t), 2.5)
    site.slab((gap + door, wall_y - t, a + w, wall_y + t), 2.5)
    site.clear.add(front)
    inner = Room((box[0] + t, box[1] + t, box[2] - t, box[3] - t), "meeting")
    _meeting(site, inner, 0.5)


def _meeting(site: Site, room: Room, density: float) -> None:
    rng = site.rng
    longest = max(room.width, room.height)
    for gap in (0.6, 0.3):
        if site.amid(room, pieces.dining(rng, "meeting_table", longest - 1.5), gap):
            break
    if rng.random() < density:
        site.at_wall(room, pieces.single(rng, "cabinet", 0.5))


def _shelves(site: Site, room: Room, density: float, most: int) -> None:
    rng = site.rng
    for _ in range(most):
        if rng.random() < 0.7 * density:
            name = str(rng.choice(["bookcase", "cabinet", "bookcase", "plant"]))
            group = (
                pieces.round_piece(rng, name)
                if name == "plant"
                else pieces.single(rng, name, 0.6)
            )
            site.at_wall(room, group, tries=4)
