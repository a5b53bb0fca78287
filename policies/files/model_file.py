"""Model files with weights: written whole, read within bounds, checked both times.

One zip for every kind of model. Its header (`headers`) is a class of `policies/kinds`;
nothing in a file is executed.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic

import numpy as np
import safetensors
import safetensors.numpy
import safetensors.torch
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ambulo.configs.errors import ModelFileError
from ambulo.policies.files.archive import (
    MAX_BYTES,
    json_bytes,
    parse_json,
    read_archive,
    write_atomic,
    zipped,
)
from ambulo.policies.files.headers import HEADER, Header, header_of

POLICY = "policy.safetensors"
ARRAYS, VALUES = "training.safetensors", "training.json"
_SAFETENSORS_ERRORS = (
    safetensors.SafetensorError,
    ValueError,
    KeyError,
    TypeError,
    AttributeError,
)


@dataclass(frozen=True)
class TrainingState:
    """The contents of a checkpoint besides the model, for resuming."""

    arrays: dict[str, NDArray[np.generic]]
    """By name."""
    values: dict[str, Any]
    """Plain JSON values."""


@dataclass(frozen=True)
class ModelFile(Generic[Header]):
    """The contents of a model file."""

    metadata: Header
    """Its header."""
    weights: dict[str, Tensor]
    """Weights and statistics, float32, by the names of the network's class."""
    training: TrainingState | None = None
    """In checkpoints only."""
    attachments: dict[str, bytes] = field(default_factory=dict)
    """Further members of the zip, by name."""


def save_model(path: str | os.PathLike[str], model: ModelFile[Any]) -> None:
    """Write `model`; the file appears whole or stays as it was.

    Raises:
        ModelFileError: The file cannot be written, or `load_model` would refuse it.
    """
    file = Path(path)
    weights = plain(model.weights)
    check_weights(weights, model.metadata.weight_shapes(weights, str(file)), str(file))
    try:
        members = {
            HEADER: model.metadata.to_json().encode(),
            POLICY: safetensors.torch.save(weights),
        }
        if model.training is not None:
            arrays = {
                name: np.asarray(array, order="C")
                for name, array in model.training.arrays.items()
            }
            members[ARRAYS] = safetensors.numpy.save(arrays)
            members[VALUES] = json_bytes(model.training.values)
    except (ValueError, TypeError) as error:
        reason = f"training state is not plain: {error}"
        raise ModelFileError(f"{file}: {reason}") from None
    if sum(map(len, members.values())) > MAX_BYTES:
        raise ModelFileError(f"{file}: the training state is larger than 1 GiB")
    write_atomic(file, zipped(members | model.attachments))


def load_model(path: str | os.PathLike[str], header: type[Header]) -> ModelFile[Header]:
    """Return the contents of the model file `path`, checked.

    Args:
        path: The file.
        header: Class of the header that it must have.

    Raises:
        ModelFileError: Missing, damaged, unsafe, newer, or of another kind.
    """
    return model_of_members(read_archive(Path(path)), header, str(path))


def model_of_members(
    members: Mapping[str, bytes], header: type[Header], source: str
) -> ModelFile[Header]:
    """Return the contents of a model file by the members of its zip; see `load_model`."""
    metadata = header_of(header, members, source)
    weights = read_tensors(members, source)
    check_weights(weights, metadata.weight_shapes(weights, source), source)
    attachments = metadata.attachments(members, source)
    return ModelFile(metadata, weights, read_training(members, source), attachments)


def plain(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return copies for a file: float32, on the CPU, contiguous, without gradients."""
    return {
        name: tensor.detach().cpu().float().contiguous()
        for name, tensor in weights.items()
    }


def shapes_of(network: nn.Module) -> dict[str, tuple[int, ...]]:
    """Return the shape of each weight of a network, which may be on the meta device."""
    return {name: tuple(t.shape) for name, t in network.state_dict().items()}


def check_weights(
    weights: Mapping[str, Tensor], shapes: Mapping[str, tuple[int, ...]], source: str
) -> None:
    """Refuse weights that are not finite float32, or not those of `shapes`."""
    for name in sorted(shapes.keys() | weights.keys()):
        if name not in weights:
            raise ModelFileError(f"{source}: weight {name!r} is missing")
        if name not in shapes:
            raise ModelFileError(f"{source}: unexpected weight {name!r}")
        tensor, shape = weights[name], tuple(weights[name].shape)
        if shape != shapes[name]:
            raise ModelFileError(
                f"{source}: weight {name!r} has shape {shape}, expected {shapes[name]}"
            )
        if tensor.dtype != torch.float32:
            raise ModelFileError(
                f"{source}: weight {name!r} is {tensor.dtype}, expected torch.float32"
            )
        if not bool(torch.isfinite(tensor).all()):
            raise ModelFileError(f"{source}: weight {name!r} has values not finite")


def read_tensors(members: Mapping[str, bytes], source: str) -> dict[str, Tensor]:
    """Return the weights among the members of a model file."""
    if POLICY not in members:
        raise ModelFileError(f"{source}: no {POLICY} inside")
    try:
        return safetensors.torch.load(members[POLICY])
    except _SAFETENSORS_ERRORS as error:
        raise ModelFileError(f"{source}: {POLICY}: {error}") from None


def read_training(members: Mapping[str, bytes], source: str) -> TrainingState | None:
    """Return the training state among the members of a model file; None without one."""
    present = [name for name in (ARRAYS, VALUES) if name in members]
    if not present:
        return None
    if len(present) == 1:
        raise ModelFileError(f"{source}: {present[0]} stands alone: half a checkpoint")
    values = parse_json(members[VALUES], f"{source}: {VALUES}")
    if not isinstance(values, dict):
        raise ModelFileError(f"{source}: {VALUES}: not a dictionary")
    try:
        arrays = safetensors.numpy.load(members[ARRAYS])
    except _SAFETENSORS_ERRORS as error:
        raise ModelFileError(f"{source}: {ARRAYS}: {error}") from None
    return TrainingState(dict(arrays), values)
