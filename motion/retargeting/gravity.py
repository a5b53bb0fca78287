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
FLOOR, STEADY = 0.04, 0.6
"""The lowest joint is on the floor within this height, [m]; that of a body that stays in
place is there in this fraction of frames."""
OFTEN, RATIO = 0.25, 2.5
"""The floor is along another axis if the lowest joint is on it in the first fraction of frames,
and this many times as often as along the given one."""
LEVEL, UNEVEN = 0.5, 0.05
"""The floor is along the given axis if its height varies less than this much of that along the
other, and that by more than this, [m]."""
NEAR, FAR = 0.15, 0.3
"""Where both are level, the floor is nearer to the origin than the first, the other further
than the second, [m]."""

DIRECTIONS = np.concatenate([np.eye(3), -np.eye(3)])[[2, 0, 1, 5, 3, 4]]
"""The six directions along axes, +Z first. Shape (6, 3)."""


def up_direction(motion: Motion, roles: dict[str, int]) -> Floats:
    """The direction (3,) along an axis of `motion` that is up; +Z unless it is clearly another.

    A body that is upright along another axis in most frames, and hardly along +Z, stands along
    that one if its skeleton does at rest too, or if the floor is there: its lowest joints come
    back to one height, or lie near the origin. (A body that lies, rolls or swims does not.)

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
    floor = _floor_axis(positions[:, sorted(set(roles.values()))], best)
    if floor == best:
        return DIRECTIONS[best]
    if floor == 0 and not standing_fault(motion.skeleton, roles, rest):
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


def _floor_axis(positions: Floats, best: int) -> int:
    """Number of the direction along which joints (T, J, 3) have a floor: 0, `best`, or -1.

    -1: both could be.
    """
    lowest = (positions @ DIRECTIONS[[0, best]].T).min(axis=1)
    given, other = (_on_floor(column) for column in lowest.T)
    if other >= OFTEN and other > RATIO * given:
        return best
    spreads = np.subtract(*np.percentile(lowest, [95.0, 5.0], axis=0))
    if spreads[1] > UNEVEN and spreads[0] < LEVEL * spreads[1]:
        return 0
    near, far = np.sort(np.abs(np.median(lowest, axis=0)))
    if near < NEAR and far > FAR:
        return 0 if near == abs(np.median(lowest[:, 0])) else best
    return -1 if other >= STEADY else 0


def _on_floor(heights: Floats) -> float:
    """Largest fraction of `heights` (T,), [m], within `FLOOR` above one of the lower half."""
    sorted_heights = np.sort(heights)
    start = sorted_heights[: max(1, len(heights) // 2)]
    stop = np.searchsorted(sorted_heights, start + FLOOR, side="right")
    return float((stop - np.arange(len(start))).max()) / len(heights)


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
