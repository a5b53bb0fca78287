"""Updates whose hidden layers are bfloat16."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import configure

from ambulo.configs.vr import NavigationConfig
from ambulo.envs.vr.task.build import make_batch
from ambulo.envs.vr.task.env import action_space
from ambulo.policies.learner import make_learner, number_format
from ambulo.policies.sb3_batch_env import Sb3BatchEnv


class _Silent(BaseCallback):
    def _on_step(self) -> bool:
        return True


def _updated(precision: str, epochs: int) -> tuple[torch.Tensor, torch.Tensor, dict]:
    """Weights before and after an update of the same roll-out, and what is logged."""
    config = (
        NavigationConfig()
        .override("environment", levels=("open",), num_environments=16)
        .override("environment", levels_per_family=1)
        .override("ppo", n_steps=16, batch_size=128, n_epochs=epochs, route_coef=1.0)
        .override("ppo", precision=precision)
    )
    batch = make_batch(config, 16, seed=0, privileged=True)
    learner = make_learner(config, Sb3BatchEnv(batch, action_space(config)))
    learner.set_logger(configure(None, []))
    learner._setup_learn(1000)
    callback = _Silent()
    callback.init_callback(learner)
    assert learner.env is not None
    learner.collect_rollouts(learner.env, callback, learner.rollout_buffer, 16)
    before = torch.nn.utils.parameters_to_vector(learner.policy.parameters()).detach()
    torch.manual_seed(0)
    learner.train()
    after = torch.nn.utils.parameters_to_vector(learner.policy.parameters()).detach()
    return before.clone(), after.clone(), learner.logger.name_to_value


def test_steps_point_where_those_of_float32_do() -> None:
    before, exact, _ = _updated("float32", 2)
    same, rounded, _ = _updated("bfloat16", 2)
    torch.testing.assert_close(same, before)
    step, rough = exact - before, rounded - before
    cosine = torch.dot(step, rough) / (step.norm() * rough.norm())
    assert cosine > 0.9
    assert not torch.equal(exact, rounded)


def test_rounding_alone_moves_no_ratio_of_probabilities() -> None:
    _, _, logs = _updated("bfloat16", 1)
    _, _, exact = _updated("float32", 1)
    for name in ("train/approx_kl", "train/clip_fraction"):
        assert np.isclose(logs[name], exact[name], atol=2e-3)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ({"avx512_bf16": True}, torch.bfloat16),
        ({"avx512_bf16": False, "amx_bf16": True}, torch.bfloat16),
        ({"avx2": True}, torch.float32),
        ({}, torch.float32),
    ],
)
def test_auto_is_what_the_processor_multiplies(
    found: dict[str, bool], expected: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: found)
    assert number_format("auto", torch.device("cpu")) == expected
    assert number_format("auto", torch.device("meta")) == torch.float32
    assert number_format("bfloat16", torch.device("cpu")) == torch.bfloat16
