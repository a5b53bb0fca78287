"""One distribution over numbers and choices."""

from __future__ import annotations

import math

import torch
from torch.distributions import Categorical, Normal

from ambulo.configs.agent_spec import ActionSpec
from ambulo.policies.networks.action_parts import PartsDistribution

MIXED = (
    ActionSpec(name="jump", choices=3),
    ActionSpec(name="move", size=2),
    ActionSpec(name="weapon", choices=2),
)
OUTPUTS = torch.tensor([[0.0, 2.0, 1.0, 0.5, -0.25, 1.0, 0.0]])
LOG_STD = torch.tensor([0.0, -1.0])


def made() -> PartsDistribution:
    return PartsDistribution(MIXED).proba_distribution(OUTPUTS, LOG_STD)


def test_rows_have_a_column_for_each_number_and_each_choice():
    assert PartsDistribution(MIXED).action_dim == 4
    assert PartsDistribution(MIXED).outputs == 7
    assert made().mode().tolist() == [[1.0, 0.5, -0.25, 0.0]]


def test_log_probabilities_and_entropies_are_sums_over_parts():
    action = torch.tensor([[2.0, 0.1, 0.2, 1.0]])
    jump, weapon = (
        Categorical(logits=OUTPUTS[0, :3]),
        Categorical(logits=OUTPUTS[0, 5:]),
    )
    move = Normal(torch.tensor([0.5, -0.25]), LOG_STD.exp())
    wanted = jump.log_prob(torch.tensor(2)) + weapon.log_prob(torch.tensor(1))
    wanted = wanted + move.log_prob(action[0, 1:3]).sum()
    torch.testing.assert_close(made().log_prob(action)[0], wanted)
    entropy = jump.entropy() + weapon.entropy() + move.entropy().sum()
    torch.testing.assert_close(made().entropy()[0], entropy)


def test_samples_have_the_frequencies_of_the_choices():
    torch.manual_seed(0)
    many = PartsDistribution(MIXED).proba_distribution(
        OUTPUTS.expand(20_000, 7), LOG_STD
    )
    drawn = many.sample()
    assert set(drawn[:, 0].tolist()) == {0.0, 1.0, 2.0}
    chance = math.exp(2) / (1 + math.exp(2) + math.e)
    assert abs((drawn[:, 0] == 1).float().mean().item() - chance) < 0.02
    assert abs(drawn[:, 2].std().item() - math.exp(-1)) < 0.01


def test_choices_alone_need_no_deviation():
    parts = PartsDistribution(MIXED[:1])
    layer, log_std = parts.proba_distribution_net(5, -0.5)
    assert log_std.numel() == 0
    chosen = parts.proba_distribution(layer(torch.zeros(4, 5)), log_std)
    assert chosen.entropy().shape == (4,)
    assert chosen.log_prob(chosen.sample()).shape == (4,)
