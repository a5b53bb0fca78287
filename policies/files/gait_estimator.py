"""Files of gait estimators: one zip of JSON and safetensors; nothing in it is executed."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field
from torch import Tensor

from ambulo.configs.errors import ConfigError, GaitDataError, ModelFileError
from ambulo.configs.gait import GaitSpace
from ambulo.motion.human23 import N_SIXDOF
from ambulo.policies.files.archive import write_atomic, zipped
from ambulo.policies.files.model_format import (
    HEADER,
    FileHeader,
    check_weights,
    header_of,
    members_of,
    plain,
    read_members,
    read_tensors,
    shapes_of,
    stamp,
)
from ambulo.policies.networks.gait_vae import GaitVAE, GaitVAEConfig
from ambulo.policies.networks.pose_noise import CYCLE_FRAMES, PoseNoise

KIND = "gait_estimator"
_NOISE, _VAE = "noise.", "vae."

Floats = NDArray[np.float64]


class EstimatorMetadata(FileHeader):
    """The contents of `ambulo.json` in a file of a gait estimator."""

    kind: Literal["gait_estimator"] = "gait_estimator"
    """What the model does."""
    space: dict[str, Any]
    """The parameters that it estimates (`GaitSpace.to_json`)."""
    vae: GaitVAEConfig
    """The variational network."""
    modes: Annotated[int, Field(ge=0, le=1000)]
    """Directions of the differences between captured poses and the network's."""


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
    file = Path(path)
    metadata = EstimatorMetadata(
        space=json.loads(vae.space.to_json()),
        vae=vae.config,
        modes=len(noise.modes),
        **stamp(command, extra),
    )
    tensors = {_VAE + name: tensor for name, tensor in vae.state_dict().items()}
    arrays = {
        "deviation": noise.deviation,
        "modes": noise.modes,
        "variances": noise.variances,
        "floor": np.array([noise.floor]),
        "trust": trust,
        "vae_error": vae_error,
    }
    tensors |= {_NOISE + k: torch.as_tensor(v) for k, v in arrays.items()}
    weights = plain(tensors)
    _check(metadata, vae.space, weights, str(file))
    members = members_of(metadata.to_json(), weights, None, str(file))
    write_atomic(file, zipped(members))


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
    members = read_members(file)
    metadata = header_of(EstimatorMetadata, members[HEADER], f"{file}: {HEADER}", KIND)
    try:
        found = GaitSpace.from_json(metadata.space)
    except ConfigError as error:
        raise ModelFileError(f"{file}: {error}") from None
    if space is not None and (gap := space.difference(found)):
        raise ModelFileError(f"{file}: made for other gait parameters: {gap}")
    weights = read_tensors(members, str(file))
    _check(metadata, found, weights, str(file))
    vae = GaitVAE(found, metadata.vae)
    vae.load_state_dict(_part(weights, _VAE))
    vae.requires_grad_(False)
    arrays = {k: v.double().numpy() for k, v in _part(weights, _NOISE).items()}
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


def _check(
    metadata: EstimatorMetadata,
    space: GaitSpace,
    weights: Mapping[str, Tensor],
    source: str,
) -> None:
    """Refuse weights that are not finite, or not those of the header."""
    wanted = {
        _VAE + name: shape
        for name, shape in shapes_of(GaitVAE(space, metadata.vae).state_dict()).items()
    }
    size = CYCLE_FRAMES * N_SIXDOF
    sizes = {
        "deviation": (N_SIXDOF,),
        "modes": (metadata.modes, size),
        "variances": (metadata.modes,),
        "floor": (1,),
        "trust": (space.size,),
        "vae_error": (space.size,),
    }
    wanted |= {_NOISE + name: shape for name, shape in sizes.items()}
    check_weights(weights, wanted, source)
