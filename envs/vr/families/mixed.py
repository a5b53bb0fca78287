"""The training-only families: combinations of the others' parts, and larger versions."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ambulo.envs.vr.families.draft import Draft
from ambulo.envs.vr.families.mazes import (
    add_maze_walls,
    corridors,
    maze,
    passages,
    ring,
)
from ambulo.envs.vr.families.pits import add_holes, add_pits_and_clutter, pits
from ambulo.envs.vr.families.scatter import add_clutter, add_pillar
from ambulo.envs.vr.families.walls import (
    DOORS,
    add_detour_walls,
    add_room_grid,
    add_room_tree,
    add_trap,
    rooms,
    slalom,
    utrap,
)


def mixed(rng: np.random.Generator) -> Draft:
    """One of many combinations."""
    weights = np.array(list(_KINDS.values()))
    kind = int(rng.choice(len(weights), p=weights / weights.sum()))
    draft = Draft(rng, sizes=(13.0, 34.0))
    draft.border(0.2)
    list(_KINDS)[kind](draft)
    return draft


def large(rng: np.random.Generator) -> Draft:
    """Large and harder versions of six families: wide, deep, few loops."""
    builders = (rooms, corridors, slalom, maze, utrap, pits)
    return builders[int(rng.integers(len(builders)))](rng, large=True)


def _furnished_rooms(draft: Draft) -> None:
    """Rooms with clutter and pits inside."""
    rng = draft.rng
    if rng.random() < 0.5:
        add_room_grid(draft)
    else:
        add_room_tree(draft, draft.region, rng.uniform(3.0, 5.5))
    count = int(rng.integers(10, 50))
    add_clutter(draft, draft.inner(0.8), count, rng.uniform(1.2, 2.2), (0.2, 0.6))
    if rng.random() < 0.5:
        add_holes(draft, draft.inner(1.5), int(rng.integers(3, 12)), 2.5, (0.4, 0.9))


def _wide_maze(draft: Draft) -> None:
    """A maze of wide halls with pillars or holes in them."""
    rng = draft.rng
    x0, y0, x1, y1 = draft.region
    cell = rng.uniform(3.0, 5.0)
    nx, ny = (max(3, int(side / cell)) for side in (draft.width, draft.height))
    right, up = passages(rng, nx, ny, float(rng.choice([0.0, 0.1, 0.3])))
    door = (DOORS[0], 2.4) if rng.random() < 0.4 else None
    x_lines, y_lines = np.linspace(x0, x1, nx + 1), np.linspace(y0, y1, ny + 1)
    add_maze_walls(draft, x_lines, y_lines, right, up, rng.uniform(0.1, 0.4), door)
    if rng.random() < 0.6:
        radii = (0.2, rng.uniform(0.3, 0.7))
        add_clutter(draft, draft.inner(0.8), int(rng.integers(8, 40)), 1.8, radii)
    draft.min_detour = 1.1


def _traps_in_clutter(draft: Draft) -> None:
    """U-traps of any direction inside clutter."""
    rng = draft.rng
    _strew_traps(draft, int(rng.integers(2, 7)))
    gap = rng.uniform(1.2, 2.2)
    add_clutter(draft, draft.inner(0.6), int(rng.integers(20, 90)), gap, (0.15, 0.5))


def _strew_traps(draft: Draft, count: int) -> None:
    rng = draft.rng
    for _ in range(count):
        width, depth = rng.uniform(2.0, 6.0), rng.uniform(1.5, 5.0)
        x, y = draft.somewhere(0.5 + 0.6 * max(width, depth))
        lips = 0.3 * width * (rng.random() < 0.3)
        heading = rng.uniform(-math.pi, math.pi)
        add_trap(draft, x, y, heading, width, depth, lips)
        c, s = math.cos(heading), math.sin(heading)
        if draft.start is None and rng.random() < 0.7:
            behind = rng.uniform(1.0, 5.0)
            back = max(rng.uniform(0.5, depth + 3.0), 5.5 - behind)
            draft.start = (x - back * c, y - back * s)
            draft.goal = (x + behind * c, y + behind * s)


def _detours(draft: Draft) -> None:
    """Long walls that force detours, with dead-end pockets and clutter."""
    rng = draft.rng
    add_detour_walls(draft)
    if rng.random() < 0.5:
        _strew_traps(draft, int(rng.integers(1, 4)))
    if rng.random() < 0.5:
        add_clutter(draft, draft.inner(0.8), int(rng.integers(5, 40)), 1.6, (0.2, 0.6))
    draft.min_detour = 1.15


def _hidden_door(draft: Draft) -> None:
    """A wall with its only door at one side, and dead-end pockets on the direct path."""
    rng = draft.rng
    _, y0, _, y1 = draft.region
    at = rng.uniform(-0.15, 0.15) * draft.width
    side = 1 if rng.random() < 0.5 else -1
    door = rng.uniform(*DOORS)
    middle = side * (draft.height / 2 - 0.3 - door / 2 - rng.uniform(0, 2.0))
    draft.line(1, at, y0, y1, [(middle - door / 2, middle + door / 2)])
    position = y0 + 0.2
    while position < y1 - 1.2:
        wide = rng.uniform(1.4, 4.0)
        if rng.random() < 0.75 and not position - 1.5 < middle < position + 1.5:
            deep = rng.uniform(0.8, 0.5 * draft.width - 3.0)
            draft.line(0, position, at - deep, at)
        if rng.random() < 0.4 and not position - 1.5 < middle < position + 1.5:
            deep = rng.uniform(0.8, 0.5 * draft.width - 3.0)
            draft.line(0, position, at, at + deep)
        position += wide
    y = -side * rng.uniform(0.0, 0.35) * draft.height
    ends = [(at - rng.uniform(2.6, 6.0), y), (at + rng.uniform(2.6, 6.0), y)]
    if rng.random() < 0.5:
        ends.reverse()
    draft.start, draft.goal = ends
    draft.min_detour = 1.15


def _halves(draft: Draft) -> None:
    """One style on the left, another on the right."""
    rng = draft.rng
    x0, y0, x1, y1 = draft.region
    add_room_tree(draft, (x0, y0, 0.0, y1), rng.uniform(2.2, 4.0))
    door = rng.uniform(1.0, 2.5)
    draft.line(1, 0.0, y0, y1, [draft.gap(y0 + 0.2, y1 - 0.2, door)])
    right = (0.9, y0 + 0.6, x1 - 0.6, y1 - 0.6)
    if rng.random() < 0.5:
        add_holes(draft, right, 20, rng.uniform(1.0, 1.8), (0.4, 1.5))
    else:
        add_clutter(draft, right, 70, rng.uniform(0.8, 1.4), (0.2, 0.7))


def _rings(draft: Draft) -> None:
    """Round walls with one opening each, side by side or nested."""
    rng = draft.rng
    for _ in range(int(rng.integers(1, 5))):
        radius = rng.uniform(1.5, min(draft.width, draft.height) / 2.2)
        x, y = draft.somewhere(radius + 0.3)
        ring(draft, x, y, radius, rng.uniform(1.2, 2.0))
        if radius > 3.5 and rng.random() < 0.6:
            ring(draft, x, y, radius - rng.uniform(1.4, 2.2), rng.uniform(1.2, 2.0))


def _sticks(draft: Draft) -> None:
    """Straight walls of any direction, crossing each other."""
    rng = draft.rng
    longest = rng.uniform(3.0, 12.0)
    for _ in range(int(rng.integers(15, 70))):
        x, y = rng.uniform(-0.5, 0.5, 2) * (draft.width, draft.height)
        angle = rng.uniform(0, math.pi)
        half = rng.uniform(0.5, longest / 2)
        dx, dy = half * math.cos(angle), half * math.sin(angle)
        x0, y0, x1, y1 = draft.inner(0.1)
        ends = np.clip([[x - dx, y - dy], [x + dx, y + dy]], [x0, y0], [x1, y1])
        draft.segment(tuple(ends[0]), tuple(ends[1]), rng.uniform(0.1, 0.4))


def _pits_and_things(draft: Draft) -> None:
    """Holes, pillars and clutter."""
    add_pits_and_clutter(draft, int(draft.rng.integers(6, 28)))


def _blobs(draft: Draft) -> None:
    """Few large blocks and cylinders, with pillars in the passages between."""
    rng = draft.rng
    from_walls = draft.inner(0.5)
    radius = rng.uniform(1.0, 3.0)
    big = np.array(from_walls[2:]) - np.array(from_walls[:2])
    for _ in range(int(big.prod() / (9 * radius * radius))):
        x, y = rng.uniform(-0.5, 0.5, 2) * big
        r = radius * rng.uniform(0.5, 1.3)
        if rng.random() < 0.4:
            draft.cylinder(x, y, r)
        else:
            draft.box(x, y, r, r * rng.uniform(0.3, 1.0), rng.uniform(0, math.pi))
    for x, y in rng.uniform(-0.5, 0.5, (int(rng.integers(0, 25)), 2)) * big:
        add_pillar(draft, x, y, rng.uniform(0.1, 0.4), 0.5)


def _nested_walls(draft: Draft) -> None:
    """Rectangles inside rectangles, one door each."""
    rng = draft.rng
    step = rng.uniform(1.5, 3.0)
    x0, y0, x1, y1 = draft.inner(step)
    while x1 - x0 > 1.6 and y1 - y0 > 1.6:
        with_door = int(rng.integers(4))
        width = rng.uniform(*DOORS)
        sides = ((0, y0, x0, x1), (0, y1, x0, x1), (1, x0, y0, y1), (1, x1, y0, y1))
        for k, (axis, at, low, high) in enumerate(sides):
            gaps = [draft.gap(low + 0.2, high - 0.2, width)] if k == with_door else []
            draft.line(axis, at, low, high, gaps)
        step = rng.uniform(1.5, 3.0)
        x0, y0, x1, y1 = x0 + step, y0 + step, x1 - step, y1 - step
    if rng.random() < 0.6:
        draft.goal = ((x0 + x1) / 2, (y0 + y1) / 2)


_KINDS: dict[Callable[[Draft], None], int] = {
    _furnished_rooms: 3,
    _wide_maze: 3,
    _traps_in_clutter: 3,
    _detours: 3,
    _hidden_door: 2,
    _halves: 2,
    _rings: 2,
    _sticks: 2,
    _pits_and_things: 1,
    _blobs: 1,
    _nested_walls: 2,
}
"""Combinations and their relative frequencies."""
