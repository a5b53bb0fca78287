"""The player's proportions, estimated by the network while the player moves."""

from __future__ import annotations

import numpy as np

from ambulo.configs.arrays import Floats, Singles
from ambulo.ik.trackers.layout import CORRECTION, VARIANCE
from ambulo.ik.trackers.shape import LARGEST, SMALLEST, BodyShape

PRIOR = 0.06
"""Standard deviation of the logarithms of people's proportions around the first guess."""
CORRELATED = 1.0
"""Time after which the network's corrections count as a new measurement, [s]."""
SETTLED = 1e-4
"""A change of the logarithms that is not worth a new body."""


class ShapeEstimate:
    """Ratios of trunk, arms and legs, and how certain they are.

    The network says how wrong the assumed proportions are and how sure it is. Corrections are
    weighed by their variances as a Kalman filter of a constant does; neighbouring ones
    count as one in `CORRELATED` seconds.
    """

    def __init__(self, given: BodyShape | None) -> None:
        """Begin with the proportions `given`, which stay, or with those of human23."""
        self._fixed = given is not None
        self.ratios: Floats = (BodyShape() if given is None else given).ratios
        self._variance = np.full(3, PRIOR**2)
        self._pending = np.zeros(3)

    def update(self, output: Singles, interval: float) -> bool:
        """Take in the network's `output` (151,); return whether the ratios changed."""
        if self._fixed:
            return False
        correction = output[CORRECTION : CORRECTION + 3].astype(np.float64)
        noise = np.exp(
            np.clip(output[VARIANCE : VARIANCE + 3].astype(np.float64), -12.0, 4.0)
        )
        noise *= CORRELATED / interval
        gain = self._variance / (self._variance + noise)
        self._variance *= 1.0 - gain
        self._pending += gain * np.clip(correction, -0.3, 0.3)
        if np.abs(self._pending).max() < SETTLED:
            return False
        self.ratios = np.clip(self.ratios * np.exp(self._pending), SMALLEST, LARGEST)
        self._pending[:] = 0.0
        return True
