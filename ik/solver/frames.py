"""The root frame: the character's yaw frame, in which networks get inputs and give outputs.

One function finds it, for extraction, training and run time alike. The frame lies on the
ground level (z = 0, so that heights stay heights) under the hips, or under the head where
no hips are given, and is turned as these are turned about Z against their rest
orientation: a character that looks along world +X at rest has yaw 0.
"""

from __future__ import annotations

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.configs.namespace import array_namespace
from ambulo.ik.kernels.targets import root_frames
from ambulo.ik.rig import Rig
from ambulo.ik.solver.targets import Targets
from ambulo.motion.rotations import Array, quat_from_yaw, quat_multiply, quat_rotate


def root_frame(rig: Rig, targets: Targets) -> tuple[Floats, Floats]:
    """Origin (B, 3), [m], and yaw (B,), [rad], of each character's root frame.

    Position and rotation are found apart: of the hips if given, else of the head, else
    the mean of what is given, else 0.
    """
    origin, yaw = np.empty((len(targets), 3)), np.empty(len(targets))
    root_frames(
        targets.positions,
        targets.rotations,
        targets.position_weights,
        targets.rotation_weights,
        rig.target_rest,
        origin,
        yaw,
    )
    return origin, yaw


def to_frame(
    origin: Array, yaw: Array, positions: Array, rotations: Array
) -> tuple[Array, Array]:
    """Transform world positions (B, ..., 3) and orientations (B, ..., 4) to the frames.

    `origin` is (B, 3), `yaw` (B,); NumPy or torch.
    """
    turn = quat_from_yaw(-yaw)
    places = _spread(turn, positions)
    return (
        quat_rotate(places, positions - _spread(origin, positions)),
        quat_multiply(_spread(turn, rotations), rotations),
    )


def from_frame(
    origin: Array, yaw: Array, positions: Array, rotations: Array
) -> tuple[Array, Array]:
    """The inverse of `to_frame`: back to the world."""
    turn = quat_from_yaw(yaw)
    return (
        quat_rotate(_spread(turn, positions), positions) + _spread(origin, positions),
        quat_multiply(_spread(turn, rotations), rotations),
    )


def _spread(values: Array, like: Array) -> Array:
    """`values` (B, k) with axes of one, to go with `like` (B, ..., n)."""
    xp = array_namespace(values)
    ones = (1,) * (like.ndim - 2)
    return xp.reshape(values, (values.shape[0], *ones, values.shape[-1]))
