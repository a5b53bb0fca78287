"""IK from tick to tick: answers beside the last ones, so that bodies do not jump.

A solver that begins at the animation in every tick finds one of many poses, and may find
another a moment later, though both reach everything. From the last answer it finds the
one beside it. What is left of that answer decays towards the pose below, so that a body
that went far is not held there: in the end it is as near to the pose below as it can be.
Where something is out of reach there may be no answer beside the last one; such a jump is
kept as an offset that decays too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ambulo.ik.pose import Pose
from ambulo.motion.rotations import (
    quat_conjugate,
    quat_from_rotvec,
    quat_multiply,
    quat_rotate,
    quat_to_rotvec,
)

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

SETTLING = 0.15
"""Within this time an answer gives up 63 % of what is not needed, [s]."""
SMOOTHING = 0.1
"""Within this time 63 % of a jump is gone, [s]."""
JUMP = 6.0
"""A joint that is faster jumps, [rad/s]."""


@dataclass(frozen=True, eq=False)
class _Change:
    """What turns B poses into others, in the frames of their own joints."""

    way: Floats
    """Of the root, in the frame of the hips, [m]. Shape (B, 3)."""
    turns: Floats
    """Rotation vectors, [rad]. Shape (B, J, 3)."""

    @classmethod
    def between(cls, below: Pose, above: Pose) -> _Change:
        """What turns `below` into `above`."""
        back = quat_conjugate(below.rotations)
        return cls(
            quat_rotate(back[:, 0], above.root - below.root),
            quat_to_rotvec(quat_multiply(back, above.rotations)),
        )

    def of(self, below: Pose, share: float = 1.0) -> Pose:
        """`below`, changed by this part."""
        turned = quat_multiply(below.rotations, quat_from_rotvec(share * self.turns))
        way = quat_rotate(below.rotations[:, 0], share * self.way)
        return Pose(below.root + way, turned)


class Continuity:
    """The last answer of B characters, as what it changed in the pose below."""

    def __init__(self) -> None:
        """Nothing to go on from."""
        self._change: _Change | None = None
        self._offset: _Change | None = None
        self._missed: Bools = np.zeros(0, np.bool_)
        self._level = 0.0

    def start(self, below: Pose, dt: float, level: float) -> Pose:
        """Where a solver begins: `below`, changed as before, less what has decayed.

        Args:
            below: Poses without IK.
            dt: Since the last answer, [s].
            level: How much IK counts now, 0 to 1; when it falls, so does the change.
        """
        shape = below.rotations.shape[:2]
        if self._change is None or self._change.turns.shape[:2] != shape:
            self.forget()
            return below
        return self._change.of(below, math.exp(-dt / SETTLING) * self._fall(level))

    def follow(
        self, below: Pose, answer: Pose, reached: Bools, dt: float, level: float
    ) -> Pose:
        """What is shown of a solver's answer: all of it, unless it has jumped.

        Args:
            below: Poses without IK.
            answer: The solver's.
            reached: Which characters reach all that is asked for. They get their answers
                as they are, unless they come from where they did not. Shape (B,).
            dt: Since the last answer, [s].
            level: How much IK counts now, 0 to 1.
        """
        change, missed, shown = _Change.between(below, answer), ~reached, answer
        if self._change is not None:
            may = missed | self._missed
            if may.any():
                self._absorb(self._change.of(below), answer, may, dt)
            if self._offset is not None:
                left = math.exp(-dt / SMOOTHING) * self._fall(level)
                offset = _Change(left * self._offset.way, left * self._offset.turns)
                shown, self._offset = offset.of(answer), offset
        self._change, self._missed, self._level = change, missed, level
        return shown

    def forget(self) -> None:
        """Begin at the pose below next time."""
        self._change = self._offset = None

    def _absorb(self, before: Pose, answer: Pose, may: Bools, dt: float) -> None:
        """Put the jumps of characters that `may` (B,) before what is left of earlier ones."""
        jump = _Change.between(answer, before)
        turn = np.linalg.norm(jump.turns, axis=-1).max(axis=1)
        which = may & (turn > JUMP * dt)
        if not which.any():
            return
        jump = _Change(
            np.where(which[:, None], jump.way, 0.0),
            np.where(which[:, None, None], jump.turns, 0.0),
        )
        if self._offset is not None:
            jump = _Change.between(answer, self._offset.of(jump.of(answer)))
        self._offset = jump

    def _fall(self, level: float) -> float:
        return min(1.0, level / max(self._level, 1e-9))
