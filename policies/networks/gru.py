"""A gated recurrent unit (GRU) that is unrolled over sequences in which episodes begin.

The equations are those of `torch.nn.GRUCell`. `scan` has a gradient of its own, which takes
less than half the time of automatic differentiation through the steps.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional


class GRU(nn.GRUCell):
    """A GRU with orthogonal weights, for single steps and for sequences."""

    def __init__(self, inputs: int, units: int) -> None:
        """Weights begin orthogonal, gate by gate; biases at zero."""
        super().__init__(inputs, units)
        for matrix in (self.weight_ih, self.weight_hh):
            for gate in matrix.detach().chunk(3):
                nn.init.orthogonal_(gate)
        nn.init.zeros_(self.bias_ih)
        nn.init.zeros_(self.bias_hh)

    def unroll(self, x: Tensor, state: Tensor, starts: Tensor) -> Tensor:
        """Return the states after each step, shape (T, B, units).

        Args:
            x: inputs, shape (T, B, inputs).
            state: before the first step, shape (B, units), float32.
            starts: whether an episode begins with a step, which then begins with a state of
                zeros; shape (T, B), bool.
        """
        gates = functional.linear(x, self.weight_ih, self.bias_ih)
        goes_on = (~starts).to(state.dtype)[..., None]
        states: Tensor = _Scan.apply(
            gates, state, goes_on, self.weight_hh, self.bias_hh
        )  # type: ignore[no-untyped-call]
        return states


class _Scan(torch.autograd.Function):
    """The steps of a GRU whose input gates are known.

    The products with the state have the number format of the input gates; the rest is
    float32. The first state has no gradient: it is known, not learned.
    """

    @staticmethod
    def forward(
        ctx: Any, gates: Tensor, state: Tensor, goes_on: Tensor, w: Tensor, b: Tensor
    ) -> Tensor:
        """Return states (T, B, U); `gates` (T, B, 3 U), `goes_on` (T, B, 1) of 0 or 1."""
        steps, rows, units = *gates.shape[:2], state.shape[1]
        format_ = gates.dtype
        weight, bias = w.to(format_).t(), b.to(format_)
        gates = gates.float()

        def empty(width: int) -> Tensor:
            return gates.new_empty(steps, rows, width)

        out, before, both = empty(units), empty(units), empty(2 * units)
        new, own = empty(units), empty(units)
        for t in range(steps):
            h = torch.mul(state, goes_on[t], out=before[t])
            product = torch.addmm(bias, h.to(format_), weight).float()
            gate = torch.add(
                gates[t, :, : 2 * units], product[:, : 2 * units], out=both[t]
            ).sigmoid_()
            own[t] = product[:, 2 * units :]
            torch.addcmul(
                gates[t, :, 2 * units :], gate[:, :units], own[t], out=new[t]
            ).tanh_()
            state = torch.lerp(new[t], h, gate[:, units:], out=out[t])
        ctx.save_for_backward(before, both, new, own, goes_on, w)
        ctx.format = format_
        return out

    @staticmethod
    def backward(ctx: Any, *outputs: Any) -> Any:
        """Gradients of input gates, weight and bias, by back-propagation through time."""
        (after,) = outputs
        before, both, new, own, goes_on, w = ctx.saved_tensors
        steps, rows, units = new.shape
        weight = w.to(ctx.format)
        reset, keep = both[..., :units], both[..., units:]
        to_keep = (before - new) * keep * (1.0 - keep)
        to_new = (1.0 - keep) * (1.0 - new.square())
        to_reset = own * reset * (1.0 - reset)
        d_gates, d_products = (new.new_empty(steps, rows, 3 * units) for _ in range(2))
        d_state = new.new_zeros(rows, units)
        for t in range(steps - 1, -1, -1):
            d_state = d_state + after[t]
            d, e = d_gates[t], d_products[t]
            d_new = torch.mul(d_state, to_new[t], out=d[:, 2 * units :])
            torch.mul(d_new, to_reset[t], out=d[:, :units])
            torch.mul(d_state, to_keep[t], out=d[:, units : 2 * units])
            e[:, : 2 * units] = d[:, : 2 * units]
            torch.mul(d_new, reset[t], out=e[:, 2 * units :])
            product = torch.mm(e.to(ctx.format), weight).float()
            d_state = torch.addcmul(product, d_state, keep[t]).mul_(goes_on[t])
        flat = d_products.flatten(0, 1)
        d_weight = flat.to(ctx.format).t() @ before.flatten(0, 1).to(ctx.format)
        return (
            d_gates.to(ctx.format),
            None,
            None,
            d_weight.to(w.dtype),
            flat.sum(dim=0),
        )
