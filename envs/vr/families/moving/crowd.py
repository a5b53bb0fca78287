"""Halls and crossings of corridors with people in them."""

from __future__ import annotations

import dataclasses

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.envs.vr.families.draft import Draft, spread
from ambulo.envs.vr.families.place import place
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.levels.moving import People

PEOPLE = (5, 20)
"""Least and largest number of people."""
_SPEED = ((0.6, 1.0), (1.2, 1.8))
"""Ranges of the least and of the largest speed of a crowd, [m/s]."""
_OBLIVIOUS = 0.15
"""Chance that a crowd does not make way for the agent."""


def crowd(rng: np.random.Generator) -> Level | None:
    """A level of the family `crowd`; None: start and goal found no place."""
    draft, goals = _hall(rng) if rng.random() < 0.5 else _crossing(rng)
    level = place(draft, draft.level("", "crowd"))
    if level is None:
        return None
    people = People(
        count=int(rng.integers(PEOPLE[0], PEOPLE[1] + 1)),
        speed=(rng.uniform(*_SPEED[0]), rng.uniform(*_SPEED[1])),
        see_agent=bool(rng.random() >= _OBLIVIOUS),
        goals=goals,
    )
    return dataclasses.replace(level, heights=True, people=people)


def _hall(rng: np.random.Generator) -> tuple[Draft, Floats]:
    """An open hall with pillars and counters; people walk anywhere."""
    draft = Draft(rng, sizes=(10.0, 22.0))
    draft.border(0.0)
    for x, y, r in spread(
        rng, draft.inner(1.5), (0.2, 0.6), 1.6, int(rng.integers(0, 9))
    ):
        if rng.random() < 0.5:
            draft.cylinder(x, y, r)
        else:
            draft.box(x, y, r, rng.uniform(0.5, 1.0) * r, rng.uniform(-np.pi, np.pi))
    return draft, np.zeros((0, 3))


def _crossing(rng: np.random.Generator) -> tuple[Draft, Floats]:
    """Two corridors that cross; people come from all four ends."""
    draft = Draft(rng, sizes=(14.0, 24.0))
    draft.border(0.0)
    x0, y0, x1, y1 = draft.region
    wide, tall = rng.uniform(2.4, 4.5, 2)
    x, y = (rng.uniform(0.35, 0.65, 2) - 0.5) * [x1 - x0, y1 - y0]
    west, east, south, north = x - wide / 2, x + wide / 2, y - tall / 2, y + tall / 2
    for a, b in ((x0, west), (east, x1)):
        for c, d in ((y0, south), (north, y1)):
            draft.box((a + b) / 2, (c + d) / 2, (b - a) / 2, (d - c) / 2)
    ends = [[x, y0 + 1.2], [x, y1 - 1.2], [x0 + 1.2, y], [x1 - 1.2, y]]
    pair = rng.permutation(4)[:2]
    draft.start, draft.goal = ((float(ends[k][0]), float(ends[k][1])) for k in pair)
    return draft, np.array([[*end, 0.0] for end in ends])
