"""The gait network while it learns, and its files; at run time see `ref_network`.

Published as RefNN of GaitNet: normalised parameters with sine and cosine of the phase
through three layers of 512 with ReLU to a pose of 101 numbers.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from ambulo.configs.errors import ModelFileError
from ambulo.configs.gait import GaitSpace
from ambulo.configs.ref_nn import RefNNConfig
from ambulo.motion.human23 import N_SIXDOF
from ambulo.policies.files.archive import read_archive, write_atomic, zipped
from ambulo.policies.files.model_format import (
    TrainingState,
    check_weights,
    members_of,
    plain,
    read_tensors,
    read_training,
    stamp,
)
from ambulo.policies.networks.ref_network import RefNNMetadata, metadata_of, shapes_of

LEAST = 1e-3
"""Smallest scale of an input or output: what never changes is not blown up."""


class RefNN(nn.Module):
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
        """What the first layer sees, not scaled yet. Shape (B, P + 2 harmonics)."""
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


def make_ref_nn(space: GaitSpace, config: RefNNConfig) -> RefNN:
    """A fresh network as the settings say."""
    return RefNN(space, config.hidden, config.layers, config.harmonics)


@dataclass(frozen=True)
class RefNNFile:
    """Everything in a checkpoint."""

    metadata: RefNNMetadata
    """What it is."""
    network: dict[str, Tensor]
    """Weights and statistics, float32, by the names of `RefNN`."""
    training: TrainingState | None = None
    """What a resumed training needs."""


def describe_ref_nn(
    network: RefNN,
    *,
    is_cascaded: bool = False,
    training: Mapping[str, Any] | None = None,
    command: str = "",
    extra: Mapping[str, Any] | None = None,
) -> RefNNMetadata:
    """The metadata of a network that is made here and now."""
    return RefNNMetadata(
        space=json.loads(network.space.to_json()),
        is_cascaded=is_cascaded,
        hidden=network.hidden,
        layers=len(network.layers) - 1,
        harmonics=network.harmonics,
        training=dict(training or {}),
        **stamp(command, extra),
    )


def save_ref_nn(
    path: str | os.PathLike[str],
    network: RefNN | Mapping[str, Tensor],
    metadata: RefNNMetadata | None = None,
    training: TrainingState | None = None,
) -> None:
    """Write a network; the file appears whole or stays as it was.

    Args:
        path: The file.
        network: The network, or its weights.
        metadata: What it is; `describe_ref_nn(network)` if left out.
        training: What a resume needs, for a checkpoint.
    """
    file = Path(path)
    if isinstance(network, RefNN):
        metadata = metadata or describe_ref_nn(network)
        network = network.state_dict()
    if metadata is None:
        raise ModelFileError(f"{file}: weights alone do not say what they are")
    weights = plain(network)
    check_weights(weights, shapes_of(metadata), str(file))
    members = members_of(metadata.to_json(), weights, training, str(file))
    write_atomic(file, zipped(members))


def read_ref_nn(
    path: str | os.PathLike[str], space: GaitSpace | None = None
) -> RefNNFile:
    """Everything in a model file, checked.

    Raises:
        ModelFileError: Missing, damaged, or of another parameter list than `space`.
    """
    file = Path(path)
    members = read_archive(file)
    metadata = metadata_of(members, str(file), space)
    weights = read_tensors(members, str(file))
    check_weights(weights, shapes_of(metadata), str(file))
    return RefNNFile(metadata, weights, read_training(members, str(file)))


def load_ref_nn(
    path: str | os.PathLike[str], space: GaitSpace | None = None
) -> tuple[RefNN, RefNNMetadata]:
    """The network in a model file, and what it is.

    Raises:
        ModelFileError: Missing, damaged, or of another parameter list than `space`.
    """
    found = read_ref_nn(path, space)
    metadata = found.metadata
    network = RefNN(
        metadata.gait_space(), metadata.hidden, metadata.layers, metadata.harmonics
    )
    network.load_state_dict(found.network)
    return network, metadata


def _at_least(scale: Tensor) -> Tensor:
    """`scale`, but 1 where an input never changes."""
    return torch.where(scale < LEAST, torch.ones_like(scale), scale)
