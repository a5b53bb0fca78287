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

    def explicit_settings(self) -> dict[str, Any]:
        """Return the settings that were set, as nested dictionaries without defaults.

        Every group has its dictionary. Defaults that depend on other settings stay free
        to change with them.
        """
        data = self.model_dump(exclude_unset=True)
        for name in type(self).model_fields:
            value = getattr(self, name)
            if isinstance(value, Config):
                data[name] = value.explicit_settings()
        return data

    def replace(self, **changes: Any) -> Self:
        """Return a validated copy with `changes`; `ConfigError` names the bad key."""
        return parse(type(self), {**self.explicit_settings(), **changes}, "override")

    def override(self, group: str, **changes: object) -> Self:
        """Return a validated copy with `changes` in one group."""
        group_data = getattr(self, group).explicit_settings()
        return self.replace(**{group: {**group_data, **changes}})

    def merge(self, changes: Mapping[str, Any], source: str) -> Self:
        """Return a validated copy with nested `changes`; see `merge_settings`."""
        data = self.explicit_settings()
        merge_settings(type(self), data, changes)
        return parse(type(self), data, source)

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
    return parse(cls, read_json(path), str(Path(path)))


def read_json(path: str | os.PathLike[str]) -> Any:
    """Return the JSON value in a file of settings, not validated."""
    file = Path(path)
    try:
        return json_value(read_regular_text(file, MAX_FILE))
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


def merge_settings(
    cls: type[Config] | None, data: dict[str, Any], changes: Mapping[str, Any]
) -> None:
    """Put nested `changes` into `data`, settings of a `cls` (None: of no known class).

    A group keeps the settings that its changes do not name; any other value is replaced.
    """
    for key, value in changes.items():
        group, old = group_class(cls, key), data.get(key)
        if group is not None and isinstance(value, Mapping) and isinstance(old, dict):
            merge_settings(group, old, value)
        else:
            data[key] = value


def group_class(cls: type[Config] | None, key: str) -> type[Config] | None:
    """Return the class of the group `key` of a `cls`; None: it is no group."""
    field = cls.model_fields.get(key) if cls is not None else None
    return None if field is None else _group_of(field.annotation)


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
    group: type[Config] | None = cls
    for part in location[:-1]:
        if group is not None and part in group.model_fields:
            group = group_class(group, part)
    return [] if group is None else list(group.model_fields)


def _group_of(annotation: Any) -> type[Config] | None:
    """Return the config class inside an annotation such as `tuple[Stage, ...]`."""
    if isinstance(annotation, type) and issubclass(annotation, Config):
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
