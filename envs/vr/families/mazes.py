"""Families of narrow passages: mazes and corridors."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.arrays import Bools
from ambulo.envs.vr.families.draft import MAX_OBSTACLES, Draft, Gap


def passages(
    rng: np.random.Generator, nx: int, ny: int, loops: float, depth_first: float = 0.7
) -> tuple[Bools, Bools]:
    """Open sides of a maze: to the right (ny, nx - 1) and upward (ny - 1, nx).

    A spanning tree grows from its newest cell with probability `depth_first`, else from a
    random one; then a fraction `loops` of the closed sides is opened.
    """
    right = np.zeros((ny, nx - 1), bool)
    up = np.zeros((ny - 1, nx), bool)
    seen = np.zeros((ny, nx), bool)
    dice = iter(rng.random(8 * nx * ny + 8).tolist())
    j, i = int(rng.integers(ny)), int(rng.integers(nx))
    seen[j, i] = True
    stack = [(j, i)]
    while stack:
        newest = next(dice) < depth_first
        k = len(stack) - 1 if newest else int(next(dice) * len(stack))
        j, i = stack[k]
        sides = [
            (b, a)
            for b, a in ((j, i - 1), (j, i + 1), (j - 1, i), (j + 1, i))
            if 0 <= b < ny and 0 <= a < nx and not seen[b, a]
        ]
        if not sides:
            stack.pop(k)
            continue
        b, a = sides[int(next(dice) * len(sides))]
        if b == j:
            right[j, min(a, i)] = True
        else:
            up[min(b, j), i] = True
        seen[b, a] = True
        stack.append((b, a))
    right |= rng.random(right.shape) < loops
    up |= rng.random(up.shape) < loops
    return right, up


def add_maze_walls(
    draft: Draft,
    x_lines: NDArray[np.float64],
    y_lines: NDArray[np.float64],
    right: Bools,
    up: Bools,
    thickness: float,
    door: Gap | None = None,
    trench: bool = False,
) -> None:
    """Build the closed sides of a maze as few long walls (or trenches).

    `x_lines` (nx + 1,), `y_lines` (ny + 1,): cell borders, [m]. Open sides are as wide
    as the cell, or have doors of a random width in `door`.
    """
    half = thickness / 2
    for axis, is_open, across, along in (
        (1, right.T, x_lines, y_lines),
        (0, up, y_lines, x_lines),
    ):
        for k, row in enumerate(is_open):
            gaps = []
            for n in np.flatnonzero(row):
                low, high = along[n] + half, along[n + 1] - half
                if door is None:
                    gaps.append((low, high))
                else:
                    width = min(draft.rng.uniform(*door), high - low)
                    gaps.append(draft.gap(low, high, width))
            at = across[k + 1]
            merged = _merge(gaps, 2.5 * half)
            draft.line(axis, at, along[0], along[-1], merged, thickness, trench)


def _merge(gaps: list[Gap], post: float) -> list[Gap]:
    """Join gaps with less than `post` [m] of wall between them."""
    merged: list[Gap] = []
    for low, high in sorted(gaps):
        if merged and low - merged[-1][1] < post:
            merged[-1] = (merged[-1][0], high)
        else:
            merged.append((low, high))
    return merged


def _cells(length: float, cell: float) -> int:
    return max(3, int(length / cell))


def maze(rng: np.random.Generator, large: bool = False) -> Draft:
    """A maze of square or oblong cells, with or without loops."""
    cell = rng.uniform(1.5, 3.0)
    least, most = (6, 14) if large else (4, 8)
    nx = int(rng.integers(least, min(int(34 / cell), most) + 1))
    ny = int(rng.integers(least, min(int(34 / cell), most) + 1))
    draft = Draft(rng, max(nx * cell, 12.0), max(ny * cell, 12.0))
    draft.border(0.08)
    loops = float(
        rng.choice([0.0, 0.05, 0.15, 0.3] if large else [0.05, 0.15, 0.3, 0.5])
    )
    depth_first = float(rng.choice([1.0, 0.7, 0.2]))
    x0, y0, x1, y1 = draft.region
    right, up = passages(rng, nx, ny, loops, depth_first)
    thickness = float(rng.choice([0.1, 0.2, 0.3]))
    x_lines, y_lines = np.linspace(x0, x1, nx + 1), np.linspace(y0, y1, ny + 1)
    add_maze_walls(draft, x_lines, y_lines, right, up, thickness)
    if len(draft.boxes) > MAX_OBSTACLES:
        del draft.boxes[MAX_OBSTACLES:]
    draft.min_detour = 1.1
    return draft


def corridors(rng: np.random.Generator, large: bool = False) -> Draft:
    """Narrow passages: between blocks, in zigzag, in a spiral, or winding."""
    kind = rng.integers(4)
    builder = (_blocks, _zigzag, _spiral, _winding)[int(kind)]
    return builder(rng, (12.0, 28.0) if large else (12.0, 18.0))


def _blocks(rng: np.random.Generator, sizes: Gap) -> Draft:
    """Blocks with streets between, some of them closed."""
    draft = Draft(rng, sizes=sizes)
    draft.border()
    street = rng.uniform(1.0, 2.5)
    x0, y0, x1, y1 = draft.region
    x_cuts = _cuts(rng, x0 + 0.2 + street, x1 - 0.2 - street, street)
    y_cuts = _cuts(rng, y0 + 0.2 + street, y1 - 0.2 - street, street)
    for bx0, bx1 in x_cuts:
        for by0, by1 in y_cuts:
            draft.box(
                (bx0 + bx1) / 2, (by0 + by1) / 2, (bx1 - bx0) / 2, (by1 - by0) / 2
            )
    closed = rng.uniform(0.1, 0.4)
    for k, (bx0, bx1) in enumerate(x_cuts):
        for m, (by0, by1) in enumerate(y_cuts):
            if rng.random() < closed:
                x = rng.uniform(bx0, bx1)
                low = by1
                high = y_cuts[m + 1][0] if m + 1 < len(y_cuts) else y1 - 0.2
                draft.line(1, x, low, high)
            if rng.random() < closed:
                y = rng.uniform(by0, by1)
                high = x_cuts[k + 1][0] if k + 1 < len(x_cuts) else x1 - 0.2
                draft.line(0, y, bx1, high)
    return draft


def _cuts(
    rng: np.random.Generator, low: float, high: float, street: float
) -> list[Gap]:
    """Blocks between low and high, with streets of width `street` between them."""
    blocks: list[Gap] = []
    position = low
    while high - position > 1.0:
        end = min(position + rng.uniform(1.2, 5.0), high)
        if high - end < street + 0.6:
            end = high
        blocks.append((position, end))
        position = end + street
    return blocks or [(low, max(high, low + 0.5))]


def _zigzag(rng: np.random.Generator, sizes: Gap) -> Draft:
    """Parallel walls with turns at alternating ends, some with a second opening."""
    draft = Draft(rng, sizes=sizes)
    draft.border()
    axis = int(rng.integers(2))
    x0, y0, x1, y1 = draft.region
    low, high, across0, across1 = (x0, x1, y0, y1) if axis == 0 else (y0, y1, x0, x1)
    pitch = rng.uniform(1.2, 2.7)
    side = int(rng.integers(2))
    turn = rng.uniform(1.0, 2.2)
    at = across0 + pitch + 0.2
    while at < across1 - pitch - 0.1:
        gap = (low, low + turn + 0.2) if side else (high - turn - 0.2, high)
        gaps = [gap]
        if rng.random() < 0.12:
            gaps.append(draft.gap(low + turn + 1, high - turn - 1, 1.0))
        draft.line(axis, at, low, high, gaps)
        side = 1 - side
        at += pitch * rng.uniform(0.9, 1.3)
    draft.min_detour = 1.2
    return draft


def _spiral(rng: np.random.Generator, sizes: Gap) -> Draft:
    """Walls that wind inward; the entrance is the exit."""
    draft = Draft(rng, sizes=sizes)
    draft.border()
    pitch = rng.uniform(1.3, 2.7)
    x0, y0, x1, y1 = draft.region
    flip = rng.random() < 0.5
    corners: list[tuple[float, float]] = [(x0, y0 + pitch)]
    low_x, low_y, high_x, high_y = x0 + pitch, y0 + pitch, x1 - pitch, y1 - pitch
    while high_x - low_x > pitch and high_y - low_y > pitch:
        corners += [(high_x, low_y), (high_x, high_y), (low_x, high_y)]
        low_y += pitch
        corners.append((low_x, low_y))
        low_x, high_x, high_y = low_x + pitch, high_x - pitch, high_y - pitch
    if flip:
        corners = [(-x, y) for x, y in corners]
    for a, b in pairwise(corners):
        draft.segment(a, b)
    ends = [(corners[0][0], y0 + pitch / 2), (0.0, 0.0)]
    if rng.random() < 0.5:
        ends.reverse()
    if rng.random() < 0.7:
        draft.start, draft.goal = ends
    return draft


def _winding(rng: np.random.Generator, sizes: Gap) -> Draft:
    """A maze of unequal cells: corridors of changing width and small halls."""
    draft = Draft(rng, sizes=sizes)
    draft.border()
    x0, y0, x1, y1 = draft.region
    lines = []
    for low, high in ((x0, x1), (y0, y1)):
        n = min(_cells(high - low, rng.uniform(1.8, 3.0)), 11)
        widths = rng.uniform(1.3, 3.2, n)
        lines.append(
            low
            + np.concatenate([[0.0], np.cumsum(widths)]) * ((high - low) / widths.sum())
        )
    nx, ny = len(lines[0]) - 1, len(lines[1]) - 1
    right, up = passages(rng, nx, ny, float(rng.choice([0.0, 0.1, 0.25])))
    door = (0.9, 1.5) if rng.random() < 0.4 else None
    add_maze_walls(draft, lines[0], lines[1], right, up, rng.uniform(0.1, 0.3), door)
    draft.min_detour = 1.1
    return draft


def ring(draft: Draft, x: float, y: float, radius: float, door: float) -> None:
    """Build a round wall with one opening of about `door` [m] at a random angle."""
    sides = 14
    skip = max(1, round(door / (2 * radius * math.sin(math.pi / sides))))
    first = int(draft.rng.integers(sides))
    for k in range(sides - skip):
        a0 = 2 * math.pi * (first + k) / sides
        a1 = 2 * math.pi * (first + k + 1) / sides
        draft.segment(
            (x + radius * math.cos(a0), y + radius * math.sin(a0)),
            (x + radius * math.cos(a1), y + radius * math.sin(a1)),
        )
