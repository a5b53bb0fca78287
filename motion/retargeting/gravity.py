"""Which axis of a motion is up, seen from the motion: heads over feet, and a level floor.

Motion files do not say which axis is up. A body that stands or walks has its head over its feet
in most frames, and the lowest of its joints stay at one height.
"""

from __future__ import annotations

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import MotionError
from ambulo.motion.kinematics import forward_kinematics, tip_positions
from ambulo.motion.landmarks import rest_points
from ambulo.motion.motion import Motion
from ambulo.motion.retargeting.standing import standing_fault

FRAMES = 400
"""Number of frames that are looked at, evenly over the clip."""
UPRIGHT = np.deg2rad(35.0)
"""A body whose head is within this of straight over its feet is upright, [rad]."""
MOSTLY = 0.6
"""A body upright along an axis in this fraction of frames stands along it."""
RARELY = 0.3
"""A body upright in this fraction of frames contradicts no axis (crawling, rolling)."""
LEVEL, UNEVEN = 0.5, 0.05
"""The floor is along another axis if its height varies less than this much of that along
the given one, and that by more than this, [m]."""
NEAR, FAR = 0.15, 0.3
"""Or if it is nearer to the origin than the first, that along the given one further than the
second, [m]."""

DIRECTIONS = np.concatenate([np.eye(3), -np.eye(3)])[[2, 0, 1, 5, 3, 4]]
"""The six directions along axes, +Z first. Shape (6, 3)."""


def up_direction(motion: Motion, roles: dict[str, int]) -> Floats:
    """The direction (3,) along an axis of `motion` that is up; +Z unless it is clearly another.

    A body that is upright along another axis in most frames, and hardly along +Z, stands along
    that one if its skeleton does at rest too, or if the floor is there: the lowest joints
    stay at a more even height, or near the origin (a body that lies has its floor below it).

    Args:
        motion: A motion, in axes that may not be ours.
        roles: Joint of each role, hips and thighs among them.

    Raises:
        MotionError: The body stands along no axis that can be told.
    """
    positions = sampled_points(motion)
    body = _body_direction(positions, roles)
    upright = (body @ DIRECTIONS.T > np.cos(UPRIGHT)).mean(axis=0)
    best = int(np.argmax(upright))
    if best == 0 or upright[0] >= RARELY or upright[best] < MOSTLY:
        return DIRECTIONS[0]
    rest = rest_points(motion.skeleton)
    turned = rest @ turn_to_up(DIRECTIONS[best]).T
    if not standing_fault(motion.skeleton, roles, turned):
        return DIRECTIONS[best]
    if _is_floor(positions[:, sorted(set(roles.values()))], best):
        return DIRECTIONS[best]
    if not standing_fault(motion.skeleton, roles, rest):
        return DIRECTIONS[0]
    raise MotionError(
        f"{motion.label}: cannot tell which axis is up: the body lies, and "
        "nothing shows where the floor is; give the axes"
    )


def sampled_points(motion: Motion, frames: int = FRAMES) -> Floats:
    """World positions of joints, then tips, in at most `frames` frames, [m]. (n, J+K, 3)."""
    rows = np.unique(np.linspace(0, len(motion) - 1, frames).round().astype(int))
    offsets = motion.joint_offsets
    positions, orientations = forward_kinematics(
        motion.skeleton,
        motion.root_positions[rows],
        motion.rotations[rows],
        None if offsets is None else offsets[rows],
    )
    tips: Floats = tip_positions(motion.skeleton, positions, orientations)
    return np.concatenate([positions, tips], axis=1)


def turn_to_up(up: Floats) -> Floats:
    """The rotation matrix (3, 3), a signed permutation, that brings axis `up` (3,) to +Z."""
    axis = int(np.argmax(np.abs(up)))
    forward = np.eye(3)[(axis + 1) % 3]
    return np.stack([forward, np.cross(up, forward), up])


def _is_floor(positions: Floats, best: int) -> bool:
    """Whether the floor is below direction `best` of joints (T, J, 3) and not below +Z."""
    lowest = (positions @ DIRECTIONS[[0, best]].T).min(axis=1)
    given, other = np.subtract(*np.percentile(lowest, [95.0, 5.0], axis=0))
    if given > UNEVEN and other < LEVEL * given:
        return True
    height_given, height = np.abs(np.median(lowest, axis=0))
    return bool(height < NEAR and height_given > FAR)


def _body_direction(positions: Floats, roles: dict[str, int]) -> Floats:
    """Unit vectors (T, 3) from the feet (or shins, thighs) to the head (or the next below)."""
    low = next(
        [roles[f"left_{limb}"], roles[f"right_{limb}"]]
        for limb in ("foot", "shin", "thigh")
        if f"left_{limb}" in roles and f"right_{limb}" in roles
    )
    tops = [
        [roles[role]] for role in ("head", "neck", "chest", "spine") if role in roles
    ]
    high = [*tops, [roles["hips"]]][0]
    along = positions[:, high].mean(axis=1) - positions[:, low].mean(axis=1)
    length = np.linalg.norm(along, axis=-1, keepdims=True)
    unit: Floats = along / np.maximum(length, 1e-9)
    return unit
