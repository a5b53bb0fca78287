"""The muscle network in torch; at run time `ambulo.muscle` computes it without."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn

from ambulo.configs.arrays import Singles
from ambulo.configs.muscle import MuscleNNConfig
from ambulo.muscle.muscle_nn import (
    LEAK,
    OFFSET,
    SLACK,
    SOFT,
    MuscleNN,
    ReducedPattern,
    Scales,
)


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


class MuscleInputs(nn.Module):
    """Normalised inputs: changing entries of JtA, torques, and factors of muscle groups."""

    mean: Tensor
    values: Tensor
    torque: Tensor
    entries: Tensor

    def __init__(
        self,
        pattern: ReducedPattern,
        scales: Scales,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        """Normalise by `scales`, in numbers of `dtype`."""
        super().__init__()
        for name in ("mean", "values", "torque"):
            values = torch.tensor(getattr(scales, name), dtype=dtype)
            self.register_buffer(name, values)
        entries = pattern.rows * pattern.shape[1] + pattern.muscles
        self.register_buffer("entries", torch.from_numpy(entries.astype(np.int64)))

    def forward(self, active: Tensor, target: Tensor, factors: Tensor | None) -> Tensor:
        """Inputs (B, I) of JtA (B, na, m), torques (B, na) and factors (B, 2 G) or None."""
        found = active.flatten(1)[:, self.entries]
        parts = [(found - self.mean) / self.values, target / self.torque]
        if factors is not None:
            parts.append(factors - 1.0)
        return torch.cat(parts, dim=1)


def activations(
    raw: Tensor,
    active: Tensor,
    target: Tensor,
    config: MuscleNNConfig,
    solve: Callable[[Tensor, Tensor], Tensor] = torch.linalg.solve,
) -> Tensor:
    """Return the activations (B, m) of raw outputs, as `MuscleNN.activations` does.

    `solve` returns x (B, na) with `matrix` (B, na, na) x = `right` (B, na).
    """
    if config.output == "relu_tanh":
        return torch.relu(torch.tanh(raw))
    result = torch.sigmoid(raw - OFFSET)
    for _ in range(config.corrections):
        free = result * (1.0 - result) + SLACK
        scaled = active * free[:, None, :]
        error = target - torch.einsum("bim,bm->bi", active, result)
        matrix = scaled @ active.mT + SOFT * torch.eye(
            active.shape[1], dtype=active.dtype
        )
        push = solve(matrix, error)
        result = (result + torch.einsum("bim,bi->bm", scaled, push)).clamp(0.0, 1.0)
    return result
