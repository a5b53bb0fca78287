"""Totals of running locomotion episodes: arrays over bodies."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numba import njit

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

    def add(
        self,
        terms: Sequence[Floats],
        moved: tuple[Floats, Floats],
        fault: Ints,
        work: Floats,
    ) -> Floats:
        """Add a control step to the totals but `steps`, and return its reward, (N,).

        Args:
            terms: The weighted terms of its reward, each (N,).
            moved: Positions of the roots before it, (N, 2), and after it, (N, nq), [m].
            fault: Not 0 where a simulation has stopped, whose path ends. Shape (N,).
            work: Of the joints in the step, [J]. Shape (N,).
        """
        before, after = (np.ascontiguousarray(places[:, :2]) for places in moved)
        reward: Floats = _add(
            np.array(terms), before, after, fault, work,
            self.reward, self.path, self.work,
        )  # fmt: skip
        return reward


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


@njit(cache=True)
def _add(
    terms: Floats,
    before: Floats,
    after: Floats,
    fault: Ints,
    work: Floats,
    total: Floats,
    path: Floats,
    total_work: Floats,
) -> Floats:
    """See `EpisodeState.add`; `terms` (T, N)."""
    reward = np.zeros(len(total))
    for b in range(len(total)):
        for t in range(len(terms)):
            reward[b] += terms[t, b]
        total[b] += reward[b]
        total_work[b] += work[b]
        if fault[b] == 0:
            path[b] += math.hypot(
                after[b, 0] - before[b, 0], after[b, 1] - before[b, 1]
            )
    return reward
