"""Totals of running locomotion episodes: arrays over bodies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ambulo.configs.arrays import Floats, Ints
from ambulo.envs.state_arrays import StateArrays


@dataclass(frozen=True)
class EpisodeState(StateArrays):
    """Totals of the running episode of each body; every array has first axis N."""

    steps: Ints
    """Control steps so far."""
    reward: Floats
    """Return so far, unscaled and undiscounted."""
    path: Floats
    """Horizontal path length of the root, [m]."""
    work: Floats
    """Absolute work of the joints, [J]."""
    start_distance: Floats
    """0: there is no goal to reach."""

    def add(self, reward: Floats, path: Floats, work: Floats) -> None:
        """Add those of a control step, each (N,)."""
        self.reward[:] += reward
        self.path[:] += path
        self.work[:] += work


def drawn_starts(
    rngs: Sequence[np.random.Generator], nv: int, driven: Ints
) -> tuple[Floats, Floats, Floats]:
    """Random phases (k,), and standard normal noise of positions and velocities (k, nv).

    Args:
        rngs: One generator for each body.
        nv: Degrees of freedom.
        driven: Those of joints that are tied to no other; the others get no noise.
    """
    phase, (turns, rates) = np.zeros(len(rngs)), np.zeros((2, len(rngs), nv))
    for row, rng in enumerate(rngs):
        phase[row] = rng.random()
        turns[row, driven] = rng.normal(0.0, 1.0, len(driven))
        rates[row, :6] = rng.normal(0.0, 1.0, 6)
        rates[row, driven] = rng.normal(0.0, 1.0, len(driven))
    return phase, turns, rates
