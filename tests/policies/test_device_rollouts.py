"""The roll-out buffer on the learner's device has the numbers of SB3's."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from gymnasium import spaces
from stable_baselines3.common.buffers import RolloutBuffer
from torch.testing import assert_close

from ambulo.configs.vr import NavigationConfig
from ambulo.envs.vr.task.build import make_batch
from ambulo.envs.vr.task.env import action_space
from ambulo.policies.device_rollouts import DeviceRolloutBuffer, as_numpy
from ambulo.policies.learner import make_learner
from ambulo.policies.ppo import FastPPO
from ambulo.policies.sb3_batch_env import Sb3BatchEnv

ARRAYS = ("observations", "actions", "values", "log_probs", "advantages", "returns")


@pytest.mark.parametrize(
    "action_space", [spaces.Box(-1.0, 1.0, (3,)), spaces.Discrete(4)]
)
def test_same_returns_as_sb3(action_space: spaces.Space[object]) -> None:
    rng, steps, envs = np.random.default_rng(0), 12, 5
    seen = spaces.Box(-1.0, 1.0, (7,))
    buffers = [
        kind(steps, seen, action_space, "cpu", gae_lambda=0.9, gamma=0.97, n_envs=envs)
        for kind in (RolloutBuffer, DeviceRolloutBuffer)
    ]
    rows = [
        (
            rng.normal(size=(envs, 7)).astype(np.float32),
            np.stack([np.atleast_1d(action_space.sample()) for _ in range(envs)]),
            rng.normal(size=envs),
            rng.random(envs) < 0.3,
            torch.tensor(rng.normal(size=(envs, 1)), dtype=torch.float32),
            torch.tensor(rng.normal(size=envs), dtype=torch.float32),
        )
        for _ in range(steps)
    ]
    last = torch.tensor(rng.normal(size=(envs, 1)), dtype=torch.float32)
    dones = rng.random(envs) < 0.5
    for buffer in buffers:
        buffer.reset()
        for row in rows:
            buffer.add(*row)
        buffer.compute_returns_and_advantage(last, dones)
        assert buffer.full
    for name in ARRAYS:
        theirs, ours = (as_numpy(getattr(buffer, name)) for buffer in buffers)
        np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-6, err_msg=name)


def learner(config: NavigationConfig) -> FastPPO:
    """A learner with 4 environments."""
    batch = make_batch(config, 4, seed=3)
    return make_learner(config, Sb3BatchEnv(batch, action_space(config)))


def test_training_is_that_of_the_buffer_in_main_memory() -> None:
    config = NavigationConfig.model_validate(
        {
            "environment": {"levels": ["open"], "levels_per_family": 2},
            "ppo": {"n_steps": 32, "batch_size": 64, "n_epochs": 2},
        }
    )
    plain, kept = learner(config), learner(config)
    kept.rollout_buffer = DeviceRolloutBuffer(
        kept.n_steps, kept.observation_space, kept.action_space, "cpu",
        gae_lambda=kept.gae_lambda, gamma=kept.gamma, n_envs=kept.n_envs,
    )  # fmt: skip
    for one in (plain, kept):
        torch.manual_seed(0)
        one.learn(256)
    weights = dict(kept.policy.named_parameters())
    for name, value in plain.policy.named_parameters():
        assert_close(weights[name], value, rtol=1e-4, atol=1e-6, msg=name)
