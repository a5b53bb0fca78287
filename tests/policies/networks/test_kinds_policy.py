"""Policies of several kinds of agents in one module."""

from __future__ import annotations

import pytest
import torch

from ambulo.configs.agent_spec import AgentSpec
from ambulo.configs.errors import ConfigError
from ambulo.configs.godot import ConvLayer, GameNetworkConfig
from ambulo.policies.networks.kinds_policy import make_kinds_policy, row_size, row_space

WALKER = AgentSpec(
    name="walker",
    observation=[
        {"name": "speed", "shape": [3]},
        {"name": "camera", "shape": [9, 8, 3], "high": 255},
        {"name": "goal", "shape": [2]},
    ],
    action=[{"name": "move", "size": 2}, {"name": "jump", "choices": 3}],
)
DOOR = AgentSpec(
    name="door",
    observation=[{"name": "near", "shape": [4]}],
    action=[{"name": "open", "choices": 5}],
)
KINDS = (WALKER, DOOR)


def rows(count: int = 7) -> torch.Tensor:
    seen = torch.rand(count, row_size(KINDS)) * 200.0
    seen[:, 0] = torch.arange(count) % 2
    return seen


@pytest.fixture(params=[0, 8])
def policy(request):
    torch.manual_seed(1)
    return make_kinds_policy(KINDS, GameNetworkConfig(recurrent=request.param))


def test_a_row_has_the_actions_of_its_kind(policy):
    seen = rows()
    actions, values, log_probs = policy(seen)
    assert row_space(KINDS).high.tolist() == [4.0, 1.0, 2.0]
    assert (actions[1::2, 1:] == 0).all()
    assert set(actions[1::2, 0].tolist()) <= {0.0, 1.0, 2.0, 3.0, 4.0}
    assert set(actions[::2, 2].tolist()) <= {0.0, 1.0, 2.0}
    assert values.shape == (7, 1)
    if policy.units == 0:
        same = policy.evaluate_actions(seen, actions)
        torch.testing.assert_close(same[0], values)
        torch.testing.assert_close(same[1], log_probs)


def test_a_kind_does_not_depend_on_the_other_rows(policy):
    seen, state = rows(), torch.rand(7, policy.units)
    together = policy.mean_step(seen, state)
    alone = policy.mean_step(seen[1:2], state[1:2])
    torch.testing.assert_close(together[0][1:2], alone[0])
    torch.testing.assert_close(together[1][1:2], alone[1])


def test_sequences_are_evaluated_as_steps():
    torch.manual_seed(2)
    policy = make_kinds_policy(KINDS, GameNetworkConfig(recurrent=8))
    seen = torch.stack([rows(), rows(), rows()])
    starts = torch.zeros(3, 7, dtype=torch.bool)
    starts[0], starts[2, 1] = True, True
    state, log_probs, actions = torch.zeros(7, 8), [], []
    for t in range(3):
        state = state * ~starts[t][:, None]
        acted, _, log_prob, state = policy.act(seen[t], state)
        log_probs.append(log_prob)
        actions.append(acted)
    found = policy.evaluate_sequences(
        seen, torch.stack(actions), torch.rand(7, 8), starts
    )
    torch.testing.assert_close(found[1], torch.cat(log_probs), atol=1e-5, rtol=1e-5)
    after = policy.advanced(seen, torch.rand(7, 8), starts)
    torch.testing.assert_close(after, state, atol=1e-5, rtol=1e-5)


def test_statistics_are_those_of_the_kind(policy):
    seen = rows(400)
    policy.observe(seen)
    door = policy.policies[1].mlp_extractor.encoder
    torch.testing.assert_close(
        door.normalizer.mean, seen[1::2, 1:5].mean(dim=0), atol=1e-2, rtol=1e-4
    )
    walker = policy.policies[0].mlp_extractor.encoder
    columns = [1, 2, 3, 220, 221]  # not the picture of 9 x 8 x 3 between them
    torch.testing.assert_close(
        walker.normalizer.mean, seen[::2, columns].mean(dim=0), atol=1e-2, rtol=1e-4
    )


def test_a_picture_that_is_too_small_is_named():
    network = GameNetworkConfig(convolutions=[ConvLayer(channels=4, kernel=9)])
    with pytest.raises(ConfigError, match="'camera': a picture of 9 x 8 is too small"):
        make_kinds_policy(KINDS, network)


def test_two_parts_of_one_name_are_refused():
    with pytest.raises(ValueError, match="two parts of one name"):
        AgentSpec(name="a", observation=DOOR.observation * 2, action=DOOR.action)


def test_fresh_critics_know_nothing_of_value():
    kind = AgentSpec(
        name="one",
        observation=[{"name": "obs", "shape": [30]}],
        action=[{"name": "move", "size": 1}],
    )
    torch.manual_seed(0)
    policy = make_kinds_policy([kind], GameNetworkConfig(activation_fn="relu"))
    rows = torch.randn(200, 31)
    rows[:, 0] = 0.0
    assert policy.predict_values(rows).abs().max() < 0.2


def test_a_change_of_returns_leaves_values_in_units_of_the_game(policy):
    torch.manual_seed(3)
    seen = rows(40)
    kinds, units = seen[:, 0], policy.return_sizes()
    assert units.tolist() == [1.0, 1.0]
    before = policy.predict_values(seen)[:, 0]
    returns = torch.where(kinds == 0, 300.0 + 40.0 * torch.randn(40), torch.rand(40))
    policy.observe_returns(torch.stack([kinds, returns], dim=1))
    sizes = policy.return_sizes()
    for index in (0, 1):
        rms = returns[kinds == index].square().mean().sqrt()
        torch.testing.assert_close(sizes[index], rms, rtol=1e-4, atol=0.0)
    after = policy.predict_values(seen)[:, 0] * sizes[kinds.long()]
    torch.testing.assert_close(after, before, rtol=1e-4, atol=1e-6)


def test_only_numbers_beyond_size_one_are_scaled(policy):
    seen = torch.zeros(400, row_size(KINDS))
    seen[:, 0] = 1.0
    seen[:, 1], seen[:, 2] = 50.0 * torch.randn(400), 0.1 * torch.randn(400)
    policy.observe(seen)
    encoder = policy.policies[1].mlp_extractor.encoder
    spread = encoder(seen[:, 1:5]).std(dim=0)
    torch.testing.assert_close(spread[0], torch.tensor(1.0), atol=0.02, rtol=0.0)
    torch.testing.assert_close(spread[1], seen[:, 2].std())
    sudden = torch.tensor([[0.0, 0.0, 1.0, 0.0]])  # what was always zero until now
    assert encoder(sudden)[0, 2] == 1.0


def test_recordings_enlarge_small_numbers_for_good(policy):
    seen = torch.zeros(400, row_size(KINDS))
    seen[:, 0], seen[:, 1] = 1.0, 0.1 * torch.randn(400)
    policy.observe_recordings(seen)
    policy.observe(seen)
    spread = policy.policies[1].mlp_extractor.encoder(seen[:, 1:5]).std(dim=0)
    torch.testing.assert_close(spread[0], torch.tensor(1.0), atol=0.02, rtol=0.0)
