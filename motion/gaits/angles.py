"""Hip, knee and ankle angles of a motion, as defined in gait analysis."""

from __future__ import annotations

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import MotionError
from ambulo.motion.kinematics import joint_positions, rest_positions
from ambulo.motion.motion import Motion
from ambulo.motion.operations import root_turns
from ambulo.motion.roles import SIDES, roles_of
from ambulo.motion.rotations import quat_conjugate, quat_rotate

ANGLES = ("hip", "knee", "ankle")
"""Names of the angles of `leg_angles`, in order."""
_LEG = ("thigh", "shin", "foot", "toe")


def leg_angles(motion: Motion) -> Floats:
    """Flexion of hip and knee and dorsiflexion of the ankle, [rad]. Shape (T, 2, 3).

    The left leg, then the right. They are computed from the positions of hips, knees,
    ankles and toes in the pelvis frame, so that they do not depend on the skeleton's joint
    axes: the thigh's and the shin's angle from the vertical in the sagittal plane, and the
    foot's pitch, which counts from the pose at rest.

    Raises:
        MotionError: The skeleton has no legs with feet and toes.
    """
    skeleton = motion.skeleton
    roles = roles_of(skeleton)
    names = [[f"{side}_{part}" for part in _LEG] for side in SIDES]
    missing = [name for leg in names for name in leg if name not in roles]
    if missing:
        raise MotionError(f"{skeleton.name}: no joint plays the {missing[0]}")
    joints = np.array([[roles[name] for name in leg] for leg in names])
    still = _angles(rest_positions(skeleton)[None][:, joints])[0, :, 2]
    bones = joint_positions(motion)[:, joints]
    seen = quat_rotate(quat_conjugate(root_turns(motion))[:, None, None], bones)
    angles = _angles(seen)
    angles[..., 2] -= still
    return angles


def _angles(positions: Floats) -> Floats:
    """Angles (T, 2, 3) from joints (T, 2, 4, 3) in the pelvis frame; the foot's from level."""
    bones = np.diff(positions, axis=2)
    thigh, shin = (np.arctan2(bones[:, :, k, 0], -bones[:, :, k, 2]) for k in (0, 1))
    pitch = np.arctan2(bones[:, :, 2, 2], bones[:, :, 2, 0])
    return np.stack([thigh, thigh - shin, pitch - shin], axis=-1)
