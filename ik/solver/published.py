"""The published network interface (see docs/index.md): exactly 50 numbers in, 69 out.

Input: of each of the five effectors position relative to the hips (3, [m]) and rotation from
its rest orientation as Euler angles (3, divided by pi); forward and up of the hips (6); of the
left and the right foot height of the ankle over the ground divided by 2 (1), ground normal (3),
grounded (1), desired contact (1); phase (1), task (1). All are in the character's own yaw frame
(`ambulo.ik.solver.features.root_frame` of the hips), the same one in extraction, training and
at run time, so that position and heading do not matter. Output: the local rotations of the 23
joints as rotation vectors, of the hips in that frame. The hips' position is an input and not
predicted.

Euler angles (x, y, z) mean R = Rz Ry Rx, as Blender's order "XYZ" does, y within a quarter
turn. Rotations are relative to rest, not to the world's axes: that keeps all three near 0, away
from the jumps of Euler angles.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ambulo.configs.arrays import Floats, Singles
from ambulo.configs.errors import IKError
from ambulo.ik.kernels.targets import HIPS
from ambulo.ik.pose import Pose
from ambulo.ik.rig import EFFECTORS, Rig
from ambulo.ik.solver.features import pose_from_frame, root_frame, to_frame
from ambulo.ik.solver.targets import Targets
from ambulo.motion.rotations import (
    quat_conjugate,
    quat_from_rotvec,
    quat_multiply,
    quat_rotate,
    quat_to_matrix,
    quat_to_rotvec,
)

INPUTS, OUTPUTS = 50, 69
"""Input and output sizes."""

TASKS = ("idle", "locomotion", "reach", "grab", "crouch", "jump")
"""Meaning of the last input."""

GROUNDED = 0.10
"""An ankle below this height over the ground counts as grounded, [m]."""


@dataclass(frozen=True, eq=False)
class Context:
    """Inputs of the published network besides targets, for B characters."""

    ground_heights: Floats
    """World height of the ground under the left and right foot, [m]. Shape (B, 2)."""
    ground_normals: Floats
    """World normals of that ground. Shape (B, 2, 3)."""
    grounded: Floats
    """1 for a foot in contact. Shape (B, 2)."""
    contacts: Floats
    """1 for a foot that should be in contact. Shape (B, 2)."""
    phase: Floats
    """Phase of the step, 0..1. Shape (B,)."""
    task: Floats
    """Index into `TASKS`. Shape (B,)."""

    @classmethod
    def level(cls, targets: Targets, task: str = "idle", phase: float = 0.0) -> Context:
        """Context on level ground at height 0; feet below `GROUNDED` are in contact."""
        if task not in TASKS:
            raise IKError(f"no task {task!r} (valid: {', '.join(TASKS)})")
        count = len(targets)
        feet = [EFFECTORS.index("LeftFoot"), EFFECTORS.index("RightFoot")]
        stands = (targets.positions[:, feet, 2] < GROUNDED).astype(np.float64)
        return cls(
            np.zeros((count, 2)),
            np.tile([0.0, 0.0, 1.0], (count, 2, 1)),
            stands,
            stands,
            np.full(count, phase),
            np.full(count, float(TASKS.index(task))),
        )

    @classmethod
    def of_rows(cls, rows: Floats) -> Context:
        """The context of `rows` (B, 14), in the order of the fields."""
        return cls(
            rows[:, :2], rows[:, 2:8].reshape(-1, 2, 3), rows[:, 8:10], rows[:, 10:12],
            rows[:, 12], rows[:, 13],
        )  # fmt: skip

    def rows(self) -> Floats:
        """The numbers in the order of the fields. Shape (B, 14)."""
        count = len(self.phase)
        return np.concatenate(
            [
                self.ground_heights, self.ground_normals.reshape(count, 6),
                self.grounded, self.contacts, self.phase[:, None], self.task[:, None],
            ],
            axis=1,
        )  # fmt: skip


def published_input(rig: Rig, targets: Targets, context: Context) -> Singles:
    """The 50 numbers of `targets`, which must all be present. Shape (B, 50)."""
    if not (
        (targets.position_weights > 0).all() and (targets.rotation_weights > 0).all()
    ):
        raise IKError(
            "the published network needs position and rotation of all six targets"
        )
    frame = root_frame(rig, targets)
    places, turns = to_frame(*frame, targets.positions, targets.rotations)
    hips = places[:, HIPS]
    away = quat_multiply(turns, quat_conjugate(rig.target_rest)[None])
    count, arms = len(targets), len(EFFECTORS)
    inputs = np.empty((count, INPUTS), dtype=np.float32)
    effectors = inputs[:, : 6 * arms].reshape(count, arms, 6)
    effectors[..., :3] = places[:, :HIPS] - hips[:, None]
    effectors[..., 3:] = euler_xyz(away[:, :HIPS]) / np.pi
    inputs[:, : 6 * arms] = effectors.reshape(count, -1)
    inputs[:, 30:33] = quat_rotate(away[:, HIPS], np.array([1.0, 0.0, 0.0]))
    inputs[:, 33:36] = quat_rotate(away[:, HIPS], np.array([0.0, 0.0, 1.0]))
    normals = to_frame(*frame, context.ground_normals + frame[0][:, None], turns)[0]
    for side, name in enumerate(("LeftFoot", "RightFoot")):
        height = targets.positions[:, EFFECTORS.index(name), 2]
        k = 36 + 6 * side
        inputs[:, k] = (height - context.ground_heights[:, side]) / 2.0
        inputs[:, k + 1 : k + 4] = normals[:, side]
        inputs[:, k + 4] = context.grounded[:, side]
        inputs[:, k + 5] = context.contacts[:, side]
    inputs[:, 48] = context.phase
    inputs[:, 49] = context.task
    return inputs


def published_pose(rig: Rig, output: Singles, targets: Targets) -> Pose:
    """The poses in the world for `output` (B, 69); the hips on their target."""
    frame = root_frame(rig, targets)
    local = quat_from_rotvec(output.reshape(-1, OUTPUTS // 3, 3).astype(np.float64))
    root = to_frame(*frame, targets.positions, targets.rotations)[0][:, HIPS]
    return pose_from_frame(rig, Pose(root, local), frame)


def published_output(pose: Pose) -> Singles:
    """The 69 numbers of a pose in its own root frame. Shape (B, 69)."""
    vectors: Floats = quat_to_rotvec(pose.rotations)
    return vectors.reshape(len(pose), -1).astype(np.float32)


def euler_xyz(rotations: Floats) -> Floats:
    """Angles (..., 3) about X, then Y, then Z, [rad], of `rotations` (..., 4)."""
    m = quat_to_matrix(rotations)
    level = np.hypot(m[..., 0, 0], m[..., 1, 0])
    # Gimbal lock: X and Z rotate about one axis, so the whole angle is given to X.
    stuck = level < 1e-9
    x = np.where(
        stuck,
        np.arctan2(-m[..., 1, 2], m[..., 1, 1]),
        np.arctan2(m[..., 2, 1], m[..., 2, 2]),
    )
    z = np.where(stuck, 0.0, np.arctan2(m[..., 1, 0], m[..., 0, 0]))
    return np.stack([x, np.arctan2(-m[..., 2, 0], level), z], axis=-1)
