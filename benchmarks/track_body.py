"""How long, and how near, a body under gravity follows a player's head and hands.

    OMP_NUM_THREADS=1 python benchmarks/track_body.py CLIP... [--points 6]

What `ambulo eval` measures of a policy, for everything that needs none: the walker as shipped,
its gaits alone, poses alone, and the shipped tracker of clips. With `--support`, an outside
force of at most this times body weight holds the bodies on what they follow.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from _harness import run

from ambulo.configs.locomotion import LocomotionConfig
from ambulo.envs.reference.configured import configured_character
from ambulo.evaluate.tracking.body_agents import (
    BASELINES,
    baseline_agent,
    captured_clips,
)
from ambulo.evaluate.tracking.body_command import IMPULSE, play_body
from ambulo.evaluate.tracking.episodes import Tracked


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


def measure(
    clips: tuple[Path, ...],
    points: int = 3,
    support: float = 0.0,
    seconds: float = 6.0,
    episodes: int = 4,
    agent: tuple[str, ...] = (),
) -> dict[str, Any]:
    """Every agent, or those named, on `episodes` of each clip."""
    config = (
        LocomotionConfig()
        .override("environment", task="track_body")
        .override("trackers", points=points, support=support)
    )
    known, left_out = captured_clips(
        clips, configured_character(config.environment), seconds
    )
    names = [gait.name for gait in known.gaits]
    rows, joints = {}, {}
    for name in agent or BASELINES:
        actor = baseline_agent(name, config, known, episodes * len(names), None)
        calm = play_body(actor, seed=0)
        rows[name] = summary(calm, play_body(actor, seed=0, impulse=IMPULSE))
        by_clip = {n: calm.only(calm.clip == k) for k, n in enumerate(names)}
        joints[name] = {
            n: 100.0 * float(own.error.mean()) for n, own in by_clip.items()
        }
    return {"left_out": left_out, "rows": rows, "joints by clip [cm]": joints}


if __name__ == "__main__":
    run(measure, {"seconds": 1.5, "episodes": 1})
