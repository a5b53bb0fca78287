"""How long, and how near, a body under gravity follows a player's head and hands.

    OMP_NUM_THREADS=1 python benchmarks/track_body.py CLIP... [--points 6] [--json FILE]

What `ambulo eval` measures of a policy, for everything that needs none: the walker as shipped,
its gaits alone, poses alone, and the shipped tracker of clips. With `--support`, an outside
force of at most this times body weight holds the bodies on what they follow.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from _harness import Options, machine, write

from ambulo.configs.locomotion import LocomotionConfig
from ambulo.envs.reference.configured import body_of
from ambulo.evaluate.tracking.body_agents import (
    BASELINES,
    baseline_agent,
    captured_clips,
)
from ambulo.evaluate.tracking.body_command import IMPULSE, play_body
from ambulo.evaluate.tracking.episodes import Tracked


def main(argv: Sequence[str] | None = None) -> int:
    """Play, print and store."""
    parser = Options(__doc__, seconds=1.5, episodes=1)
    parser.add_argument("clips", nargs="+", type=Path, help="motion files, folders")
    parser.add_argument("--points", type=int, default=3, help="trackers, 3 to 6")
    parser.add_argument("--support", type=float, default=0.0, help="over body weight")
    parser.add_argument("--seconds", type=float, default=6.0, help="of each clip")
    parser.add_argument("--episodes", type=int, default=4, help="of each clip")
    parser.add_argument(
        "--agent", action="append", choices=sorted(BASELINES), help="(repeatable)"
    )
    args = parser.read(argv)
    config = (
        LocomotionConfig()
        .override("environment", task="track_body")
        .override("trackers", points=args.points, support=args.support)
    )
    clips, left_out = captured_clips(
        args.clips, body_of(config.environment), args.seconds
    )
    for text in left_out:
        print(f"left out: {text}")
    names = [gait.name for gait in clips.gaits]
    found: dict[str, dict[str, object]] = {}
    for name in args.agent or BASELINES:
        bodies = args.episodes * len(names)
        agent = baseline_agent(name, config, clips, bodies, None)
        calm = play_body(agent, seed=0)
        pushed = play_body(agent, seed=0, impulse=IMPULSE)
        numbers = summary(calm, pushed)
        print(name, {k: round(v, 1) for k, v in numbers.items()}, flush=True)
        by_clip = {n: calm.only(calm.clip == k) for k, n in enumerate(names)}
        joints = {n: 100.0 * float(own.error.mean()) for n, own in by_clip.items()}
        found[name] = {**numbers, "joints by clip [cm]": joints}
    settings = {"points": args.points, "support": args.support}
    write({**settings, "clips": names, "agents": found}, args, machine=machine())
    return 0


def summary(calm: Tracked, pushed: Tracked) -> dict[str, float]:
    """Percentages and means of episodes."""
    done = calm.success
    return {
        "to the end [%]": 100.0 * float(calm.success.mean()),
        "no fall [%]": 100.0 * float(calm.on_feet.mean()),
        "pushed: to the end [%]": 100.0 * float(pushed.success.mean()),
        "pushed: no fall [%]": 100.0 * float(pushed.on_feet.mean()),
        "joints [cm]": 100.0 * float(calm.error.mean()),
        "joints, to the end [cm]": 100.0 * float(np.mean(calm.error[done]))
        if done.any()
        else float("nan"),
        "head, hands [cm]": 100.0 * float(calm.errors[:, 1].mean()),
        "time [s]": float(calm.time.mean()),
    }


if __name__ == "__main__":
    sys.exit(main())
