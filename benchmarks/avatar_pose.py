"""Cost of a pose of the avatar, and how far its feet slide on walked paths.

    OMP_NUM_THREADS=1 python benchmarks/avatar_pose.py

Skate is `ambulo.motion.contacts.foot_skate` (the mean speed of standing feet where they touch
the ground; contacts are found from the motion alone), of paths of 10 s. The gait network's own
walks at their own speeds slide by 6 to 11 cm/s (the last row: at its slowest, middle and
fastest gait). Times are processor times, the least mean of several rounds, of whole calls from
Python.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from math import radians, sin
from typing import Any

import numpy as np
from _harness import run

import ambulo
from ambulo.configs.arrays import Floats
from ambulo.ik.avatar.pose import AvatarPose
from ambulo.motion.contacts import foot_skate
from ambulo.motion.motion import Motion
from ambulo.policies.agents.avatar import load_avatar

RATES = (90.0, 30.0)
"""Poses per second, [Hz]."""
PACES = (0.75, 1.0, 1.25)
"""Strides and cadences of the gait network's own walks."""


def skate(avatar: AvatarPose, name: str, rate: float, seconds: float) -> float:
    """Skate on one walk, [m/s]."""
    path = walked_path(WALKS[name], seconds, rate)
    return foot_skate(avatar_motion(avatar, path, rate))


def held(eye: Floats, gaze: Floats) -> tuple[Floats, Floats]:
    """Wrists where the contract has a player's hands."""
    yaw = 2.0 * np.arctan2(gaze[3], gaze[0])
    ahead = np.array([np.cos(yaw), np.sin(yaw), 0.0])
    left = np.array([-ahead[1], ahead[0], 0.0])
    down = np.array([0.0, 0.0, 1.1 - eye[2]])
    first, second = (
        np.concatenate([eye + 0.35 * ahead + side * 0.22 * left + down, gaze])
        for side in (1.0, -1.0)
    )
    return first, second


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


def cost(avatar: AvatarPose, seconds: float, rounds: int, *, hands: bool) -> float:
    """Least mean time of a step, [us]."""
    eyes, gazes = heads_of(walked_path(WALKS["all at once"], seconds, 90.0))
    led = [
        held(eye, gaze) if hands else (None, None)
        for eye, gaze in zip(eyes, gazes, strict=True)
    ]
    best = np.inf
    for _ in range(rounds):
        avatar.reset()
        start = time.process_time()
        for eye, gaze, pair in zip(eyes, gazes, led, strict=True):
            avatar.step(eye, gaze, 1.0 / 90.0, hands=pair)
        best = min(best, time.process_time() - start)
    return 1e6 * best / len(eyes)


def measure(seconds: float = 10.0, rounds: int = 15) -> dict[str, Any]:
    """Skate of each walk, and times of a step."""
    avatar, bare = load_avatar(), load_avatar(prior=None)
    skates = {
        name: {
            f"{rate:g} Hz": 100.0 * skate(avatar, name, rate, seconds) for rate in RATES
        }
        for name in WALKS
    }
    gait = ambulo.load("gait_net")
    own = [foot_skate(gait.walk(4, 90.0, stride=s, cadence=s)) for s in PACES]
    return {
        "skate_cm_s": skates,
        "network_cm_s": [100.0 * value for value in own],
        "microseconds": {
            "head": cost(avatar, seconds, rounds, hands=False),
            "head and hands, no network": cost(bare, seconds, rounds, hands=True),
            "head and hands": cost(avatar, seconds, rounds, hands=True),
        },
    }


if __name__ == "__main__":
    run(measure, {"seconds": 1.0, "rounds": 1})
