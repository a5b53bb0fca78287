"""Learners from configurations: settings, schedules, seeds and devices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from gymnasium import spaces

from ambulo.configs.errors import ConfigError
from ambulo.configs.vr import NavigationConfig
from ambulo.envs.vr.task.build import make_batch
from ambulo.envs.vr.task.env import (
    action_space,
    observation_space,
    split_observation,
)
from ambulo.envs.vr.task.observation import observation_layout
from ambulo.policies.agents.navigation import Agent
from ambulo.policies.learner import (
    learn_until,
    learning_rate,
    make_learner,
    model_of,
)
from ambulo.policies.ppo import FastPPO
from ambulo.policies.sb3_batch_env import Sb3BatchEnv

NUM_ENVS = 8


def tiny_config(**ppo: Any) -> NavigationConfig:
    """Eight envs in two small levels."""
    return (
        NavigationConfig()
        .override("network", net_arch=(8,))
        .override("ppo", **{"n_steps": 8, "batch_size": 32, "n_epochs": 2, **ppo})
        .override(
            "environment", levels=("open",), levels_per_family=2, max_episode_steps=12
        )
    )


def learner_of(config: NavigationConfig, privileged: bool = True) -> FastPPO:
    """A learner in a world of its own."""
    batch = make_batch(config, NUM_ENVS, privileged=privileged, seed=1)
    return make_learner(config, Sb3BatchEnv(batch, action_space(config)))


def test_settings_reach_the_learner() -> None:
    config = tiny_config(gamma=0.9, ent_coef=0.01, target_kl=0.5, route_coef=0.2)
    learner = learner_of(config.override("network", log_std_init=-1.0))
    assert (learner.gamma, learner.ent_coef, learner.target_kl) == (0.9, 0.01, 0.5)
    assert (learner.reward_scale, learner.route_coef, learner.seed) == (0.1, 0.2, 0)
    assert torch.equal(learner.policy.log_std.detach(), torch.full((3,), -1.0))
    group = learner.policy.optimizer.param_groups[0]
    assert group["eps"] == 1e-5
    assert group["fused"] is True
    layout = observation_layout(config)
    scales = learner.policy.mlp_extractor.scales
    np.testing.assert_array_equal(scales, layout.scales())
    raw = learner_of(config.override("observations", normalize=False), privileged=False)
    assert torch.equal(raw.policy.mlp_extractor.scales, torch.ones(layout.size))


def test_batches_larger_than_a_rollout_are_capped() -> None:
    assert learner_of(tiny_config(batch_size=10_000)).batch_size == 8 * NUM_ENVS


def test_a_rollout_of_one_decision_is_refused() -> None:
    config = tiny_config(n_steps=1)
    env = Sb3BatchEnv(make_batch(config, 1), action_space(config))
    with pytest.raises(ConfigError, match=r"ppo\.n_steps = 1"):
        make_learner(config, env)


@pytest.mark.parametrize("device", ["nonsense", "meta", "cuda:99"])
def test_devices_that_are_not_here_are_refused(device: str) -> None:
    with pytest.raises(ConfigError, match=f"training.device = '{device}'"):
        learner_of(tiny_config().override("training", device=device))


def test_the_step_size_falls_on_a_line_and_never_below_its_end() -> None:
    assert learning_rate(tiny_config().ppo) == 5e-4
    rate = learning_rate(tiny_config(learning_rate=1e-3, learning_rate_final=0.0).ppo)
    assert callable(rate)
    np.testing.assert_allclose([rate(1.0), rate(0.5), rate(0.0)], [1e-3, 5e-4, 0.0])
    assert rate(-0.1) == 0.0, "the last roll-out passes the total"


def test_learn_until_counts_from_the_beginning() -> None:
    learner = learner_of(tiny_config(learning_rate_final=1e-5))
    seen: list[float] = []
    update = learner.train

    def train() -> None:
        update()
        seen.append(learner.policy.optimizer.param_groups[0]["lr"])

    learner.train = train  # type: ignore[method-assign]
    learn_until(learner, 256)
    assert learner.num_timesteps == 256
    whole, seen[:] = list(seen), []
    again = learner_of(tiny_config(learning_rate_final=1e-5))
    again.num_timesteps = 128
    learner = again
    update = again.train
    again.train = train  # type: ignore[method-assign]
    learn_until(again, 256)
    assert again.num_timesteps == 256
    assert seen == whole[2:]
    learn_until(again, 100)
    assert again.num_timesteps == 256


def test_equal_seeds_train_equal_weights() -> None:
    configs = [tiny_config().override("training", seed=seed) for seed in (3, 3, 4)]
    weights = []
    for config in configs:
        learner = learn_until(learner_of(config), 192)
        weights.append(
            torch.cat([p.detach().ravel() for p in learner.policy.parameters()])
        )
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])


def test_episodes_and_successes_are_counted() -> None:
    learner = learn_until(learner_of(tiny_config()), 256)
    assert learner.ep_info_buffer
    assert len(learner.ep_success_buffer or ()) == len(learner.ep_info_buffer)


@pytest.mark.parametrize("mode", ["continuous", "discrete"])
def test_an_agent_acts_like_its_learner_and_stays_as_it_was(mode: str) -> None:
    config = tiny_config().override("actions", mode=mode)
    learner = learn_until(learner_of(config), 64)
    agent = Agent(model_of(learner, config))
    env = learner.get_env()
    assert isinstance(env, Sb3BatchEnv)
    obs = env.batch.obs.copy()
    want = learner.predict(obs, deterministic=True)[0]
    size = agent.metadata.observation_size
    np.testing.assert_array_equal(agent.act(obs[:, :size], deterministic=True), want)
    before = {k: v.clone() for k, v in agent.policy.state_dict().items()}
    learn_until(learner, 192)
    after = agent.policy.state_dict()
    assert all(torch.equal(before[k], after[k]) for k in before)


def test_spaces_follow_the_configuration() -> None:
    config = NavigationConfig()
    assert action_space(config) == spaces.Box(-1, 1, (3,), np.float32)
    discrete = config.override("actions", mode="discrete")
    assert action_space(discrete) == spaces.Discrete(7)
    layout = observation_layout(config)
    flat = observation_space(layout)
    assert flat == spaces.Box(-np.inf, np.inf, (48,), np.float32)
    obs = np.arange(96, dtype=np.float32).reshape(2, 48)
    named = observation_space(layout, "dict")
    assert isinstance(named, spaces.Dict)
    parts = split_observation(layout, obs)
    assert list(parts) == [part.name for part in layout.parts]
    assert all(named[name].contains(part[0]) for name, part in parts.items())
    np.testing.assert_array_equal(np.concatenate(list(parts.values()), axis=1), obs)
    assert not any(np.shares_memory(part, obs) for part in parts.values())
