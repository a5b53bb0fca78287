"""Files of motion networks: one zip of JSON and safetensors; nothing in it is executed."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import torch
from pydantic import Field
from torch import Tensor

from ambulo.configs.motion_nn import MotionNNConfig, MotionRunConfig
from ambulo.policies.files.archive import write_atomic, zipped
from ambulo.policies.files.model_format import (
    HEADER,
    FileHeader,
    TrainingState,
    check_weights,
    header_of,
    members_of,
    plain,
    read_members,
    read_tensors,
    read_training,
    shapes_of,
    stamp,
)
from ambulo.policies.networks.motion_nn import MotionNN

KIND = "motion_nn"


class MotionMetadata(FileHeader):
    """The contents of `ambulo.json` in a file of a motion network."""

    kind: Literal["motion_nn"] = "motion_nn"
    """What the model does."""
    skeleton: Literal["human23"] = "human23"
    """Body that it moves."""
    state_size: Literal[112] = 112
    """Numbers of a state: 56 positions, 56 velocities."""
    run: MotionRunConfig
    """The network, and how it was trained; folders of data by name only."""
    steps: Annotated[int, Field(ge=0)] = 0
    """Updates that it was trained for."""


@dataclass(frozen=True)
class MotionModelFile:
    """Everything in a file of a motion network."""

    metadata: MotionMetadata
    """What it is."""
    network: dict[str, Tensor]
    """Weights and statistics, float32, by the names of `MotionNN`."""
    training: TrainingState | None = None
    """Only in checkpoints."""


def describe_motion(
    run: MotionRunConfig,
    *,
    steps: int = 0,
    command: str = "",
    extra: Mapping[str, Any] | None = None,
) -> MotionMetadata:
    """The metadata of a network trained here and now with `run`."""
    names = tuple(Path(folder).name for folder in run.data)
    training = run.training.replace(output=Path(run.training.output).name)
    return MotionMetadata(
        run=run.replace(data=names, training=training.model_dump()),
        steps=steps,
        **stamp(command, extra),
    )


def save_motion_model(path: str | os.PathLike[str], model: MotionModelFile) -> None:
    """Write `model`; the file appears whole or stays as it was."""
    file = Path(path)
    network = plain(model.network)
    _check(model.metadata.run.model, network, str(file))
    header = model.metadata.to_json()
    members = members_of(header, network, model.training, str(file))
    write_atomic(file, zipped(members))


def load_motion_file(path: str | os.PathLike[str]) -> MotionModelFile:
    """The motion network in the file `path`, checked.

    Raises:
        ModelFileError: missing, damaged, unsafe, newer, or made for something else.
    """
    file = Path(path)
    members = read_members(file)
    metadata = _metadata(members[HEADER], f"{file}: {HEADER}")
    network = read_tensors(members, str(file))
    _check(metadata.run.model, network, str(file))
    return MotionModelFile(metadata, network, read_training(members, str(file)))


def load_motion_nn(path: str | os.PathLike[str], device: str = "cpu") -> MotionNN:
    """The network in the file `path`, ready to predict."""
    file = load_motion_file(path)
    network = MotionNN(file.metadata.run.model)
    network.load_state_dict(file.network)
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


def _metadata(data: bytes, source: str) -> MotionMetadata:
    return header_of(MotionMetadata, data, source, KIND)


def _check(config: MotionNNConfig, network: Mapping[str, Tensor], source: str) -> None:
    """Refuse weights that are not finite, or not those that `config` makes."""
    with torch.device("meta"):
        wanted = MotionNN(config).state_dict()
    check_weights(network, shapes_of(wanted), source)
