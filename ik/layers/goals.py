"""Goals: where effectors are led in a tick, built up step by step from where they are.

Unlike `Targets`, goals know a place for every row, also for those that do not count: so a
layer or an action can lead a hand from where the animation has it, or move the head that an
earlier action has moved already.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ambulo.ik.solver.targets import Targets, row_of
from ambulo.motion.rotations import quat_slerp

Floats = NDArray[np.float64]


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
        """Where `reference` has everything; only the rows called `held` count."""
        weights = np.zeros(reference.positions.shape[:2])
        weights[:, [row_of(name) for name in held]] = 1.0
        return cls(reference.positions, reference.rotations, weights, weights)

    def __len__(self) -> int:
        """The number of characters."""
        return len(self.positions)

    def targets(self) -> Targets:
        """What the solver is given."""
        return Targets(self.positions, self.rotations, self.moved, self.turned)

    def position(self, name: str) -> Floats:
        """World position of a row, [m]. Shape (B, 3)."""
        return self.positions[:, row_of(name)]

    def rotation(self, name: str) -> Floats:
        """World orientation of a row, wxyz. Shape (B, 4)."""
        return self.rotations[:, row_of(name)]

    def place(self, name: str, position: ArrayLike) -> EffectorGoals:
        """With a row at `position` (3,) or (B, 3), which counts now."""
        row = row_of(name)
        positions, moved = self.positions.copy(), self.moved.copy()
        positions[:, row] = position
        moved[:, row] = 1.0
        return replace(self, positions=positions, moved=moved)

    def turn(self, name: str, rotation: ArrayLike) -> EffectorGoals:
        """With a row turned as `rotation` (4,) or (B, 4), which counts now."""
        row = row_of(name)
        rotations, turned = self.rotations.copy(), self.turned.copy()
        rotations[:, row] = rotation
        turned[:, row] = 1.0
        return replace(self, rotations=rotations, turned=turned)

    def lead(self, wanted: Targets, weight: float = 1.0) -> EffectorGoals:
        """Led towards `wanted` by `weight` times the weights of `wanted`.

        What is led counts fully afterwards: at half weight a hand shall be exactly
        half-way, not somewhere between two targets that pull.
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
        """Led towards `other` by `weight`, in the rows where it asks for anything new."""
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
