"""A gait policy beside the balance law alone, on bodies that it has never seen.

python benchmarks/gait_policy.py models/gait/gait.zip --bodies 48 --json gait_policy.json
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from ambulo.configs.gait import HEALTHY, gait_space
from ambulo.configs.locomotion import LocomotionConfig
from ambulo.envs.gait.batch import GaitBatch
from ambulo.envs.locomotion.reference import (
    Reference,
    body_of,
    reference_from_bytes,
)
from ambulo.motion.gait_skeleton import leg_length
from ambulo.policies.locomotion_agent import LocomotionAgent, load_locomotion_agent

SETTLED = 1.0
"""Beginning that does not count for speed and cadence, [s]."""


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("--bodies", type=int, default=48)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=4242)
    parser.add_argument("--pushes", type=float, nargs="*", default=[0.0, 30.0])
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    agent = load_locomotion_agent(args.model)
    healthy = reference_from_bytes(agent.references[0], args.model)
    space = gait_space("human23")
    values = space.sample(np.random.default_rng(args.seed), args.bodies)
    found = {}
    for push in args.pushes:
        config = agent.config.override(
            "environment",
            push_impulse=(0.0, push),
            max_episode_steps=round(args.seconds * 30),
        )
        for name, actor in (("law", None), ("policy", agent)):
            scores = play(config, healthy, values, actor, args.seed)
            found[f"{name}, pushes to {push:g} N s"] = scores
            print(name, push, json.dumps(scores), flush=True)
    if args.json:
        args.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def play(
    config: LocomotionConfig,
    healthy: Reference,
    values: np.ndarray[Any, Any],
    agent: LocomotionAgent | None,
    seed: int,
) -> dict[str, float]:
    """Scores of one episode of each body."""
    space, count = gait_space("human23"), len(values)
    batch = GaitBatch(
        config,
        healthy,
        body_of(config.environment),
        num_players=count,
        parameters=values,
    )
    batch.seed([seed + i for i in range(count)])
    obs = batch.reset(np.arange(count))
    steps, dt = config.environment.max_episode_steps, config.environment.control_dt
    settled = round(SETTLED / dt)
    alive, returns = np.ones(count, np.bool_), np.zeros(count)
    lived = np.zeros(count)
    turns, phase = np.zeros(count), batch.phases()
    start = np.zeros(count)
    error = np.zeros(count)
    for step in range(steps):
        action = np.zeros((count, batch.action_size), np.float32)
        if agent is not None:
            action = agent.act(obs)
        obs, reward, terminated, _, info = batch.step(action)
        alive &= ~terminated
        lived += alive
        returns += np.where(alive, reward, 0.0)
        error += np.where(alive, info["joint_error"], 0.0)
        now = batch.phases()
        if step == settled:
            start, turns = batch.positions()[:, 3].copy(), np.zeros(count)
        else:
            turns = turns + (now - phase) % 1.0
        phase = now
        if terminated.any():
            batch.reset(np.flatnonzero(terminated))
    way = batch.positions()[:, 3] - start
    time = (steps - 1 - settled) * dt
    legs = leg_length(space, values)
    stride, cadence = HEALTHY.ratios(way / turns, turns / time, legs)
    wanted = HEALTHY.stride_of(values[:, 0], legs) * HEALTHY.rate_of(values[:, 1], legs)
    batch.close()
    return {
        "survival_rate": float(alive.mean()),
        "survival_s": float((lived * dt).mean()),
        "return": float(returns.mean()),
        "joint_error_deg": float(np.rad2deg((error / np.maximum(lived, 1)).mean())),
        "stride_error": float(np.abs(stride - values[:, 0])[alive].mean()),
        "cadence_error": float(np.abs(cadence - values[:, 1])[alive].mean()),
        "speed_error": float(np.abs(way / time / wanted - 1.0)[alive].mean()),
    }


if __name__ == "__main__":
    main()
