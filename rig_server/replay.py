"""A motion clip as a stream of a game engine: the seven bones of the legs.

Engines of this protocol are left-handed (X forward, Y right, Z up, centimetres); our worlds are
right-handed with Y to the left, so Y changes its sign and with it rotations about X and Z. Both
kinds of quaternion obey the same product rule afterwards.
"""

from __future__ import annotations

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import MotionError
from ambulo.motion.kinematics import motion_kinematics
from ambulo.motion.motion import Motion
from ambulo.motion.roles import roles_of
from ambulo.motion.rotations import quat_conjugate, quat_multiply, quat_rotate
from ambulo.rig_server.frames import RigFrame, up_of

ROLES = (
    "hips",
    "right_thigh", "right_shin", "right_foot",
    "left_thigh", "left_shin", "left_foot",
)  # fmt: skip
"""Roles of the bones of `LEGS`, in its order."""
_PARENTS = (-1, 0, 1, 2, 0, 4, 5)
_EFFECTORS = (3, 6)


def mirrored_vector(v: Floats) -> Floats:
    """A vector of a right-handed world in the left-handed one with Y reversed."""
    return v * np.array([1.0, -1.0, 1.0])


def mirrored_rotation(q: Floats) -> Floats:
    """A rotation wxyz mirrored in Y: rotations about X and Z change sign."""
    return q * np.array([1.0, -1.0, 1.0, -1.0])


def leg_frames(motion: Motion) -> list[RigFrame]:
    """Every frame of `motion` as the legs' stream, in a left-handed world.

    The targets are the feet (ankles), the ground is flat, and the ground's ray always hits.
    Joints between two of the bones (`lhipjoint`) are skipped.
    """
    roles = roles_of(motion.skeleton)
    missing = [role for role in ROLES if role not in roles]
    if missing:
        raise MotionError(f"{motion.label}: its skeleton has no {', '.join(missing)}")
    index = [roles[role] for role in ROLES]
    positions, turned = motion_kinematics(motion)
    positions = mirrored_vector(positions[:, index])
    turned = mirrored_rotation(turned[:, index])
    frames = len(motion)
    offsets, local = np.zeros((frames, 7, 3)), np.zeros((frames, 7, 4))
    local[:, 0, 0] = 1.0
    for bone, parent in enumerate(_PARENTS[1:], start=1):
        back = quat_conjugate(turned[:, parent])
        offsets[:, bone] = quat_rotate(back, positions[:, bone] - positions[:, parent])
        local[:, bone] = quat_multiply(back, turned[:, bone])
    back = quat_conjugate(turned[:, 0])
    hits = np.ones(len(_EFFECTORS))
    result = []
    for t in range(frames):
        up = up_of(turned[t, 0])
        feet = positions[t, list(_EFFECTORS)] - positions[t, 0]
        result.append(
            RigFrame(
                root_position=positions[t, 0],
                root_rotation=turned[t, 0],
                offsets=offsets[t],
                rotations=local[t],
                normals=np.tile(up, (len(_EFFECTORS), 1)),
                hits=hits,
                targets=quat_rotate(back[t], feet),
                up=up,
            )
        )
    return result
