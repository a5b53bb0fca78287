"""Shops: aisles between shelves, checkouts, islands, round displays, clothes rails."""

from __future__ import annotations

import math

import numpy as np

from ambulo.envs.vr.families.draft import Draft
from ambulo.envs.vr.families.places import pieces
from ambulo.envs.vr.families.places.building import OUTER, outer_walls
from ambulo.envs.vr.families.places.furnished import aim, turned_site
from ambulo.envs.vr.families.places.site import FurnitureGroup, Room, Site
from ambulo.envs.vr.families.places.sizes import size

_TILLS = (0.8, 1.0)
"""Range of the width of the passage between two checkouts, [m]."""


def shops(rng: np.random.Generator) -> Draft:
    """A market of long aisles, a boutique, or a shop of both."""
    kind = rng.random()
    market = kind < 0.6
    w = rng.uniform(12, 27) if market else rng.uniform(8, 15)
    h = rng.uniform(10, 20) if market else rng.uniform(7, 13)
    draft, site = turned_site(rng, w, h, 0.3)
    region = (-w / 2, -h / 2, w / 2, h / 2)
    outer_walls(site, region)
    t = OUTER / 2
    room = Room((region[0] + t, region[1] + t, region[2] - t, region[3] - t), "shop")
    _columns(site, room)
    if market:
        _market(site, room)
    else:
        _boutique(site, room)
    aim(site, [room])
    draft.goal = None
    if rng.random() < 0.5:
        # From the entrance to the far end.
        x = rng.uniform(-0.4, 0.4) * w
        ends = [
            site.world(x, -h / 2 + 0.8),
            site.world(rng.uniform(-0.4, 0.4) * w, h / 2 - 1.2),
        ]
        if rng.random() < 0.5:
            ends.reverse()
        draft.start, draft.goal = ends
    return draft


def _columns(site: Site, room: Room) -> None:
    rng = site.rng
    if rng.random() < 0.35:
        for _ in range(int(rng.integers(1, 7))):
            site.amid(room, pieces.round_piece(rng, "column"), 1.2, tries=3)


def _market(site: Site, room: Room) -> None:
    """Checkouts at the south side, shelf rows behind them, wall shelves, islands."""
    rng = site.rng
    x0, y0, x1, y1 = room.region
    low = y0 + rng.uniform(1.4, 2.0)
    if rng.random() < 0.8:
        low = _checkouts(site, room, low)
    for side in (1, 2, 3):
        if rng.random() < 0.75:
            _wall_shelves(site, room, side, low)
    aisle = rng.uniform(1.1, 2.2)
    end = y1 - rng.uniform(1.5, 2.0)
    quarter = rng.random() < 0.35
    if quarter:
        _shelf_rows(site, room, (low + 0.9, end), (x0 + 1.6, x1 - 1.6), aisle, True)
    else:
        _shelf_rows(site, room, (x0 + 1.6, x1 - 1.6), (low + 0.9, end), aisle, False)
    for _ in range(int(rng.integers(0, 9))):
        name = str(rng.choice(["pallet", "round_display", "carton", "freezer"]))
        site.amid(room, _display(rng, name), 0.75, tries=8, turned=0.2)


def _display(rng: np.random.Generator, name: str) -> FurnitureGroup | None:
    return (
        pieces.round_piece(rng, name)
        if name.startswith("round")
        else pieces.single(rng, name, 0.0)
    )


def _checkouts(site: Site, room: Room, low: float) -> float:
    """Build a row of checkouts from `low` on; returns its end, [m]."""
    rng = site.rng
    x0, _, x1, _ = room.region
    w, d, h = size(rng, "checkout")
    lane = rng.uniform(*_TILLS)
    x = x0 + rng.uniform(0.9, 3.0)
    for _ in range(int(rng.integers(2, 8))):
        if x + d > x1 - 0.9:
            break
        counter = FurnitureGroup((pieces.block(d / 2, w / 2, d, w, h),))
        site.put(counter, x, low, 0.0, room.region)
        x += d + lane
    if x < x1 - 1.5:
        # A barrier keeps people from passing beside the tills.
        site.slab((x + rng.uniform(0.1, 1.0), low + w - 0.06, x1 - 1.0, low + w), 1.0)
    return low + w


def _wall_shelves(site: Site, room: Room, side: int, low: float) -> None:
    """Shelves or freezers along most of one wall."""
    rng = site.rng
    name = str(rng.choice(["shelf_single", "shelf_single", "freezer"]))
    length = (
        room.width if side % 2 == 0 else room.height - (low - room.region[1])
    ) - 1.6
    for part in (length, 0.6 * length, 0.4 * length):
        if site.at_wall(room, pieces.run(rng, name, part, 0.9), (side,), 4, 0.2):
            return


def _shelf_rows(
    site: Site,
    room: Room,
    across: tuple[float, float],
    along: tuple[float, float],
    aisle: float,
    quarter: bool,
) -> None:
    """Parallel double shelves, all cut by the same cross aisles.

    `across` is the range of the rows, `along` that of their length, [m].
    """
    rng = site.rng
    unit, deep, high = size(rng, "shelf_double")
    cross = rng.uniform(1.2, 2.0)
    length = along[1] - along[0]
    blocks = int(rng.integers(1, 1 + max(1, int(length / 5.0))))
    long = int(((length - (blocks - 1) * cross) / blocks) / unit) * unit
    if long < unit:
        return
    missing = float(rng.choice([0.0, 0.0, 0.12]))
    at = across[0]
    while at + deep <= across[1] + 1e-6:
        for k in range(blocks):
            if rng.random() < missing:
                continue
            cut = unit * int(rng.integers(0, 2)) if long > 3 * unit else 0.0
            middle = along[0] + k * (long + cross) + (long - cut) / 2
            row = [pieces.block(0.0, 0.0, deep, long - cut, high)]
            if rng.random() < 0.25:
                # A display at the end of the shelf row.
                row.append(pieces.block(0.0, (long - cut) / 2 + 0.2, deep, 0.4, 1.3))
            x, y, yaw = at + deep / 2, middle, 0.0
            if quarter:
                x, y, yaw = y, x, -math.pi / 2
            site.put(FurnitureGroup(tuple(row)), x, y, yaw, room.region, 0.75)
        at += deep + aisle


def _boutique(site: Site, room: Room) -> None:
    """Rails, round displays, tables, mannequins; a counter, and fitting rooms."""
    rng = site.rng
    site.at_wall(room, pieces.run(rng, "checkout", 2.6, 1.0))
    if rng.random() < 0.6:
        _fitting_rooms(site, room)
    for _ in range(int(rng.integers(2, 7))):
        length = rng.uniform(1.5, 5.0)
        site.at_wall(room, pieces.run(rng, "shelf_single", length, 0.8), tries=4)
    gap = rng.uniform(0.7, 1.0)
    turned = float(rng.choice([0.0, 0.3, 0.8]))
    for _ in range(int(room.area * rng.uniform(0.15, 0.45))):
        name = str(
            rng.choice(
                [
                    "clothes_rail",
                    "clothes_rail",
                    "round_display",
                    "mannequin",
                    "dresser",
                ]
            )
        )
        if name in ("round_display", "mannequin"):
            group: FurnitureGroup | None = pieces.round_piece(rng, name)
        else:
            group = pieces.single(rng, name, 0.0)
        site.amid(room, group, gap, tries=8, turned=turned)


def _fitting_rooms(site: Site, room: Room) -> None:
    """A row of cabins in a corner, open to the room."""
    rng = site.rng
    count, w, d, t = int(rng.integers(2, 5)), rng.uniform(0.95, 1.2), 1.2, 0.03
    walls = [
        pieces.block((k - count / 2) * w, d / 2, 2 * t, d, 2.1)
        for k in range(count + 1)
    ]
    clear = tuple(
        ((k - count / 2) * w + t, 0.0, (k + 1 - count / 2) * w - t, d + 0.9)
        for k in range(count)
    )
    site.at_wall(room, FurnitureGroup(tuple(walls), clear), corner=0.8)
