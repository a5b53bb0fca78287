"""Families of long walls: rooms, slalom gates, U-shaped traps, detour walls."""

from __future__ import annotations

import math

import numpy as np

from ambulo.envs.vr.families.draft import WALL_THICKNESS, Draft, Gap, Region
from ambulo.envs.vr.families.mazes import add_maze_walls, passages

DOORS = (0.9, 1.6)
"""Range of door widths, [m]."""


def add_room_grid(
    draft: Draft, door: Gap = DOORS, trench: bool = False, most: int = 4
) -> None:
    """Rooms of unequal sizes, at most `most` per side, joined as a tree with a few loops."""
    rng = draft.rng
    x0, y0, x1, y1 = draft.region
    lines = []
    for low, high in ((x0, x1), (y0, y1)):
        n = int(np.clip(round((high - low) / rng.uniform(3.5, 8.0)), 2, most))
        widths = rng.uniform(1.0, 2.0, n)
        cuts = np.concatenate([[0.0], np.cumsum(widths)]) / widths.sum()
        lines.append(low + cuts * (high - low))
    loops = float(rng.choice([0.0, 0.15, 0.35, 0.6]))
    right, up = passages(rng, len(lines[0]) - 1, len(lines[1]) - 1, loops, 0.5)
    thickness = rng.uniform(0.8, 2.5) if trench else WALL_THICKNESS
    add_maze_walls(draft, lines[0], lines[1], right, up, thickness, door, trench)


def add_room_tree(
    draft: Draft,
    region: Region,
    least: float,
    depth: int = 0,
    doors: tuple[tuple[float, ...], ...] = (),
) -> None:
    """Split `region` by walls with doors until rooms are about `least` [m] wide.

    `depth` counts the enclosing splits, whose `doors` are axis, position, from and to, [m].
    """
    rng = draft.rng
    x0, y0, x1, y1 = region
    width, height = x1 - x0, y1 - y0
    axis = 1 if width * rng.uniform(0.7, 1.4) > height else 0
    span = width if axis == 1 else height
    if span < 2 * least or depth > 6 or (depth > 2 and rng.random() < 0.12):
        return
    low, high = (x0, x1) if axis == 1 else (y0, y1)
    for _ in range(8):
        at = rng.uniform(low + least, high - least)
        if not any(_blocks_door(d, axis, at, region) for d in doors):
            break
    else:
        return
    along0, along1 = (y0, y1) if axis == 1 else (x0, x1)
    gaps = [draft.gap(along0 + 0.2, along1 - 0.2, rng.uniform(*DOORS))]
    if along1 - along0 > 6 and rng.random() < 0.25:
        gaps.append(draft.gap(along0 + 0.2, along1 - 0.2, rng.uniform(*DOORS)))
    draft.line(axis, at, along0, along1, gaps)
    doors = (*doors, *((axis, at, g0, g1) for g0, g1 in gaps))
    if axis == 1:
        halves = (x0, y0, at, y1), (at, y0, x1, y1)
    else:
        halves = (x0, y0, x1, at), (x0, at, x1, y1)
    for half in halves:
        add_room_tree(draft, half, least, depth + 1, doors)


def _blocks_door(door: tuple[float, ...], axis: int, at: float, region: Region) -> bool:
    """Whether a wall along `axis` at `at` would end in the door of an earlier wall."""
    door_axis, door_at, g0, g1 = door
    if door_axis == axis:
        return False
    low, high = (region[1], region[3]) if axis == 1 else (region[0], region[2])
    touches = min(abs(door_at - low), abs(door_at - high)) < 0.3
    return touches and g0 - 0.3 < at < g1 + 0.3


def rooms(rng: np.random.Generator, large: bool = False) -> Draft:
    """Rooms with doors; many of them are dead ends."""
    draft = Draft(rng, sizes=(12.0, 34.0) if large else (12.0, 22.0))
    draft.border(0.1)
    if rng.random() < 0.5:
        add_room_grid(draft, most=7 if large else 4)
    else:
        least = rng.uniform(2.2, 4.5) if large else rng.uniform(3.0, 5.5)
        add_room_tree(draft, draft.region, least)
    draft.min_detour = 1.05
    return draft


def slalom(rng: np.random.Generator, large: bool = False) -> Draft:
    """Walls across the path with gaps that mostly alternate, sometimes tilted."""
    length = rng.uniform(14, 34)
    width = rng.uniform(12, 26) if large else rng.uniform(5, 10)
    axis = int(rng.integers(2))
    draft = Draft(rng, *((length, width) if axis == 1 else (width, length)))
    draft.border(0.2)
    x0, y0, x1, y1 = draft.region
    low, high, first, last = (x0, x1, y0, y1) if axis == 0 else (y0, y1, x0, x1)
    pitch = rng.uniform(1.5, 4.0)
    tilt = float(rng.choice([0.0, 0.0, 0.25])) * rng.uniform(-1, 1)
    alternate = rng.choice([1.0, 0.8, 0.3])
    side = int(rng.integers(2))
    at = first + max(pitch, 2.0)
    while at < last - max(0.8 * pitch, 1.2):
        reach = rng.uniform(0.1, 0.45) * (high - low)
        gap = rng.uniform(0.9, 2.0)
        middle = low + reach if side else high - reach
        if rng.random() < 0.35:
            middle = low + 0.2 + gap / 2 if side else high - 0.2 - gap / 2
        gaps = [(middle - gap / 2, middle + gap / 2)]
        if rng.random() < 0.1:
            gaps.append(draft.gap(low + 0.2, high - 0.2, gap))
        if tilt == 0.0:
            draft.line(axis, at, low, high, gaps)
        else:
            lean = math.tan(tilt) * min(1.0, pitch / (high - low) * 1.5)
            _tilted(draft, axis, at, low, high, gaps[0], lean)
        side = 1 - side if rng.random() < alternate else int(rng.integers(2))
        at += pitch * rng.uniform(0.8, 1.3)
    mid = (low + high) / 2 + rng.uniform(-0.35, 0.35) * (high - low)
    end = (low + high) / 2 + rng.uniform(-0.35, 0.35) * (high - low)
    reach = min(last - 0.8, first + 29.0)
    ends = [(first + 0.8, mid), (reach, end)]
    if rng.random() < 0.5:
        ends.reverse()
    draft.start, draft.goal = [e if axis == 1 else e[::-1] for e in ends]
    return draft


def _tilted(
    draft: Draft, axis: int, at: float, low: float, high: float, gap: Gap, lean: float
) -> None:
    middle = (low + high) / 2
    for a, b in ((low, gap[0]), (gap[1], high)):
        ends = [(a, at + lean * (a - middle)), (b, at + lean * (b - middle))]
        if b > a:
            p, q = (e if axis == 0 else e[::-1] for e in ends)
            draft.segment(p, q)


def add_trap(
    draft: Draft,
    x: float,
    y: float,
    heading: float,
    width: float,
    depth: float,
    lips: float = 0.0,
    uneven: float = 1.0,
) -> None:
    """Build a U: its bottom at (x, y), open against `heading` [rad].

    `width` across and `depth` [m]; `lips` narrows the mouth at both sides [m]; the second arm
    has `uneven` times the length of the first.
    """
    c, s = math.cos(heading), math.sin(heading)

    def point(along: float, across: float) -> tuple[float, float]:
        return (x + along * c - across * s, y + along * s + across * c)

    half = width / 2
    draft.segment(point(0, -half), point(0, half))
    draft.segment(point(0.1, half), point(-depth, half))
    draft.segment(point(0.1, -half), point(-depth * uneven, -half))
    if lips > 0:
        draft.segment(point(-depth, half), point(-depth, half - lips))
        end = -depth * uneven
        draft.segment(point(end, -half), point(end, -half + lips))


def utrap(rng: np.random.Generator, large: bool = False) -> Draft:
    """U-shaped traps between start and goal: one, one inside another, or in a row."""
    draft = Draft(rng, sizes=(14.0, 34.0))
    draft.border()
    heading = rng.uniform(-math.pi, math.pi)
    if rng.random() < 0.4:
        _trap_row(draft, heading, large)
    else:
        _one_trap(draft, heading, large)
    draft.min_detour = 1.15
    return draft


def _mouth(rng: np.random.Generator, width: float) -> float:
    """Length of lips that leave a mouth of at least 1.1 m, [m]; mostly none."""
    if width < 2.6 or rng.random() > 0.35:
        return 0.0
    return min(rng.uniform(0.3, 0.4 * width), (width - 1.1) / 2)


def _one_trap(draft: Draft, heading: float, large: bool) -> None:
    """One trap, with random others inside or beside it; the goal is behind it."""
    rng = draft.rng
    reach = min(draft.width, draft.height) / 2 - 0.4
    c, s = math.cos(heading), math.sin(heading)
    width = rng.uniform(2.0, min(10.0 if large else 6.0, 1.2 * reach))
    depth = rng.uniform(1.2, min(8.0 if large else 4.0, 0.8 * reach))
    shift = rng.uniform(-0.15, 0.15) * width
    ahead = rng.uniform(-0.1, 0.35) * reach
    x, y = ahead * c - shift * s, ahead * s + shift * c
    turned = heading + rng.uniform(-0.5, 0.5)
    uneven = float(rng.choice([1.0, 1.0, 0.5, 0.2]))
    add_trap(draft, x, y, turned, width, depth, _mouth(rng, width), uneven)
    if width > 4.5 and depth > 2.5 and rng.random() < 0.5:
        inner = rng.uniform(1.8, width - 2.4)
        back = rng.uniform(1.1, 0.5 * depth)
        ix, iy = x - back * math.cos(turned), y - back * math.sin(turned)
        flip = math.pi if rng.random() < 0.3 else 0.0
        deep = depth * rng.uniform(0.3, 0.7)
        add_trap(draft, ix, iy, turned + flip, inner, deep)
    for _ in range(int(rng.integers(0, 5))):
        size = rng.uniform(1.8, 5.0)
        px, py = draft.somewhere(0.5 + 0.6 * size)
        if math.hypot(px - x, py - y) > (math.hypot(width, depth) + 2 * size) / 2 + 1.0:
            side = heading + rng.uniform(-0.8, 0.8) + math.pi * (rng.random() < 0.2)
            deep = rng.uniform(1.0, 4.0)
            add_trap(draft, px, py, side, size, deep, _mouth(rng, size))
    behind = rng.uniform(1.0, max(1.2, min(8.0, reach - ahead)))
    deep = rng.uniform(0.6, max(0.7, 0.9 * depth))
    if rng.random() < (0.5 if large else 0.7):
        deep = depth + rng.uniform(0.5, 8.0)
    draft.goal = (x + behind * c, y + behind * s)
    back = max(deep, 5.3 - behind)
    draft.start = (x - back * c, y - back * s)


def _trap_row(draft: Draft, heading: float, large: bool) -> None:
    """Up to four traps in a row, all open to the start, some as wide as the floor."""
    rng = draft.rng
    if draft.width > draft.height:
        heading = 0.0 if math.cos(heading) > 0 else math.pi
    else:
        heading = math.copysign(math.pi / 2, math.sin(heading))
    c, s = math.cos(heading), math.sin(heading)
    half = max(draft.width, draft.height) / 2 - 0.9
    across = min(draft.width, draft.height) / 2 - 0.4
    along = -half + rng.uniform(1.5, 4.0)
    for _ in range(4):
        depth = rng.uniform(1.2, 5.0 if large else 3.0)
        along += depth
        if along > half - 1.2:
            break
        width = rng.uniform(
            2.5, max(2.6, min(14.0 if large else 7.0, 2 * across - 2.6))
        )
        room = max(across - width / 2 - 1.1, 0.0)
        shift = rng.uniform(-0.6, 0.6) * min(room, width / 2)
        x, y = along * c - shift * s, along * s + shift * c
        turned = heading + rng.uniform(-0.3, 0.3)
        uneven = float(rng.choice([1.0, 1.0, 0.4]))
        add_trap(draft, x, y, turned, width, depth, _mouth(rng, width), uneven)
        along += rng.uniform(1.4, 4.0)
    behind = min(along, half)
    front = max(-half + rng.uniform(0.0, 3.0), behind - 29.0)
    draft.goal, draft.start = (behind * c, behind * s), (front * c, front * s)


def add_detour_walls(draft: Draft) -> None:
    """One to four long walls from one side nearly to the other, mostly alternating."""
    rng = draft.rng
    x0, y0, x1, y1 = draft.region
    axis = int(rng.integers(2))
    low, high, first, last = (x0, x1, y0, y1) if axis == 0 else (y0, y1, x0, x1)
    count = int(rng.integers(1, 5))
    side = int(rng.integers(2))
    cuts = np.sort(rng.uniform(first + 1.8, last - 1.8, count))
    for k, at in enumerate(cuts):
        if k and at - cuts[k - 1] < 1.4:
            continue
        gap = rng.uniform(0.9, 3.0)
        edge = rng.uniform(0.2, 1.5)
        gaps = (
            (low + edge, low + edge + gap) if side else (high - edge - gap, high - edge)
        )
        draft.line(axis, at, low, high, [gaps])
        side = 1 - side if rng.random() < 0.75 else side
    across = rng.uniform(low + 1, high - 1)
    ends = [
        (across, rng.uniform(first + 0.7, max(first + 0.8, cuts[0] - 0.7))),
        (
            across + rng.uniform(-1, 1),
            rng.uniform(min(cuts[-1] + 0.7, last - 0.8), last - 0.7),
        ),
    ]
    if rng.random() < 0.5:
        ends.reverse()
    draft.start, draft.goal = [e if axis == 0 else e[::-1] for e in ends]
