"""The header `ambulo.json` of a model file; nothing in here needs torch.

A model file is one zip: `ambulo.json` says what it is, `policy.safetensors` holds the
weights, and a checkpoint adds `training.safetensors` and `training.json`.
"""

from __future__ import annotations

import datetime
import importlib.metadata
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from ambulo.configs.base import Config, parse
from ambulo.configs.errors import ConfigError, ModelFileError
from ambulo.configs.gait import GaitSpace
from ambulo.policies.files.archive import Archive, parse_json

FORMAT = "ambulo-model"
VERSION = 1
HEADER = "ambulo.json"
MAX_HEADER = 2**20
"""Longest header, [bytes]."""
ARRAYS, VALUES = "training.safetensors", "training.json"
"""Members that a checkpoint adds, for resuming."""
_PACKAGES = {
    "ambulo": "ambulo",
    "torch": "torch",
    "numpy": "numpy",
    "sb3": "stable-baselines3",
    "gymnasium": "gymnasium",
    "mujoco": "mujoco",
    "numba": "numba",
}

Shapes = Mapping[str, tuple[int, ...]]
"""Shapes of weights by name."""
Size = Annotated[int, Field(ge=0)]


class DescribedLayout(Protocol):
    """An observation layout: its size, its parts, and a fixed factor for each number."""

    @property
    def size(self) -> int:
        """Length of an observation."""
        ...

    def schema(self) -> list[dict[str, object]]:
        """Return one row for each part: name, start, stop, unit, meaning."""
        ...

    def slices(self) -> Mapping[str, slice]:
        """Return where each part lies."""
        ...

    def scales(self) -> NDArray[np.float32]:
        """Return the factors. Shape (size,)."""
        ...


class ObservationPart(Config):
    """A named range of the observation vector."""

    name: str
    """Unique."""
    start: Size
    """First index."""
    stop: Size
    """One behind the last index."""
    unit: str
    """`m`, `m/s`, `rad/s` or `1`."""
    meaning: str
    """For people."""


@dataclass(frozen=True)
class StoredLayout:
    """The observation layout of a model file."""

    parts: tuple[ObservationPart, ...]
    """In order, without gaps."""
    factors: tuple[float, ...] = ()
    """Fixed factor of each number; () where the policy keeps them with its weights."""

    @property
    def size(self) -> int:
        """Length of an observation."""
        return self.parts[-1].stop

    def slices(self) -> dict[str, slice]:
        """Return the range of each part."""
        return {part.name: slice(part.start, part.stop) for part in self.parts}

    def schema(self) -> list[dict[str, object]]:
        """Return one row for each part, JSON-ready."""
        return [part.model_dump(mode="json") for part in self.parts]

    def scales(self) -> NDArray[np.float32]:
        """Return the factors. Shape (size,)."""
        return np.array(self.factors, np.float32)


class FileHeader(Config):
    """The fields of `ambulo.json` that every kind of model has."""

    format: Literal["ambulo-model"] = "ambulo-model"
    """Names this format."""
    version: Annotated[int, Field(ge=1)] = VERSION
    """Version of the format."""
    versions: dict[str, str] = Field(default_factory=dict)
    """Python and packages."""
    command: str = ""
    """Command line of the training."""
    created: str = ""
    """ISO time."""
    extra: dict[str, Any] = Field(default_factory=dict)
    """Anything more, as plain JSON."""
    former_kind: ClassVar[str | None] = None
    """`kind` in files of earlier versions."""
    ignored_weights: ClassVar[tuple[str, ...]] = ()
    """Beginnings of the names of weights that older files have and nothing reads."""

    def checked(self, source: str) -> Self:
        """Return the header if its fields fit each other; errors begin with `source`."""
        del source
        return self

    def weight_shapes(self, stored: Shapes, source: str) -> Shapes:
        """Return the shape of each weight that a file with this header must hold.

        Args:
            stored: The shapes in the file, for sizes that the header leaves open.
            source: Begins every error.
        """
        raise NotImplementedError

    def attachments(
        self, members: Mapping[str, bytes], source: str
    ) -> dict[str, bytes]:
        """Return what a file holds besides header, weights and training, by name.

        Args:
            members: All members of the file.
            source: Begins every error.
        """
        del members, source
        return {}


class TrainedHeader(FileHeader):
    """The header of a network that a supervised run has trained; kinds add `run`."""

    steps: Size = 0
    """Updates of its training."""

    @classmethod
    def describe(
        cls,
        run: Config,
        *,
        steps: int = 0,
        command: str = "",
        extra: Mapping[str, Any] | None = None,
        **more: Any,
    ) -> Self:
        """Return the header of a network trained here and now with the settings `run`.

        Args:
            run: All settings; files and folders are kept by their names only.
            steps: Updates.
            command: Command line of the training.
            extra: Plain JSON.
            **more: Further fields.
        """
        values = run.model_dump()
        data, shared = values.get("data"), run
        if data is not None:
            paths = _name(data) if isinstance(data, str) else [*map(_name, data)]
            shared = run.replace(data=paths)
        shared = shared.override("training", output=_name(values["training"]["output"]))
        more |= {"run": shared, "steps": steps}
        return cls(**more, **stamp(command, extra))


class GaitHeader(FileHeader):
    """The header of a model that has gait parameters."""

    space: dict[str, Any]
    """The parameters (`GaitSpace.to_json`)."""

    def gait_space(self) -> GaitSpace:
        """Return the parameters; `ConfigError` if they are damaged."""
        return GaitSpace.from_json(self.space)

    def checked(self, source: str) -> Self:
        """Refuse damaged parameters."""
        try:
            self.gait_space()
        except ConfigError as error:
            raise ModelFileError(f"{source}: {error}") from None
        return self

    def check_space(self, space: GaitSpace | None, source: str) -> None:
        """`ModelFileError` if the parameters are not those of `space`, where given."""
        if space is not None and (difference := space.difference(self.gait_space())):
            raise ModelFileError(f"{source}: has other gait parameters: {difference}")


Header = TypeVar("Header", bound=FileHeader)


def stamp(command: str, extra: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the fields of `FileHeader` for a model that is made here and now."""
    now = datetime.datetime.now(datetime.UTC)
    return {
        "versions": versions(),
        "command": command,
        "created": now.isoformat(timespec="seconds"),
        "extra": dict(extra or {}),
    }


def _name(path: str) -> str:
    return Path(path).name


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that decide results."""
    found = {"python": platform.python_version()}
    for name, package in _PACKAGES.items():
        try:
            found[name] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            found[name] = "unknown"
    return found


def parts_of(layout: DescribedLayout) -> tuple[ObservationPart, ...]:
    """Return the rows of `layout`, for a header."""
    return tuple(parse(ObservationPart, row, "observation") for row in layout.schema())


def size_of(parts: Sequence[ObservationPart], source: str) -> int:
    """Return the summed size of `parts`; `ModelFileError` for gaps between them."""
    at = 0
    for part in parts:
        if part.start != at or part.stop <= at:
            raise ModelFileError(f"{source}: observation part {part.name!r} has a gap")
        at = part.stop
    return at


def parse_header(cls: type[Header], data: object, source: str) -> Header:
    """Return the JSON values `data` as a checked header of the class `cls`.

    Raises:
        ModelFileError: Another format or kind, newer, or damaged; begins with `source`.
    """
    kind, found = cls.model_fields["kind"].default, None
    if isinstance(data, dict):
        found = data.get("kind")
        if found is not None and found == cls.former_kind:
            data, found = {**data, "kind": kind}, kind
    if found != kind:
        raise ModelFileError(f"{source}: kind is {found!r}, expected {kind!r}")
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise ModelFileError(f"{source}: format is not {FORMAT!r}")
    version = data.get("version")
    if type(version) is int and version > VERSION:
        raise ModelFileError(
            f"{source}: version {version} is newer than {VERSION}; upgrade ambulo"
        )
    try:
        return parse(cls, data, source).checked(source)
    except ConfigError as error:
        raise ModelFileError(str(error)) from None


def header_of(cls: type[Header], archive: Archive) -> Header:
    """Return the header of an open model file, checked."""
    data, name = header_bytes(archive, HEADER)
    return parse_header(cls, parse_json(data, name), name)


def header_bytes(archive: Archive, name: str) -> tuple[bytes, str]:
    """Return a member that is a header, and how errors name it."""
    source = f"{archive.source}: {name}"
    if name not in archive:
        raise ModelFileError(f"{archive.source}: no {name} inside: not a model file")
    if archive.size(name) > MAX_HEADER:
        raise ModelFileError(
            f"{source}: {archive.size(name)} bytes, at most {MAX_HEADER}"
        )
    return archive[name], source
