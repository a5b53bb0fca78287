"""The format of all model files: JSON and weights in one zip, no pickles.

`ambulo.json` says what the file is, `policy.safetensors` holds the weights, and a
checkpoint adds `training.safetensors` and `training.json`. Nothing in it is executed.
Each kind of model has a module of its own that says what its header holds.
"""

from __future__ import annotations

import datetime
import importlib.metadata
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol, TypeVar

import numpy as np
import safetensors
import safetensors.numpy
import safetensors.torch
import torch
from numpy.typing import NDArray
from pydantic import Field
from torch import Tensor

from ambulo.configs.base import Config, parse
from ambulo.configs.errors import ConfigError, ModelFileError
from ambulo.policies.files.archive import (
    MAX_BYTES,
    json_bytes,
    parse_json,
    read_archive,
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


class FileHeader(Config):
    """What the `ambulo.json` of every kind of model tells."""

    format: Literal["ambulo-model"] = "ambulo-model"
    """Names this format."""
    version: Annotated[int, Field(ge=1)] = VERSION
    """Of the format."""
    versions: dict[str, str] = Field(default_factory=dict)
    """Python and packages."""
    command: str = ""
    """Command line of the training."""
    created: str = ""
    """ISO time."""
    extra: dict[str, Any] = Field(default_factory=dict)
    """Anything more, as plain JSON."""


Header = TypeVar("Header", bound=FileHeader)


@dataclass(frozen=True)
class TrainingState:
    """What a resumed training needs besides the policy."""

    arrays: dict[str, NDArray[np.generic]]
    """By name."""
    values: dict[str, Any]
    """Plain JSON values."""


def stamp(command: str, extra: Mapping[str, Any] | None) -> dict[str, Any]:
    """The fields of `FileHeader` for a model that is made here and now."""
    now = datetime.datetime.now(datetime.UTC)
    return {
        "versions": versions(),
        "command": command,
        "created": now.isoformat(timespec="seconds"),
        "extra": dict(extra or {}),
    }


def versions() -> dict[str, str]:
    """Versions of Python and of the packages that decide results."""
    found = {"python": platform.python_version()}
    for name, package in _PACKAGES.items():
        try:
            found[name] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            found[name] = "unknown"
    return found


def parts_of(layout: Layout) -> tuple[ObservationPart, ...]:
    """The rows of `layout`, for a header."""
    return tuple(parse(ObservationPart, row, "observation") for row in layout.schema())


def size_of(parts: Sequence[ObservationPart], source: str) -> int:
    """Numbers in all `parts`; `ModelFileError` when they do not follow each other."""
    at = 0
    for part in parts:
        if part.start != at or part.stop <= at:
            raise ModelFileError(f"{source}: observation part {part.name!r} has a gap")
        at = part.stop
    return at


def plain(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Copies for a file: float32, on the CPU, contiguous, without gradients."""
    return {
        name: tensor.detach().cpu().float().contiguous()
        for name, tensor in weights.items()
    }


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


def shapes_of(weights: Mapping[str, Tensor]) -> dict[str, tuple[int, ...]]:
    """The shape of each of the `weights`, by name."""
    return {name: tuple(tensor.shape) for name, tensor in weights.items()}


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


def read_members(file: Path) -> dict[str, bytes]:
    """The members of the model file `file`; `ModelFileError` if it is none of ours."""
    members = read_archive(file)
    if HEADER not in members:
        raise ModelFileError(f"{file}: no {HEADER} inside: not a model file")
    return members


def kind_of(path: str | os.PathLike[str]) -> str:
    """What the model in the file `path` does: `vr_navigation`, `locomotion`, ...

    A file without a header of ours (a stock one) has the kind "".
    """
    file = Path(path)
    members = read_archive(file)
    if HEADER not in members:
        return ""
    header = parse_json(members[HEADER], f"{file}: {HEADER}")
    return str(header.get("kind", "")) if isinstance(header, dict) else ""


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
