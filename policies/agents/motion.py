"""Motion networks ready to predict, and their encoders."""

from __future__ import annotations

import os

import numpy as np
import torch
from torch import Tensor

from ambulo.configs.arrays import Floats, Singles
from ambulo.motion.rotations import quat_conjugate
from ambulo.policies.files.model_file import load_model
from ambulo.policies.kinds.motion_nn import MotionMetadata
from ambulo.policies.networks.motion_nn import LARGEST, MotionNN
from ambulo.policies.networks.motion_state import (
    displacement,
    feature_size,
    features_of,
    heading_of,
    to_world,
)


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


class MotionEncoder:
    """A motion network for environments: arrays in and out, without gradients, on one CPU."""

    def __init__(self, network: MotionNN) -> None:
        """Create it from a trained network."""
        self._network = network
        config = network.config
        self.history, self.size = config.history, network.size
        self.inputs_size = feature_size(config.features)
        self.longest = config.chunk / config.fps
        """How far it looks ahead, [s]."""

    def inputs(self, states: Floats) -> Singles:
        """Input of the network (..., F) for each of the states (..., 112)."""
        network = self._network
        with torch.inference_mode():
            features = features_of(_tensor(states), network.config.features)
            inputs = (features - network.mean) / network.deviation
            found: Singles = inputs.clamp(-LARGEST, LARGEST).numpy()
        return found

    def encode(self, inputs: Singles) -> Singles:
        """Encodings (B, W) of the inputs of the last H frames, (B, H, F)."""
        # Of few rows a thread takes longer to wake than to compute.
        if torch.get_num_threads() != 1:
            torch.set_num_threads(1)
        with torch.inference_mode():
            hidden: Singles = self._network.trunk(torch.as_tensor(inputs))[
                :, -1
            ].numpy()
        return hidden

    def foresee(
        self, codes: Singles, inputs: Singles, states: Floats, ahead: float
    ) -> Singles:
        """Where the last frames lead.

        Args:
            codes: Of `encode`. Shape (B, W).
            inputs: What it was given. Shape (B, H, F).
            states: The last states. Shape (B, 112).
            ahead: Above 0, at most `longest`, [s].

        Returns:
            Displacements (B, 56) in `ahead` seconds, the root's way in the frame of its
            heading.
        """
        with torch.inference_mode():
            hidden, given = torch.as_tensor(codes)[:, None], torch.as_tensor(inputs)
            chunk = self._network.chunk_from(hidden, given, _tensor(states)[:, None])
            still = torch.zeros_like(chunk[:, :1])
            ways = self._between(torch.cat([still, chunk], dim=1), ahead)
            found: Singles = ways.numpy()
        return found

    def surprise(
        self, expected: Singles, before: Floats, after: Floats, ahead: float
    ) -> Floats:
        """Mean squared error of what `foresee` foresaw, in units of the network's base.

        1 is the error of the base alone on the data that the network was trained on. Of
        56 numbers each counts alike.

        Args:
            expected: From `foresee`. Shape (B, 56).
            before: Positions then. Shape (B, 56).
            after: Positions now. Shape (B, 56).
            ahead: Time between them, as given to `foresee`, [s].

        Returns:
            Shape (B,).
        """
        with torch.inference_mode():
            first = torch.as_tensor(before)
            moved = displacement(first, torch.as_tensor(after))
            moved = to_world(moved, quat_conjugate(heading_of(first)))
            scale = self._network.scale
            unit = self._between(torch.cat([torch.zeros_like(scale[:1]), scale]), ahead)
            error = ((moved - torch.as_tensor(expected)) / unit).square()
            found: Floats = error.mean(dim=-1).numpy()
        return found

    def _between(self, frames: Tensor, ahead: float) -> Tensor:
        """Rows (..., 56) of `frames` (..., 1 + K, 56) `ahead` seconds after the first."""
        at = min(ahead * self._network.config.fps, frames.shape[-2] - 1.0)
        low = min(int(at), frames.shape[-2] - 2)
        part = at - low
        return (1.0 - part) * frames[..., low, :] + part * frames[..., low + 1, :]


def load_motion_encoder(path: str | os.PathLike[str]) -> MotionEncoder:
    """The network in the file `path`, to encode the motion of bodies in environments."""
    return MotionEncoder(load_motion_nn(path))


def _tensor(states: Floats) -> Tensor:
    return torch.as_tensor(np.asarray(states, np.float32))
