"""Checkpoints of networks of poses: one zip of JSON and safetensors, nothing executed."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import torch
from pydantic import Field
from torch import Tensor

from ambulo.configs.neural_ik import IKRunConfig
from ambulo.ik.rig import load_rig
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
from ambulo.policies.networks.ik_net import IKNet

KIND = "neural_ik"


class IKMetadata(FileHeader):
    """The contents of `ambulo.json` in a checkpoint of a network of poses."""

    kind: Literal["neural_ik"] = "neural_ik"
    """What the model does."""
    rig: str = "ik23"
    """The rig whose poses it answers."""
    run: IKRunConfig
    """The network, and how it was trained; the file of poses by its name only."""
    steps: Annotated[int, Field(ge=0)] = 0
    """Updates that it was trained for."""


@dataclass(frozen=True)
class IKModelFile:
    """Everything in a checkpoint."""

    metadata: IKMetadata
    """What it is."""
    network: dict[str, Tensor]
    """Averaged weights and statistics, float32, by the names of `IKNet`."""
    training: TrainingState | None = None
    """What a resumed training needs."""


def describe_ik(
    run: IKRunConfig,
    rig: str,
    *,
    steps: int = 0,
    command: str = "",
    extra: Mapping[str, Any] | None = None,
) -> IKMetadata:
    """The metadata of a network trained here and now with `run`."""
    training = run.training.replace(output=Path(run.training.output).name)
    shared = run.replace(data=Path(run.data).name, training=training.model_dump())
    return IKMetadata(run=shared, rig=rig, steps=steps, **stamp(command, extra))


def save_ik_model(path: str | os.PathLike[str], model: IKModelFile) -> None:
    """Write `model`; the file appears whole or stays as it was."""
    file = Path(path)
    network = plain(model.network)
    _check(model.metadata, network, str(file))
    members = members_of(model.metadata.to_json(), network, model.training, str(file))
    write_atomic(file, zipped(members))


def load_ik_model(path: str | os.PathLike[str]) -> IKModelFile:
    """The checkpoint in the file `path`, checked.

    Raises:
        ModelFileError: missing, damaged, unsafe, newer, or made for something else.
    """
    file = Path(path)
    members = read_members(file)
    metadata = header_of(IKMetadata, members[HEADER], f"{file}: {HEADER}", KIND)
    network = read_tensors(members, str(file))
    _check(metadata, network, str(file))
    return IKModelFile(metadata, network, read_training(members, str(file)))


def _check(metadata: IKMetadata, network: Mapping[str, Tensor], source: str) -> None:
    rig = load_rig(metadata.rig)
    with torch.device("meta"):
        wanted = shapes_of(IKNet(metadata.run.network, rig).state_dict())
    check_weights(network, wanted, source)
