"""Conversion of all joints' angles of a motion to quaternions, and back with smooth angles."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.motion.euler import quat_from_euler, quat_to_euler, unwrap_euler
from ambulo.motion.rotations import (
    quat_angle,
    quat_conjugate,
    quat_multiply,
    quat_normalize,
)

_OTHER_AXES = 1e-8  # a rotation about axes outside of the order, [rad]


def quats_of_channels(
    angles: Sequence[Floats], orders: Sequence[str], frames: Floats
) -> Floats:
    """Local rotations (T, J, 4) of each joint's angles (T, len(order)), [rad].

    The angles of joint j are measured in the frame `frames[j]` (J, 4), wxyz.
    """
    times = len(angles[0])
    quats = np.empty((times, len(orders), 4))
    for order in sorted(set(orders)):
        joints = [j for j, name in enumerate(orders) if name == order]
        block = np.stack([angles[j] for j in joints], axis=1)
        quats[:, joints] = quat_from_euler(block, order)
    turned = np.flatnonzero(frames[:, 1:].any(axis=1))
    if len(turned):
        frame = frames[turned]
        quats[:, turned] = quat_multiply(
            quat_multiply(frame, quats[:, turned]), quat_conjugate(frame)
        )
    return quat_normalize(quats)


def angles_and_order(quats: Floats, order: str, full: str) -> tuple[Floats, str]:
    """Angles (T, n), [rad], of `quats` (T, 4), and their order.

    It is `order`, unless that has fewer than three axes and some rotation is not about these:
    then `full`. Each frame's angles are those nearest to the frame before.
    """
    angles = quat_to_euler(quats, order)
    if len(order) < 3:
        error = quat_angle(quat_from_euler(angles, order), quats).max()
        if error > _OTHER_AXES:
            order = full
            angles = quat_to_euler(quats, order)
    return unwrap_euler(angles, order), order
