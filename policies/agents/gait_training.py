"""Files of gait networks for training, with weights as torch tensors."""

from __future__ import annotations

import os
from collections.abc import Mapping

from torch import Tensor

from ambulo.configs.errors import ModelFileError
from ambulo.configs.gait import GaitSpace
from ambulo.policies.files.model_file import (
    ModelFile,
    TrainingState,
    load_model,
    save_model,
)
from ambulo.policies.kinds.ref_nn import GaitNetMetadata, describe_gait_net
from ambulo.policies.networks.gait_net import GaitNet

GaitNetFile = ModelFile[GaitNetMetadata]
"""The contents of a file of a gait network."""


def save_gait_net(
    path: str | os.PathLike[str],
    network: GaitNet | Mapping[str, Tensor],
    metadata: GaitNetMetadata | None = None,
    training: TrainingState | None = None,
) -> None:
    """Write a network; the file appears whole or stays as it was.

    Args:
        path: The file.
        network: The network, or its weights.
        metadata: Its header; `describe_gait_net(network)` if left out.
        training: The state of its training, for a checkpoint.
    """
    if isinstance(network, GaitNet):
        metadata = metadata or describe_gait_net(network)
        network = network.state_dict()
    if metadata is None:
        raise ModelFileError(f"{path}: weights alone do not say what they are")
    save_model(path, ModelFile(metadata, dict(network), training))


def read_gait_net(
    path: str | os.PathLike[str], space: GaitSpace | None = None
) -> GaitNetFile:
    """Return the contents of a model file, checked.

    Raises:
        ModelFileError: Missing, damaged, or of another parameter list than `space`.
    """
    model = load_model(path, GaitNetMetadata)
    model.metadata.check_space(space, str(path))
    return model


def load_gait_net(
    path: str | os.PathLike[str], space: GaitSpace | None = None
) -> tuple[GaitNet, GaitNetMetadata]:
    """Return the network in a model file, and its header.

    Raises:
        ModelFileError: Missing, damaged, or of another parameter list than `space`.
    """
    model = read_gait_net(path, space)
    header = model.metadata
    network = GaitNet(
        header.gait_space(), header.hidden, header.layers, header.harmonics
    )
    network.load_state_dict(model.weights)
    return network, header
