"""Places, rotations and joints of a body that follows trackers."""

from __future__ import annotations

import numpy as np

from ambulo.configs.arrays import Floats, Ints
from ambulo.envs.characters.character import Character
from ambulo.motion.roles import SIDES, roles_of
from ambulo.motion.rotations import quat_from_matrix

UPPER = ("clavicle", "upper_arm", "forearm", "hand")
"""Parts of each arm that follow the tracked pose, as neck and head do."""


def from_frames(places: Floats, frames: Floats) -> Floats:
    """World places of places (N, B, 3) in heading frames (N, 4), [m]."""
    x, y, yaw = frames[:, :3].T[:, :, None]
    c, s = np.cos(yaw), np.sin(yaw)
    out = places.copy()
    out[..., 0] = x + c * places[..., 0] - s * places[..., 1]
    out[..., 1] = y + s * places[..., 0] + c * places[..., 1]
    return out


def quaternions_of(axes: Floats) -> Floats:
    """Rotations of first two axes (N, k, 2, 3) in the world, wxyz. Shape (N, k, 4)."""
    first, second = axes[..., 0, :], axes[..., 1, :]
    matrix = np.stack([first, second, np.cross(first, second)], axis=-1)
    return np.asarray(quat_from_matrix(matrix))


def upper_body(character: Character) -> tuple[Ints, Ints]:
    """Columns of qpos and of qvel of arms, neck and head."""
    roles, model = roles_of(character.skeleton), character.model
    names = [f"{side}_{part}" for side in SIDES for part in UPPER]
    joints = [
        model.joint(character.skeleton.joints[roles[name]])
        for name in ("neck", "head", *names)
    ]
    balls = [int(joint.type[0]) == 1 for joint in joints]
    columns = [
        int(joint.qposadr[0]) + np.arange(4 if ball else 1)
        for joint, ball in zip(joints, balls, strict=True)
    ]
    dofs = [
        int(joint.dofadr[0]) + np.arange(3 if ball else 1)
        for joint, ball in zip(joints, balls, strict=True)
    ]
    return np.concatenate(columns), np.concatenate(dofs)


def between_ankles(ankles: Floats, yaw: Floats) -> Floats:
    """From the right ankle to the left one, (N, 2, 3), seen along headings (N,). (N, 3)."""
    away = ankles[:, 0] - ankles[:, 1]
    c, s = np.cos(yaw), np.sin(yaw)
    x, y, z = away.T
    return np.stack([c * x + s * y, c * y - s * x, z], axis=1)
