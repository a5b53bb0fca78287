"""The gait network while it learns; `agents/gait_network.py` runs it without torch.

As RefNN of Park et al., SIGGRAPH 2022: normalised parameters with sine and cosine of the phase
through three layers of 512 with ReLU to a pose of 101 numbers.
"""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor, nn

from ambulo.configs.gait import GaitSpace
from ambulo.motion.human23 import N_SIXDOF

LEAST = 1e-3
"""Smallest scale of an input or output: what never changes is not blown up."""


class GaitNet(nn.Module):
    """A multilayer perceptron from parameters and phase to a pose."""

    center: Tensor
    scale: Tensor
    mean: Tensor
    spread: Tensor

    def __init__(
        self, space: GaitSpace, hidden: int = 512, layers: int = 3, harmonics: int = 1
    ) -> None:
        """Fresh weights (Xavier, zero bias); `set_statistics` is for the data's scale."""
        super().__init__()
        self.space = space
        self.hidden, self.harmonics = hidden, harmonics
        inputs = space.size + 2 * harmonics
        sizes = [inputs, *[hidden] * layers, N_SIXDOF]
        linear = [nn.Linear(n, m) for n, m in pairwise(sizes)]
        for layer in linear:
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)
        self.layers = nn.ModuleList(linear)
        self.register_buffer("center", torch.zeros(inputs))
        self.register_buffer("scale", torch.ones(inputs))
        self.register_buffer("mean", torch.zeros(N_SIXDOF))
        self.register_buffer("spread", torch.ones(N_SIXDOF))

    def forward(self, params: Tensor, phase: Tensor) -> Tensor:
        """Poses (B, 101) of normalised parameters (B, P) at phases (B,), in cycles."""
        return self.of_inputs(self.inputs(params, phase))

    def inputs(self, params: Tensor, phase: Tensor) -> Tensor:
        """Input of the first layer, not scaled yet. Shape (B, P + 2 harmonics)."""
        multiples = torch.arange(1, self.harmonics + 1, device=phase.device)
        angle = 2.0 * torch.pi * phase[..., None] * multiples
        both = torch.stack([torch.sin(angle), torch.cos(angle)], dim=-1)
        return torch.cat([params, both.flatten(-2).to(params.dtype)], dim=-1)

    def of_inputs(self, inputs: Tensor) -> Tensor:
        """Poses (B, 101) of `inputs` (B, P + 2 harmonics)."""
        values = (inputs - self.center) / self.scale
        for layer in list(self.layers)[:-1]:
            values = torch.relu(layer(values))
        return self.layers[-1](values).float() * self.spread + self.mean

    def set_statistics(self, inputs: Tensor, poses: Tensor) -> None:
        """Centre and scale of inputs (N, I) and poses (N, 101), which learning keeps."""
        self.center.copy_(inputs.mean(0))
        self.scale.copy_(_at_least(inputs.std(0)))
        self.mean.copy_(poses.mean(0))
        self.spread.copy_(poses.std(0).clamp(min=LEAST))


def _at_least(scale: Tensor) -> Tensor:
    """`scale`, but 1 where an input never changes."""
    return torch.where(scale < LEAST, torch.ones_like(scale), scale)
