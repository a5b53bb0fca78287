"""Updates of recurrent policies from sequences: states, burn-in and minibatches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from stable_baselines3.common.callbacks import CallbackList
from stable_baselines3.common.logger import Logger

from ambulo.configs.errors import ConfigError
from ambulo.configs.vr import NavigationConfig
from ambulo.envs.vr.task.build import make_batch
from ambulo.envs.vr.task.env import action_space
from ambulo.policies.learner import learn_until, make_learner
from ambulo.policies.sb3_batch_env import Sb3BatchEnv
from ambulo.policies.sequence_ppo import SequencePPO
from ambulo.policies.sequence_record import cut

NUM_ENVS, STEPS = 6, 12


def tiny_config(mode: str = "continuous", **ppo: Any) -> NavigationConfig:
    """Small networks in two levels, with episodes shorter than a roll-out."""
    settings = {"n_steps": STEPS, "sequence": 4, "burn_in": 3, "batch_size": 24, **ppo}
    return (
        NavigationConfig()
        .override("network", net_arch=(8, 8), recurrent=5)
        .override("ppo", **settings)
        .override("actions", mode=mode)
        .override(
            "environment", levels=("open",), levels_per_family=2, max_episode_steps=7
        )
    )


def learner_of(config: NavigationConfig) -> SequencePPO:
    """A learner that is ready for a roll-out."""
    batch = make_batch(config, NUM_ENVS, privileged=True, seed=1)
    learner = make_learner(config, Sb3BatchEnv(batch, action_space(config)))
    assert isinstance(learner, SequencePPO)
    learner.set_logger(Logger(None, []))
    learner._setup_learn(10**6)
    return learner


def collect(learner: SequencePPO) -> dict[str, torch.Tensor]:
    """The data of a roll-out."""
    callback = CallbackList([])
    callback.init_callback(learner)
    assert learner.env is not None
    learner.collect_rollouts(learner.env, callback, learner.rollout_buffer, STEPS)
    return learner._flat_rollout()


@pytest.mark.integration
@pytest.mark.parametrize("mode", ["continuous", "discrete"])
@pytest.mark.parametrize("burn_in", [0, 3, 20])
def test_old_probabilities_are_found_again_from_stored_states(
    mode: str, burn_in: int
) -> None:
    learner = learner_of(tiny_config(mode, burn_in=burn_in, learning_rate=0.05))
    for _ in range(3):  # the weights change between the roll-outs
        data = collect(learner)
        batch = learner._batch(data, torch.arange(len(data["obs"])))
        values, log_prob, _, _ = learner._evaluated(batch)
        old = batch["log_prob"].flatten()
        torch.testing.assert_close(log_prob, old, atol=2e-5, rtol=1e-5)
        want = batch["values"].flatten()
        torch.testing.assert_close(values[:, 0], want, atol=2e-5, rtol=1e-5)
        learner.train()
    assert bool(data["starts"].any())


def test_burn_in_changes_what_is_evaluated_and_has_no_gradient() -> None:
    learner = learner_of(tiny_config(burn_in=3))
    collect(learner)
    learner.train()
    data = collect(learner)
    data["past_starts"][:] = False
    data["starts"][:, 0] = False
    batch = learner._batch(data, torch.arange(len(data["obs"])))
    batch["past_obs"] = batch["past_obs"].clone().requires_grad_()
    batch["obs"] = batch["obs"].clone().requires_grad_()
    _, log_prob, _, _ = learner._evaluated(batch)
    log_prob.sum().backward()
    assert batch["past_obs"].grad is None
    assert batch["obs"].grad is not None
    with torch.no_grad():
        other = batch | {"past_obs": batch["past_obs"] + 1.0}
        moved = learner._evaluated(other)[1]
    assert (moved - log_prob).abs().max() > 1e-6


def test_sequences_are_cut_in_order() -> None:
    steps = torch.arange(12)[:, None] * 10 + torch.arange(2)
    pieces = cut(steps, 4)
    assert pieces.tolist()[:2] == [[0, 10, 20, 30], [1, 11, 21, 31]]
    assert pieces.tolist()[2] == [40, 50, 60, 70]
    assert cut(steps, 12).shape == (2, 12)


def test_the_steps_before_each_sequence_are_recorded() -> None:
    learner = learner_of(tiny_config())
    before = collect(learner)["obs"]
    data = collect(learner)
    size = data["past_obs"].shape[-1]
    seen = data["obs"][..., :size]
    last = before[-NUM_ENVS:, 1:, :size]  # of the roll-out before
    torch.testing.assert_close(data["past_obs"][:NUM_ENVS], last)
    second, first = data["past_obs"][NUM_ENVS : 2 * NUM_ENVS], seen[:NUM_ENVS, 1:]
    torch.testing.assert_close(second, first)


def test_a_minibatch_has_as_many_steps_as_configured() -> None:
    learner = learner_of(tiny_config())
    assert learner._rows_of_a_batch() == 6
    assert learner_of(tiny_config(batch_size=2))._rows_of_a_batch() == 1
    whole = learner_of(tiny_config(sequence=None, batch_size=1000))
    assert whole.length == STEPS
    assert whole._rows_of_a_batch() == NUM_ENVS


def test_rounding_alone_moves_no_ratio_of_probabilities() -> None:
    config = tiny_config(precision="bfloat16", n_epochs=1, batch_size=72)
    learner = learner_of(config)
    collect(learner)
    learner.train()
    assert abs(learner.logger.name_to_value["train/approx_kl"]) < 1e-6


def test_equal_seeds_train_equal_weights_and_all_weights_learn() -> None:
    found = []
    for _ in range(2):
        config = tiny_config(route_coef=1.0)
        learner = learner_of(config)
        before = {k: v.clone() for k, v in learner.policy.state_dict().items()}
        learn_until(learner, 3 * STEPS * NUM_ENVS)
        found.append(learner.policy.state_dict())
    fixed = {k for k in before if torch.equal(before[k], found[0][k])}
    assert fixed == {"mlp_extractor.scales"}
    assert all(torch.equal(found[0][k], found[1][k]) for k in before)


def test_a_restored_memory_continues_as_if_nothing_had_happened() -> None:
    learner = learner_of(tiny_config())
    collect(learner)
    kept = learner.memory_state()
    other = learner_of(tiny_config())
    other.load_memory_state(kept)
    for one in (learner, other):
        one.record.begin(one.policy)
    torch.testing.assert_close(learner.record.state, other.record.state)
    same = other.memory_state()
    assert all(np.array_equal(kept[name], same[name]) for name in ("obs", "states"))
    with pytest.raises(ValueError, match=r"memory\.obs has shape"):
        learner_of(tiny_config(burn_in=2)).load_memory_state(kept)


def test_sequences_that_do_not_fit_are_refused() -> None:
    rule = r"ppo\.sequence = 5: must divide ppo\.n_steps = 12"
    with pytest.raises(ConfigError, match=rule):
        tiny_config().override("ppo", sequence=5)
