"""Compare our kinematics with Blender's: rest, identity and random poses.

Blender computes in single precision, so the tolerance is 1e-4 m and 1e-4 in the matrices; a
wrong axis, offset or order causes errors of centimetres.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from bpy.types import Context, Object

from ambulo.configs.arrays import Floats
from ambulo.ik.pose import Pose, fk
from ambulo.motion.rotations import (
    quat_conjugate,
    quat_from_rotvec,
    quat_multiply,
    quat_rotate,
    quat_to_matrix,
)

from .binding import Binding, pose_of_matrices, write_pose
from .channels import put_back, read_channels

POSITION_LIMIT = 1e-4
"""Largest difference of a bone's head, [m]."""
MATRIX_LIMIT = 1e-4
"""Largest difference of an element of a rotation matrix."""
RANDOM_POSES = 200
LARGEST = np.deg2rad(120.0)
"""Largest rotation of a joint in a random pose, [rad]."""


@dataclass(frozen=True)
class Check:
    """One measurement, and whether it is within its limit."""

    name: str
    """Measured values, as text."""
    passed: bool | None
    """Whether every value is within its limit; None without a limit."""
    text: str
    """The numbers, with units."""


def validate_fk(context: Context, armature: Object, binding: Binding) -> list[Check]:
    """Compare Blender with our kinematics on `armature`; its pose is restored."""
    joints = len(binding.names)
    still = Pose(
        binding.rig.skeleton.offsets[:1], np.tile([1.0, 0.0, 0.0, 0.0], (1, joints, 1))
    )
    rest = rest_matrices(armature, binding)[None]
    poses = random_poses(RANDOM_POSES, joints)
    return [
        _compared("rest positions", binding, pose_of_matrices(binding, rest), rest),
        _compared(
            "identity rotations",
            binding,
            still,
            posed_matrices(context, armature, binding, still),
        ),
        _compared(
            f"{RANDOM_POSES} random poses",
            binding,
            poses,
            posed_matrices(context, armature, binding, poses),
        ),
    ]


def rest_matrices(armature: Object, binding: Binding) -> Floats:
    """Matrices of the bones at rest, in armature space. Shape (J, 4, 4)."""
    bones = [armature.data.bones[name] for name in binding.names]
    return np.array([np.array(bone.matrix_local) for bone in bones], dtype=np.float64)


def posed_matrices(
    context: Context, armature: Object, binding: Binding, poses: Pose
) -> Floats:
    """Blender's bone matrices of `poses`, in armature space. Shape (B, J, 4, 4)."""
    bones = binding.bones(armature)
    result = np.empty((len(poses), len(bones), 4, 4))
    with kept_pose(context, armature):
        for row in range(len(poses)):
            write_pose(armature, binding, poses[row : row + 1])
            # Until the view layer is updated, `matrix` is that of the last pose.
            context.view_layer.update()
            result[row] = [np.array(bone.matrix) for bone in bones]
    return result


def expected_matrices(binding: Binding, poses: Pose) -> Floats:
    """Our bone matrices of `poses`, in armature space. Shape (B, J, 4, 4)."""
    positions, orientations = fk(binding.rig, poses)
    back = quat_conjugate(binding.turn)
    turns = quat_multiply(back, quat_multiply(orientations, binding.axes))
    result = np.zeros((*positions.shape[:2], 4, 4))
    result[..., :3, :3] = quat_to_matrix(turns)
    result[..., :3, 3] = quat_rotate(back, positions) / binding.scale
    result[..., 3, 3] = 1.0
    return result


@contextmanager
def kept_pose(context: Context, armature: Object) -> Iterator[None]:
    """Restore the channels of every bone of `armature` at the end."""
    bones = list(armature.pose.bones)
    before = read_channels(bones)
    try:
        yield
    finally:
        put_back(bones, read_channels(bones), before)
        context.view_layer.update()


def random_poses(count: int, joints: int, seed: int = 0) -> Pose:
    """`count` poses of `joints` joints: random axes, angles up to `LARGEST`, roots 1 m off."""
    rng = np.random.default_rng(seed)
    axes = rng.normal(size=(count, joints, 3))
    axes /= np.linalg.norm(axes, axis=-1, keepdims=True)
    angles = rng.uniform(0.0, LARGEST, (count, joints, 1))
    return Pose(
        root=rng.uniform(-1.0, 1.0, (count, 3)),
        rotations=quat_from_rotvec(angles * axes),
    )


def _compared(name: str, binding: Binding, poses: Pose, blender: Floats) -> Check:
    """Our matrices of `poses` against Blender's (B, J, 4, 4)."""
    ours = expected_matrices(binding, poses)
    gaps = np.linalg.norm(ours[..., :3, 3] - blender[..., :3, 3], axis=-1)
    away = float(gaps.max()) * binding.scale
    turned = float(np.abs(ours[..., :3, :3] - blender[..., :3, :3]).max())
    worst = binding.names[int(gaps.max(axis=0).argmax())]
    return Check(
        name,
        away <= POSITION_LIMIT and turned <= MATRIX_LIMIT,
        f"{1000.0 * away:.4f} mm ({worst}), {turned:.1e} in the matrices",
    )
