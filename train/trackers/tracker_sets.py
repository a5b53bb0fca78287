"""Which trackers the people of a training wear."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.ik.trackers.layout import (
    HEAD_ROW,
    HIPS_ROW,
    LEFT_FOOT,
    LEFT_HAND,
    RIGHT_FOOT,
    RIGHT_HAND,
)
from ambulo.ik.trackers.sizes import TRACKERS

ALWAYS = (LEFT_HAND, RIGHT_HAND, HEAD_ROW)
"""Trackers that every player has."""
MORE = (HIPS_ROW, LEFT_FOOT, RIGHT_FOOT)
"""Trackers that some players have besides."""
SETS = ((1, 0, 0), (0, 1, 1), (1, 1, 1))
"""Which of `MORE` there are: with hips, with feet, with both."""


def draw_sets(
    rng: np.random.Generator, count: int, *, three: float, others: Sequence[float]
) -> Floats:
    """1 where a tracker is there, for `count` players. Shape (6, count).

    Args:
        rng: Where the draws come from.
        count: Number of players.
        three: Share of players with head and hands alone.
        others: Weights of the other sets: those of `SETS`, and each of `MORE` at random.
    """
    there = np.zeros((TRACKERS, count))
    there[list(ALWAYS)] = 1.0
    weights = np.asarray(others, dtype=np.float64)
    kind = rng.choice(len(weights), count, p=weights / weights.sum())
    more = rng.integers(0, 2, (count, len(MORE)))
    for index, which in enumerate(SETS):
        more[kind == index] = which
    there[list(MORE)] = (more * (rng.random(count) >= three)[:, None]).T
    return there
