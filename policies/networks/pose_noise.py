"""How poses of a gait differ from what a network says of their true parameters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import GaitDataError
from ambulo.motion.human23 import N_SIXDOF

CYCLE_FRAMES = 30
"""Frames of a cycle: equal phases."""
MODES = 24
"""Most directions in which differences go together."""
LEAST_DEVIATION = 1e-3
"""Smallest difference of a number that counts, [1], [rad] or [m]."""
SAMPLES_PER_MODE = 8
"""Fewer samples than this for each direction would fit chance."""


@dataclass(frozen=True, eq=False)
class PoseNoise:
    """Differences of a cycle (30, 101) as a normal distribution of mean 0.

    Each number has a deviation; divided by these, a few directions over the whole cycle
    have variances of their own (differences last over a step, and joints differ
    together), and all the rest has one variance.
    """

    deviation: Floats
    """Standard deviation of each number. Shape (101,)."""
    modes: Floats
    """Directions of unit length, K of them. Shape (K, 3030)."""
    variances: Floats
    """Along the directions. Shape (K,)."""
    floor: float
    """Along all others."""

    def __post_init__(self) -> None:
        """Check the shapes and that every variance is above 0."""
        size = CYCLE_FRAMES * N_SIXDOF
        shapes = {"deviation": (N_SIXDOF,), "modes": (len(self.modes), size)}
        shapes["variances"] = (len(self.modes),)
        for name, shape in shapes.items():
            found = getattr(self, name).shape
            if found != shape:
                raise GaitDataError(f"{name}: expected shape {shape}, got {found}")
        least = min([self.floor, *self.deviation, *self.variances])
        if not least > 0.0:
            raise GaitDataError("every variance of the differences must be above 0")

    def whitened(self, differences: Floats) -> Floats:
        """Differences (..., 30, 101) as numbers (..., 3030) of variance 1, independent.

        With Sigma = F (I + U (V / F - 1) U^T) of directions U, Sigma^-1/2 has the same
        directions, so that nothing of the size 3030 x 3030 is made.
        """
        flat = (differences / self.deviation).reshape(*differences.shape[:-2], -1)
        along = flat @ self.modes.T
        shrink = 1.0 - np.sqrt(self.floor / self.variances)
        white: Floats = (flat - (shrink * along) @ self.modes) / np.sqrt(self.floor)
        return white


def plain_noise(scale: float = 1.0) -> PoseNoise:
    """Independent differences, where nothing is known of them.

    Args:
        scale: Times 2 degrees in rotations, 6 cm/s in the root's way, 1 cm in its height.
    """
    deviation = np.full(N_SIXDOF, np.deg2rad(2.0))
    deviation[6:8], deviation[8] = 0.06 / 30.0, 0.01
    return PoseNoise(
        deviation=scale * deviation,
        modes=np.zeros((0, CYCLE_FRAMES * N_SIXDOF)),
        variances=np.zeros(0),
        floor=1.0,
    )


def fit_noise(differences: Floats) -> PoseNoise:
    """The distribution of differences (M, 30, 101) on M gaits.

    Raises:
        GaitDataError: Fewer than two gaits, or another shape.
    """
    if differences.ndim != 3 or differences.shape[1:] != (CYCLE_FRAMES, N_SIXDOF):
        raise GaitDataError(
            f"differences: expected shape (M, {CYCLE_FRAMES}, {N_SIXDOF}), got "
            f"{differences.shape}"
        )
    count = len(differences)
    if count < 2:
        raise GaitDataError("the differences of one gait give no distribution")
    deviation = np.sqrt(np.square(differences).mean(axis=(0, 1)))
    deviation = np.maximum(deviation, LEAST_DEVIATION)
    flat = (differences / deviation).reshape(count, -1)
    # Of few rows in many columns, the small matrix of inner products is decomposed.
    squares, mix = np.linalg.eigh(flat @ flat.T / count)
    order = np.argsort(squares)[::-1]
    squares, mix = squares[order], mix[:, order]
    size = flat.shape[1]
    kept, floor = 0, float(squares.sum()) / size
    while kept < min(MODES, count // SAMPLES_PER_MODE):
        # Chance alone gives few samples directions as large as this (V. Marchenko and
        # L. Pastur, Mathematics of the USSR-Sbornik 1(4), 1967).
        if squares[kept] < 1.05 * floor * (1.0 + np.sqrt(size / count)) ** 2:
            break
        kept += 1
        floor = max(float(squares[kept:].sum()) / (size - kept), 1e-6)
    modes = mix[:, :kept].T @ flat
    modes = modes / np.linalg.norm(modes, axis=1, keepdims=True)
    variances = np.maximum(squares[:kept] - floor * size / count, floor)
    return PoseNoise(deviation, modes, variances, max(floor, 1e-6))
