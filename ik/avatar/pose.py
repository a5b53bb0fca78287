"""Full-body poses of a walking character from its head, and its hands if led.

The legs walk the gait of a table: the phase advances with the distance walked, and feet in
stance do not slide (`feet`). Legs, and arms with targets, are solved in closed form (`limbs`);
a pose network, if any, predicts the direction of led elbows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from ambulo.configs.arrays import Array, Floats
from ambulo.configs.errors import IKError
from ambulo.ik.avatar.advance import advance
from ambulo.ik.avatar.clock import PHASE, STATE, STEPPING
from ambulo.ik.avatar.feet import DOWN, FOOT
from ambulo.ik.avatar.layout import EYES, STATURE, sole, stature
from ambulo.ik.avatar.prior import UpperBodyPrior
from ambulo.ik.avatar.table import GaitTable
from ambulo.motion.skeleton import Skeleton

POLES = ((-0.4, 0.5, -1.0), (-0.4, -0.5, -1.0))
"""Directions of left and right elbow without a network, in the head's heading."""
FAR = 1e6
"""Largest coordinate, [m]."""


@dataclass(frozen=True, eq=False)
class AvatarFrame:
    """One pose of the avatar, on human23, world axes: X ahead at yaw 0, Z up."""

    root: Floats
    """World position of the pelvis, [m]. Shape (3,)."""
    rotations: Floats
    """Local rotations, wxyz; the pelvis' is its orientation. Shape (23, 4)."""
    positions: Floats
    """World positions of the joints, [m]. Shape (23, 3)."""
    orientations: Floats
    """World orientations of the joints, wxyz. Shape (23, 4)."""


class AvatarPose:
    """The body of one walking character.

    Call `step` once per control step or frame, at any rate; it costs a few microseconds. The
    same calls give the same poses, here and in the Godot add-on (to 1e-4 m).
    """

    def __init__(
        self,
        table: GaitTable,
        prior: UpperBodyPrior | None = None,
        *,
        exact_head: bool = False,
    ) -> None:
        """Prepare an avatar; it is placed by the first `step`.

        Args:
            table: The body's gait; see `ambulo.policies.agents.avatar.load_avatar`.
            prior: Elbow directions of led hands.
            exact_head: The head follows its target exactly; else it moves around it as in
                the gait (2 cm up and down), and the body looks less stiff.
        """
        self.table = table
        self.prior = prior
        self.exact_head = exact_head
        skeleton = table.skeleton
        count = len(skeleton)
        self.eyes = np.array(EYES) * stature(skeleton) / STATURE
        """Middle of the eyes in the head's frame, [m]. Shape (3,)."""
        arrays = table.arrays()
        self._table = (*arrays.values(), skeleton.offsets, sole(skeleton), self.eyes)
        self._state, self._feet = np.zeros(STATE), np.zeros((2, FOOT))
        self._hands, self._poles = np.zeros((2, 8)), np.zeros((2, 3))
        self._frame = AvatarFrame(
            np.zeros(3),
            np.zeros((count, 4)),
            np.zeros((count, 3)),
            np.zeros((count, 4)),
        )
        self.reset()

    @property
    def skeleton(self) -> Skeleton:
        """The skeleton of the poses, human23."""
        return self.table.skeleton

    @property
    def phase(self) -> float:
        """Phase of the gait, in [0, 1); at 0 the left foot is in stance, [cycles]."""
        return float(self._state[PHASE])

    @property
    def stepping(self) -> bool:
        """Whether feet step on the spot."""
        return bool(self._state[STEPPING] > 0.0)

    @property
    def standing_feet(self) -> tuple[bool, bool]:
        """Whether the left and the right foot are in stance."""
        return bool(self._feet[0, DOWN] > 0.0), bool(self._feet[1, DOWN] > 0.0)

    def reset(self) -> None:
        """Clear the state; the next `step` places the avatar on both feet."""
        self._state[:], self._feet[:] = self.begun()[1], 0.0

    def begun(self) -> tuple[tuple[Floats, ...], Floats]:
        """Return the arguments of `advance`: arrays of the body, and a new state."""
        state = np.zeros(STATE)
        (_, left_leaves), (right_lands, _) = self.table.stance[0]
        state[PHASE] = 0.5 * (left_leaves + right_lands) % 1.0
        return self._table, state

    def step(
        self,
        head: ArrayLike,
        gaze: ArrayLike,
        dt: float,
        *,
        ground: float = 0.0,
        hands: tuple[ArrayLike | None, ArrayLike | None] = (None, None),
    ) -> AvatarFrame:
        """Advance by `dt` and return the pose; its arrays are overwritten by the next call.

        Args:
            head: World position of the middle of the eyes, [m]. Shape (3,).
            gaze: World orientation of the head, wxyz; the identity looks along +X. (4,).
            dt: Time since the last step, above 0, [s].
            ground: Height of the ground, [m].
            hands: Left and right wrist, each (7,) of position [m] and orientation wxyz of
                human23's hand, or None: that arm swings.

        Raises:
            IKError: A number is not finite or too large, or a quaternion has length 0.
        """
        place, turn = _checked("head", head, gaze)
        if not (np.isfinite(dt) and dt > 0.0):
            raise IKError(f"dt: must be above 0, got {dt}")
        if not abs(ground) <= FAR:
            raise IKError(f"ground: must be within {FAR:g} m of 0, got {ground}")
        self._set_hands(hands)
        frame = self._frame
        if self._hands[:, 0].any():
            self._aim_elbows(place, turn)
        advance(
            self._table, self._state, self._feet, place, turn, float(ground), float(dt),
            float(self.exact_head), self._hands, self._poles, frame.rotations,
            frame.orientations, frame.positions,
        )  # fmt: skip
        frame.root[:] = frame.positions[0]
        return frame

    def _set_hands(self, hands: tuple[ArrayLike | None, ArrayLike | None]) -> None:
        for row, name, hand in zip(self._hands, ("left", "right"), hands, strict=True):
            row[0] = 0.0 if hand is None else 1.0
            if hand is not None:
                values = np.asarray(hand, np.float64)
                if values.shape != (7,):
                    raise IKError(
                        f"{name} hand: expected position and orientation, shape (7,), "
                        f"got {values.shape}"
                    )
                row[1:4], row[4:8] = _checked(f"{name} hand", values[:3], values[3:])

    def _aim_elbows(self, place: Floats, turn: Floats) -> None:
        """Choose directions of the elbows."""
        if self.prior is not None:
            self.prior.aim(place, turn, self.eyes, self._hands, self._poles)
            return
        w, z = turn[0], turn[3]
        yaw = 2.0 * np.arctan2(z, w)
        c, s = np.cos(yaw), np.sin(yaw)
        for row, (x, y, up) in zip(self._poles, POLES, strict=True):
            row[:] = c * x - s * y, s * x + c * y, up


def _checked(name: str, place: ArrayLike, turn: ArrayLike) -> tuple[Floats, Floats]:
    """Return a position and a unit quaternion; `IKError` names an invalid one."""
    position = np.array(place, np.float64)
    rotation = np.array(turn, np.float64)
    if position.shape != (3,) or rotation.shape != (4,):
        raise IKError(
            f"{name}: expected a position (3,) and a quaternion (4,), got "
            f"{position.shape} and {rotation.shape}"
        )
    if not _normalised(position, rotation):
        raise IKError(
            f"{name}: the position must be within {FAR:g} m of 0 and the orientation a "
            f"quaternion above length 0, got {position.tolist()}, {rotation.tolist()}"
        )
    return position, rotation


@njit(cache=True)
def _normalised(position: Array, rotation: Array) -> bool:
    """Normalise `rotation` (4,); returns whether it and `position` (3,) are valid."""
    for i in range(3):
        if not abs(position[i]) <= FAR:
            return False
    size = math.sqrt(np.sum(rotation * rotation))
    if not 1e-9 < size < 1e9:
        return False
    rotation /= size
    return True
