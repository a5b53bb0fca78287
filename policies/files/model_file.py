"""Model files with weights: written whole, read within bounds, checked both times.

One zip for every kind of model. Its header (`headers`) is a class of `policies/kinds`;
nothing in a file is executed.
"""

from __future__ import annotations

import io
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic

import numpy as np
import safetensors.numpy
import safetensors.torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ambulo.configs.errors import ModelFileError
from ambulo.policies.files.archive import (
    MAX_BYTES,
    Archive,
    json_bytes,
    open_archive,
    parse_json,
    write_atomic,
    zipped,
)
from ambulo.policies.files.headers import ARRAYS, HEADER, VALUES, Header, header_of
from ambulo.policies.files.weights import (
    DAMAGED_TENSORS,
    POLICY,
    check_finite,
    check_shapes,
    read_weights,
    stored_shapes,
)

MAX_TRAINING, MAX_STATES = 2**26, 16
"""Largest training state: so many bytes, and so many times the bytes of the weights."""


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
    shapes = {name: tuple(tensor.shape) for name, tensor in weights.items()}
    check_shapes(shapes, model.metadata.weight_shapes(shapes, str(file)), str(file))
    check_finite(weights, str(file))
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
    members |= model.attachments
    if sum(map(len, members.values())) > MAX_BYTES:
        raise ModelFileError(f"{file}: holds more than {MAX_BYTES} bytes")
    data = zipped(members)
    check_readable(data, type(model.metadata), str(file))
    write_atomic(file, data)


def check_readable(data: bytes, header: type[Header], source: str) -> None:
    """Raise `ModelFileError` if `load_model` would refuse a file for its sizes.

    The weights themselves are not read again.
    """
    if len(data) > MAX_BYTES:
        raise ModelFileError(f"{source}: larger than {MAX_BYTES} bytes")
    archive = Archive(io.BytesIO(data), source)
    metadata = header_of(header, archive)
    stored_shapes(archive, POLICY)
    _check_training_size(archive)
    metadata.attachments(archive, source)


def load_model(path: str | os.PathLike[str], header: type[Header]) -> ModelFile[Header]:
    """Return the contents of the model file `path`, checked.

    Args:
        path: The file.
        header: Class of the header that it must have.

    Raises:
        ModelFileError: Missing, damaged, unsafe, newer, or of another kind.
    """
    with open_archive(Path(path)) as archive:
        return model_of_archive(archive, header)


def model_of_archive(archive: Archive, header: type[Header]) -> ModelFile[Header]:
    """Return the contents of an open model file; see `load_model`."""
    metadata, weights = read_weights(archive, header, safetensors.torch.load)
    attachments = metadata.attachments(archive, archive.source)
    return ModelFile(metadata, weights, _read_training(archive), attachments)


def weights_of(network: nn.Module) -> dict[str, Tensor]:
    """Return copies of the weights of `network` on the CPU, by name."""
    weights = network.state_dict()
    return {name: tensor.detach().cpu().clone() for name, tensor in weights.items()}


def plain(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return copies for a file: float32, on the CPU, contiguous, without gradients."""
    return {
        name: tensor.detach().cpu().float().contiguous()
        for name, tensor in weights.items()
    }


def _check_training_size(archive: Archive) -> None:
    """Refuse a training state that is large beside the weights, before it is read."""
    size = sum(archive.size(name) for name in (ARRAYS, VALUES) if name in archive)
    limit = MAX_TRAINING + MAX_STATES * archive.size(POLICY)
    if size > limit:
        raise ModelFileError(
            f"{archive.source}: a training state of {size} bytes, at most {limit}"
        )


def _read_training(archive: Archive) -> TrainingState | None:
    """Return the training state among the members of a model file; None without one."""
    source = archive.source
    present = [name for name in (ARRAYS, VALUES) if name in archive]
    if not present:
        return None
    if len(present) == 1:
        raise ModelFileError(f"{source}: {present[0]} stands alone: half a checkpoint")
    _check_training_size(archive)
    values = parse_json(archive[VALUES], f"{source}: {VALUES}")
    if not isinstance(values, dict):
        raise ModelFileError(f"{source}: {VALUES}: not a dictionary")
    try:
        arrays = safetensors.numpy.load(archive[ARRAYS])
    except DAMAGED_TENSORS as error:
        raise ModelFileError(f"{source}: {ARRAYS}: {error}") from None
    return TrainingState(dict(arrays), values)
