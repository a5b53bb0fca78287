"""Inertialised transitions: the jump at a switch decays on top of the new motion.

After D. Bollo, "Inertialization: High-Performance Animation Transitions in Gears of War",
GDC 2018. At a switch the offset between old and new motion and its velocity are recorded. A
quintic with zero end velocity and acceleration decays the offset to 0. Only the new motion
is evaluated from then on, so that the old source may be released at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import IKError
from ambulo.ik.pose import Pose
from ambulo.motion.rotations import (
    quat_conjugate,
    quat_from_rotvec,
    quat_multiply,
    quat_to_rotvec,
)

SMALL = 1e-9
"""Offsets below this count as 0, [m] or [rad]."""


@dataclass(frozen=True, eq=False)
class Decay:
    """Quintics that decay offsets to 0, one for each value of shape (...)."""

    coefficients: Floats
    """Coefficients of t^0 .. t^5. Shape (6, ...)."""
    duration: Floats
    """Time at which each offset reaches 0, [s]. Shape (...)."""

    def at(self, time: float) -> Floats:
        """The offsets `time` seconds after the switch. Shape (...)."""
        c = self.coefficients
        value = c[5]
        for k in range(4, -1, -1):
            value = value * time + c[k]
        return np.where(time < self.duration, value, 0.0)


def decay_of(offset: Floats, velocity: Floats, seconds: float) -> Decay:
    """Quintics from `offset` (...) >= 0 at `velocity` (...) to rest at 0.

    As in Bollo, the duration is shortened where the velocity would overshoot, and the
    acceleration at the start is not negative.
    """
    x0, v0 = offset, velocity
    t1 = np.full(np.shape(x0), seconds)
    inward = v0 < 0.0
    t1 = np.where(inward, np.minimum(t1, -5.0 * x0 / np.where(inward, v0, -1.0)), t1)
    none = (x0 < SMALL) | (t1 < 1e-6)
    t = np.where(none, 1.0, t1)
    a0 = np.maximum(0.0, (-8.0 * v0 * t - 20.0 * x0) / (t * t))
    c5 = -(a0 * t * t + 6.0 * v0 * t + 12.0 * x0) / (2.0 * t**5)
    c4 = (3.0 * a0 * t * t + 16.0 * v0 * t + 30.0 * x0) / (2.0 * t**4)
    c3 = -(3.0 * a0 * t * t + 12.0 * v0 * t + 20.0 * x0) / (2.0 * t**3)
    return Decay(np.stack([x0, v0, 0.5 * a0, c3, c4, c5]), np.where(none, 0.0, t1))


@dataclass(frozen=True, eq=False)
class PoseTransition:
    """Decaying offset of B poses after a switch."""

    begin: float
    """Time of the switch, [s]."""
    seconds: float
    """Maximum duration, [s]."""
    root_way: Floats
    """Direction of the root's offset. Shape (B, 3)."""
    root: Decay
    """Length of the root's offset, [m]. Shape (B,)."""
    axes: Floats
    """Axis of each joint's offset. Shape (B, J, 3)."""
    angles: Decay
    """Angle of each joint's offset, [rad]. Shape (B, J)."""

    def over(self, now: float) -> bool:
        """Whether the transition has ended."""
        return now - self.begin >= self.seconds

    def apply(self, pose: Pose, now: float) -> Pose:
        """Return `pose` of the new motion at `now` with the remaining offset."""
        time = now - self.begin
        if self.over(now):
            return pose
        turns = quat_from_rotvec(self.axes * self.angles.at(time)[..., None])
        return Pose(
            pose.root + self.root_way * self.root.at(time)[..., None],
            quat_multiply(turns, pose.rotations),
        )


def transition(
    shown: tuple[Pose, Pose],
    new: tuple[Pose, Pose],
    now: float,
    dt: float,
    seconds: float,
) -> PoseTransition:
    """Return the transition from the shown motion to a new one.

    Args:
        shown: Poses at `now` without the switch, or the last shown ones, and those `dt` before
            them.
        new: Poses of the new motion at `now` and `dt` before.
        now: Time of the switch, [s].
        dt: Time between the two of each pair, [s].
        seconds: Longest duration of the transition, [s].
    """
    if seconds <= 0.0 or dt <= 0.0:
        raise IKError(
            f"a transition takes more than 0 s, got {seconds:g} s at steps of {dt:g} s"
        )
    way, length = _unit(shown[0].root - new[0].root)
    axes, angle = _unit(_offset(shown[0], new[0]))
    root_before = np.sum((shown[1].root - new[1].root) * way, axis=-1)
    angle_before = np.sum(_offset(shown[1], new[1]) * axes, axis=-1)
    return PoseTransition(
        now,
        seconds,
        way,
        decay_of(length, (length - root_before) / dt, seconds),
        axes,
        decay_of(angle, (angle - angle_before) / dt, seconds),
    )


def _offset(a: Pose, b: Pose) -> Floats:
    """Rotation vectors from `b` to `a`, applied from the left. (B, J, 3)."""
    turned: Floats = quat_to_rotvec(
        quat_multiply(a.rotations, quat_conjugate(b.rotations))
    )
    return turned


def _unit(vectors: Floats) -> tuple[Floats, Floats]:
    """Directions (..., 3) and lengths (...)."""
    length = np.linalg.norm(vectors, axis=-1)
    return vectors / np.maximum(length, SMALL)[..., None], length
