"""Temporal continuity of IK: each solve starts near the last solution.

Many poses reach the same targets. A solver that starts from the animation in every tick may
switch between them; started from its last solution it finds the nearest one. The starting
change decays towards the pose below, so that the body returns as near to it as the targets
allow. Where a target is out of reach, the solution may still jump; such a jump is kept as
an offset that decays too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ambulo.configs.arrays import Bools, Floats
from ambulo.ik.pose import Pose
from ambulo.motion.rotations import (
    quat_conjugate,
    quat_from_rotvec,
    quat_multiply,
    quat_rotate,
    quat_to_rotvec,
)

SETTLING = 0.15
"""Time constant of the decay of the starting change, [s]."""
SMOOTHING = 0.1
"""Time constant of the decay of a jump, [s]."""
JUMP = 6.0
"""Angular velocity above which a joint counts as jumping, [rad/s]."""


@dataclass(frozen=True, eq=False)
class _Change:
    """Change from B poses to others, in the frames of their own joints."""

    displacement: Floats
    """Displacement of the root, in the frame of the hips, [m]. Shape (B, 3)."""
    rotations: Floats
    """Rotation vectors, [rad]. Shape (B, J, 3)."""

    @classmethod
    def between(cls, below: Pose, above: Pose) -> _Change:
        """Return the change from `below` to `above`."""
        back = quat_conjugate(below.rotations)
        return cls(
            quat_rotate(back[:, 0], above.root - below.root),
            quat_to_rotvec(quat_multiply(back, above.rotations)),
        )

    def of(self, below: Pose, fraction: float = 1.0) -> Pose:
        """Apply a fraction of the change to `below`."""
        turned = quat_multiply(
            below.rotations, quat_from_rotvec(fraction * self.rotations)
        )
        displacement = quat_rotate(below.rotations[:, 0], fraction * self.displacement)
        return Pose(below.root + displacement, turned)


class Continuity:
    """Last solution of B characters, stored as its change of the pose below."""

    def __init__(self) -> None:
        """Start without a last solution."""
        self._change: _Change | None = None
        self._offset: _Change | None = None
        self._missed: Bools = np.zeros(0, np.bool_)
        self._level = 0.0

    def start(self, below: Pose, dt: float, level: float) -> Pose:
        """Return the solver's starting pose: `below` with the decayed last change.

        Args:
            below: Poses without IK.
            dt: Time since the last solution, [s].
            level: Present weight of IK, 0 to 1; the change is scaled by it.
        """
        shape = below.rotations.shape[:2]
        if self._change is None or self._change.rotations.shape[:2] != shape:
            self.forget()
            return below
        return self._change.of(below, math.exp(-dt / SETTLING) * self._fall(level))

    def follow(
        self, below: Pose, answer: Pose, reached: Bools, dt: float, level: float
    ) -> Pose:
        """Return the pose to show: the solution, plus the remaining offset of a jump.

        Args:
            below: Poses without IK.
            answer: The solver's solution.
            reached: Mask of characters that reach all targets. They get their solutions
                unmodified, unless their last ones missed. Shape (B,).
            dt: Time since the last solution, [s].
            level: Present weight of IK, 0 to 1.
        """
        change, missed, shown = _Change.between(below, answer), ~reached, answer
        if self._change is not None:
            may = missed | self._missed
            if may.any():
                self._absorb(self._change.of(below), answer, may, dt)
            if self._offset is not None:
                left = math.exp(-dt / SMOOTHING) * self._fall(level)
                offset = _Change(
                    left * self._offset.displacement, left * self._offset.rotations
                )
                shown, self._offset = offset.of(answer), offset
        self._change, self._missed, self._level = change, missed, level
        return shown

    def forget(self) -> None:
        """Clear the last solution; the next solve starts at the pose below."""
        self._change = self._offset = None

    def _absorb(self, before: Pose, answer: Pose, may: Bools, dt: float) -> None:
        """Combine new jumps of the characters in the mask `may` (B,) with earlier offsets."""
        jump = _Change.between(answer, before)
        turn = np.linalg.norm(jump.rotations, axis=-1).max(axis=1)
        which = may & (turn > JUMP * dt)
        if not which.any():
            return
        jump = _Change(
            np.where(which[:, None], jump.displacement, 0.0),
            np.where(which[:, None, None], jump.rotations, 0.0),
        )
        if self._offset is not None:
            jump = _Change.between(answer, self._offset.of(jump.of(answer)))
        self._offset = jump

    def _fall(self, level: float) -> float:
        return min(1.0, level / max(self._level, 1e-9))
