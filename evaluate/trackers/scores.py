"""How good tracked bodies are: distances from the truth, and what a viewer sees."""

from __future__ import annotations

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.ik.avatar.layout import ANKLE, HEAD, THIGHS, sole
from ambulo.ik.trackers.layout import LEFT_HAND, RIGHT_HAND, TRACKED
from ambulo.motion.kinematics import motion_kinematics
from ambulo.motion.motion import Motion
from ambulo.motion.rotations import quat_angle, quat_rotate
from ambulo.motion.skeletons import load_skeleton

LEGS = tuple(range(THIGHS[1], THIGHS[0] + 5))
"""Joints of both legs."""
NEAR = 0.025
"""A foot touches the ground where its lowest point is no higher, [m]."""
SUNK = 0.02
"""Depth of a foot under the ground that is seen, [m]."""
POP = 3.0
"""A joint pops where its velocity changes by more between two frames, [m/s], and the true
one's does not within `AROUND`."""
AROUND = 0.05
"""Time around a pop in which the true joint is looked at, [s]."""
REST = 0.25
"""Time after a pop in which no other one is counted, [s]."""

MotionScores = dict[str, float]


def foot_points(motion: Motion) -> Floats:
    """Heels and balls of both feet in the world, [m]. Shape (T, 2, 2, 3)."""
    positions, turns = motion_kinematics(motion)
    points = sole(load_skeleton("human23"))
    size = (
        motion.skeleton.offsets[THIGHS[0] + 1, 2]
        / load_skeleton("human23").offsets[THIGHS[0] + 1, 2]
    )
    ankles = [thigh + ANKLE for thigh in THIGHS]
    arms = quat_rotate(turns[:, ankles, None], size * points)
    result: Floats = positions[:, ankles, None] + arms
    return result


def ground_speed(points: Floats, fps: float) -> Floats:
    """Horizontal speeds of feet that touch the ground, of `foot_points`, [m/s]. Shape (N,)."""
    low = points[..., 2].min(axis=2)
    lowest = points[..., 2].argmin(axis=2)
    velocity = np.gradient(points[..., :2], axis=0) * fps
    speeds = np.linalg.norm(velocity, axis=-1)
    chosen = np.take_along_axis(speeds, lowest[..., None], axis=2)[..., 0]
    result: Floats = chosen[low < NEAR]
    return result


def jerk(positions: Floats, fps: float) -> float:
    """Mean length of the third differences of joints (T, J, 3), [100 m/s^3]."""
    if len(positions) < 4:
        return 0.0
    third = np.diff(positions, n=3, axis=0) * fps**3
    return float(np.linalg.norm(third, axis=-1).mean()) / 100.0


def pops(found: Floats, true: Floats, fps: float) -> int:
    """How often a joint of `found` (T, J, 3) jumps where that of `true` does not."""
    change = np.linalg.norm(np.diff(found, n=2, axis=0), axis=-1) * fps
    allowed = np.linalg.norm(np.diff(true, n=2, axis=0), axis=-1) * fps
    around = max(round(AROUND * fps), 1)
    for shift in range(1, around + 1):
        allowed[shift:] = np.maximum(allowed[shift:], allowed[:-shift])
        allowed[:-shift] = np.maximum(allowed[:-shift], allowed[shift:])
    frames = np.flatnonzero(((change > POP) & (allowed < 0.5 * change)).any(axis=1))
    count, last = 0, -1_000_000
    for frame in frames:
        if frame - last > REST * fps:
            count += 1
            last = int(frame)
    return count


def errors_of(found: Motion, true: Motion) -> Floats:
    """Mean distance of the joints of each frame, [cm]. Shape (T,)."""
    way = motion_kinematics(found)[0] - motion_kinematics(true)[0]
    result: Floats = 100.0 * np.linalg.norm(way, axis=-1).mean(axis=1)
    return result


def motion_scores(found: Motion, true: Motion, skip: int = 0) -> MotionScores:
    """Scores of a tracked motion against the captured one, frame by frame.

    Args:
        found: The tracked body.
        true: The captured one; both on human23, in proportions of their own.
        skip: Frames at the beginning that do not count.
    """
    p, turns = (a[skip:] for a in motion_kinematics(found))
    q, true_turns = (a[skip:] for a in motion_kinematics(true))
    far = 100.0 * np.linalg.norm(p - q, axis=-1)
    hands = [TRACKED[LEFT_HAND], TRACKED[RIGHT_HAND]]
    feet, true_feet = foot_points(found)[skip:], foot_points(true)[skip:]
    fps, legs = true.fps, list(LEGS)
    slides, true_slides = ground_speed(feet, fps), ground_speed(true_feet, fps)
    seconds = max(len(p) / fps, 1e-9)
    return {
        "seconds": seconds,
        "mpjpe_cm": float(far.mean()),
        "legs_cm": float(far[:, legs].mean()),
        "hands_cm": float(far[:, hands].mean()),
        "head_cm": float(far[:, HEAD].mean()),
        "mpjre_deg": float(np.rad2deg(quat_angle(turns, true_turns)).mean()),
        "skate_cm_s": 100.0 * _mean(slides),
        "true_skate_cm_s": 100.0 * _mean(true_slides),
        "sunk_rate": float((feet[..., 2].min(axis=(1, 2)) < -SUNK).mean()),
        "true_sunk_rate": float((true_feet[..., 2].min(axis=(1, 2)) < -SUNK).mean()),
        "pops": float(pops(p, q, fps)),
        "jerk": jerk(p, fps),
        "true_jerk": jerk(q, fps),
        "legs_jerk": jerk(p[:, legs], fps),
        "true_legs_jerk": jerk(q[:, legs], fps),
    }


def _mean(values: Floats) -> float:
    return float(values.mean()) if len(values) else 0.0
