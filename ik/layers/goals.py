"""Effector goals of a tick, built up step by step from the animation.

Unlike `Targets`, goals hold a position for every row, also for rows of weight 0: so a layer
or an action can move a hand from its animated position, or a head that an earlier action
has moved.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from ambulo.configs.arrays import Floats
from ambulo.ik.solver.targets import Targets, row_of
from ambulo.motion.rotations import quat_slerp


@dataclass(frozen=True, eq=False)
class EffectorGoals:
    """Goals of B characters; rows as in `ambulo.ik.rig.TARGETS`."""

    positions: Floats
    """World positions, [m]. Shape (B, 6, 3)."""
    rotations: Floats
    """World orientations, wxyz. Shape (B, 6, 4)."""
    moved: Floats
    """Weight of each position, 0: free. Shape (B, 6)."""
    turned: Floats
    """Weight of each rotation, 0: free. Shape (B, 6)."""

    @classmethod
    def at(cls, reference: Targets, held: Sequence[str] = ()) -> EffectorGoals:
        """Return goals at `reference`; only the rows named in `held` have weight 1."""
        weights = np.zeros(reference.positions.shape[:2])
        weights[:, [row_of(name) for name in held]] = 1.0
        return cls(reference.positions, reference.rotations, weights, weights)

    def __len__(self) -> int:
        """The number of characters."""
        return len(self.positions)

    def targets(self) -> Targets:
        """Return the goals as targets of the solver."""
        return Targets(self.positions, self.rotations, self.moved, self.turned)

    def position(self, name: str) -> Floats:
        """World position of a row, [m]. Shape (B, 3)."""
        return self.positions[:, row_of(name)]

    def rotation(self, name: str) -> Floats:
        """World orientation of a row, wxyz. Shape (B, 4)."""
        return self.rotations[:, row_of(name)]

    def place(self, name: str, position: ArrayLike) -> EffectorGoals:
        """Return goals with a row at `position` (3,) or (B, 3), of weight 1."""
        row = row_of(name)
        positions, moved = self.positions.copy(), self.moved.copy()
        positions[:, row] = position
        moved[:, row] = 1.0
        return replace(self, positions=positions, moved=moved)

    def turn(self, name: str, rotation: ArrayLike) -> EffectorGoals:
        """Return goals with a row oriented as `rotation` (4,) or (B, 4), of weight 1."""
        row = row_of(name)
        rotations, turned = self.rotations.copy(), self.turned.copy()
        rotations[:, row] = rotation
        turned[:, row] = 1.0
        return replace(self, rotations=rotations, turned=turned)

    def lead(self, wanted: Targets, weight: float = 1.0) -> EffectorGoals:
        """Return goals interpolated to `wanted` by `weight` times the weights of `wanted`.

        Interpolated rows have weight 1 afterwards: at half weight a hand is exactly
        half-way, not at a compromise between two targets.
        """
        moved = np.minimum(weight * wanted.position_weights, 1.0)
        turned = np.minimum(weight * wanted.rotation_weights, 1.0)
        return EffectorGoals(
            self.positions + moved[..., None] * (wanted.positions - self.positions),
            quat_slerp(self.rotations, wanted.rotations, turned),
            np.where(moved > 0.0, 1.0, self.moved),
            np.where(turned > 0.0, 1.0, self.turned),
        )

    def mix(self, other: EffectorGoals, weight: float) -> EffectorGoals:
        """Return goals interpolated to `other` by `weight`."""
        if weight >= 1.0:
            return other
        if weight <= 0.0:
            return self
        return EffectorGoals(
            self.positions + weight * (other.positions - self.positions),
            quat_slerp(
                self.rotations,
                other.rotations,
                np.full(self.rotations.shape[:2], weight),
            ),
            np.maximum(self.moved, other.moved),
            np.maximum(self.turned, other.turned),
        )
