"""The penalty on leaving the planned way: what it asks for, and that it teaches that."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from ambulo.configs.errors import ConfigError
from ambulo.configs.vr import NavigationConfig
from ambulo.envs.vr.task.build import make_batch
from ambulo.envs.vr.task.env import action_space
from ambulo.policies.learner import learn_until, make_learner
from ambulo.policies.networks.actor_critic import NavigationPolicy
from ambulo.policies.plan_guide import PlanGuide
from ambulo.policies.ppo import FastPPO
from ambulo.policies.sb3_batch_env import Sb3BatchEnv

NUM_ENVS = 16


def config_of(memory: str = "path", **ppo: Any) -> NavigationConfig:
    return (
        NavigationConfig()
        .override("network", net_arch=(16,), log_std_init=-1.5)
        .override("observations", memory=memory, plan_reach=10.0)
        .override("ppo", **{"n_steps": 16, "batch_size": 64, **ppo})
        .override(
            "environment", levels=("rooms",), levels_per_family=4, goal_distance=(5, 10)
        )
    )


def learner_of(config: NavigationConfig) -> FastPPO:
    batch = make_batch(config, NUM_ENVS, privileged=True, seed=1)
    return make_learner(config, Sb3BatchEnv(batch, action_space(config)))


def test_the_weight_falls_linearly_from_first_to_last() -> None:
    guide = learner_of(config_of(plan_coef=0.5, plan_coef_final=0.1)).guide
    assert guide is not None
    weights = [guide.weight(left) for left in (1.0, 0.5, 0.0, -0.01)]
    np.testing.assert_allclose(weights, [0.5, 0.3, 0.1, 0.1])
    same = learner_of(config_of(plan_coef=0.5)).guide
    assert same is not None
    assert same.weight(0.0) == 0.5
    assert learner_of(config_of()).guide is None


@pytest.mark.parametrize(
    ("ahead", "left", "wanted"),
    [
        (1.0, 0.0, (0.0, 1.0, 0.0)),
        (0.0, 1.0, (-1.0, 0.0, -1.0)),  # strafe to the left, turn to the left
        (0.0, -1.0, (1.0, 0.0, 1.0)),
        (-2.0, 0.0, (0.0, -1.0, -1.0)),
    ],
)
def test_the_guide_points_at_the_waypoint_and_turns_to_it(
    ahead: float, left: float, wanted: tuple[float, float, float]
) -> None:
    guide = PlanGuide(2, None, 1.0, np.pi / 2, first=1.0, last=1.0)
    obs = torch.tensor([[9.0, 9.0, ahead, left, 9.0]])
    torch.testing.assert_close(
        guide.actions(obs), torch.tensor([wanted]), atol=1e-6, rtol=0
    )
    assert guide.error(torch.tensor([wanted]), obs).item() == pytest.approx(0, abs=1e-9)


@pytest.mark.integration
@pytest.mark.parametrize("memory", ["path", "navigator"])
def test_walkers_that_do_what_the_guide_asks_for_arrive(memory: str) -> None:
    config = config_of(memory, plan_coef=1.0)
    batch = make_batch(config, NUM_ENVS, privileged=True, seed=3)
    guide = make_learner(config, Sb3BatchEnv(batch, action_space(config))).guide
    assert guide is not None
    ended: list[bool] = []
    batch.reset(np.arange(NUM_ENVS))
    for _ in range(400):
        actions = guide.actions(torch.as_tensor(batch.obs))
        _, _, terminated, truncated, info = batch.step(actions.double().numpy())
        done = np.flatnonzero(terminated | truncated)
        ended += info["is_success"][done].tolist()
        if len(done):
            batch.reset(done)
    assert len(ended) >= NUM_ENVS
    assert np.mean(ended) > 0.8


@pytest.mark.integration
def test_training_with_a_guide_brings_the_mean_action_to_it() -> None:
    learner = learner_of(config_of(plan_coef=2.0, learning_rate=3e-3))
    batch = make_batch(config_of(), NUM_ENVS, privileged=True, seed=2)
    obs = torch.as_tensor(batch.reset(np.arange(NUM_ENVS)).copy())
    assert learner.guide is not None
    errors = []
    for steps in (0, 4096):
        learn_until(learner, steps)
        assert isinstance(learner.policy, NavigationPolicy)
        with torch.no_grad():
            errors.append(learner.guide.error(learner.policy.means(obs), obs).item())
    assert errors[1] < 0.3 * errors[0]


@pytest.mark.parametrize(
    ("group", "values", "rule"),
    [
        ("observations", {"memory": "map"}, "memory = plan, path, navigator"),
        ("actions", {"mode": "discrete"}, "mode = continuous"),
        ("network", {"recurrent": 8}, "recurrent = 0"),
    ],
)
def test_what_a_guide_needs_is_named(
    group: str, values: dict[str, Any], rule: str
) -> None:
    with pytest.raises(ConfigError, match=f"plan_coef = 0.5 needs.*{rule}"):
        learner_of(config_of(plan_coef=0.5).override(group, **values))
