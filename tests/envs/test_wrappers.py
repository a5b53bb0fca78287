"""Stacks of Gymnasium's wrappers around every environment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import wrappers as w

import ambulo.envs

assert ambulo.envs

Wrap = Callable[[Any], Any]
STACKS: dict[str, Wrap] = {
    "normalized": lambda env: w.NormalizeReward(w.NormalizeObservation(env)),
    "stacked": lambda env: w.FlattenObservation(w.FrameStackObservation(env, 3)),
    "actions": lambda env: w.ClipAction(w.RescaleAction(env, -2.0, 2.0)),
    "delayed": lambda env: w.DelayObservation(env, 2),
    "timed": lambda env: w.TimeAwareObservation(w.TimeLimit(env, 6)),
}
IDS = ["VRNavigation", "Stand", "Imitate", "Locomote", "Gait"]


@pytest.mark.parametrize("name", IDS)
def test_stacks_of_wrappers(name: str) -> None:
    """All in a row around one environment; statistics outermost."""
    env = gymnasium.make(f"ambulo.envs:ambulo/{name}-v0", step_limit=8)
    for wrap in STACKS.values():
        stack = w.RecordEpisodeStatistics(wrap(env))
        obs, _ = stack.reset(seed=1)
        episodes = 0
        for _ in range(20):
            assert stack.observation_space.contains(obs)
            obs, reward, terminated, truncated, info = stack.step(
                stack.action_space.sample()
            )
            assert np.isfinite(reward)
            if terminated or truncated:
                episodes += int(info["episode"]["l"] <= 8)
                obs, _ = stack.reset()
        assert episodes >= 2
    env.close()
