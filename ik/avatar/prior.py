"""A pose network as prior of the elbow directions of led hands."""

from __future__ import annotations

import numpy as np
from numba import njit

from ambulo.configs.arrays import Array, Floats
from ambulo.configs.errors import IKError
from ambulo.ik.pose import fk
from ambulo.ik.rig import TARGETS
from ambulo.ik.solver.network import IKNetwork
from ambulo.ik.solver.targets import Targets
from ambulo.motion.quaternion_kernels import multiply, rotate

HEAD_ROW = TARGETS.index("Head")
HAND_ROWS = (TARGETS.index("LeftHand"), TARGETS.index("RightHand"))


class UpperBodyPrior:
    """A pose network on the rig ik23 as a prior of the avatar's elbows.

    The network predicts a whole body from head and hands. Its elbows give the directions, and
    the avatar's own arms reach the hands exactly.
    """

    def __init__(self, network: IKNetwork) -> None:
        """Prepare a network.

        Raises:
            IKError: The network has the published layout, which needs all targets.
        """
        if network.is_published:
            raise IKError("the avatar's prior needs a network of targets, as ik_net")
        self.network = network
        rig = network.rig
        names = (("LeftArm", "LeftForeArm"), ("RightArm", "RightForeArm"))
        self._arms = np.array(
            [[rig.skeleton.index(name) for name in pair] for pair in names]
        )
        self._rest = rig.target_rest
        self._positions = np.zeros((1, len(TARGETS), 3))
        self._rotations = np.zeros((1, len(TARGETS), 4))
        self._weights = np.zeros((1, len(TARGETS)))

    def aim(
        self, head: Floats, gaze: Floats, eyes: Floats, hands: Floats, poles: Floats
    ) -> None:
        """Fill `poles` (2, 3) with the world directions of left and right elbow.

        Args:
            head: World position of the middle of the eyes, [m]. Shape (3,).
            gaze: World orientation of the head, wxyz. Shape (4,).
            eyes: The eyes in the head's frame, [m]. Shape (3,).
            hands: Rows of 1 where led, position and orientation. Shape (2, 8).
            poles: Filled.
        """
        _fill_targets(
            head, gaze, eyes, hands, self._rest, self._positions[0], self._rotations[0],
            self._weights[0],
        )  # fmt: skip
        weights = self._weights
        targets = Targets(self._positions, self._rotations, weights, weights)
        pose = self.network.predict(targets)
        joints = fk(self.network.rig, pose)[0][0]
        _aim(joints, self._arms, hands, poles)


@njit(cache=True)
def _fill_targets(
    head: Array, gaze: Array, eyes: Array, hands: Array, rest: Array, positions: Array,
    rotations: Array, weights: Array,
) -> None:  # fmt: skip
    """Fill the rows of head and hands of targets on the rig, whose rest frames differ."""
    at = np.empty(3)
    rotate(gaze, eyes, at)
    for i in range(3):
        positions[HEAD_ROW, i] = head[i] - at[i]
    multiply(gaze, rest[HEAD_ROW], rotations[HEAD_ROW])
    weights[HEAD_ROW] = 1.0
    for k in range(2):
        row = HAND_ROWS[k]
        weights[row] = hands[k, 0]
        if hands[k, 0] > 0.0:
            for i in range(3):
                positions[row, i] = hands[k, 1 + i]
            multiply(hands[k, 4:8], rest[row], rotations[row])


@njit(cache=True)
def _aim(joints: Array, arms: Array, hands: Array, poles: Array) -> None:
    """Fill `poles` (2, 3) with vectors from the midpoint of shoulder and wrist to the elbow."""
    for k in range(2):
        upper, fore = arms[k, 0], arms[k, 1]
        for i in range(3):
            middle = 0.5 * (joints[upper, i] + hands[k, 1 + i])
            poles[k, i] = joints[fore, i] - middle
