"""Families of free-standing obstacles: none at all, pillars, clutter."""

from __future__ import annotations

import math

import numpy as np

from ambulo.envs.vr.families.draft import Draft, Region, spread


def add_pillar(draft: Draft, x: float, y: float, r: float, square: float) -> None:
    """Add a round pillar of radius r [m], or with probability `square` a square one."""
    rng = draft.rng
    if rng.random() < square:
        yaw = rng.uniform(0, math.pi / 2) if rng.random() < 0.6 else 0.0
        draft.box(x, y, 0.75 * r, 0.75 * r, yaw)
    else:
        draft.cylinder(x, y, r)


def add_thing(draft: Draft, x: float, y: float, r: float) -> None:
    """Add a small obstacle within radius r [m]: box, plank, cylinder, L or T shape."""
    rng = draft.rng
    height = float(rng.choice([0.5, 0.9, 1.4, 2.0, 2.5]))
    yaw = rng.uniform(0, 2 * math.pi)
    kind = rng.random()
    if kind < 0.25:
        draft.cylinder(x, y, r, height)
    elif kind < 0.75:
        angle = rng.uniform(0.2, 1.0)
        draft.box(x, y, r * math.cos(angle), r * math.sin(angle), yaw, height)
    else:
        thin, arm = 0.2 * r, 0.9 * r
        c, s = math.cos(yaw), math.sin(yaw)
        draft.box(x, y, arm, thin, yaw, height)
        along = arm - thin if kind < 0.88 else 0.0
        px, py = along * c - 0.5 * arm * s, along * s + 0.5 * arm * c
        draft.box(x + px, y + py, 0.5 * arm, thin, yaw + math.pi / 2, height)


def add_clutter(
    draft: Draft, region: Region, count: int, gap: float, radii: tuple[float, float]
) -> None:
    """Scatter at most `count` obstacles over `region`, at least `gap` [m] apart."""
    for x, y, r in spread(draft.rng, region, radii, gap, count):
        add_thing(draft, x, y, r)


def open_floor(rng: np.random.Generator) -> Draft:
    """Nothing but the floor and its walls or edges."""
    draft = Draft(rng)
    draft.border(open_chance=0.4)
    return draft


def pillars(rng: np.random.Generator) -> Draft:
    """Round and square pillars, in rows or scattered."""
    draft = Draft(rng)
    draft.border()
    square = float(rng.choice([0.0, 0.5, 1.0]))
    radius = rng.uniform(0.12, 0.7)
    if rng.random() < 0.5:
        pitch = 2 * radius + rng.uniform(0.8, 2.6)
        x0, y0, x1, y1 = draft.inner(0.2 + rng.uniform(0.7, 1.4) + radius)
        area = max(x1 - x0, 1.0) * max(y1 - y0, 1.0)
        pitch = max(pitch, math.sqrt(area / 120))
        jitter = rng.choice([0.0, 0.15]) * (pitch - 2 * radius - 0.7)
        missing = rng.choice([0.0, 0.15, 0.4])
        shift = rng.choice([0.0, 0.5])
        for j, y in enumerate(np.arange(y0, y1, pitch)):
            for x in np.arange(x0 + shift * pitch * (j % 2), x1, pitch):
                dx, dy = rng.uniform(-1, 1, 2) * max(jitter, 0.0)
                if rng.random() >= missing:
                    add_pillar(draft, x + dx, y + dy, radius, square)
    else:
        gap = rng.uniform(0.8, 2.0)
        count = int(rng.uniform(0.4, 1.0) * 150)
        radii = (0.4 * radius + 0.08, 1.3 * radius + 0.1)
        for x, y, r in spread(rng, draft.inner(0.3), radii, gap, count):
            add_pillar(draft, x, y, r, square)
    return draft


def clutter(rng: np.random.Generator) -> Draft:
    """Dense small obstacles with narrow passages between."""
    dense = rng.random() < 0.6
    draft = Draft(rng, sizes=(12.0, 20.0) if dense else (14.0, 34.0))
    draft.border()
    gap = rng.uniform(0.4, 0.8) if dense else rng.uniform(0.6, 1.3)
    small = rng.uniform(0.2, 0.5)
    radii = (small, small + rng.uniform(0.1, 0.9))
    regions = [draft.inner(0.4)]
    if rng.random() < 0.3:
        x0, y0, x1, y1 = draft.inner(0.4)
        side = rng.uniform(0.3, 0.6)
        if rng.random() < 0.5:
            half = side * (x1 - x0) / 2
            regions = [(-half, y0, half, y1)]
            draft.start = (rng.uniform(x0, -half), rng.uniform(y0, y1))
            draft.goal = (rng.uniform(half, x1), rng.uniform(y0, y1))
        else:
            half = side * (y1 - y0) / 2
            regions = [(x0, -half, x1, half)]
            draft.start = (rng.uniform(x0, x1), rng.uniform(half, y1))
            draft.goal = (rng.uniform(x0, x1), rng.uniform(y0, -half))
    for region in regions:
        add_clutter(draft, region, 150, gap, radii)
    return draft
