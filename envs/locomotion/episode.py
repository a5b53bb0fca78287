"""Running locomotion episodes: how they begin, their totals, the `info` of their steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ambulo.configs.arrays import Bools, Floats, Ints
from ambulo.envs.locomotion.body import BodyState
from ambulo.envs.locomotion.reward import Terms
from ambulo.envs.state_arrays import Arrays, StateArrays


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
        before, after = moved
        reward = np.zeros(len(work))
        for term in terms:
            reward += term
        self.reward[:] += reward
        self.work[:] += work
        x, y = (after[:, :2] - before[:, :2]).T
        self.path[:] += np.where(fault == 0, np.hypot(x, y), 0.0)
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


def step_info(
    state: BodyState,
    fault: Ints,
    error: Floats,
    success: Bools,
    fell: Bools,
    power: Floats,
    terms: Terms,
) -> Arrays:
    """Infos of `LocomotionBatch.step`.

    Args:
        state: After the step.
        fault: Codes of `simulation.FAULTS`. Shape (N,).
        error: Mean deviation of the moved joints, [rad]. Shape (N,).
        success: On its feet at the time limit. Shape (N,).
        fell: Shape (N,).
        power: Mean absolute power of all joints, [W]. Shape (N,).
        terms: The weighted reward terms, each (N,).
    """
    return {
        "is_success": success,
        "fell": fell,
        "is_fault": fault > 0,
        "fault": fault.copy(),
        "speed": state.heading[:, 0].copy(),
        "joint_error": error,
        "power": power,
        **{f"reward/{name}": value for name, value in terms.items()},
    }
