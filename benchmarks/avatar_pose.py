"""Cost of a pose of the avatar, and how far its feet slide on walked paths.

    OMP_NUM_THREADS=1 python benchmarks/avatar_pose.py [--json FILE]

Skate is `ambulo.motion.contacts.foot_skate` (the mean speed of standing feet where they touch
the ground; contacts are found from the motion alone), of paths of 10 s. The gait network's own
walks at their own speeds slide by 6 to 11 cm/s (the last row: at its slowest, middle and
fastest gait). Times are processor times, the least mean of several rounds, of whole calls from
Python.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence

import numpy as np
from _avatar_walks import WALKS, avatar_motion, heads_of, walked_path
from _harness import Options, machine, write

import ambulo
from ambulo.configs.arrays import Floats
from ambulo.ik.avatar.pose import AvatarPose
from ambulo.motion.contacts import foot_skate
from ambulo.policies.agents.avatar import load_avatar

RATES = (90.0, 30.0)
"""Poses per second, [Hz]."""
PACES = (0.75, 1.0, 1.25)
"""Strides and cadences of the gait network's own walks."""


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print and store."""
    parser = Options(__doc__, seconds=1.0, rounds=1)
    parser.add_argument("--seconds", type=float, default=10.0, help="of each walk")
    parser.add_argument("--rounds", type=int, default=15, help="of the timings")
    args = parser.read(argv)
    avatar = load_avatar()
    skates = {
        name: {
            f"{rate:g} Hz": skate(avatar, name, rate, args.seconds) for rate in RATES
        }
        for name in WALKS
    }
    for name, row in skates.items():
        shown = ", ".join(f"{100 * value:.1f} at {rate}" for rate, value in row.items())
        print(f"{name:24} skate {shown} cm/s")
    gait = ambulo.load("gait_net")
    own = [foot_skate(gait.walk(4, 90.0, stride=s, cadence=s)) for s in PACES]
    print(f"{'gait network':24} skate {[round(100 * v, 1) for v in own]} cm/s")
    bare = load_avatar(prior=None)
    costs = {
        "head": cost(avatar, args, hands=False),
        "head and hands, no network": cost(bare, args, hands=True),
        "head and hands": cost(avatar, args, hands=True),
    }
    for name, value in costs.items():
        print(f"{name:28} {value:.1f} us")
    result = {"skate": skates, "network": own, "microseconds": costs}
    write(result, args, machine=machine())
    return 0


def skate(avatar: AvatarPose, name: str, rate: float, seconds: float) -> float:
    """Skate on one walk, [m/s]."""
    path = walked_path(WALKS[name], seconds, rate)
    return foot_skate(avatar_motion(avatar, path, rate))


def cost(avatar: AvatarPose, args: argparse.Namespace, *, hands: bool) -> float:
    """Least mean time of a step, [us]."""
    eyes, gazes = heads_of(walked_path(WALKS["all at once"], args.seconds, 90.0))
    led = [
        held(eye, gaze) if hands else (None, None)
        for eye, gaze in zip(eyes, gazes, strict=True)
    ]
    best = np.inf
    for _ in range(args.rounds):
        avatar.reset()
        start = time.process_time()
        for eye, gaze, pair in zip(eyes, gazes, led, strict=True):
            avatar.step(eye, gaze, 1.0 / 90.0, hands=pair)
        best = min(best, time.process_time() - start)
    return 1e6 * best / len(eyes)


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


if __name__ == "__main__":
    sys.exit(main())
