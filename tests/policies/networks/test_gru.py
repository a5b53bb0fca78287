"""A GRU over sequences against torch's own cell, step by step."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from ambulo.policies.networks.branches import RecurrentActor
from ambulo.policies.networks.gru import GRU

STEPS, ROWS, INPUTS, UNITS = 9, 5, 4, 6


def example() -> tuple[GRU, Tensor, Tensor, Tensor]:
    """A GRU, inputs, a first state, and where episodes begin."""
    torch.manual_seed(0)
    gru = GRU(INPUTS, UNITS)
    with torch.no_grad():
        for bias in (gru.bias_ih, gru.bias_hh):
            bias.normal_()
    starts = torch.rand(STEPS, ROWS) < 0.3
    return gru, torch.randn(STEPS, ROWS, INPUTS), torch.randn(ROWS, UNITS), starts


def stepped(gru: GRU, x: Tensor, state: Tensor, starts: Tensor) -> Tensor:
    """The states, one step after another."""
    found = []
    for seen, begins in zip(x, starts, strict=True):
        state = gru(seen, state * ~begins[:, None])
        found.append(state)
    return torch.stack(found)


def test_states_and_gradients_are_those_of_single_steps() -> None:
    gru, x, state, starts = example()
    weights = torch.randn(STEPS, ROWS, UNITS)
    results = []
    for unroll in (gru.unroll, lambda *given: stepped(gru, *given)):
        seen = x.clone().requires_grad_()
        gru.zero_grad()
        states = unroll(seen, state, starts)
        (states * weights).sum().backward()
        gradients = [p.grad.clone() for p in gru.parameters() if p.grad is not None]
        results.append([states.detach(), seen.grad, *gradients])
    assert len(results[0]) == 6
    for ours, theirs in zip(*results, strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=1e-5)


def test_the_gradient_is_that_of_finite_differences() -> None:
    gru, x, state, starts = example()
    step = 1e-3
    moved = x.clone()
    moved[2, 1, 0] += step
    weights = torch.randn(STEPS, ROWS, UNITS)
    seen = x.clone().requires_grad_()
    (gru.unroll(seen, state, starts) * weights).sum().backward()
    with torch.no_grad():
        more = (gru.unroll(moved, state, starts) * weights).sum()
        less = (gru.unroll(2 * x - moved, state, starts) * weights).sum()
    assert seen.grad is not None
    want = (more - less) / (2 * step)
    assert seen.grad[2, 1, 0].item() == pytest.approx(want.item(), abs=2e-3)


def test_pieces_with_stored_states_equal_the_whole() -> None:
    gru, x, state, starts = example()
    whole = gru.unroll(x, state, starts)
    for at in range(1, STEPS):
        rest = gru.unroll(x[at:], whole[at - 1], starts[at:])
        torch.testing.assert_close(rest, whole[at:])


def test_an_episode_begins_without_memory() -> None:
    gru, x, state, _ = example()
    starts = torch.zeros(STEPS, ROWS, dtype=torch.bool)
    starts[4] = True
    late = gru.unroll(x, state, starts)[4:]
    alone = gru.unroll(x[4:], torch.zeros_like(state), starts[4:])
    torch.testing.assert_close(late, alone)


def test_rounded_products_are_nearly_those_of_float32() -> None:
    gru, x, state, starts = example()
    exact = gru.unroll(x, state, starts)
    with torch.autocast("cpu", torch.bfloat16):
        rounded = gru.unroll(x, state, starts)
    assert rounded.dtype == torch.float32
    assert 0.0 < (exact - rounded).abs().max() < 0.05


@pytest.mark.parametrize(
    ("widths", "latent"), [((7,), UNITS), ((7, 3), 3), ((7, 3, 2), 2)]
)
def test_the_gru_stands_behind_the_first_layer(
    widths: tuple[int, ...], latent: int
) -> None:
    actor = RecurrentActor(INPUTS, widths, torch.nn.ReLU, UNITS)
    out, state = actor(torch.randn(ROWS, INPUTS), torch.zeros(ROWS, UNITS))
    assert (actor.latent, actor.gru.input_size) == (latent, 7)
    assert out.shape == (ROWS, latent)
    assert state.shape == (ROWS, UNITS)
    states = actor.unroll(
        torch.randn(1, ROWS, INPUTS), state, torch.zeros(1, ROWS, dtype=torch.bool)
    )
    assert states.shape == (1, ROWS, UNITS)
