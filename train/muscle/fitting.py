"""The muscle network in torch: its form, its loss, and gradient steps on it."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ambulo.configs.arrays import Singles
from ambulo.configs.muscle import MuscleNNConfig
from ambulo.muscle.muscle_nn import LEAK, OFFSET, SLACK, SOFT, MuscleNN, Scales
from ambulo.muscle.sampling import ReducedPattern

INFEASIBLE = 0.25
"""Fraction of random target torques with noise, which muscles may be unable to make."""


class MuscleNet(nn.Module):
    """The trunk of the network; `activations` turns its outputs into activations."""

    def __init__(self, inputs: int, outputs: int, hidden: tuple[int, ...]) -> None:
        """Build layers with Xavier weights and zero bias, as published."""
        super().__init__()
        self.inputs = inputs
        layers: list[nn.Module] = []
        for width in hidden:
            layers += [nn.Linear(inputs, width), nn.LeakyReLU(LEAK)]
            inputs = width
        layers.append(nn.Linear(inputs, outputs))
        for layer in layers:
            if isinstance(layer, nn.Linear):
                nn.init.xavier_uniform_(layer.weight)
                nn.init.zeros_(layer.bias)
        self.layers = nn.Sequential(*layers)

    def forward(self, x: Tensor) -> Tensor:
        """Return raw outputs. Shape (B, outputs)."""
        return self.layers(x)

    def arrays(self) -> tuple[tuple[Singles, ...], tuple[Singles, ...]]:
        """Return copies of the weights (out, in) and biases (out,) of each layer."""
        parts = self._linear()
        return (
            tuple(part.weight.detach().numpy().copy() for part in parts),
            tuple(part.bias.detach().numpy().copy() for part in parts),
        )

    def copy_from(self, network: MuscleNN) -> None:
        """Copy the weights of `network`."""
        with torch.no_grad():
            for part, weight, bias in zip(
                self._linear(), network.weights, network.biases, strict=True
            ):
                part.weight.copy_(torch.from_numpy(weight))
                part.bias.copy_(torch.from_numpy(bias))

    def _linear(self) -> list[nn.Linear]:
        return [part for part in self.layers if isinstance(part, nn.Linear)]


def activations(
    raw: Tensor, active: Tensor, target: Tensor, config: MuscleNNConfig
) -> Tensor:
    """Return the activations (B, m) of raw outputs, as `MuscleNN.activations` does."""
    if config.output == "relu_tanh":
        return torch.relu(torch.tanh(raw))
    result = torch.sigmoid(raw - OFFSET)
    for _ in range(config.corrections):
        free = result * (1.0 - result) + SLACK
        scaled = active * free[:, None, :]
        error = target - torch.einsum("bim,bm->bi", active, result)
        matrix = scaled @ active.mT + SOFT * torch.eye(active.shape[1])
        push = torch.linalg.solve(matrix, error)
        result = (result + torch.einsum("bim,bi->bm", scaled, push)).clamp(0.0, 1.0)
    return result


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
        flat = pattern.rows * pattern.shape[1] + pattern.muscles
        self._flat = torch.from_numpy(flat)
        self._mean = torch.from_numpy(scales.mean)
        self._values = torch.from_numpy(scales.values)
        self._torque = torch.from_numpy(scales.torque)
        self.optimizer = torch.optim.Adam(net.parameters())

    def full(self, values: Tensor) -> Tensor:
        """Return JtA (B, na, m) of its entries (B, P)."""
        active = torch.zeros(len(values), self._shape[0] * self._shape[1])
        active[:, self._flat] = values
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
        values = active.flatten(1)[:, self._flat]
        parts = [(values - self._mean) / self._values, target / self._torque]
        if self._scales.conditioned:
            groups = (self.net.inputs - sum(part.shape[1] for part in parts),)
            parts.append(
                torch.zeros(len(target), *groups) if factors is None else factors - 1.0
            )
        result = activations(self.net(torch.cat(parts, dim=1)), active, target, config)
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
