"""A task that only memory solves: a sign is shown once and asked for much later."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium import spaces
from stable_baselines3.common.logger import Logger

from ambulo.configs.vr import NavigationConfig
from ambulo.policies.learner import ppo_learner
from ambulo.policies.networks.actor_critic import NavigationPolicy
from ambulo.policies.sb3_batch_env import Sb3BatchEnv

NUM_ENVS, DELAY = 64, 10


class SignBatch:
    """Shows a sign in the first step; the action of the last step must have that sign.

    Observations: the sign or 0, and whether it is the last step. Episodes have `DELAY` steps,
    and begin at different times in different environments.
    """

    num_envs = NUM_ENVS

    def __init__(self) -> None:
        self.rng = np.random.default_rng(0)
        self.obs = np.zeros((NUM_ENVS, 2), np.float32)
        self.sign = np.ones(NUM_ENVS)
        zeros = np.zeros(NUM_ENVS)
        self.episode = SimpleNamespace(
            reward=zeros,
            steps=zeros.astype(np.int64),
            path=zeros,
            start_distance=zeros,
        )
        self.scores: list[float] = []
        self.first = True

    def seed(self, seeds: Any) -> None:
        pass

    def reset(self, envs: Any) -> Any:
        self.sign[envs] = self.rng.choice([-1.0, 1.0], len(envs))
        self.obs[envs, 0], self.obs[envs, 1] = self.sign[envs], 0.0
        self.episode.steps[envs] = 0
        if self.first:
            self.episode.steps[:] = np.arange(NUM_ENVS) % (DELAY - 1)
            self.first = False
        return self.obs

    def step(self, actions: Any) -> Any:
        self.episode.steps[:] += 1
        done = self.episode.steps >= DELAY
        rewards = np.where(done, self.sign * actions[:, 0], 0.0)
        self.scores += rewards[done].tolist()
        self.obs[:, 0] = 0.0
        self.obs[:, 1] = self.episode.steps == DELAY - 1
        none = np.zeros(NUM_ENVS, np.bool_)
        info = {"is_success": done, "reward/sign": rewards}
        return self.obs, rewards, done, none, info

    def close(self) -> None:
        pass


def score(steps: int, units: int) -> float:
    """Mean of the last 500 rewards after `steps` steps; 0 is chance, 1 the best."""
    batch = SignBatch()
    actions = spaces.Box(-1, 1, (3,), np.float32)
    config = NavigationConfig().override(
        "ppo", n_steps=32, batch_size=512, learning_rate=3e-3, gamma=0.98, burn_in=4,
        reward_scale=1.0,
    )  # fmt: skip
    learner = ppo_learner(
        NavigationPolicy, Sb3BatchEnv(batch, actions), config, recurrent=units > 0,
        policy_kwargs={
            "scales": np.ones(2, np.float32), "actor_size": 2, "widths": (32, 32),
            "activation": "tanh", "log_std_init": -0.5, "units": units,
        },
    )  # fmt: skip
    learner.set_logger(Logger(None, []))
    learner.learn(steps)
    assert torch.get_num_threads() == 1
    return float(np.mean(batch.scores[-500:]))


@pytest.mark.slow
def test_only_a_recurrent_policy_learns_what_was_shown_before() -> None:
    began = time.process_time()
    remembers = score(120_000, units=16)
    assert time.process_time() - began < 60.0
    assert remembers > 0.8
    assert abs(score(60_000, units=0)) < 0.15
