"""The `info` of a step and of a reset: the same keys, arrays over bodies."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ambulo.configs.arrays import Bools, Floats, Ints
from ambulo.envs.locomotion.body import BodyState
from ambulo.envs.locomotion.reward import Terms
from ambulo.envs.simulation.simulation import CharacterSimulation
from ambulo.envs.state_arrays import Arrays


@dataclass(frozen=True)
class InfoMaker:
    """What an info is made of that stays the same."""

    simulation: CharacterSimulation
    """The N bodies."""
    dofs: Ints
    """Degrees of freedom whose error is told."""

    def of_step(
        self, state: BodyState, success: Bools, fell: Bools, power: Floats, terms: Terms
    ) -> Arrays:
        """What `LocomotionBatch.step` tells besides observations and rewards.

        Args:
            state: After the step.
            success: On its feet at the time limit. Shape (N,).
            fell: Shape (N,).
            power: Mean absolute power of all joints, [W]. Shape (N,).
            terms: The weighted reward terms, each (N,).
        """
        fault = self.simulation.fault
        return {
            "is_success": success,
            "fell": fell,
            "is_fault": fault > 0,
            "fault": fault.copy(),
            "speed": state.heading[:, 0].copy(),
            "joint_error": state.joint_error(self.dofs),
            "power": power,
            **{f"reward/{name}": value for name, value in terms.items()},
        }

    def of_reset(self, state: BodyState, terms: Iterable[str]) -> Arrays:
        """The keys of a step whose reward terms are named `terms`, nothing done yet."""
        count = self.simulation.count
        no, zero = np.zeros(count, np.bool_), np.zeros(count)
        return self.of_step(state, no, no, zero, dict.fromkeys(terms, zero))
