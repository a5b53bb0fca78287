"""Input and output layout of IK networks.

Input, 66 numbers: for each row of `TARGETS` position in the root frame (3, [m]), rotation in
the root frame as six numbers, weight of the position, weight of the rotation; absent targets
are 0. Output, 3 + 6 J numbers: the hips' position in the root frame, then each joint's local
rotation as six numbers (of the hips in the frame: as if the frame were the world), all as
offsets from the mean pose.

The root frame is the character's yaw frame, computed by one function for extraction, training
and run time. It lies on the ground level (z = 0, so that heights are preserved) under the hips,
or under the head without hips, with their yaw relative to their rest orientation: a character
that looks along world +X at rest has yaw 0.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.arrays import Floats
from ambulo.configs.namespace import array_namespace
from ambulo.ik.kernels.targets import WIDTH, network_inputs, root_frames
from ambulo.ik.pose import Pose, turned
from ambulo.ik.rig import TARGETS, Rig
from ambulo.ik.solver.targets import Targets
from ambulo.motion.rotations import (
    Array,
    matrix_to_sixd,
    quat_from_matrix,
    quat_from_yaw,
    quat_multiply,
    quat_rotate,
    quat_to_matrix,
    sixd_to_matrix,
)

INPUTS = WIDTH * len(TARGETS)
"""Input size for one frame: 66."""


def root_frame(rig: Rig, targets: Targets) -> tuple[Floats, Floats]:
    """Origin (B, 3), [m], and yaw (B,), [rad], of each character's root frame.

    Position and rotation are independent: of the hips if given, else of the head, else the mean
    of the given ones, else 0.
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


def _spread(values: Array, like: Array) -> Array:
    """`values` (B, k) with axes of length one, to broadcast with `like` (B, ..., n)."""
    xp = array_namespace(values)
    ones = (1,) * (like.ndim - 2)
    return xp.reshape(values, (values.shape[0], *ones, values.shape[-1]))


def outputs_of(rig: Rig) -> int:
    """Output size of a network: 3 + 6 J, for `ik23` 141."""
    return 3 + 6 * len(rig)


def network_input(
    rig: Rig,
    targets: Targets,
    frame: tuple[Floats, Floats] | None = None,
) -> NDArray[np.float32]:
    """The input (B, 66) in the root frames.

    `frame` is the result of `root_frame` for `targets`, if known already.
    """
    frame = root_frame(rig, targets) if frame is None else frame
    origin, yaw = frame
    inputs = np.empty((len(targets), INPUTS), dtype=np.float32)
    network_inputs(
        targets.positions,
        targets.rotations,
        targets.position_weights,
        targets.rotation_weights,
        origin,
        yaw,
        inputs,
    )
    return inputs


def pose_in_frame(rig: Rig, pose: Pose, frame: tuple[Floats, Floats]) -> Pose:
    """Express `pose` in the root frames `(origin, yaw)`: the training target of a network."""
    origin, yaw = frame
    rotations = pose.rotations.copy()
    rotations[:, 0] = turned(rig, rotations[:, 0], -yaw)
    root: Floats = quat_rotate(quat_from_yaw(-yaw), pose.root - origin)
    return Pose(root, rotations)


def pose_from_frame(rig: Rig, pose: Pose, frame: tuple[Floats, Floats]) -> Pose:
    """The inverse of `pose_in_frame`: back to the world."""
    origin, yaw = frame
    rotations = pose.rotations.copy()
    rotations[:, 0] = turned(rig, rotations[:, 0], yaw)
    root: Floats = quat_rotate(quat_from_yaw(yaw), pose.root) + origin
    return Pose(root, rotations)


def output_of(root: Array, rotations: Array, mean: Array) -> Array:
    """Return the output (B, 3 + 6 J) that represents a pose in its root frame.

    Args:
        root: Hips in the frame, [m]. Shape (B, 3).
        rotations: Local rotations, of the hips in the frame. Shape (B, J, 4).
        mean: The mean pose in the same layout. Shape (3 + 6 J,).
    """
    xp = array_namespace(root, rotations)
    six = matrix_to_sixd(quat_to_matrix(rotations))
    flat = xp.reshape(six, (six.shape[0], six.shape[1] * 6))
    return xp.concat([root, flat], axis=-1) - mean


def decode(output: Array, mean: Array) -> tuple[Array, Array]:
    """Hips (B, 3), [m], and local rotation matrices (B, J, 3, 3) of an `output`.

    NumPy or torch, with gradients; `mean` (3 + 6 J,) is the mean of `output_of`.
    """
    xp = array_namespace(output)
    whole = output + mean
    count = (whole.shape[-1] - 3) // 6
    six = xp.reshape(whole[..., 3:], (*whole.shape[:-1], count, 6))
    return whole[..., :3], sixd_to_matrix(six)


def decode_pose(output: Array, mean: Array) -> tuple[Array, Array]:
    """`decode` with rotations as quaternions (B, J, 4)."""
    root, matrices = decode(output, mean)
    return root, quat_from_matrix(matrices)


def mean_output(rig: Rig) -> Floats:
    """The rig's starting pose in the output layout: an initial mean."""
    count = outputs_of(rig)
    root = np.array([[0.0, 0.0, rig.start_height]])
    result: Floats = output_of(root, rig.start[None], np.zeros(count))[0]
    return result
