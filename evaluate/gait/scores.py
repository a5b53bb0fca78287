"""How good predicted gait is: angles of the legs, speed, and sliding feet."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.arrays import Floats
from ambulo.configs.gait import GaitSpace
from ambulo.motion.contacts import foot_skate
from ambulo.motion.gaits.frames import mirrored, motion_of, orthonormal, speed_of
from ambulo.motion.gaits.skeleton import gait_skeleton
from ambulo.motion.human23 import rotations_of_sixdof
from ambulo.motion.rotations import quat_angle
from ambulo.motion.skeletons import load_skeleton

LEGS = {"hip": "Femur", "knee": "Tibia", "ankle": "Talus"}
"""The joints of the legs that scores are about."""


@dataclass(frozen=True)
class GaitScores:
    """Means over N sequences of frames."""

    sequences: int
    """N."""
    hip_deg: float
    """Angle between predicted and true local rotations, both sides, [deg]."""
    knee_deg: float
    """As `hip_deg`, of the knees."""
    ankle_deg: float
    """As `hip_deg`, of the ankles."""
    legs_deg: float
    """Mean of hip, knee and ankle."""
    joints_deg: float
    """Mean over all 23 joints, the root's turn among them."""
    worst_legs_deg: float
    """`legs_deg` of the worst sequence."""
    mse: float
    """Mean squared difference of the 101 numbers, as published."""
    speed_percent: float
    """Mean size of the error of the forward speed over the true speed, [%]."""
    worst_speed_percent: float
    """`speed_percent` of the worst sequence."""


def score(predicted: NDArray[np.floating], true: NDArray[np.floating]) -> GaitScores:
    """Scores of frames (N, T, 101); sequences of less than 0.1 m/s tell no speed error."""
    wanted = np.asarray(true, dtype=np.float64)
    given = np.asarray(predicted, dtype=np.float64)
    angles = joint_errors(given, wanted)
    skeleton = load_skeleton("human23")

    def mean(name: str) -> Floats:
        joints = [skeleton.index(name + side) for side in "LR"]
        return np.asarray(angles[..., joints].mean(axis=(1, 2)))

    parts = {name: mean(joint) for name, joint in LEGS.items()}
    legs = np.mean(list(parts.values()), axis=0)
    speed = speed_of(wanted)
    off = np.abs(speed_of(given) - speed)
    moving = np.abs(speed) > 0.1
    percent = 100.0 * off[moving] / np.abs(speed[moving])
    return GaitScores(
        sequences=len(wanted),
        hip_deg=float(parts["hip"].mean()),
        knee_deg=float(parts["knee"].mean()),
        ankle_deg=float(parts["ankle"].mean()),
        legs_deg=float(legs.mean()),
        joints_deg=float(angles.mean()),
        worst_legs_deg=float(legs.max()),
        mse=float(((given - wanted) ** 2).mean()),
        speed_percent=float(percent.mean()) if len(percent) else 0.0,
        worst_speed_percent=float(percent.max()) if len(percent) else 0.0,
    )


def asymmetry(motions: NDArray[np.floating]) -> float:
    """`legs_deg` between the mean of frames (N, 60, 101) and its mirror image."""
    mean = np.asarray(motions, dtype=np.float64).mean(axis=0, keepdims=True)
    return score(mirrored(mean), mean).legs_deg


def joint_errors(predicted: Floats, true: Floats) -> Floats:
    """Angles between local rotations of frames (..., 101), [deg]. Shape (..., 23)."""
    angle = quat_angle(rotations_of_sixdof(predicted), rotations_of_sixdof(true))
    return np.asarray(np.rad2deg(angle))


def skates(
    frames: NDArray[np.floating], params: Floats, fps: Floats, space: GaitSpace
) -> Floats:
    """Mean speed of standing feet of each sequence (N, 60, 101), [m/s]. Shape (N,)."""
    found = []
    for frame, row, rate in zip(frames, params, fps, strict=True):
        valid = orthonormal(np.asarray(frame, dtype=np.float64))
        motion = motion_of(valid, float(rate), gait_skeleton(space, row))
        found.append(foot_skate(motion))
    return np.array(found)
