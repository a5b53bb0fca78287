"""Locomotion policies: normalisation, columns, priors, modes and mixtures."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from ambulo.configs.errors import ConfigError
from ambulo.configs.motion_nn import MotionNNConfig
from ambulo.configs.simulation_nn import PriorConfig, SimulationNetworkConfig
from ambulo.envs.layout import ObservationLayout, Part
from ambulo.policies.networks.locomotion_policy import make_policy
from ambulo.policies.networks.mode_policy import (
    MixtureOfGaussians,
    ModePolicy,
    TwoLevelPolicy,
)
from ambulo.policies.networks.motion_prior import SimulationNNWithPrior
from ambulo.policies.networks.normalizer import LIMIT, Normalizer
from ambulo.policies.networks.simulation_nn import Columns, SimulationNN

ENCODER = MotionNNConfig(mode="mlp", width=8, depth=1, history=3, chunk=2, heads=2)
ACTIONS = 3


def layout(modes: int = 0, frames: int = 0) -> ObservationLayout:
    """Five numbers, then a mode, then a history."""
    parts = [Part("a", 2, "1", "", 2.0), Part("b", 3, "1", "", 0.5)]
    if modes:
        parts.append(Part("mode", modes, "1", ""))
    if frames:
        parts.append(Part("motion_history", 112 * frames, "1", ""))
    return ObservationLayout(tuple(parts))


def network(**changes: Any) -> SimulationNetworkConfig:
    settings = {"net_arch": (16,), "zero_start": False, **changes}
    return SimulationNetworkConfig.model_validate(settings)


def with_prior(**prior: Any) -> SimulationNNWithPrior:
    """A policy that sees three states."""
    config = network(
        policy="prior", prior=PriorConfig(model="m.zip", frames=3, **prior)
    )
    policy = make_policy(config, layout(frames=3), ACTIONS, ENCODER)
    assert isinstance(policy, SimulationNNWithPrior)
    return policy


def observations(count: int, size: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(count, size, generator=generator)


def test_statistics_are_those_of_all_that_was_seen() -> None:
    seen = 3.0 + 2.0 * observations(50, 4)
    normalizer = Normalizer(4, samples=1000)
    for part in (seen[:7], seen[7:27], seen[27:]):
        normalizer.update(part)
    torch.testing.assert_close(normalizer.mean, seen.mean(0))
    torch.testing.assert_close(normalizer.deviation, seen.std(0, unbiased=False))
    out = normalizer(seen)
    torch.testing.assert_close(out.mean(0), torch.zeros(4), atol=1e-5, rtol=0)
    torch.testing.assert_close(out.std(0, unbiased=False), torch.ones(4))


def test_statistics_stand_still_after_enough_samples_or_when_frozen() -> None:
    normalizer = Normalizer(2, samples=10)
    normalizer.update(observations(10, 2))
    before = normalizer.mean.clone()
    normalizer.update(observations(10, 2, seed=1))
    assert torch.equal(normalizer.mean, before)
    other = Normalizer(2, samples=10)
    other.freeze()
    other.update(observations(10, 2))
    assert torch.equal(other.mean, torch.zeros(2))


def test_constant_numbers_and_faults_stay_bounded() -> None:
    normalizer = Normalizer(1, samples=10)
    normalizer.update(torch.full((5, 1), 7.0))
    assert normalizer(torch.tensor([[7.0], [1e9]])).tolist() == [[0.0], [LIMIT]]


def test_columns_are_found_by_name() -> None:
    columns = Columns.of(layout(modes=2, frames=1).schema())
    assert (columns.size, columns.modes, columns.history) == (119, (5, 7), (7, 119))
    assert columns.own.tolist() == [0, 1, 2, 3, 4]


def test_fresh_policies_do_nothing_unless_told_otherwise() -> None:
    seen = observations(4, 5)
    still = make_policy(network(zero_start=True), layout(), ACTIONS)
    assert torch.equal(still.means(seen), torch.zeros(4, ACTIONS))
    moving = make_policy(network(), layout(), ACTIONS)
    assert 0.0 < moving.means(seen).abs().max() < 0.2


def test_actor_and_critic_share_nothing() -> None:
    policy = make_policy(network(), layout(), ACTIONS)
    values, _, _ = policy.evaluate_actions(observations(4, 5), torch.zeros(4, ACTIONS))
    torch.autograd.backward(values.sum())
    named = dict(policy.named_parameters())
    assert named["mlp_extractor.critic.0.weight"].grad is not None
    assert named["mlp_extractor.actor.0.weight"].grad is None
    assert named["log_std"].grad is None


def test_fixed_scales_replace_running_statistics() -> None:
    policy = make_policy(network(normalize_samples=0), layout(), ACTIONS)
    seen = observations(4, 5)
    policy.observe(seen)
    scales = torch.tensor([2.0, 2.0, 0.5, 0.5, 0.5])
    torch.testing.assert_close(policy.extract_features(seen), seen * scales)


def test_log_std_can_be_kept() -> None:
    policy = make_policy(network(learn_std=False, log_std_init=-1.5), layout(), ACTIONS)
    assert not policy.log_std.requires_grad
    assert torch.equal(policy.log_std, torch.full((ACTIONS,), -1.5))


def test_frozen_prior_gets_no_gradient_and_an_unfrozen_one_does() -> None:
    policy = with_prior()
    seen = observations(4, 5 + 336)
    torch.autograd.backward(policy.means(seen).sum())
    assert all(p.grad is None for p in policy.encoder.parameters())
    assert policy.scale_features.weight.grad is not None
    policy.unfreeze()
    torch.autograd.backward(policy.means(seen).sum())
    assert any(p.grad is not None for p in policy.encoder.trunk.parameters())
    optimized = {id(p) for g in policy.optimizer.param_groups for p in g["params"]}
    assert {id(p) for p in policy.encoder.parameters()} <= optimized


def test_prior_features_are_the_encoding_of_the_history() -> None:
    policy = with_prior()
    seen = observations(2, 5 + 336)
    states = seen[:, 5:].reshape(2, 3, 112)
    wanted = policy.scale_features(policy.encoder.encode(states))
    torch.testing.assert_close(policy.extract_features(seen)[:, 5:], wanted)
    policy.set_training_mode(True)
    assert not policy.encoder.training


def test_a_frozen_prior_encodes_once_for_all_epochs() -> None:
    policy = with_prior()
    seen = observations(5, 5 + 336)
    ready = policy.prepared(seen)
    assert ready.shape == (5, 5 + 336 + policy.encoder.size)
    assert not ready.requires_grad
    wanted = policy.extract_features(seen)
    torch.testing.assert_close(policy.extract_features(ready), wanted)
    moved = torch.cat([ready[:, :341], -ready[:, 341:]], dim=1)
    assert not torch.allclose(policy.extract_features(moved), wanted)
    policy.unfreeze()
    assert policy.prepared(seen) is seen


def test_prior_without_history_is_refused() -> None:
    config = network(policy="prior", prior=PriorConfig(model="m.zip"))
    with pytest.raises(ConfigError, match="motion_history"):
        make_policy(config, layout(), ACTIONS, ENCODER)


def test_each_mode_has_a_head_and_blends_lie_between() -> None:
    policy = make_policy(network(policy="modes"), layout(modes=2), ACTIONS)
    assert isinstance(policy, ModePolicy)
    own = observations(1, 5).expand(3, -1)
    modes = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])
    first, second, both = policy.means(torch.cat([own, modes], dim=1))
    assert (first - second).abs().max() > 1e-4
    # The trunk sees the mode too, so only the heads blend exactly.
    latent = torch.ones(1, 16)
    net: Any = policy.action_net
    heads = net.each(latent)[0]
    mean = net(torch.cat([latent, torch.tensor([[0.25, 0.75]])], dim=1))[0]
    torch.testing.assert_close(mean, 0.25 * heads[0] + 0.75 * heads[1])
    assert both.shape == (ACTIONS,)


def test_modes_need_a_mode() -> None:
    with pytest.raises(ConfigError, match="part mode"):
        make_policy(network(policy="modes"), layout(), ACTIONS)


@pytest.mark.parametrize("policy_name", ["simple", "modes", "two_level"])
def test_acting_and_evaluating_agree(policy_name: str) -> None:
    policy = make_policy(network(policy=policy_name), layout(modes=2), ACTIONS)
    seen = observations(6, 7)
    policy.observe(3.0 * seen + 1.0)
    actions, values, log_prob = policy(seen)
    again, evaluated, entropy = policy.evaluate_actions(seen, actions)
    torch.testing.assert_close(values, again)
    torch.testing.assert_close(values, policy.predict_values(seen))
    torch.testing.assert_close(
        policy.get_distribution(seen).log_prob(actions), log_prob
    )
    torch.testing.assert_close(log_prob, evaluated)
    assert entropy is not None
    assert entropy.shape == (6,)
    best, _, _ = policy(seen, deterministic=True)
    torch.testing.assert_close(best, policy.means(seen))
    known = {id(p) for p in policy.parameters()}
    assert known == {id(p) for g in policy.optimizer.param_groups for p in g["params"]}


def test_selector_chooses_and_learns() -> None:
    config = network(policy="two_level", generators=3)
    policy = make_policy(config, layout(), ACTIONS)
    assert isinstance(policy, TwoLevelPolicy)
    seen = observations(4, 5)
    shares = policy.choices(seen)
    torch.testing.assert_close(shares.sum(1), torch.ones(4))
    assert shares.shape == (4, 3)
    with torch.no_grad():
        heads: Any = policy.action_net
        heads.bias += torch.tensor([[-1.0], [0.0], [1.0]])
    _, log_prob, _ = policy.evaluate_actions(seen, torch.ones(4, ACTIONS))
    torch.autograd.backward(log_prob.sum())
    last: Any = policy.selector[-1]
    gradient = last.bias.grad
    assert gradient[2] > 0.0 > gradient[0]  # the third generator played this


def test_mixture_density_by_hand() -> None:
    """Two Gaussians of deviation 1/2 at -1 and 1, chosen 1 : 3."""
    scores = torch.log(torch.tensor([[1.0, 3.0]]))
    means = torch.tensor([[[-1.0], [1.0]]])
    found = MixtureOfGaussians(scores, means, torch.tensor([math.log(0.5)]))

    def gaussian(x: float, mean: float) -> float:
        return math.exp(-2.0 * (x - mean) ** 2) / (0.5 * math.sqrt(2.0 * math.pi))

    wanted = math.log(0.25 * gaussian(0.3, -1.0) + 0.75 * gaussian(0.3, 1.0))
    assert found.log_prob(torch.tensor([[0.3]])).item() == pytest.approx(
        wanted, abs=1e-5
    )
    assert found.mode().item() == 1.0
    many = MixtureOfGaussians(
        scores.expand(4000, -1), means.expand(4000, -1, -1), torch.tensor([-3.0])
    )
    torch.manual_seed(0)
    draws = many.sample()[:, 0]
    assert (draws > 0.0).float().mean().item() == pytest.approx(0.75, abs=0.03)


def test_equal_seeds_make_equal_policies() -> None:
    policies: list[SimulationNN] = []
    for _ in range(2):
        torch.manual_seed(3)
        policies.append(make_policy(network(), layout(), ACTIONS))
    one, two = (policy.state_dict() for policy in policies)
    assert all(torch.equal(one[name], two[name]) for name in one)
    np.testing.assert_array_equal(policies[0].columns.own, np.arange(5))
