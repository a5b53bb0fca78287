"""The base of all config classes: frozen, strict, and JSON in and out with one-line errors."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any, Self, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from ambulo.configs.errors import ConfigError, nearest
from ambulo.configs.json_text import first_problem, json_value
from ambulo.configs.reading import read_regular_text

MAX_FILE = 2**20
"""Longest file of settings, [bytes]."""
MAX_LIST = 10_000
"""Longest list in settings; every wrong entry of one costs memory."""
MAX_INTEGER = 2**63 - 1
"""Largest integer of a setting: what 64 bits hold."""
MAX_FLOAT = 1e30
"""Largest number of a setting: what 32 bits hold, with room to add."""


class Config(BaseModel):
    """A frozen group of settings; unknown keys are refused."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        use_attribute_docstrings=True,
        validate_default=True,
        allow_inf_nan=False,
    )

    def replace(self, **changes: Any) -> Self:
        """Return a validated copy with `changes`; `ConfigError` names the bad key."""
        return parse(type(self), {**self.model_dump(), **changes}, "override")

    def override(self, group: str, **changes: object) -> Self:
        """Return a validated copy with `changes` in one group."""
        return self.replace(**{group: {**getattr(self, group).model_dump(), **changes}})

    def to_json(self) -> str:
        """Return the config as indented JSON text."""
        return json.dumps(self.model_dump(mode="json"), indent=2) + "\n"


T = TypeVar("T", bound=Config)


def parse(cls: type[T], data: Any, source: str) -> T:
    """Return `data` validated as a `cls`; a one-line `ConfigError` names `source` and key."""
    if problem := first_problem(data, MAX_INTEGER, MAX_FLOAT, MAX_LIST):
        raise ConfigError(f"{source}: {problem}")
    try:
        return cls.model_validate(data)
    except ValidationError as error:
        raise ConfigError(f"{source}: {_first_problem(cls, error)}") from None


def load_json(cls: type[T], path: str | os.PathLike[str]) -> T:
    """Return the config in the JSON file `path`; missing keys keep their defaults."""
    file = Path(path)
    try:
        data = json_value(read_regular_text(file, MAX_FILE))
    except FileNotFoundError:
        raise ConfigError(f"{file}: no such config file") from None
    except OSError as error:
        raise ConfigError(f"{file}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{file}: cannot be read: {error}") from None
    except json.JSONDecodeError as error:
        raise ConfigError(
            f"{file}: line {error.lineno}: not valid JSON: {error.msg}"
        ) from None
    except ValueError as error:
        raise ConfigError(f"{file}: not valid JSON: {error}") from None
    return parse(cls, data, str(file))


def _first_problem(cls: type[Config], error: ValidationError) -> str:
    """Return the first validation error as one line with the dotted key and a hint."""
    problem = error.errors()[0]
    location = [str(part) for part in problem["loc"]]
    key = ".".join(location) or "the top level"
    if problem["type"] == "extra_forbidden":
        return f"unknown key {key!r}" + nearest(location[-1], _fields_at(cls, location))
    message = problem["msg"].replace("Value error, ", "")
    message = message[:1].lower() + message[1:]
    if not location and problem["type"] == "value_error":
        return message  # the message of a rule about several groups names them
    if isinstance(problem.get("input"), Mapping | BaseModel):
        return f"{key}: {message}"  # the value of a whole group is too long to show
    shown = json.dumps(problem.get("input"), default=str)
    shown = shown if len(shown) <= 60 else shown[:57] + "..."
    return f"{key} = {shown}: {message}"


def _fields_at(cls: type[Config], location: list[str]) -> list[str]:
    """Return the field names of the group that contains `location` (the bad key last)."""
    group: Any = cls
    for part in location[:-1]:
        fields = getattr(group, "model_fields", {})
        if part in fields:
            group = _group_of(fields[part].annotation)
    return list(getattr(group, "model_fields", {}))


def _group_of(annotation: Any) -> Any:
    """Return the config class inside an annotation such as `tuple[Stage, ...]`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    for inner in getattr(annotation, "__args__", ()):
        result = _group_of(inner)
        if result is not None:
            return result
    return None


def json_names(package: str) -> tuple[str, ...]:
    """Return the names of the JSON files of `package` without `.json`, in order."""
    names = (entry.name for entry in files(package).iterdir())
    return tuple(sorted(name[:-5] for name in names if name.endswith(".json")))
