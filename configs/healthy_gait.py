"""The reference gait of the gait parameters, and its conversion to metres and hertz."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ambulo.configs.arrays import Floats


@dataclass(frozen=True)
class HealthyGait:
    """Reference gait of the ratios: stride and cadence ratios of 1 mean this gait."""

    leg_length: float
    """Hip to knee plus knee to ankle, mean of both legs, [m]."""
    stride_length: float
    """Displacement in one cycle (two steps), [m]."""
    cycle_rate: float
    """Cycles per second, [Hz]; half the steps per second."""

    @property
    def speed(self) -> float:
        """Mean forward speed, [m/s]."""
        return self.stride_length * self.cycle_rate

    def stride_of(self, stride: ArrayLike, leg_length: ArrayLike) -> Floats:
        """Stride lengths, [m], from stride ratios and leg lengths, [m]."""
        per_leg = self.stride_length / self.leg_length
        return np.asarray(stride) * per_leg * np.asarray(leg_length, np.float64)

    def rate_of(self, cadence: ArrayLike, leg_length: ArrayLike) -> Floats:
        """Cycles per second, [Hz], from cadence ratios and leg lengths, [m].

        A smaller body steps faster by the square root of its size, as a pendulum swings.
        """
        faster = np.sqrt(self.leg_length / np.asarray(leg_length, np.float64))
        return np.asarray(np.asarray(cadence) * self.cycle_rate * faster)

    def ratios(
        self, stride_length: ArrayLike, cycle_rate: ArrayLike, leg_length: ArrayLike
    ) -> tuple[Floats, Floats]:
        """Stride and cadence ratios from a stride [m], cycle rate [Hz] and leg length [m]."""
        stride = np.asarray(stride_length) / self.stride_of(1.0, leg_length)
        cadence = np.asarray(cycle_rate) / self.rate_of(1.0, leg_length)
        return np.asarray(stride), np.asarray(cadence)


HEALTHY = HealthyGait(leg_length=0.8593, stride_length=1.3133, cycle_rate=1.0 / 1.1)
"""The suite's healthy walk (`ambulo.motion.gaits.healthy_walk`): 1.19 m/s at 109 steps
a minute by a man of 1.75 m."""
