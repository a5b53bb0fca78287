"""Rotation of body parts in a motion: by a ball, or by all hinges of a chain."""

from __future__ import annotations

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.motion.kinematics import forward_kinematics
from ambulo.motion.retargeting.body import RetargetBody
from ambulo.motion.retargeting.chains import chain_rotations
from ambulo.motion.rotations import (
    quat_conjugate,
    quat_from_rotvec,
    quat_multiply,
    quat_rotate,
    swing_twist,
)


def turn_part(body: RetargetBody, rotations: Floats, role: str, turn: Floats) -> None:
    """Rotate a role's part with its children, in local rotations (T, J, 4), in place.

    Args:
        body: The body.
        rotations: Local rotations.
        role: The role; a body without it is unchanged.
        turn: Rotation in the part's own frame. Shape (T, 4) or (1, 4).
    """
    if role not in body.roles:
        return
    joint, skeleton = body.parts[role], body.skeleton
    if role in body.chains:
        _, world = forward_kinematics(
            skeleton, np.zeros((len(rotations), 3)), rotations
        )
        chain = body.chains[role]
        rotations[:, chain] = chain_rotations(
            skeleton, chain, body.hinge_axes, world[:, skeleton.parents[chain[0]]],
            quat_multiply(world[:, joint], turn), np.zeros((len(rotations), 3)),
        )  # fmt: skip
        return
    turned = quat_multiply(rotations[:, joint], turn)
    if len(skeleton.orders[joint]) == 1:
        turned = swing_twist(turned, body.hinge_axes[joint])[1]
    rotations[:, joint] = turned


def bend_part(body: RetargetBody, rotations: Floats, role: str, bend: Floats) -> None:
    """Bend a role's part by rotation vectors (T, 3) along the axes of the body at rest, [rad].

    In place; see `turn_part`.
    """
    if role in body.roles:
        own = quat_conjugate(body.orientations[body.parts[role]])
        turn_part(body, rotations, role, quat_from_rotvec(quat_rotate(own, bend)))
