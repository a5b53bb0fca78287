"""Model files: weights, configuration and training state in one zip, no pickles.

`ambulo.json` says what the file is, `policy.safetensors` holds the weights, and a
checkpoint adds `training.safetensors` and `training.json`. Nothing in it is executed.
"""

from __future__ import annotations

import datetime
import importlib.metadata
import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol, TypeVar

import numpy as np
import safetensors
import safetensors.numpy
import safetensors.torch
import torch
from numpy.typing import NDArray
from pydantic import AfterValidator, Field
from torch import Tensor

from ambulo.configs.base import Config, parse
from ambulo.configs.errors import ConfigError, ModelFileError
from ambulo.configs.vr import RLConfig
from ambulo.policies.archive import (
    MAX_BYTES,
    json_bytes,
    parse_json,
    read_archive,
    write_atomic,
    zipped,
)

FORMAT = "ambulo-model"
VERSION = 1
HEADER, POLICY = "ambulo.json", "policy.safetensors"
ARRAYS, VALUES = "training.safetensors", "training.json"
_PACKAGES = {
    "ambulo": "ambulo",
    "torch": "torch",
    "numpy": "numpy",
    "sb3": "stable-baselines3",
    "gymnasium": "gymnasium",
    "mujoco": "mujoco",
    "numba": "numba",
}
_ACTIONS = {"continuous": 3, "discrete": 7}
_MEANINGS = {
    "continuous": ("strafe", "forward", "rotation"),
    "discrete": (
        "forward", "back", "left", "right", "turn_left", "turn_right", "idle",
    ),
}  # fmt: skip

Header = TypeVar("Header", bound=Config)
Size = Annotated[int, Field(ge=0)]


class Layout(Protocol):
    """What an observation layout tells: its size and rows for JSON."""

    @property
    def size(self) -> int:
        """Numbers that the actor sees."""
        ...

    def schema(self) -> list[dict[str, object]]:
        """One row a part: name, start, stop, unit, meaning."""
        ...


class ObservationPart(Config):
    """A named run of numbers in the observation."""

    name: str
    """Unique."""
    start: Size
    """First number."""
    stop: Size
    """One behind the last number."""
    unit: str
    """`m`, `m/s`, `rad/s` or `1`."""
    meaning: str
    """For people."""


class ActionRow(Config):
    """What the policy puts out."""

    mode: Literal["continuous", "discrete"]
    """Numbers in [-1, 1], or scores of classes."""
    size: Size
    """Numbers, or classes."""
    names: tuple[str, ...]
    """Meaning of each."""


class ModelMetadata(Config):
    """The contents of `ambulo.json`."""

    format: Literal["ambulo-model"] = "ambulo-model"
    """Names this format."""
    version: Annotated[int, Field(ge=1)] = VERSION
    """Of the format."""
    kind: Literal["vr_navigation"] = "vr_navigation"
    """What the model does."""
    num_timesteps: Size = 0
    """Decisions that it was trained for."""
    config: Annotated[RLConfig, AfterValidator(RLConfig.shareable)]
    """How it was trained; never where the engines were, whatever a file says."""
    observation: tuple[ObservationPart, ...]
    """What it sees."""
    observation_size: Annotated[int, Field(ge=1)]
    """Numbers that it sees."""
    action: ActionRow
    """What it does."""
    versions: dict[str, str] = Field(default_factory=dict)
    """Python and packages."""
    command: str = ""
    """Command line of the training."""
    created: str = ""
    """ISO time."""
    extra: dict[str, Any] = Field(default_factory=dict)
    """Anything more, as plain JSON."""


@dataclass(frozen=True)
class TrainingState:
    """What a resumed training needs besides the policy."""

    arrays: dict[str, NDArray[np.generic]]
    """By name."""
    values: dict[str, Any]
    """Plain JSON values."""


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
    config: RLConfig,
    layout: Layout,
    *,
    num_timesteps: int = 0,
    command: str = "",
    extra: Mapping[str, Any] | None = None,
) -> ModelMetadata:
    """The metadata of a policy trained here and now with `config`."""
    mode = config.actions.mode
    now = datetime.datetime.now(datetime.UTC)
    return ModelMetadata(
        num_timesteps=num_timesteps,
        config=config,
        observation=tuple(
            parse(ObservationPart, row, "observation") for row in layout.schema()
        ),
        observation_size=layout.size,
        action=ActionRow(mode=mode, size=_ACTIONS[mode], names=_MEANINGS[mode]),
        versions=versions(),
        command=command,
        created=now.isoformat(timespec="seconds"),
        extra=dict(extra or {}),
    )


def versions() -> dict[str, str]:
    """Versions of Python and of the packages that decide results."""
    found = {"python": platform.python_version()}
    for name, package in _PACKAGES.items():
        try:
            found[name] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            found[name] = "unknown"
    return found


def save_model(path: str | os.PathLike[str], model: ModelFile) -> None:
    """Write `model`; the file appears whole or stays as it was.

    Raises:
        ModelFileError: the file cannot be written, or `load_model` would refuse it.
    """
    file = Path(path)
    policy = {
        name: tensor.detach().cpu().float().contiguous()
        for name, tensor in model.policy.items()
    }
    check_policy(model.metadata, policy, str(file))
    members = members_of(model.metadata.to_json(), policy, model.training, str(file))
    write_atomic(file, zipped(members))


def members_of(
    header: str,
    weights: Mapping[str, Tensor],
    training: TrainingState | None,
    source: str,
) -> dict[str, bytes]:
    """The members of a model file; `ModelFileError` when they are not plain data."""
    try:
        members = {
            HEADER: header.encode(),
            POLICY: safetensors.torch.save(dict(weights)),
        }
        if training is not None:
            arrays = {
                name: np.asarray(array, order="C")
                for name, array in training.arrays.items()
            }
            members[ARRAYS] = safetensors.numpy.save(arrays)
            members[VALUES] = json_bytes(training.values)
    except (ValueError, TypeError) as error:
        reason = f"training state is not plain: {error}"
        raise ModelFileError(f"{source}: {reason}") from None
    if sum(map(len, members.values())) > MAX_BYTES:
        raise ModelFileError(f"{source}: the training state is larger than 1 GiB")
    return members


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
            from ambulo.policies.stock_model import load_stock

            return load_stock(file, members, trust_pickle, stock_frame)
        raise ModelFileError(f"{file}: no {HEADER} inside: not a model file")
    metadata = _metadata(members[HEADER], str(file))
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
    for name in sorted(shapes.keys() | policy.keys()):
        if name not in policy:
            raise ModelFileError(f"{source}: weight {name!r} is missing")
        if name not in shapes:
            raise ModelFileError(f"{source}: unexpected weight {name!r}")
        tensor = policy[name]
        if tuple(tensor.shape) != shapes[name]:
            raise ModelFileError(
                f"{source}: weight {name!r} has shape {tuple(tensor.shape)}, "
                f"expected {shapes[name]}"
            )
        if tensor.dtype != torch.float32:
            raise ModelFileError(
                f"{source}: weight {name!r} is {tensor.dtype}, expected torch.float32"
            )
        if not bool(torch.isfinite(tensor).all()):
            raise ModelFileError(f"{source}: weight {name!r} has values not finite")


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


def header_of(cls: type[Header], data: bytes, source: str, kind: str = "") -> Header:
    """The header in `data` as a `cls`; `ModelFileError` begins with `source`.

    Args:
        cls: what the header must be.
        data: JSON of an untrusted file.
        source: file and member, for messages.
        kind: the kind that the file must be of; "" leaves it to `cls`.
    """
    header = parse_json(data, source)
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise ModelFileError(f"{source}: format is not {FORMAT!r}")
    version = header.get("version")
    if type(version) is int and version > VERSION:
        raise ModelFileError(
            f"{source}: version {version} is newer than {VERSION}; upgrade ambulo"
        )
    if kind and header.get("kind") != kind:
        found = header.get("kind")
        raise ModelFileError(f"{source}: kind is {found!r}, expected {kind!r}")
    try:
        return parse(cls, header, source)
    except ConfigError as error:
        raise ModelFileError(str(error)) from None


def _metadata(data: bytes, source: str) -> ModelMetadata:
    source = f"{source}: {HEADER}"
    metadata = header_of(ModelMetadata, data, source)
    _check_consistent(metadata, source)
    return metadata


def _check_consistent(metadata: ModelMetadata, source: str) -> None:
    """Refuse parts with gaps, and an action other than the configured one."""
    at = 0
    for part in metadata.observation:
        if part.start != at or part.stop <= at:
            raise ModelFileError(f"{source}: observation part {part.name!r} has a gap")
        at = part.stop
    if at != metadata.observation_size:
        raise ModelFileError(
            f"{source}: the parts make {at} numbers, "
            f"observation_size is {metadata.observation_size}"
        )
    mode, action = metadata.config.actions.mode, metadata.action
    if action.mode != mode or action.size != _ACTIONS[mode]:
        raise ModelFileError(f"{source}: action does not fit actions.mode = {mode!r}")


def read_tensors(members: Mapping[str, bytes], source: str) -> dict[str, Tensor]:
    """The weights among the members of a model file."""
    if POLICY not in members:
        raise ModelFileError(f"{source}: no {POLICY} inside")
    try:
        return safetensors.torch.load(members[POLICY])
    except _SAFETENSORS_ERRORS as error:
        raise ModelFileError(f"{source}: {POLICY}: {error}") from None


def read_training(members: Mapping[str, bytes], source: str) -> TrainingState | None:
    """The training state among the members of a model file; None if it has none."""
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


_SAFETENSORS_ERRORS = (
    safetensors.SafetensorError,
    ValueError,
    KeyError,
    TypeError,
    AttributeError,
)
