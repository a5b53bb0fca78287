"""Files of gait networks for training, with weights as torch tensors."""

from __future__ import annotations

import os

from ambulo.configs.gait import GaitSpace
from ambulo.policies.files.model_file import load_model
from ambulo.policies.kinds.gait_net import GaitNetMetadata
from ambulo.policies.networks.gait_net import GaitNet


def load_gait_net(
    path: str | os.PathLike[str], space: GaitSpace | None = None
) -> tuple[GaitNet, GaitNetMetadata]:
    """Return the network in a model file, and its header.

    Raises:
        ModelFileError: Missing, damaged, or of another parameter list than `space`.
    """
    model = load_model(path, GaitNetMetadata)
    header = model.metadata
    header.check_space(space, str(path))
    network = GaitNet(
        header.gait_space(), header.hidden, header.layers, header.harmonics
    )
    network.load_state_dict(model.weights)
    return network, header
