"""Many avatars at once: bodies of players whose position and heading alone are known."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

from ambulo.configs.arrays import Array, Floats, Ints
from ambulo.ik.avatar.advance import advance
from ambulo.ik.avatar.clock import JUMP, STATE
from ambulo.ik.avatar.feet import FOOT
from ambulo.ik.avatar.pose import AvatarPose
from ambulo.motion.quaternion_kernels import set_yaw


class AvatarCrowd:
    """N copies of an avatar with swinging arms; each moves as a single `AvatarPose` would.

    Heads are level, face the players' heading, and stay at the eye height of a standing body.
    """

    def __init__(self, avatar: AvatarPose, count: int) -> None:
        """`count` bodies with the gait of `avatar`; the first `step` places them."""
        self.skeleton = avatar.skeleton
        joints = len(self.skeleton)
        self._table, self._begin = avatar.begun()
        self._exact = float(avatar.exact_head)
        self._eyes = float(avatar.table.stand_head[2] + avatar.eyes[2])
        self.state = np.zeros((count, STATE))
        """State of each body (see `clock`)."""
        self.feet = np.zeros((count, 2, FOOT))
        """State of their feet."""
        self.rotations: Floats = np.zeros((count, 0, joints, 4))
        """Local rotations after each part of the last step. Shape (N, K, J, 4)."""
        self.roots: Floats = np.zeros((count, 0, 3))
        """World positions of the pelvis, [m]. Shape (N, K, 3)."""
        self.orientations: Floats = np.zeros((count, joints, 4))
        """World orientations of all joints now. Shape (N, J, 4)."""
        self.positions: Floats = np.zeros((count, joints, 3))
        """World positions of all joints now, [m]. Shape (N, J, 3)."""

    def __getstate__(self) -> dict[str, Any]:
        """State for pickling, with the read-only arrays, so that loops are not recompiled."""
        kept = [table.flags.writeable for table in self._table]
        return {**self.__dict__, "writeable": kept}

    def __setstate__(self, state: dict[str, Any]) -> None:
        kept = state.pop("writeable")
        self.__dict__.update(state)
        for table, writeable in zip(self._table, kept, strict=True):
            table.setflags(write=writeable)

    def reset(self, bodies: Ints) -> None:
        """Clear the state of `bodies` (k,); their next step places them on both feet."""
        self.state[bodies], self.feet[bodies] = self._begin, 0.0

    def step(
        self, bodies: Ints, before: Floats, after: Floats, dt: float, parts: int
    ) -> None:
        """Advance `bodies` (k,) by `dt` in `parts` equal steps along straight paths.

        Args:
            bodies: Indices; the other arrays are of all bodies.
            before: x, y, height of the ground [m] and yaw [rad]. Shape (N, 4).
            after: The poses after `dt`. A body farther than `JUMP` from before was placed
                there, and does not walk.
            dt: Time step above 0, [s].
            parts: Number of steps K, 1 or more.
        """
        if self.rotations.shape[1] != parts:
            count, joints = self.positions.shape[:2]
            self.rotations = np.zeros((count, parts, joints, 4))
            self.roots = np.zeros((count, parts, 3))
        _advance_all(
            self._table, bodies, self.state, self.feet, before, after, self._eyes,
            dt / parts, self._exact, self.rotations, self.roots, self.orientations,
            self.positions,
        )  # fmt: skip


@njit(cache=True)
def _advance_all(
    table: tuple[Array, ...], bodies: Array, state: Array, feet: Array, before: Array,
    after: Array, eyes: float, dt: float, exact: float, rotations: Array, roots: Array,
    orientations: Array, positions: Array,
) -> None:  # fmt: skip
    """Advance `bodies` and fill their poses; see `AvatarCrowd`."""
    head, gaze = np.empty(3), np.empty(4)
    hands, poles = np.zeros((2, 8)), np.zeros((2, 3))
    parts = rotations.shape[1]
    for i in bodies:
        dx, dy = after[i, 0] - before[i, 0], after[i, 1] - before[i, 1]
        placed = math.sqrt(dx * dx + dy * dy) > JUMP
        for k in range(parts):
            left = 0.0 if placed else 1.0 - (k + 1) / parts
            head[0], head[1] = after[i, 0] - left * dx, after[i, 1] - left * dy
            ground = after[i, 2] - left * (after[i, 2] - before[i, 2])
            head[2] = ground + eyes
            set_yaw(after[i, 3] - left * (after[i, 3] - before[i, 3]), gaze)
            advance(
                table, state[i], feet[i], head, gaze, ground, dt, exact, hands, poles,
                rotations[i, k], orientations[i], positions[i],
            )  # fmt: skip
            roots[i, k] = positions[i, 0]
