"""Random poses of the whole rig, for checks of kinematics: every joint, any rotation."""

from __future__ import annotations

import numpy as np

from ambulo.ik.pose import Pose
from ambulo.motion.rotations import quat_from_rotvec

LARGEST = np.deg2rad(120.0)
"""No joint is turned further, [rad]."""


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
