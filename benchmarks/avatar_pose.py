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
import json
import time
from pathlib import Path

import numpy as np
from _avatar_walks import WALKS, avatar_motion, heads_of, walked_path

import ambulo
from ambulo.ik.avatar.pose import AvatarPose
from ambulo.motion.contacts import foot_skate
from ambulo.policies.agents.avatar import load_avatar

RATES = (90.0, 30.0)
SECONDS, ROUNDS = 10.0, 15


def main() -> None:
    """Measure, print and store."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="where to store the numbers")
    args = parser.parse_args()
    avatar = load_avatar()
    skates = {
        name: {f"{rate:g} Hz": skate(avatar, name, rate) for rate in RATES}
        for name in WALKS
    }
    for name, row in skates.items():
        shown = ", ".join(f"{100 * value:.1f} at {rate}" for rate, value in row.items())
        print(f"{name:24} skate {shown} cm/s")
    network = [
        foot_skate(ambulo.load("gait_net").walk(4, 90.0, stride=s, cadence=s))
        for s in (0.75, 1.0, 1.25)
    ]
    print(f"{'gait network':24} skate {[round(100 * v, 1) for v in network]} cm/s")
    costs = {
        "head": cost(avatar, hands=False),
        "head and hands, no network": cost(load_avatar(prior=None), hands=True),
        "head and hands": cost(avatar, hands=True),
    }
    for name, value in costs.items():
        print(f"{name:28} {value:.1f} us")
    if args.json:
        found = {"skate": skates, "network": network, "microseconds": costs}
        args.json.write_text(json.dumps(found, indent=1) + "\n")


def skate(avatar: AvatarPose, name: str, rate: float) -> float:
    """Skate on one walk, [m/s]."""
    path = walked_path(WALKS[name], SECONDS, rate)
    return foot_skate(avatar_motion(avatar, path, rate))


def cost(avatar: AvatarPose, *, hands: bool) -> float:
    """Least mean time of a step, [us]."""
    eyes, gazes = heads_of(walked_path(WALKS["all at once"], SECONDS, 90.0))
    led = [
        held(eye, gaze) if hands else (None, None)
        for eye, gaze in zip(eyes, gazes, strict=True)
    ]
    best = np.inf
    for _ in range(ROUNDS):
        avatar.reset()
        start = time.process_time()
        for eye, gaze, pair in zip(eyes, gazes, led, strict=True):
            avatar.step(eye, gaze, 1.0 / 90.0, hands=pair)
        best = min(best, time.process_time() - start)
    return 1e6 * best / len(eyes)


def held(eye: np.ndarray, gaze: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
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
    main()
