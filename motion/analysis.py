"""Measures of a motion: velocities, speed, ranges of joints and implausible jumps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from ambulo.configs.arrays import Bools, Floats
from ambulo.configs.errors import MotionError
from ambulo.motion.kinematics import joint_positions, motion_kinematics
from ambulo.motion.landmarks import body_path
from ambulo.motion.motion import Motion
from ambulo.motion.roles import SIDES, roles_of
from ambulo.motion.rotations import (
    quat_angle,
    quat_conjugate,
    quat_multiply,
    quat_rotate,
    quat_to_rotvec,
)

RANGES = {
    "hips": "thigh",
    "knees": "shin",
    "ankles": "foot",
    "shoulders": "upper_arm",
    "elbows": "forearm",
}
"""Joints whose ranges are reported, and their roles."""
_POSES = 60
"""Number of poses for the ranges."""


@dataclass(frozen=True)
class Jump:
    """A joint that rotates implausibly far from one frame to the next."""

    joint: str
    """The joint's name."""
    frame: int
    """The frame after the jump, from 0."""
    angle_deg: float
    """Angle of the joint's rotation between the frames, [deg]."""


def joint_velocities(motion: Motion) -> Floats:
    """World velocities of all joints, [m/s]. Shape (T, J, 3).

    Central differences, at both ends one-sided; zero for a single frame.
    """
    return _differences(joint_positions(motion), motion.fps)


def angular_velocities(
    motion: Motion, frame: Literal["local", "world"] = "local"
) -> Floats:
    """Angular velocities of all joints, [rad/s]. Shape (T, J, 3).

    Args:
        motion: The motion.
        frame: "local": relative to the parent, in the joint's own frame. "world": of
            the joint's orientation in the world, in the world's frame.

    The mean of log(q_t-1^-1 q_t) and log(q_t^-1 q_t+1) times the rate, an error of
    second order on SO(3); at both ends one-sided, zero for a single frame.
    """
    if frame not in ("local", "world"):
        raise MotionError(f"frame must be 'local' or 'world', got {frame!r}")
    q: Floats = motion.rotations
    if frame == "world":
        _, q = motion_kinematics(motion)
    if len(motion) < 2:
        return np.zeros((*q.shape[:-1], 3))
    steps = quat_to_rotvec(quat_multiply(quat_conjugate(q[:-1]), q[1:])) * motion.fps
    own: Floats = np.concatenate(
        [steps[:1], 0.5 * (steps[:-1] + steps[1:]), steps[-1:]]
    )
    return quat_rotate(q, own) if frame == "world" else own


def speed(motion: Motion) -> Floats:
    """Horizontal speed of the body (`body_path`), [m/s]. Shape (T,)."""
    across = _differences(body_path(motion)[:, :2], motion.fps)
    return np.linalg.norm(across, axis=-1)


def joint_ranges(motion: Motion) -> dict[str, float]:
    """Largest rotation of each of `RANGES` between two poses, of both sides, [deg]."""
    rows = np.unique(np.linspace(0, len(motion) - 1, _POSES).round().astype(np.int64))
    roles = roles_of(motion.skeleton)
    ranges = {}
    for name, limb in RANGES.items():
        joints = [roles[f"{s}_{limb}"] for s in SIDES if f"{s}_{limb}" in roles]
        turns = motion.rotations[rows][:, joints]
        if joints:
            angles = quat_angle(turns[:, None], turns[None])
            ranges[name] = float(np.rad2deg(angles.max()))
    return ranges


def movement_text(motion: Motion) -> str:
    """Speed from start to end, height of the root and ranges of joints, in words."""
    places = body_path(motion)
    path = places[-1] - places[0]
    pace = float(np.hypot(path[0], path[1])) / max(motion.duration, 1e-9)
    low, high = places[:, 2].min(), places[:, 2].max()
    parts = [f"{name} {angle:.0f}" for name, angle in joint_ranges(motion).items()]
    ranges = f"; {', '.join(parts)} degrees" if parts else ""
    return f"{pace:.2f} m/s, root {low:.2f} to {high:.2f} m high{ranges}"


def spans(found: Bools) -> list[tuple[int, int]]:
    """Start and stop (exclusive) of each run of true values in `found` (T,)."""
    edges = np.flatnonzero(np.diff(np.r_[False, found, False].astype(np.int8)))
    return [(start, stop) for start, stop in edges.reshape(-1, 2).tolist()]


def jumps(motion: Motion, threshold_deg: float = 90.0) -> list[Jump]:
    """Joints that rotate more than `threshold_deg` in one frame, in order of time.

    No human joint rotates 90 degrees in 1/120 s; such captures have lost markers, mostly of
    hands and thumbs.
    """
    if len(motion) < 2:
        return []
    angles = np.rad2deg(quat_angle(motion.rotations[:-1], motion.rotations[1:]))
    return [
        Jump(motion.skeleton.joints[joint], int(frame) + 1, float(angles[frame, joint]))
        for frame, joint in np.argwhere(angles > threshold_deg)
    ]


def _differences(values: Floats, fps: float) -> Floats:
    if len(values) < 2:
        return np.zeros_like(values)
    rates: Floats = np.gradient(values, axis=0) * fps
    return rates
