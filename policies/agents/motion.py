"""Motion networks ready to predict, and their encoders."""

from __future__ import annotations

import os

from ambulo.policies.files.model_file import ModelFile, load_model
from ambulo.policies.kinds.motion_nn import MotionMetadata
from ambulo.policies.networks.motion_nn import MotionNN

MotionModelFile = ModelFile[MotionMetadata]
"""The contents of a file of a motion network."""


def load_motion_nn(path: str | os.PathLike[str], device: str = "cpu") -> MotionNN:
    """The network in the file `path`, ready to predict."""
    file = load_model(path, MotionMetadata)
    network = MotionNN(file.metadata.run.model)
    network.load_state_dict(file.weights)
    network.requires_grad_(False)
    return network.eval().to(device)


def load_encoder(path: str | os.PathLike[str], device: str = "cpu") -> MotionNN:
    """The network in the file `path` for its `encode`; of any mode, with gradients.

    `encode(states (B, H, 112))` gives (B, `size`) features. The heads that only
    predictions need get no gradients.
    """
    network = load_motion_nn(path, device)
    network.trunk.requires_grad_(True)
    return network
