"""Gait estimators ready to use: from a motion to the parameters of its gait."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

import ambulo.shipped
from ambulo.configs.arrays import Floats
from ambulo.configs.errors import GaitDataError, ModelFileError
from ambulo.configs.gait import GaitSpace
from ambulo.policies.agents.gait_training import load_gait_net
from ambulo.policies.files.headers import stamp
from ambulo.policies.files.model_file import ModelFile, load_model, save_model
from ambulo.policies.kinds.gait_estimator import NOISE, EstimatorMetadata
from ambulo.policies.networks.gait_inverse import GaitEstimate, GaitInverse, Network
from ambulo.policies.networks.pose_noise import PoseNoise

DEFAULT_NETWORK = "gait_net"
"""Shipped gait network that estimators belong to by default."""


@dataclass(frozen=True, eq=False)
class GaitEstimator:
    """Errors of a gait network, for least squares through it."""

    space: GaitSpace
    """The parameters."""
    given: tuple[str, ...]
    """Parameters that were known when its errors were measured."""
    noise: PoseNoise
    """Differences between motions and what the gait network says of them."""
    trust: Floats
    """How far deviations by least squares are to be trusted (`GaitInverse`). Shape (P,)."""
    metadata: EstimatorMetadata
    """How it was made."""

    def inverse(self, network: Network | None = None) -> GaitInverse:
        """Return the way back through `network`; None: through the shipped gait network."""
        if network is None:
            file = ambulo.shipped.locate(DEFAULT_NETWORK)
            assert file is not None, "it is shipped"
            network = load_gait_net(file, self.space)[0].requires_grad_(False).eval()
        return GaitInverse(network, self.space, self.noise, trust=self.trust)

    def estimate(
        self,
        poses: Floats,
        given: Mapping[str, float] | None = None,
        *,
        network: Network | None = None,
        seed: int = 0,
    ) -> GaitEstimate:
        """Return the gait parameters of whole gait cycles, with their uncertainty.

        Args:
            poses: Cycles of 30 frames (see `ambulo.motion.gaits.frames`), (30 n, 101).
            given: Known parameters, in their units.
            network: See `inverse`.
            seed: Of the places at which descents begin.

        Raises:
            GaitDataError: Another shape, or numbers that are not finite.
        """
        return self.inverse(network).estimate(poses, given, seed=seed)


def save_estimator(
    path: str | os.PathLike[str],
    inverse: GaitInverse,
    given: Sequence[str],
    *,
    command: str = "",
    extra: Mapping[str, Any] | None = None,
) -> None:
    """Write the errors that `inverse` knows; the file appears whole or stays as it was."""
    noise = inverse.noise
    metadata = EstimatorMetadata(
        space=json.loads(inverse.space.to_json()),
        given=tuple(given),
        modes=len(noise.modes),
        **stamp(command, extra),
    )
    arrays = {
        "deviation": noise.deviation,
        "modes": noise.modes,
        "variances": noise.variances,
        "floor": np.array([noise.floor]),
        "trust": inverse.trust,
    }
    tensors = {NOISE + name: torch.as_tensor(array) for name, array in arrays.items()}
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
    metadata, own = model.metadata, model.metadata.gait_space()
    metadata.check_space(space, str(file))
    arrays = {
        name.removeprefix(NOISE): tensor.double().numpy()
        for name, tensor in model.weights.items()
    }
    floor, trust = float(arrays.pop("floor")[0]), arrays.pop("trust")
    try:
        noise = PoseNoise(**arrays, floor=floor)
    except GaitDataError as error:
        raise ModelFileError(f"{file}: {error}") from None
    return GaitEstimator(own, metadata.given, noise, trust, metadata)
