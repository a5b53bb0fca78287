"""Families with falls: holes, bridges, islands, open edges."""

from __future__ import annotations

import numpy as np

from ambulo.envs.vr.families.draft import Draft, Gap, Region, spread
from ambulo.envs.vr.families.scatter import add_clutter, add_pillar
from ambulo.envs.vr.families.walls import add_room_grid, add_trap

BRIDGES = (0.9, 2.2)
"""Range of bridge widths, [m]."""


def add_holes(
    draft: Draft, region: Region, count: int, gap: float, radii: tuple[float, float]
) -> None:
    """Cut at most `count` oblong holes, with at least `gap` [m] of floor between."""
    rng = draft.rng
    for x, y, r in spread(rng, region, radii, gap, count):
        a = r * rng.uniform(0.4, 0.95)
        b = (r * r - a * a) ** 0.5
        draft.hole(x - a, y - b, x + a, y + b)


def pits(rng: np.random.Generator, large: bool = False) -> Draft:
    """Holes and open edges, with bridges, alone or among obstacles."""
    kind = int(rng.integers(5))
    sizes = (12.0, 34.0) if large else (12.0, 20.0)
    return (_strewn, _trenches, _islands, _causeway, _guarded)[kind](rng, sizes)


def _strewn(rng: np.random.Generator, sizes: Gap) -> Draft:
    """Many holes of all sizes."""
    draft = Draft(rng, sizes=sizes)
    draft.border(0.6)
    gap = rng.uniform(0.9, 1.8)
    small = rng.uniform(0.4, 1.2)
    radii = (small, small + rng.uniform(0.2, 2.0))
    add_holes(draft, draft.inner(0.6 + 0.5 * radii[0]), 36, gap, radii)
    if rng.random() < 0.35:
        _pillars_off_holes(draft, 40)
    return draft


def _pillars_off_holes(draft: Draft, count: int) -> None:
    """Pillars where they leave the body a passage beside every hole."""
    rng = draft.rng
    holes = np.array(draft.holes).reshape(-1, 4)
    for x, y, r in spread(rng, draft.inner(1.2), (0.15, 0.5), 1.2, count):
        dx = np.maximum(np.maximum(holes[:, 0] - x, x - holes[:, 2]), 0.0)
        dy = np.maximum(np.maximum(holes[:, 1] - y, y - holes[:, 3]), 0.0)
        if len(holes) == 0 or np.hypot(dx, dy).min() > r + 0.8:
            add_pillar(draft, x, y, r, 0.4)


def _trenches(rng: np.random.Generator, sizes: Gap) -> Draft:
    """Trenches across the whole floor, each with one or two bridges."""
    draft = Draft(rng, sizes=sizes)
    draft.border(0.5)
    axis = int(rng.integers(2))
    x0, y0, x1, y1 = draft.region
    low, high, first, last = (x0, x1, y0, y1) if axis == 0 else (y0, y1, x0, x1)
    at = first + rng.uniform(2.0, 4.0)
    while at < last - 2.0:
        thickness = rng.uniform(0.6, 3.0)
        if at + thickness > last - 1.5:
            break
        gaps = [draft.gap(low + 0.6, high - 0.6, rng.uniform(*BRIDGES))]
        if rng.random() < 0.3:
            gaps.append(draft.gap(low + 0.6, high - 0.6, rng.uniform(*BRIDGES)))
            gaps = gaps[: 1 + (abs(gaps[0][0] - gaps[1][0]) > 3.0)]
        draft.line(axis, at + thickness / 2, low, high, gaps, thickness, trench=True)
        at += thickness + rng.uniform(1.2, 4.0)
    y_start, y_goal = first + rng.uniform(0.7, 1.5), last - rng.uniform(0.7, 1.5)
    ends = [
        (rng.uniform(low + 1, high - 1), y_start),
        (rng.uniform(low + 1, high - 1), min(y_goal, y_start + 26.0)),
    ]
    if rng.random() < 0.5:
        ends.reverse()
    draft.start, draft.goal = [e if axis == 0 else e[::-1] for e in ends]
    return draft


def _islands(rng: np.random.Generator, sizes: Gap) -> Draft:
    """Platforms joined by bridges, like rooms joined by doors."""
    draft = Draft(rng, sizes=sizes)
    draft.border(0.5)
    add_room_grid(draft, BRIDGES, trench=True)
    return draft


def _causeway(rng: np.random.Generator, sizes: Gap) -> Draft:
    """Narrow paths over a void: streets between big holes."""
    draft = Draft(rng, sizes=sizes)
    draft.border(0.5)
    x0, y0, x1, y1 = draft.region
    width = rng.uniform(0.9, 2.0)
    nx, ny = int(rng.integers(2, 6)), int(rng.integers(2, 6))
    margin = float(rng.choice([0.8, 1.2, 2.0]))
    x_cuts = np.linspace(x0 + margin, x1 - margin, nx + 1)
    y_cuts = np.linspace(y0 + margin, y1 - margin, ny + 1)
    for i in range(nx):
        for j in range(ny):
            if rng.random() < 0.12:
                continue
            cut = width / 2
            sides = rng.random(2) < 0.12
            draft.hole(
                x_cuts[i] + cut,
                y_cuts[j] + cut,
                x_cuts[i + 1] - (0.0 if sides[0] and i < nx - 1 else cut),
                y_cuts[j + 1] - (0.0 if sides[1] and j < ny - 1 else cut),
            )
    return draft


def _guarded(rng: np.random.Generator, sizes: Gap) -> Draft:
    """Holes among clutter, U-traps or rooms."""
    draft = Draft(rng, sizes=sizes)
    draft.border(0.5)
    kind = int(rng.integers(3))
    radii = (0.4, rng.uniform(0.8, 1.8))
    add_holes(
        draft, draft.inner(1.2), int(rng.integers(8, 25)), rng.uniform(1.6, 2.6), radii
    )
    if kind == 0:
        _pillars_off_holes(draft, 70)
    elif kind == 1:
        for _ in range(int(rng.integers(1, 4))):
            size = rng.uniform(2.0, 5.0, 2)
            x, y = draft.somewhere(0.5 + 0.6 * size.max())
            add_trap(draft, x, y, rng.uniform(-np.pi, np.pi), *size)
    else:
        add_room_grid(draft, (1.2, 2.4))
    return draft


def add_pits_and_clutter(draft: Draft, count: int) -> None:
    """Holes with pillars and furniture between them."""
    rng = draft.rng
    add_holes(draft, draft.inner(1.5), count, 2.2, (0.4, 1.4))
    if rng.random() < 0.5:
        _pillars_off_holes(draft, 3 * count)
    else:
        add_clutter(draft, draft.inner(0.8), 2 * count, 2.0, (0.2, 0.5))
