"""Blending of a layer's pose with the pose below it: pure functions of poses and weights."""

from __future__ import annotations

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.ik.pose import Pose, turned
from ambulo.ik.rig import Rig
from ambulo.motion.rotations import (
    quat_conjugate,
    quat_from_rotvec,
    quat_from_yaw,
    quat_multiply,
    quat_rotate,
    quat_slerp,
    quat_to_rotvec,
    yaw_of,
)


def override(below: Pose, above: Pose, weights: Floats) -> Pose:
    """Blend `above` over `below`; the hips' weight also applies to the root's position.

    Args:
        below: B poses.
        above: B poses.
        weights: Per joint: 0 keeps `below` bit for bit, 1 keeps `above`, between them slerp
            along the shorter arc. Shape (J,).
    """
    w = np.broadcast_to(weights, below.rotations.shape[:2])
    mixed = quat_slerp(below.rotations, above.rotations, w)
    share = w[..., None]
    rotations = np.where(share > 0.0, mixed, below.rotations)
    rotations = np.where(share >= 1.0, above.rotations, rotations)
    hips = float(weights[0])
    if hips >= 1.0:
        root = above.root
    elif hips > 0.0:
        root = below.root + hips * (above.root - below.root)
    else:
        root = below.root
    return Pose(root, rotations)


def difference(rig: Rig, pose: Pose, reference: Pose) -> Pose:
    """Difference from `reference` to `pose`, for an additive layer.

    Local rotations multiply from the left. Those of the hips and the root's displacement
    are in the yaw frame of the reference, so that they fit any heading.
    """
    yaw = hips_yaw(rig, reference)
    there = _unturned(rig, pose.rotations, yaw)
    here = _unturned(rig, reference.rotations, yaw)
    return Pose(
        quat_rotate(quat_from_yaw(-yaw), pose.root - reference.root),
        quat_multiply(there, quat_conjugate(here)),
    )


def add(rig: Rig, below: Pose, delta: Pose, weights: Floats) -> Pose:
    """Add a `difference` to `below`: slerp(identity, delta, weight) * below.

    Args:
        rig: The rig.
        below: B poses.
        delta: B differences.
        weights: Per joint; 0 keeps `below` bit for bit. Shape (J,).
    """
    yaw = hips_yaw(rig, below)
    w = weights[:, None]
    part = quat_from_rotvec(quat_to_rotvec(delta.rotations) * w)
    turned_below = _unturned(rig, below.rotations, yaw)
    rotations = quat_multiply(part, turned_below)
    rotations[:, 0] = turned(rig, rotations[:, 0], yaw)
    rotations = np.where(w > 0.0, rotations, below.rotations)
    if weights[0] == 0.0:
        return Pose(below.root, rotations)
    way = quat_rotate(quat_from_yaw(yaw), delta.root)
    return Pose(below.root + weights[0] * way, rotations)


def hips_yaw(rig: Rig, pose: Pose) -> Floats:
    """Yaw of the hips relative to rest, [rad]. Shape (B,)."""
    rest = rig.skeleton.rest[0]
    world = quat_multiply(
        quat_multiply(rest, pose.rotations[:, 0]), quat_conjugate(rest)
    )
    yaw: Floats = yaw_of(world)
    return yaw


def _unturned(rig: Rig, rotations: Floats, yaw: Floats) -> Floats:
    """Return `rotations` (B, J, 4) with the hips in their yaw frame."""
    result = rotations.copy()
    result[:, 0] = turned(rig, result[:, 0], -yaw)
    return result
