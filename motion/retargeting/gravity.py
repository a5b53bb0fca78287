"""Detection of the up axis of a motion: heads over feet, and a level floor.

Motion files do not state the up axis. A body that stands or walks has its head over its feet in
most frames, and its lowest joints at one height.
"""

from __future__ import annotations

import numpy as np

from ambulo.configs.arrays import Bools, Floats
from ambulo.configs.errors import MotionError
from ambulo.motion.kinematics import motion_kinematics, tip_positions
from ambulo.motion.landmarks import rest_points
from ambulo.motion.motion import Motion
from ambulo.motion.retargeting.standing import standing_fault

FRAMES = 400
"""Number of frames to examine, evenly over the clip."""
UPRIGHT = np.deg2rad(35.0)
"""Angle within which the head is over the feet of an upright body, [rad]."""
MOSTLY = 0.6
"""Fraction of upright frames from which a body stands along an axis."""
RARELY = 0.3
"""Fraction of upright frames from which a body contradicts no axis (crawling, rolling)."""
FLOOR, STEADY = 0.04, 0.6
"""Height within which the lowest joint is on the floor, [m], and the fraction of such frames of
a body that stays in place."""
OFTEN, RATIO = 0.25, 2.5
"""The floor is along another axis if the lowest joint is on it in the first fraction of frames,
and this many times more often than along the given one."""
LEVEL, UNEVEN = 0.5, 0.05
"""The floor is along the given axis if its height varies by less than this fraction of that
along the other, which varies by more than the second, [m]."""
NEAR, FAR = 0.15, 0.3
"""If both are level, the floor is nearer to the origin than the first, the other farther than
the second, [m]."""

TRAVEL, RISE, SIDE = 1.0, 0.3, 0.8
"""A body travels across its own length by more than the first, [m], and along it by less than
the second, only on its feet; and it does not lie throughout with one hip straight above the
other by the third."""
SHORT_CLIP = 1.0
"""Duration below which a clip is too short to be sure that a body lies, [s]."""

DIRECTIONS = np.concatenate([np.eye(3), -np.eye(3)])[[2, 0, 1, 5, 3, 4]]
"""The six directions along axes, +Z first. Shape (6, 3)."""


def up_direction(motion: Motion, roles: dict[str, int]) -> Floats:
    """The up direction (3,) of `motion`, along an axis; +Z unless clearly another.

    A body that is upright along another axis in most frames, and hardly along +Z, stands along
    that one if its skeleton does at rest too, or if the floor is there: its lowest joints come
    back to one height, or lie near the origin. (A body that lies, rolls or swims does not.)

    Args:
        motion: A motion, in unknown axes.
        roles: Joint of each role, hips and thighs among them.

    Raises:
        MotionError: The up axis cannot be determined.
    """
    points = sampled_points(motion)
    upright = upright_frames(points, roles, DIRECTIONS).mean(axis=0)
    best = int(np.argmax(upright))
    if upright[0] >= (RARELY if _rests(motion, roles, 0) else MOSTLY):
        return DIRECTIONS[0]
    joints = points[:, sorted(set(roles.values()))]
    if upright[best] < MOSTLY:
        up = _axis_at_rest(motion, roles, joints, upright)
    elif _rests(motion, roles, best):
        up = best
    else:
        up = _floor_axis(joints, best, motion.duration > SHORT_CLIP)
        if up < 0 and _walks(points, roles, best):
            up = best
        if up == 0 and not _rests(motion, roles, 0):
            up = -1
    if up < 0:
        raise MotionError(
            f"{motion.label}: cannot tell which axis is up: the body lies or bends, and "
            "nothing shows where the floor is; give the axes"
        )
    return DIRECTIONS[up]


def upright_frames(points: Floats, roles: dict[str, int], directions: Floats) -> Bools:
    """Whether a body of points (T, P, 3) stands along directions (n, 3). Shape (T, n)."""
    along: Bools = _body_direction(points, roles) @ directions.T > np.cos(UPRIGHT)
    return along


def _rests(motion: Motion, roles: dict[str, int], direction: int) -> bool:
    """Whether the skeleton at rest is a standing body along a direction."""
    rest = rest_points(motion.skeleton)
    if direction:
        rest = rest @ turn_to_up(DIRECTIONS[direction]).T
    return not standing_fault(motion.skeleton, roles, rest)


def _axis_at_rest(
    motion: Motion, roles: dict[str, int], joints: Floats, upright: Floats
) -> int:
    """Index of the one direction along which the skeleton stands at rest; -1 if unsure.

    Also unsure if it is +Z, but joints (T, J, 3) return to one height along another far more
    often. A skeleton without a rest pose stands where the body is `upright` (6,) most often, if
    joints return to one height there.
    """
    standing = [k for k in range(len(DIRECTIONS)) if _rests(motion, roles, k)]
    floors = [_on_floor(column) for column in (joints @ DIRECTIONS.T).min(axis=1).T]
    highest = int(np.argmax(floors))
    if not standing and highest == np.argmax(upright) and upright[highest] >= RARELY:
        return highest if floors[highest] >= STEADY else -1
    if len(standing) != 1:
        return -1
    elsewhere = floors[highest] >= STEADY and floors[highest] > RATIO * floors[0]
    return -1 if standing[0] == 0 and elsewhere else standing[0]


def sampled_points(motion: Motion, frames: int = FRAMES) -> Floats:
    """World positions of joints, then tips, in at most `frames` frames, [m]. (n, J+K, 3)."""
    rows = np.unique(np.linspace(0, len(motion) - 1, frames).round().astype(int))
    positions, orientations = motion_kinematics(motion, rows)
    tips: Floats = tip_positions(motion.skeleton, positions, orientations)
    return np.concatenate([positions, tips], axis=1)


def turn_to_up(up: Floats) -> Floats:
    """The rotation matrix (3, 3), a signed permutation, that brings axis `up` (3,) to +Z."""
    axis = int(np.argmax(np.abs(up)))
    forward = np.eye(3)[(axis + 1) % 3]
    return np.stack([forward, np.cross(up, forward), up])


def _floor_axis(positions: Floats, best: int, long: bool) -> int:
    """Index of the direction along which joints (T, J, 3) have a floor: 0, `best`, or -1.

    -1: both are possible. In a `long` clip without any floor (a swimmer's) +Z is kept.
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
    return 0 if long and other < STEADY else -1


def _walks(points: Floats, roles: dict[str, int], best: int) -> bool:
    """Whether a body (T, J, 3) travels across direction `best`, or stands along it sideways."""
    extents = np.ptp(points[:, roles["hips"]], axis=0)
    axis = int(np.argmax(np.abs(DIRECTIONS[best])))
    if np.delete(extents, axis).max() > TRAVEL and extents[axis] < RISE:
        return True
    left = points[:, roles["left_thigh"]] - points[:, roles["right_thigh"]]
    upwards = left[:, 2] / np.maximum(np.linalg.norm(left, axis=-1), 1e-9)
    return bool(np.median(np.abs(upwards)) > SIDE)


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
