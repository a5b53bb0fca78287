"""Gait estimators ready to use: from a motion to the parameters of its gait."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import GaitDataError, ModelFileError
from ambulo.configs.gait import GaitSpace
from ambulo.policies.files.headers import stamp
from ambulo.policies.files.model_file import ModelFile, load_model, save_model
from ambulo.policies.kinds.gait_estimator import NOISE, VAE, EstimatorMetadata
from ambulo.policies.networks.gait_inverse import GaitEstimate
from ambulo.policies.networks.gait_vae import GaitVAE
from ambulo.policies.networks.pose_noise import PoseNoise


@dataclass(frozen=True, eq=False)
class GaitEstimator:
    """What `ambulo gait estimate` needs beside the forward network."""

    space: GaitSpace
    """The parameters."""
    vae: GaitVAE
    """The variational network, in evaluation mode."""
    vae_error: Floats
    """Its error on held-out motions, of each normalised parameter. Shape (P,)."""
    noise: PoseNoise
    """Differences between motions and what the forward network says of them."""
    trust: Floats
    """How far deviations by least squares are to be trusted (`GaitInverse`). Shape (P,)."""
    metadata: EstimatorMetadata
    """How it was made."""

    def estimate(
        self,
        poses: Floats,
        given: Mapping[str, float] | None = None,
        *,
        seed: int = 0,
    ) -> GaitEstimate:
        """Return the gait parameters of two gait cycles, with their uncertainty.

        Args:
            poses: Two cycles of 30 frames (see `ambulo.motion.gaits.frames`), (60, 101).
            given: Known parameters; those of `vae.config.given` are needed.
            seed: Of the draws of the latent.

        Raises:
            GaitDataError: Another shape, or a parameter is missing.
        """
        return self.vae.estimate(poses, given, spread=self.vae_error, seed=seed)


def save_estimator(
    path: str | os.PathLike[str],
    vae: GaitVAE,
    vae_error: Floats,
    noise: PoseNoise,
    trust: Floats,
    *,
    command: str = "",
    extra: Mapping[str, Any] | None = None,
) -> None:
    """Write an estimator; the file appears whole or stays as it was."""
    metadata = EstimatorMetadata(
        space=json.loads(vae.space.to_json()),
        vae=vae.config,
        modes=len(noise.modes),
        **stamp(command, extra),
    )
    tensors = {VAE + name: tensor for name, tensor in vae.state_dict().items()}
    arrays = {
        "deviation": noise.deviation,
        "modes": noise.modes,
        "variances": noise.variances,
        "floor": np.array([noise.floor]),
        "trust": trust,
        "vae_error": vae_error,
    }
    tensors |= {NOISE + k: torch.as_tensor(v) for k, v in arrays.items()}
    save_model(path, ModelFile(metadata, tensors))


def load_estimator(
    path: str | os.PathLike[str], space: GaitSpace | None = None
) -> GaitEstimator:
    """The estimator in the file `path`, ready to use.

    Args:
        path: The file.
        space: The parameters that it must have.

    Raises:
        ModelFileError: missing, damaged, unsafe, newer, or made for other parameters.
    """
    file = Path(path)
    model = load_model(file, EstimatorMetadata)
    metadata, weights = model.metadata, model.weights
    found = metadata.gait_space()
    if space is not None and (gap := space.difference(found)):
        raise ModelFileError(f"{file}: made for other gait parameters: {gap}")
    vae = GaitVAE(found, metadata.vae)
    vae.load_state_dict(_part(weights, VAE))
    vae.requires_grad_(False)
    arrays = {k: v.double().numpy() for k, v in _part(weights, NOISE).items()}
    floor = float(arrays["floor"][0])
    try:
        noise = PoseNoise(
            arrays["deviation"], arrays["modes"], arrays["variances"], floor
        )
    except GaitDataError as error:
        raise ModelFileError(f"{file}: {error}") from None
    return GaitEstimator(
        found, vae.eval(), arrays["vae_error"], noise, arrays["trust"], metadata
    )


def _part(weights: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {
        name.removeprefix(prefix): tensor
        for name, tensor in weights.items()
        if name.startswith(prefix)
    }
