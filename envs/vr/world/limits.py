"""Limits of the action model, which the comfort dial of each environment scales."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.envs.vr.contract import WorldSpec


@dataclass(frozen=True)
class Limits:
    """What sticks can ask for: numbers for all environments, or arrays of shape (N,)."""

    stick: Floats | float
    """Largest length of the stick."""
    acceleration: Floats | float
    """[m/s^2]; infinite: no limit. Not used where `WorldSpec` has none."""
    yaw_acceleration: Floats | float
    """[rad/s^2]; infinite: no limit. Not used where `WorldSpec` has none."""
    facing: Floats | float
    """Largest angle between the stick and straight ahead, [rad]."""

    @classmethod
    def of(cls, spec: WorldSpec, comfort: Floats | None) -> Limits:
        """The limits of `spec` at dials `comfort` (N,) in [0, 1]; None: 1 everywhere."""
        slowest = (spec.comfort_speed or spec.max_speed) / spec.max_speed
        if comfort is None:
            most, most_turn = spec.max_acceleration, spec.max_yaw_acceleration
            return cls(slowest, most, most_turn, spec.facing)
        free = 1.0 - comfort
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return cls(
                stick=slowest + free * (1.0 - slowest),
                acceleration=spec.max_acceleration / comfort,
                yaw_acceleration=spec.max_yaw_acceleration / comfort,
                facing=spec.facing + free * (np.pi - spec.facing),
            )
