"""Files of VR-navigation policies; `model_format` has what all kinds of model share."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field
from torch import Tensor

from ambulo.configs.base import Config
from ambulo.configs.errors import ModelFileError
from ambulo.configs.vr import NavigationConfig
from ambulo.policies.files.archive import read_archive, write_atomic, zipped
from ambulo.policies.files.model_format import (
    HEADER,
    FileHeader,
    Layout,
    ObservationPart,
    Size,
    TrainingState,
    check_weights,
    header_of,
    members_of,
    parts_of,
    plain,
    read_tensors,
    read_training,
    size_of,
    stamp,
)

_ACTIONS = {"continuous": 3, "discrete": 7}
_MEANINGS = {
    "continuous": ("strafe", "forward", "rotation"),
    "discrete": (
        "forward", "back", "left", "right", "turn_left", "turn_right", "idle",
    ),
}  # fmt: skip


class ActionRow(Config):
    """What the policy puts out."""

    mode: Literal["continuous", "discrete"]
    """Numbers in [-1, 1], or scores of classes."""
    size: Size
    """Numbers, or classes."""
    names: tuple[str, ...]
    """Meaning of each."""


class ModelMetadata(FileHeader):
    """The contents of `ambulo.json`."""

    kind: Literal["vr_navigation"] = "vr_navigation"
    """What the model does."""
    num_timesteps: Size = 0
    """Decisions that it was trained for."""
    config: Annotated[NavigationConfig, AfterValidator(NavigationConfig.shareable)]
    """How it was trained; never where the engines were, whatever a file says."""
    observation: tuple[ObservationPart, ...]
    """What it sees."""
    observation_size: Annotated[int, Field(ge=1)]
    """Numbers that it sees."""
    action: ActionRow
    """What it does."""


@dataclass(frozen=True)
class ModelFile:
    """Everything in a model file."""

    metadata: ModelMetadata
    """What it is."""
    policy: dict[str, Tensor]
    """Weights, float32, by the names of `NavigationPolicy`."""
    training: TrainingState | None = None
    """Only in checkpoints."""


def describe(
    config: NavigationConfig,
    layout: Layout,
    *,
    num_timesteps: int = 0,
    command: str = "",
    extra: Mapping[str, Any] | None = None,
) -> ModelMetadata:
    """The metadata of a policy trained here and now with `config`."""
    mode = config.actions.mode
    return ModelMetadata(
        num_timesteps=num_timesteps,
        config=config,
        observation=parts_of(layout),
        observation_size=layout.size,
        action=ActionRow(mode=mode, size=_ACTIONS[mode], names=_MEANINGS[mode]),
        **stamp(command, extra),
    )


def save_model(path: str | os.PathLike[str], model: ModelFile) -> None:
    """Write `model`; the file appears whole or stays as it was.

    Raises:
        ModelFileError: the file cannot be written, or `load_model` would refuse it.
    """
    file = Path(path)
    policy = plain(model.policy)
    check_policy(model.metadata, policy, str(file))
    members = members_of(model.metadata.to_json(), policy, model.training, str(file))
    write_atomic(file, zipped(members))


def load_model(
    path: str | os.PathLike[str],
    *,
    trust_pickle: bool = False,
    stock_frame: Literal["head", "world"] = "head",
) -> ModelFile:
    """The model in `path`, checked.

    Args:
        path: a file of `save_model`, or a Stable-Baselines3 zip (see `stock_model`).
        trust_pickle: run the pickles of a Stable-Baselines3 zip; only for own files.
        stock_frame: frame of the observations of a Stable-Baselines3 policy; its file
            does not say.

    Raises:
        ModelFileError: missing, damaged, unsafe, newer, or made for something else.
    """
    file = Path(path)
    members = read_archive(file)
    if HEADER not in members:
        if {"data", "policy.pth"} <= members.keys():
            from ambulo.policies.files.stock_model import load_stock

            return load_stock(file, members, trust_pickle, stock_frame)
        raise ModelFileError(f"{file}: no {HEADER} inside: not a model file")
    header = f"{file}: {HEADER}"
    metadata = header_of(ModelMetadata, members[HEADER], header)
    _check_consistent(metadata, header)
    policy = read_tensors(members, str(file))
    check_policy(metadata, policy, str(file))
    return ModelFile(metadata, policy, read_training(members, str(file)))


def actor_shapes(metadata: ModelMetadata) -> dict[str, tuple[int, ...]]:
    """Shape of each weight that acting needs, by name."""
    shapes = _layers("mlp_extractor.actor", metadata, metadata.observation_size)
    last = metadata.config.network.net_arch[-1]
    shapes["action_net.weight"] = (metadata.action.size, last)
    shapes["action_net.bias"] = (metadata.action.size,)
    if metadata.action.mode == "continuous":
        shapes["log_std"] = (metadata.action.size,)
    return shapes


def check_policy(
    metadata: ModelMetadata, policy: Mapping[str, Tensor], source: str
) -> None:
    """Refuse weights that are not finite, or not of the shapes that `metadata` says."""
    size = metadata.observation_size
    scales = policy.get("mlp_extractor.scales")
    if scales is None or scales.dim() != 1 or len(scales) < size:
        raise ModelFileError(f"{source}: mlp_extractor.scales: expected {size} or more")
    last = metadata.config.network.net_arch[-1]
    shapes = actor_shapes(metadata)
    shapes["mlp_extractor.scales"] = (len(scales),)
    shapes |= _layers("mlp_extractor.critic", metadata, len(scales))
    shapes |= {"value_net.weight": (1, last), "value_net.bias": (1,)}
    if "route_net.bias" in policy:
        targets = policy["route_net.bias"].numel()
        shapes |= {"route_net.weight": (targets, last), "route_net.bias": (targets,)}
    check_weights(policy, shapes, source)


def _layers(
    prefix: str, metadata: ModelMetadata, inputs: int
) -> dict[str, tuple[int, ...]]:
    """Shapes of hidden layers; an activation stands between two linear layers."""
    shapes: dict[str, tuple[int, ...]] = {}
    for i, width in enumerate(metadata.config.network.net_arch):
        shapes[f"{prefix}.{2 * i}.weight"] = (width, inputs)
        shapes[f"{prefix}.{2 * i}.bias"] = (width,)
        inputs = width
    return shapes


def _check_consistent(metadata: ModelMetadata, source: str) -> None:
    """Refuse parts with gaps, and an action other than the configured one."""
    at = size_of(metadata.observation, source)
    if at != metadata.observation_size:
        raise ModelFileError(
            f"{source}: the parts make {at} numbers, "
            f"observation_size is {metadata.observation_size}"
        )
    mode, action = metadata.config.actions.mode, metadata.action
    if action.mode != mode or action.size != _ACTIONS[mode]:
        raise ModelFileError(f"{source}: action does not fit actions.mode = {mode!r}")
