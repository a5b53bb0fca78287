"""Homes: rooms with doors, furnished for their use."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ambulo.envs.vr.families.draft import Draft
from ambulo.envs.vr.families.places import pieces
from ambulo.envs.vr.families.places.building import (
    OUTER,
    Style,
    along_hall,
    build,
    split,
)
from ambulo.envs.vr.families.places.site import FurnitureGroup, Room, Site

_TURNED = 0.35
"""Probability that a building is rotated against the axes of the level."""
_LEAST_FLOOR = 0.2
"""Smallest fraction of a building's floor that is free and reachable for the body."""


def furnished(rng: np.random.Generator) -> Draft:
    """An apartment of three to ten rooms."""
    w, h = rng.uniform(8.0, 17.0), rng.uniform(7.0, 13.0)
    draft, site = turned_site(rng, w, h)
    region = (-w / 2, -h / 2, w / 2, h / 2)
    if rng.random() < 0.55:
        hall = rng.uniform(1.15, 1.8)
        tiles = along_hall(rng, region, hall, (2.6, 4.6))
        kinds = ["hall", *[""] * (len(tiles) - 1)]
    else:
        tiles = split(rng, region, rng.uniform(2.0, 2.6), rng.uniform(4.5, 6.5))
        kinds = [""] * len(tiles)
    kinds = uses(kinds, [(t[2] - t[0]) * (t[3] - t[1]) for t in tiles])
    rooms = build(site, tiles, kinds, Style(wide=0.2))
    fill(site, rooms, rng.uniform(0.5, 1.0))
    aim(site, rooms)
    return draft


def turned_site(
    rng: np.random.Generator, w: float, h: float, chance: float = _TURNED
) -> tuple[Draft, Site]:
    """A floor around a building of w by h [m], and a site in the building's axes."""
    yaw = rng.uniform(-0.6, 0.6) if rng.random() < chance else 0.0
    c, s = math.cos(yaw), abs(math.sin(yaw))
    w, h = w + OUTER, h + OUTER
    draft = Draft(rng, w * c + h * s, w * s + h * c)
    draft.min_floor = _LEAST_FLOOR * w * h
    return draft, Site(draft, yaw)


def uses(kinds: list[str], areas: list[float]) -> list[str]:
    """Uses of all rooms, chosen by area [m^2] for rooms without a kind."""
    order = [int(k) for k in np.argsort(areas) if not kinds[int(k)]]
    result = list(kinds)
    wanted = ["bath"] + (["bath"] if len(order) > 6 else []) + ["kitchen"]
    for k, kind in zip(order, wanted, strict=False):
        result[k] = kind
    rest = order[len(wanted) :]
    if rest:
        result[rest.pop()] = "living"
    for k, kind in zip(reversed(rest), _cycle(len(rest)), strict=True):
        result[k] = kind
    return result


def _cycle(count: int) -> list[str]:
    kinds = ["bedroom", "dining", "bedroom", "study", "bedroom", "storage"]
    return (kinds * (count // len(kinds) + 1))[:count]


def fill(site: Site, rooms: list[Room], density: float) -> None:
    """Furnish every room for its use; `density` is the probability of optional pieces."""
    for room in rooms:
        _FILLERS[room.kind](site, room, density)


def aim(site: Site, rooms: list[Room]) -> None:
    """Prefer a start in one room and, at times, a goal in the farthest other one."""
    rng = site.rng
    first = rooms[int(rng.integers(len(rooms)))]
    site.draft.start = site.world(*_spot(rng, first))
    if rng.random() < 0.6 and len(rooms) > 1:
        order = sorted(rooms, key=lambda r: math.dist(r.middle, first.middle))
        last = order[-1 - int(rng.integers(min(3, len(rooms) - 1)))]
        site.draft.goal = site.world(*_spot(rng, last))


def _spot(rng: np.random.Generator, room: Room) -> tuple[float, float]:
    x, y = room.middle
    return (
        x + rng.uniform(-0.25, 0.25) * room.width,
        y + rng.uniform(-0.25, 0.25) * room.height,
    )


def _living(site: Site, room: Room, density: float) -> None:
    rng = site.rng
    longest = max(room.width, room.height)
    site.at_wall(room, pieces.sofa(rng, 0.6 * longest))
    site.at_wall(room, pieces.single(rng, "sideboard", most=0.6 * longest))
    if room.area > 16 and rng.random() < density:
        site.amid(room, _table(rng, longest), 0.6)
    for name in ("bookcase", "cabinet", "armchair", "bookcase"):
        if rng.random() < density:
            site.at_wall(room, pieces.single(rng, name))
    _plants(site, room, density, 3)


def _table(rng: np.random.Generator, longest: float) -> FurnitureGroup:
    if rng.random() < 0.3:
        return pieces.round_dining(rng)
    return pieces.dining(rng, most=0.5 * longest)


def _dining(site: Site, room: Room, density: float) -> None:
    rng = site.rng
    longest = max(room.width, room.height)
    if not site.amid(room, _table(rng, longest), 0.55):
        site.at_wall(room, pieces.wall_table(rng))
    for name in ("cabinet", "sideboard"):
        if rng.random() < density:
            site.at_wall(room, pieces.single(rng, name, most=0.6 * longest))
    _plants(site, room, density, 2)


def _kitchen(site: Site, room: Room, density: float) -> None:
    rng = site.rng
    longest, least = max(room.width, room.height), min(room.width, room.height)
    if rng.random() < 0.4 and site.at_wall(
        room, pieces.corner_kitchen(rng, longest - 0.2, least - 1.2), corner=1.0
    ):
        site.at_wall(room, pieces.single(rng, "fridge"), corner=0.8)
    else:
        site.at_wall(room, pieces.kitchen(rng, longest - 0.1), corner=0.8, tries=14)
    if room.area > 13 and rng.random() < 0.4 * density:
        site.amid(room, pieces.run(rng, "kitchen", 1.9, 0.0), 0.85)
    elif rng.random() < density and not site.amid(
        room, _table(rng, 0.8 * longest), 0.55
    ):
        site.at_wall(room, pieces.wall_table(rng))
    if rng.random() < density:
        site.at_wall(room, pieces.single(rng, "cabinet"))


def _bedroom(site: Site, room: Room, density: float) -> None:
    rng = site.rng
    least = min(room.width, room.height)
    if not site.at_wall(room, pieces.bed(rng, least - 0.9), tries=14):
        site.at_wall(room, pieces.bed(rng, 1.0), corner=1.0)
    site.at_wall(room, pieces.single(rng, "wardrobe", 0.6), corner=0.7)
    if rng.random() < density:
        site.at_wall(room, pieces.desk(rng, most=1.4))
    for name in ("dresser", "bookcase", "armchair"):
        if rng.random() < 0.7 * density:
            site.at_wall(room, pieces.single(rng, name, 0.6))
    _plants(site, room, density, 1)


def _study(site: Site, room: Room, density: float) -> None:
    rng = site.rng
    site.at_wall(room, pieces.desk(rng))
    for _ in range(int(rng.integers(1, 5))):
        if rng.random() < density:
            site.at_wall(room, pieces.single(rng, "bookcase"))
    if rng.random() < 0.5 * density:
        site.at_wall(room, pieces.sofa(rng, 1.6))
    _plants(site, room, density, 2)


def _bath(site: Site, room: Room, density: float) -> None:
    rng = site.rng
    first = "bath" if rng.random() < 0.6 and room.area > 4 else "shower"
    site.at_wall(room, pieces.single(rng, first, 0.6), corner=1.0, tries=12)
    site.at_wall(room, pieces.single(rng, "toilet", 0.6))
    site.at_wall(room, pieces.single(rng, "basin", 0.6))
    if rng.random() < density:
        site.at_wall(room, pieces.single(rng, "washing_machine", 0.6), corner=0.6)


def _hall(site: Site, room: Room, density: float) -> None:
    rng = site.rng
    if min(room.width, room.height) > 1.35:
        for _ in range(2):
            if rng.random() < density:
                site.at_wall(room, pieces.single(rng, "shoe_cabinet", 0.7))
    if rng.random() < density:
        site.at_wall(room, pieces.single(rng, "shoe_cabinet", 0.7), corner=1.0)


def _storage(site: Site, room: Room, density: float) -> None:
    rng = site.rng
    for name in ("bookcase", "wardrobe", "bookcase", "washing_machine"):
        site.at_wall(room, pieces.single(rng, name))
    for _ in range(int(rng.integers(1, 6))):
        site.at_wall(room, pieces.single(rng, "carton", 0.0))


def _plants(site: Site, room: Room, density: float, most: int) -> None:
    rng = site.rng
    for _ in range(most):
        if rng.random() < 0.6 * density:
            name = "plant" if rng.random() < 0.7 else "lamp"
            site.at_wall(room, pieces.round_piece(rng, name), corner=0.7)


_FILLERS: dict[str, Callable[[Site, Room, float], None]] = {
    "living": _living,
    "dining": _dining,
    "kitchen": _kitchen,
    "bedroom": _bedroom,
    "study": _study,
    "bath": _bath,
    "hall": _hall,
    "storage": _storage,
}
"""Furnishing functions by use of the room."""
