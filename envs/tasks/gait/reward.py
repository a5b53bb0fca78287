"""The reward of gait: a steady head, the wanted average velocity, planned steps, low cost.

After Park et al., "Generative GaitNet: Predictive Simulation", SIGGRAPH 2022, with the
constants of the published environment: r = 2 r_head r_average r_step + r_metabolic.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.configs.gait_env import GaitConfig

Terms = dict[str, Floats]


@dataclass(frozen=True)
class GaitErrors:
    """What the reward is made of; arrays over N bodies."""

    head_change: Floats
    """Change of the head's velocity since the last step, [m/s]. Shape (N, 3)."""
    head_turn: Floats
    """Angle of the head from where it looks on average, [rad]. Shape (N,)."""
    velocity: Floats
    """Mean velocity over the last cycle minus the wanted one, along the reference frame, [m/s].
    Shape (N, 2)."""
    step: Floats
    """Place of the standing foot minus the planned one, [m]. Shape (N, 3)."""
    effort: Floats
    """Mean squared torque over its limit, or activation. Shape (N,)."""


def gait_factors(errors: GaitErrors, weights: GaitConfig) -> Terms:
    """The published factors, each in (0, 1], (N,)."""
    beyond = np.maximum(np.abs(errors.step) - weights.step_tolerance, 0.0)
    return {
        "head": np.exp(-weights.head_velocity * _square(errors.head_change) / 3.0)
        * np.exp(-weights.head_rotation * np.square(errors.head_turn)),
        "average": np.exp(-weights.average_velocity * _square(errors.velocity)),
        "step": np.exp(-weights.step * _square(weights.step_scale * beyond) / 3.0),
        "metabolic": np.exp(-weights.metabolic * errors.effort),
    }


def _square(vectors: Floats) -> Floats:
    squares: Floats = np.einsum("ni,ni->n", vectors, vectors)
    return squares
