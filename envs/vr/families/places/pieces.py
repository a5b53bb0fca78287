"""Pieces of furniture as groups: tables with their chairs, beds with nightstands."""

from __future__ import annotations

import math

import numpy as np

from ambulo.envs.vr.families.draft import Region
from ambulo.envs.vr.families.places.site import FurnitureGroup, FurniturePart
from ambulo.envs.vr.families.places.sizes import (
    RADII,
    TABLE_LEG,
    TABLE_TOP,
    WALKWAY,
    size,
)

_LEGS = 0.3
"""Probability that a table has a top and legs instead of one box."""
_PULLED = 0.35
"""Probability that a chair is pulled out."""


def single(
    rng: np.random.Generator, name: str, front: float = WALKWAY, most: float = np.inf
) -> FurnitureGroup | None:
    """One piece with its back at y = 0 and `front` [m] free before it; None: too wide."""
    w, d, h = size(rng, name, most)
    if w > most:
        return None
    return FurnitureGroup((block(0.0, d / 2, w, d, h),), _front(w, d, front))


def round_piece(rng: np.random.Generator, name: str) -> FurnitureGroup:
    """A round piece, its centre at the origin."""
    low, high, height = RADII[name]
    r = rng.uniform(low, high)
    return FurnitureGroup((FurniturePart(0.0, 0.0, r, r, height, round=True),))


def block(
    x: float, y: float, w: float, d: float, top: float, turn: float = 0.0
) -> FurniturePart:
    """A box on the floor with centre (x, y)."""
    return FurniturePart(x, y, w / 2, d / 2, top, turn=turn)


def run(
    rng: np.random.Generator, name: str, length: float, front: float = WALKWAY
) -> FurnitureGroup | None:
    """Pieces of `name` side by side along `length` [m], as one box: shelves, counters."""
    w, d, h = size(rng, name)
    count = int(length / w + 1e-6)
    if count < 1:
        return None
    return FurnitureGroup(
        (block(0.0, d / 2, count * w, d, h),), _front(count * w, d, front)
    )


def table(
    rng: np.random.Generator, x: float, y: float, w: float, d: float, h: float
) -> list[FurniturePart]:
    """A table with centre (x, y): one box, or a top with four legs."""
    if rng.random() >= _LEGS:
        return [block(x, y, w, d, h)]
    leg = TABLE_LEG / 2
    i, j = w / 2 - leg, d / 2 - leg
    legs = [
        FurniturePart(x + sx * i, y + sy * j, leg, leg, h - TABLE_TOP)
        for sx in (-1, 1)
        for sy in (-1, 1)
    ]
    return [FurniturePart(x, y, w / 2, d / 2, h, h - TABLE_TOP), *legs]


def chair(
    rng: np.random.Generator, x: float, y: float, facing: float, name: str = "chair"
) -> FurniturePart:
    """A chair at the edge (x, y) of a table; its user faces `facing` [rad].

    Mostly pushed in, at times pulled out and rotated.
    """
    w, d, h = size(rng, name)
    pulled = rng.random() < _PULLED
    back = rng.uniform(0.05, 0.35) if pulled else rng.uniform(-0.25, -0.12)
    turn = rng.uniform(-0.5, 0.5) if pulled else 0.0
    off = back + d / 2
    return block(
        x - off * math.cos(facing), y - off * math.sin(facing), w, d, h,
        facing - math.pi / 2 + turn,
    )  # fmt: skip


def dining(
    rng: np.random.Generator, name: str = "dining_table", most: float = np.inf
) -> FurnitureGroup:
    """A table with chairs along its long sides, at times also at the ends."""
    w, d, h = size(rng, name, most)
    parts = table(rng, 0.0, 0.0, w, d, h)
    count = max(1, int(w / 0.62))
    for k in range(count):
        x = -w / 2 + (k + 0.5) * w / count
        parts += [
            chair(rng, x, side * d / 2, -side * math.pi / 2)
            for side in (-1, 1)
            if rng.random() < 0.92
        ]
    for side in (-1, 1):
        if w > 1.3 and rng.random() < 0.4:
            parts.append(
                chair(rng, side * w / 2, 0.0, math.pi / 2 + side * math.pi / 2)
            )
    return FurnitureGroup(tuple(parts))


def round_dining(rng: np.random.Generator) -> FurnitureGroup:
    """A round table with two to five chairs."""
    low, high, height = RADII["round_table"]
    r = rng.uniform(low, high)
    parts = [FurniturePart(0.0, 0.0, r, r, height, round=True)]
    count = int(rng.integers(2, 4 if r < 0.5 else 6))
    first = rng.uniform(0, math.pi)
    for k in range(count):
        angle = first + 2 * math.pi * k / count
        parts.append(
            chair(rng, r * math.cos(angle), r * math.sin(angle), angle + math.pi)
        )
    return FurnitureGroup(tuple(parts))


def wall_table(rng: np.random.Generator) -> FurnitureGroup:
    """A small table at a wall, with two or three chairs."""
    w, d, h = size(rng, "dining_table", 1.45)
    parts = table(rng, 0.0, d / 2, w, d, h)
    parts.append(chair(rng, 0.0, d, -math.pi / 2))
    parts += [
        chair(rng, side * w / 2, d / 2, math.pi / 2 + side * math.pi / 2)
        for side in (-1, 1)
        if rng.random() < 0.7
    ]
    return FurnitureGroup(tuple(parts))


def desk(rng: np.random.Generator, most: float = np.inf) -> FurnitureGroup:
    """A desk at a wall with its chair."""
    w, d, h = size(rng, "desk", most)
    parts = [
        *table(rng, 0.0, d / 2, w, d, h),
        chair(rng, 0.0, d, -math.pi / 2, "office_chair"),
    ]
    return FurnitureGroup(tuple(parts), _front(0.8, d, 1.0))


def bed(rng: np.random.Generator, most: float = np.inf) -> FurnitureGroup | None:
    """A bed, its head at the wall, with nightstands and a free side."""
    w, d, h = size(rng, "bed", most)
    if w > most:
        return None
    parts = [block(0.0, d / 2, w, d, h)]
    nw, nd, nh = size(rng, "nightstand")
    sides = (-1, 1) if w > 1.3 else (int(rng.choice([-1, 1])),)
    for side in sides:
        if rng.random() < 0.8:
            parts.append(block(side * (w + nw + 0.04) / 2, nd / 2, nw, nd, nh))
    free = sides if w > 1.3 and rng.random() < 0.6 else sides[:1]
    clear = [(side * w / 2, 0.5, side * (w / 2 + WALKWAY), d) for side in free]
    return FurnitureGroup(tuple(parts), tuple(_ordered(c) for c in clear))


def sofa(rng: np.random.Generator, most: float = np.inf) -> FurnitureGroup:
    """A sofa with a coffee table, at times with an armchair or a corner part."""
    w, d, h = size(rng, "sofa", most)
    parts = [block(0.0, d / 2, w, d, h)]
    side = int(rng.choice([-1, 1]))
    if w > 1.8 and rng.random() < 0.35:
        parts.append(block(side * (w / 2 - 0.45), d + 0.4, 0.9, 0.8, 0.45))
        return FurnitureGroup(tuple(parts))
    if rng.random() < 0.85:
        tw, td, th = size(rng, "coffee_table", w)
        gap = rng.uniform(0.35, 0.5)
        parts += table(rng, 0.0, d + gap + td / 2, tw, td, th)
        if rng.random() < 0.4:
            aw, ad, ah = size(rng, "armchair")
            x = side * (tw / 2 + ad / 2 + 0.4)
            parts.append(block(x, d + gap + td / 2, aw, ad, ah, side * math.pi / 2))
    return FurnitureGroup(tuple(parts))


def kitchen(rng: np.random.Generator, length: float) -> FurnitureGroup | None:
    """A counter along a wall, as long as it fits into `length` [m], with a fridge."""
    fw, fd, fh = size(rng, "fridge")
    w, d, h = size(rng, "kitchen", length - fw - 0.1)
    if w > length - fw - 0.1:
        return None
    side = int(rng.choice([-1, 1]))
    parts = (block(0.0, d / 2, w, d, h), block(side * (w + fw) / 2, fd / 2, fw, fd, fh))
    left = -w / 2 - (fw if side < 0 else 0.0)
    right = w / 2 + (fw if side > 0 else 0.0)
    return FurnitureGroup(parts, ((left, d, right, d + 0.9),))


def corner_kitchen(
    rng: np.random.Generator, length: float, depth: float
) -> FurnitureGroup | None:
    """An L-shaped counter: `length` [m] along the wall, with a leg into the room."""
    d, h = 0.6, 0.91
    w, leg = min(length, rng.uniform(2.0, 3.2)), min(depth, rng.uniform(1.2, 2.2))
    if w < 1.8 or leg < 1.1:
        return None
    side = int(rng.choice([-1, 1]))
    x = side * (w - d) / 2
    parts = (block(0.0, d / 2, w, d, h), block(x, d + leg / 2, d, leg, h))
    inner = _ordered((-side * w / 2, d, side * (w / 2 - d), d + 0.9))
    return FurnitureGroup(parts, (inner,))


def desks(rng: np.random.Generator, columns: int, back_to_back: bool) -> FurnitureGroup:
    """A group of desks side by side, in one row or in two that face each other."""
    w, d, h = size(rng, "desk")
    parts: list[FurniturePart] = []
    rows = (-1, 1) if back_to_back else (-1,)
    one_top = rng.random() < 0.5
    for side in rows:
        y = side * d / 2
        if one_top:
            parts.append(block(0.0, y, columns * w, d, h))
        for k in range(columns):
            x = (k - (columns - 1) / 2) * w
            if not one_top:
                parts.append(block(x, y, w - 0.01, d, h))
            if rng.random() < 0.92:
                facing = -side * math.pi / 2
                parts.append(chair(rng, x, side * d, facing, "office_chair"))
    clear = [
        _ordered((-columns * w / 2, s * d, columns * w / 2, s * (d + 0.9)))
        for s in rows
    ]
    return FurnitureGroup(tuple(parts), tuple(clear))


def _front(w: float, d: float, front: float) -> tuple[Region, ...]:
    return ((-w / 2, d, w / 2, d + front),) if front > 0 else ()


def _ordered(r: tuple[float, float, float, float]) -> Region:
    return (min(r[0], r[2]), min(r[1], r[3]), max(r[0], r[2]), max(r[1], r[3]))
