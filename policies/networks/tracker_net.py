"""The network of body trackers while it learns; at run time no torch is needed."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import silu

from ambulo.configs.body_tracker import TrackerNetConfig
from ambulo.ik.trackers.sizes import (
    INPUTS,
    OUTPUTS,
    POSE,
)

MIN_SCALE = 1e-2
"""Smallest scale of an input or output: what hardly changes is not blown up."""


class TrackerNet(nn.Module):
    """A layer, a GRU, a layer, and a linear output; see `ambulo.ik.trackers.layout`."""

    center: Tensor
    scale: Tensor
    mean: Tensor
    spread: Tensor

    def __init__(self, config: TrackerNetConfig) -> None:
        """Fresh weights; statistics of the data come by `set_statistics`."""
        super().__init__()
        self.config = config
        self.encoder = nn.Linear(INPUTS, config.encoder)
        self.gru = nn.GRU(config.encoder, config.state)
        self.decoder = nn.Linear(config.encoder + config.state, config.decoder)
        self.output = nn.Linear(config.decoder, OUTPUTS)
        nn.init.normal_(self.output.weight, std=0.02)
        nn.init.zeros_(self.output.bias)
        self.register_buffer("center", torch.zeros(INPUTS))
        self.register_buffer("scale", torch.ones(INPUTS))
        self.register_buffer("mean", torch.zeros(OUTPUTS))
        self.register_buffer("spread", torch.ones(OUTPUTS))

    def set_statistics(self, inputs: Tensor, poses: Tensor) -> None:
        """Take centre and scale from inputs (N, 106) and true poses (N, 141)."""
        self.center.copy_(inputs.mean(0))
        self.scale.copy_(inputs.std(0).clamp(min=MIN_SCALE))
        self.mean[:POSE] = poses.mean(0)
        self.spread[:POSE] = poses.std(0).clamp(min=MIN_SCALE)

    def forward(self, inputs: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """Return outputs (T, B, 151) and the next state (B, U) of inputs (T, B, 106)."""
        x = silu(self.encoder((inputs - self.center) / self.scale))
        seen, last = self.gru(x, state[None])
        y = silu(self.decoder(torch.cat([x, seen], dim=-1)))
        return self.output(y) * self.spread + self.mean, last[0]
