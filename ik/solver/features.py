"""What networks of poses are given and what they answer: the layout, in one place.

Input, 66 numbers: for each row of `TARGETS` position in the root frame (3, [m]), rotation
in the root frame as six numbers, weight of the position, weight of the rotation; what is
absent is 0. Output, 3 + 6 J numbers: the hips' position in the root frame, then each
joint's local rotation as six numbers (of the hips in the frame: as if the frame were the
world), all as offsets from the mean pose.

A network that also sees the past gets 27 numbers more for each earlier moment: position
and rotation of head and hands then, in the root frame of now.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray

from ambulo.ik.kernels.targets import WIDTH, network_inputs
from ambulo.ik.pose import Pose, turned
from ambulo.ik.rig import TARGETS, Rig
from ambulo.ik.solver.frames import root_frame
from ambulo.ik.solver.targets import Targets
from ambulo.motion.rotations import (
    Array,
    matrix_to_sixd,
    quat_from_matrix,
    quat_from_yaw,
    quat_rotate,
    quat_to_matrix,
    sixd_to_matrix,
)

Floats = NDArray[np.float64]

INPUTS = WIDTH * len(TARGETS)
"""Numbers that a network is given of one moment: 66."""

PAST = ("Head", "LeftHand", "RightHand")
"""Targets that are seen of earlier moments."""

PAST_COLUMNS = np.array(
    [WIDTH * TARGETS.index(name) + i for name in PAST for i in range(WIDTH - 2)]
)
"""Their numbers in the layout of a moment."""


def inputs_of(moments: int) -> int:
    """Numbers that a network is given that sees so many earlier moments."""
    return INPUTS + len(PAST_COLUMNS) * moments


def outputs_of(rig: Rig) -> int:
    """Numbers that a network answers: 3 + 6 J, for `ik23` 141."""
    return 3 + 6 * len(rig)


def network_input(
    rig: Rig,
    targets: Targets,
    frame: tuple[Floats, Floats] | None = None,
    past: Sequence[Targets] = (),
) -> NDArray[np.float32]:
    """The input (B, 66), with the `past` (B, 66 + 27 n), seen from the root frames.

    `frame` is what `root_frame` gave of `targets`, where it is known already.
    """
    frame = root_frame(rig, targets) if frame is None else frame
    if past:
        moments = [network_input(rig, before, frame) for before in past]
        seen = [moment[:, PAST_COLUMNS] for moment in moments]
        return np.concatenate([network_input(rig, targets, frame), *seen], axis=1)
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
    """`pose` as the root frames `(origin, yaw)` see it: what a network shall answer."""
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
    """The output (B, 3 + 6 J) that stands for a pose in its frame.

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

    NumPy or torch, with gradients; `mean` (3 + 6 J,) is what `output_of` took off.
    """
    xp = array_namespace(output)
    whole = output + mean
    count = (whole.shape[-1] - 3) // 6
    six = xp.reshape(whole[..., 3:], (*whole.shape[:-1], count, 6))
    return whole[..., :3], sixd_to_matrix(six)


def decode_pose(output: Array, mean: Array) -> tuple[Array, Array]:
    """The same with rotations as quaternions (B, J, 4)."""
    root, matrices = decode(output, mean)
    return root, quat_from_matrix(matrices)


def mean_output(rig: Rig) -> Floats:
    """The rig's starting pose in the layout of the output: a mean to begin with."""
    count = outputs_of(rig)
    root = np.array([[0.0, 0.0, rig.start_height]])
    result: Floats = output_of(root, rig.start[None], np.zeros(count))[0]
    return result
