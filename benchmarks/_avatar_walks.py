"""Walked paths that avatars are measured on: commands of a player with the contract's lag."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import radians, sin

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.ik.avatar.pose import AvatarPose
from ambulo.motion.motion import Motion

SMOOTHING = 0.3
"""Part of the old command that is left after a tenth of a second (docs/vr_world.md)."""
EYES = 1.6
"""Height of the eyes, [m]."""

Command = Callable[[float], tuple[float, float, float]]
"""From a time [s] to speed ahead, to the left [m/s] and turn [rad/s]."""

WALKS: Mapping[str, Command] = {
    "standing": lambda _: (0.0, 0.0, 0.0),
    "0.3 m/s": lambda _: (0.3, 0.0, 0.0),
    "0.6 m/s": lambda _: (0.6, 0.0, 0.0),
    "1 m/s": lambda _: (1.0, 0.0, 0.0),
    "1.5 m/s": lambda _: (1.5, 0.0, 0.0),
    "2 m/s": lambda _: (2.0, 0.0, 0.0),
    "stop and go": lambda t: (1.2 if t % 4.0 < 2.0 else 0.0, 0.0, 0.0),
    "on the spot, 90 deg/s": lambda _: (0.0, 0.0, radians(90.0)),
    "curve of 1.3 m": lambda _: (1.0, 0.0, radians(45.0)),
    "curve of 0.4 m": lambda _: (0.5, 0.0, radians(80.0)),
    "sideways, 0.4 m/s": lambda _: (0.0, 0.4, 0.0),
    "sideways, 1 m/s": lambda _: (0.0, 1.0, 0.0),
    "backwards, 0.6 m/s": lambda _: (-0.6, 0.0, 0.0),
    "diagonal, 1 m/s": lambda _: (0.7, 0.7, 0.0),
    "all at once": lambda t: (
        1.0 + 0.8 * sin(1.3 * t), 0.6 * sin(0.7 * t), radians(80.0) * sin(0.9 * t),
    ),
}  # fmt: skip
"""Walks by name."""


def walked_path(command: Command, seconds: float, rate: float) -> Floats:
    """Places and headings (T, 3) of a player, x, y [m] and yaw [rad], at `rate` [Hz]."""
    count = round(seconds * rate)
    keep = SMOOTHING ** (10.0 / rate)
    place, moved, path = np.zeros(3), np.zeros(3), np.empty((count, 3))
    for k in range(count):
        moved = keep * moved + (1.0 - keep) * np.array(command(k / rate))
        place[2] += moved[2] / rate
        cos, sine = np.cos(place[2]), np.sin(place[2])
        place[0] += (cos * moved[0] - sine * moved[1]) / rate
        place[1] += (sine * moved[0] + cos * moved[1]) / rate
        path[k] = place
    return path


def heads_of(path: Floats) -> tuple[Floats, Floats]:
    """Eyes (T, 3), [m], and orientations of the head (T, 4) of a player on a path (T, 3)."""
    eyes = np.column_stack([path[:, :2], np.full(len(path), EYES)])
    gaze = np.zeros((len(path), 4))
    gaze[:, 0], gaze[:, 3] = np.cos(0.5 * path[:, 2]), np.sin(0.5 * path[:, 2])
    return eyes, gaze


def avatar_motion(avatar: AvatarPose, path: Floats, rate: float) -> Motion:
    """The motion of an avatar that walks along a path (T, 3) at `rate` [Hz]."""
    avatar.reset()
    roots, rotations = [], []
    for eyes, gaze in zip(*heads_of(path), strict=True):
        frame = avatar.step(eyes, gaze, 1.0 / rate)
        roots.append(frame.root.copy())
        rotations.append(frame.rotations.copy())
    return Motion(avatar.skeleton, rate, np.array(roots), np.array(rotations))
