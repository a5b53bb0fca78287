"""Pose networks in training; at run time `ambulo.ik` computes them without torch.

Inputs are centred and scaled, outputs scaled, by statistics of the training data. When a
network is exported these fold into its first and last layer, so that the file holds a plain
multilayer perceptron.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import dropout

from ambulo.configs.neural_ik import IKNetConfig
from ambulo.ik.kernels.targets import WIDTH
from ambulo.ik.rig import Rig
from ambulo.ik.solver import features
from ambulo.ik.solver.headers import IKNetworkHeader
from ambulo.ik.solver.network import layer_sizes

_COLUMNS = np.arange(features.INPUTS)
WEIGHT_COLUMNS = (
    _COLUMNS
    - _COLUMNS % WIDTH
    + np.where(np.isin(_COLUMNS % WIDTH, (*range(3), WIDTH - 2)), WIDTH - 2, WIDTH - 1)
)
"""For each input of `own` the input that holds its target's weight."""

LEAST = 1e-3
"""Smallest scale of an input or output: what never changes is not blown up."""


class IKNet(nn.Module):
    """A multilayer perceptron from targets to a pose; see `IKNetConfig.kind`."""

    center: Tensor
    scale: Tensor
    spread: Tensor
    mean: Tensor
    gate: Tensor

    def __init__(self, config: IKNetConfig, rig: Rig) -> None:
        """Fresh weights; statistics of the data come by `set_statistics`."""
        super().__init__()
        self.config = config
        sizes = layer_sizes(IKNetworkHeader.of(config, rig.name), rig)
        linear = [nn.Linear(n, m) for n, m in pairwise(sizes)]
        self.layers = nn.ModuleList(linear)
        slope = config.slope
        self.activation = _activation(config.activation, slope)
        for layer in linear[:-1]:
            nn.init.kaiming_normal_(layer.weight, a=slope, nonlinearity="leaky_relu")
            nn.init.zeros_(layer.bias)
        nn.init.normal_(linear[-1].weight, std=0.02)
        nn.init.zeros_(linear[-1].bias)
        own = config.kind == "own"
        gates = WEIGHT_COLUMNS if own else np.full(sizes[0], -1)
        self.register_buffer("gate", torch.from_numpy(gates.copy()), persistent=False)
        self.register_buffer("center", torch.zeros(sizes[0]))
        self.register_buffer("scale", torch.ones(sizes[0]))
        self.register_buffer("spread", torch.ones(sizes[-1]))
        self.register_buffer("mean", torch.zeros(sizes[-1]))

    def set_statistics(self, inputs: Tensor, outputs: Tensor) -> None:
        """Take centre and scale of everything from inputs (N, in) and outputs (N, out).

        Of the inputs that a weight gates, only samples where it is above 0 count.
        """
        gates = self._gates(inputs)
        there = (gates > 0.0).to(inputs.dtype)
        count = there.sum(0).clamp(min=1.0)
        center = (inputs * there).sum(0) / count
        square = ((inputs - center) ** 2 * there).sum(0) / count
        scale = square.sqrt()
        fixed = scale < LEAST
        # Weights of targets stay as they are, and so does what never changes.
        fixed |= self.gate == torch.arange(len(self.gate), device=self.gate.device)
        self.center.copy_(torch.where(fixed, torch.zeros_like(center), center))
        self.scale.copy_(torch.where(fixed, torch.ones_like(scale), scale))
        self.mean.copy_(outputs.mean(0))
        self.spread.copy_(outputs.std(0).clamp(min=LEAST))

    def forward(self, inputs: Tensor) -> Tensor:
        """Answers (B, out), as offsets from `mean`, to `inputs` (B, in)."""
        values = (inputs - self.center * self._gates(inputs)) / self.scale
        for layer in list(self.layers)[:-1]:
            values = self.activation(layer(values))
            values = dropout(values, self.config.dropout, self.training)
        return self.layers[-1](values).float() * self.spread

    def tensors(self) -> dict[str, NDArray[Any]]:
        """Weights for a file, statistics folded in: names as `ambulo.ik` reads them."""
        linear = [layer for layer in self.layers if isinstance(layer, nn.Linear)]
        weights = [_array(layer.weight) for layer in linear]
        biases = [_array(layer.bias) for layer in linear]
        center, spread = _array(self.center), _array(self.spread)
        first = weights[0] / _array(self.scale)
        weights[0] = first.copy()
        for column, gate in enumerate(self.gate.tolist()):
            if gate >= 0:
                weights[0][:, gate] -= first[:, column] * center[column]
            else:
                biases[0] = biases[0] - first[:, column] * center[column]
        weights[-1] = weights[-1] * spread[:, None]
        biases[-1] = biases[-1] * spread
        if self.config.kind == "own":
            found = {"mean": _array(self.mean)}
            for i, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
                found |= {f"layers.{i}.weight": weight, f"layers.{i}.bias": bias}
        else:
            biases[-1] = biases[-1] + _array(self.mean)
            found = {}
            for i, (weight, bias) in enumerate(
                zip(weights, biases, strict=True), start=1
            ):
                found |= {f"W{i}": weight.T, f"b{i}": bias}
        return {
            name: np.ascontiguousarray(array, dtype=np.float32)
            for name, array in found.items()
        }

    def _gates(self, inputs: Tensor) -> Tensor:
        """For each input (B, in) the weight of its target; 1 where there is none."""
        taken = inputs[:, self.gate.clamp(min=0)]
        return torch.where(self.gate >= 0, taken, torch.ones_like(taken))


def _activation(kind: str, slope: float) -> nn.Module:
    if kind == "leaky_relu":
        return nn.LeakyReLU(slope)
    others: dict[str, type[nn.Module]] = {
        "elu": nn.ELU,
        "tanh": nn.Tanh,
        "silu": nn.SiLU,
    }
    return others[kind]()


def _array(tensor: Tensor) -> NDArray[Any]:
    return tensor.detach().cpu().double().numpy().copy()
