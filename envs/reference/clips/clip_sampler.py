"""Which clip an episode follows: any, or more often one that bodies fail at."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ambulo.configs.arrays import Bools, Floats, Ints

MEMORY = 0.05
"""Weight of an episode in the failure rate of its clip."""
LEAST = 0.02
"""Failure rate that a clip never falls below, so that none is forgotten."""


class ClipSampler:
    """Draws clips; those that fail more often are drawn more often."""

    def __init__(self, groups: Sequence[tuple[Ints, float]], hard_share: float) -> None:
        """Draw among the clips of `groups`.

        Args:
            groups: Clips, numbered from 0 over all groups, with the fraction of episodes that
                follows one of them.
            hard_share: Fraction of episodes whose clip is drawn by failure rate.
        """
        self._groups = [(clips, share) for clips, share in groups if len(clips)]
        self._hard = hard_share
        count = sum(len(clips) for clips, _ in groups)
        self.failures: Floats = np.full(count, 0.5)
        """Running failure rate of each clip. Shape (C,)."""

    def draw(self, uniform: Floats) -> int:
        """Return a clip for three random numbers in [0, 1)."""
        shares = np.cumsum([share for _, share in self._groups])
        group = int(np.searchsorted(shares, uniform[0] * shares[-1], side="right"))
        clips = self._groups[min(group, len(self._groups) - 1)][0]
        weights = np.full(len(clips), 1.0 / len(clips))
        if uniform[1] < self._hard:
            rates = np.maximum(self.failures[clips], LEAST)
            weights = rates / rates.sum()
        index = int(np.searchsorted(np.cumsum(weights), uniform[2], side="right"))
        return int(clips[min(index, len(clips) - 1)])

    def note(self, clips: Ints, failed: Bools) -> None:
        """Take in finished episodes of `clips` (k,), and whether they `failed`."""
        for clip, value in zip(clips, failed, strict=True):
            self.failures[clip] += MEMORY * (float(value) - self.failures[clip])
