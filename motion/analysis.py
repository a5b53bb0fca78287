"""Measures of a motion: velocities, speed and implausible jumps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import MotionError
from ambulo.motion.kinematics import joint_positions, motion_kinematics
from ambulo.motion.motion import Motion
from ambulo.motion.rotations import (
    quat_angle,
    quat_conjugate,
    quat_multiply,
    quat_rotate,
    quat_to_rotvec,
)


@dataclass(frozen=True)
class Jump:
    """A joint that turns implausibly far from one frame to the next."""

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
    """Horizontal speed of the root, [m/s]. Shape (T,)."""
    across = _differences(motion.root_positions[:, :2], motion.fps)
    return np.linalg.norm(across, axis=-1)


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
