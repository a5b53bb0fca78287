"""The loss of a muscle network, and gradient steps on it."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ambulo.configs.muscle import MuscleNNConfig
from ambulo.muscle.muscle_nn import ReducedPattern, Scales
from ambulo.policies.networks.muscle_net import MuscleInputs, MuscleNet, activations

INFEASIBLE = 0.25
"""Fraction of random target torques with noise, which muscles may be unable to make."""


class Fitting:
    """The loss of a network, and gradient steps on given tuples."""

    def __init__(
        self,
        net: MuscleNet,
        pattern: ReducedPattern,
        scales: Scales,
        config: MuscleNNConfig,
    ) -> None:
        """Make an Adam optimiser for `net`."""
        self.net, self._config, self._scales = net, config, scales
        self._shape = pattern.shape
        self._inputs = MuscleInputs(pattern, scales)
        self.optimizer = torch.optim.Adam(net.parameters())

    def full(self, values: Tensor) -> Tensor:
        """Return JtA (B, na, m) of its entries (B, P)."""
        active = torch.zeros(len(values), self._shape[0] * self._shape[1])
        active[:, self._inputs.entries] = values
        return active.view(-1, *self._shape)

    def terms(
        self, active: Tensor, target: Tensor, factors: Tensor | None
    ) -> dict[str, Tensor]:
        """Return `loss`, and the mean squares of which it is the weighted sum.

        Args:
            active: JtA, (B, na, m), [N m].
            target: Active torques, (B, na), [N m].
            factors: Those of the muscle groups, (B, 2 G), for a conditioned network.
        """
        config = self._config
        if not self._scales.conditioned:
            factors = None
        elif factors is None:
            groups = self.net.inputs - len(self._scales.values) - self._shape[0]
            factors = torch.ones(len(target), groups)  # healthy
        raw = self.net(self._inputs(active, target, factors))
        result = activations(raw, active, target, config)
        error = torch.einsum("bim,bm->bi", active, result) - target
        scaled = (error / config.torque_scale).square().mean()
        effort = result.square().mean()
        loss = scaled + config.activation_weight * effort
        return {"loss": loss, "torque": scaled, "effort": effort}

    def step(
        self, active: Tensor, target: Tensor, factors: Tensor | None, rate: float
    ) -> float:
        """Take one step of size `rate`; return the loss before it (see `terms`)."""
        loss = self.terms(active, target, factors)["loss"]
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(self.net.parameters(), 1.0)
        self.optimizer.step()
        return float(loss.item())


def random_targets(active: Tensor, draw: torch.Generator) -> Tensor:
    """Return active torques (B, na): feasible ones, some with noise, [N m].

    The feasible ones are drawn as in `sampling.random_activations`.
    """
    size, _, count = active.shape
    level = torch.rand(size, 1, generator=draw)
    density = 0.2 + 0.8 * torch.rand(size, 1, generator=draw)
    used = torch.rand(size, count, generator=draw) < density
    activation = level * used * torch.rand(size, count, generator=draw)
    target = torch.einsum("bim,bm->bi", active, activation)
    off = torch.rand(size, 1, generator=draw) < INFEASIBLE
    noise = torch.randn(target.shape, generator=draw)
    return target + off * noise * 0.5 * target.abs().mean(dim=1, keepdim=True)
