"""The `info` of a step and of a reset: the same keys, arrays over bodies."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from ambulo.configs.arrays import Bools, Floats
from ambulo.envs.locomotion.reward import Terms
from ambulo.envs.state_arrays import Arrays

if TYPE_CHECKING:
    from ambulo.envs.locomotion.batch import LocomotionBatch


def step_info(
    batch: LocomotionBatch, success: Bools, fell: Bools, power: Floats, terms: Terms
) -> Arrays:
    """What `LocomotionBatch.step` tells besides observations and rewards.

    Args:
        batch: After the step.
        success: On its feet at the time limit. Shape (N,).
        fell: Shape (N,).
        power: Mean absolute power of all joints, [W]. Shape (N,).
        terms: The weighted reward terms, each (N,).
    """
    fault = batch.simulation.fault
    return {
        "is_success": success,
        "fell": fell,
        "is_fault": fault > 0,
        "fault": fault.copy(),
        "speed": batch.state.heading[:, 0].copy(),
        "joint_error": batch.state.joint_error(batch.dofs),
        "power": power,
        **{f"reward/{name}": value for name, value in terms.items()},
    }


def start_info(batch: LocomotionBatch, terms: Iterable[str]) -> Arrays:
    """The info after a reset: the keys of a step whose reward terms are named `terms`."""
    no, zero = np.zeros(batch.num_envs, np.bool_), np.zeros(batch.num_envs)
    return step_info(batch, no, no, zero, dict.fromkeys(terms, zero))
