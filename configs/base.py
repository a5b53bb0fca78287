"""The base of all config classes: frozen, strict, JSON in and out, one-line errors."""

from __future__ import annotations

import json
import os
import reprlib
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self, TypeVar, get_args, get_origin

from pydantic import (
    BaseModel,
    ConfigDict,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticCustomError

from ambulo.configs.class_source import attribute_docs
from ambulo.configs.errors import AmbuloError, ConfigError, nearest
from ambulo.configs.json_text import first_problem, json_value
from ambulo.configs.reading import read_regular_text

if TYPE_CHECKING:
    from pydantic import GetJsonSchemaHandler
    from pydantic.json_schema import JsonSchemaValue
    from pydantic_core import CoreSchema

MAX_FILE = 2**20
"""Largest settings file, [bytes]."""
MAX_LIST = 10_000
"""Longest list in settings; every invalid entry costs memory."""
MAX_INTEGER = 2**63 - 1
"""Largest integer of a setting (64 bits)."""
MAX_FLOAT = 1e30
"""Largest number of a setting; fits 32 bits with a margin for sums."""


class Config(BaseModel):
    """A frozen group of settings; unknown keys are refused."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        validate_default=True,
        allow_inf_nan=False,
        defer_build=True,
    )

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Return the JSON schema; the docstrings of fields are their descriptions."""
        made = handler(schema)
        properties = handler.resolve_ref_schema(made).get("properties", {})
        docs = attribute_docs(cls)
        for name, field in cls.model_fields.items():
            if name in docs:
                properties[field.alias or name]["description"] = docs[name]
        return made

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown_key(cls, data: object) -> object:
        """Refuse the first unknown key; a list of all could be of any length."""
        if isinstance(data, dict) and cls.model_config["extra"] == "forbid":
            known = _keys(cls)
            if not data.keys() <= known:
                key = next(str(key) for key in data if key not in known)[:200]
                context = {"key": _on_one_line(key), "hint": nearest(key, known)}
                raise PydanticCustomError("unknown_key", "unknown key{hint}", context)
        return data

    @field_validator("*", mode="before")
    @classmethod
    def _refuse_bool_as_number(cls, value: object, info: ValidationInfo) -> object:
        """Refuse booleans where numbers are expected; pydantic takes them for 1 and 0."""
        if _is_numeric(cls, info.field_name or "") and (found := _bool_in(value)):
            shown = {"key": found[0], "value": json.dumps(found[1])}
            rule = "{key} = {value}: expected a number"
            raise PydanticCustomError("not_bool", rule, shown)
        return value

    def explicit_settings(self) -> dict[str, Any]:
        """Return the settings that were set, as nested dictionaries without defaults.

        Every group has its dictionary. Defaults that depend on other settings are left out, so
        that they can still change with them.
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


def parse(
    cls: type[T],
    data: Any,
    source: str,
    error_class: type[AmbuloError] = ConfigError,
) -> T:
    """Return `data` validated as a `cls`; a one-line `error_class` names `source` and key."""
    if problem := first_problem(data, MAX_INTEGER, MAX_FLOAT, MAX_LIST):
        raise error_class(f"{source}: {problem}")
    try:
        return cls.model_validate(data)
    except ValidationError as error:
        raise error_class(f"{source}: {error_line(error)}") from None


def load_json(cls: type[T], path: str | os.PathLike[str]) -> T:
    """Return the config in the JSON file `path`; missing keys keep their defaults."""
    return parse(cls, read_json(path), str(Path(path)))


def read_json(
    path: str | os.PathLike[str],
    most: int = MAX_FILE,
    value: Callable[[str], Any] = json_value,
    error_class: type[AmbuloError] = ConfigError,
) -> Any:
    """Return the JSON value in a file, not validated.

    Args:
        path: The file.
        most: Largest size that is accepted, [bytes].
        value: Parser of the text, which raises `ValueError`.
        error_class: Raised for a file that cannot be read, in one line.
    """
    file = Path(path)
    try:
        return value(read_regular_text(file, most))
    except FileNotFoundError:
        problem = "no such file"
    except OSError as error:
        problem = f"cannot be read: {error.strerror}"
    except UnicodeDecodeError as error:
        problem = f"cannot be read: {error}"
    except json.JSONDecodeError as error:
        problem = f"line {error.lineno}: not valid JSON: {error.msg}"
    except ValueError as error:
        problem = f"not valid JSON: {error}"
    raise error_class(f"{file}: {problem}")


def merge_settings(
    cls: type[Config] | None, data: dict[str, Any], changes: Mapping[str, Any]
) -> None:
    """Merge nested `changes` into `data`, settings of a `cls` (None: unknown class).

    A group keeps the settings that its changes do not name; any other value is replaced.
    """
    for key, value in changes.items():
        group, old = group_class(cls, key), data.get(key)
        if group is not None and isinstance(value, Mapping) and isinstance(old, dict):
            merge_settings(group, old, value)
        else:
            data[key] = value


def group_class(cls: type[Config] | None, key: str) -> type[Config] | None:
    """Return the class of the group `key` of a `cls`, or None if it is no group."""
    field = cls.model_fields.get(key) if cls is not None else None
    return None if field is None else _group_of(field.annotation)


def error_line(error: ValidationError) -> str:
    """Return the first validation error as one line: key, value and rule.

    A rule that begins with `[`, `.` or a space holds the rest of the key: `[4]: t must ascend`.
    Union tags in parentheses are left out of keys.
    """
    problem = error.errors(include_url=False)[0]
    parts = [part for part in problem["loc"] if not str(part).startswith("(")]
    unknown = problem["type"] == "unknown_key"
    if unknown:
        parts.append(problem["ctx"]["key"])
    key = "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in parts)
    key = key.removeprefix(".") or "the top level"
    if unknown:
        group = key[: key.rindex(problem["ctx"]["key"])]
        hint = problem["ctx"]["hint"].replace(
            "did you mean '", f"did you mean '{group}"
        )
        return f"unknown key '{key}'{hint}"
    rule = problem["msg"].removeprefix("Value error, ").replace(" after validation", "")
    rule = (rule[:1].lower() + rule[1:]).replace("input should be ", "must be ")
    rule = rule.replace("tuple", "list")  # JSON has no tuples
    kind = problem["type"].removesuffix("_type").removesuffix("_parsing")
    if kind in _EXPECTED:
        rule = f"expected {_EXPECTED[kind]}"
    if rule[0] in "[. ":
        return key + rule
    if not parts and problem["type"] == "value_error":
        return rule  # the message of a rule about several groups names them itself
    value = problem["input"]
    if isinstance(value, Mapping | BaseModel):
        return f"{key}: {rule}"  # the value of a whole group is too long to show
    several = isinstance(value, list | tuple)  # of any length and depth
    shown = reprlib.repr(value) if several else json.dumps(value, default=str)
    shown = shown if len(shown) <= 60 else shown[:57] + "..."
    return f"{key} = {shown}: {rule}"


_EXPECTED = {
    "bool": "true or false",
    "dict": '{"key": value, ...}',
    "float": "a number",
    "int": "an integer",
    "list": "a list",
    "model": '{"key": value, ...}',
    "string": "a text",
    "tuple": "a list",
}
"""Expected form, by prefix of pydantic's error type."""


def _on_one_line(key: str) -> str:
    """Escape a key for use in a one-line message."""
    return key if key.isprintable() else ascii(key)[1:-1]


def _bool_in(value: object) -> tuple[str, bool] | None:
    """Return the key of the first boolean inside a value, and the boolean; None: none."""
    if isinstance(value, bool):
        return "", value
    if isinstance(value, dict):
        for key, inner in value.items():
            if place := _bool_in(inner):
                return f".{_on_one_line(str(key)[:200])}{place[0]}", place[1]
    elif isinstance(value, list | tuple):
        for index, inner in enumerate(value):
            if type(inner) is not float and (place := _bool_in(inner)):
                return f"[{index}]{place[0]}", place[1]
    return None


@cache
def _is_numeric(cls: type[Config], name: str) -> bool:
    """Return whether the field `name` of a `cls` holds numbers and neither true nor groups."""
    kinds = set(plain_types(cls.model_fields[name].annotation))
    grouped = group_class(cls, name) is not None
    return bool(kinds & {int, float}) and bool not in kinds and not grouped


def plain_types(annotation: Any) -> Iterator[Any]:
    """Yield the types in an annotation such as `tuple[int | None, ...]`, outer ones first."""
    origin = get_origin(annotation)
    if origin is not Annotated:
        yield origin or annotation
    inner = get_args(annotation)
    for argument in inner[:1] if origin is Annotated else inner:
        yield from plain_types(argument)


@cache
def _keys(cls: type[Config]) -> frozenset[str]:
    """Return the keys of the fields of a `cls`."""
    return frozenset(field.alias or name for name, field in cls.model_fields.items())


def _group_of(annotation: Any) -> type[Config] | None:
    """Return the config class inside an annotation such as `tuple[Stage, ...]`."""
    if isinstance(annotation, type) and issubclass(annotation, Config):
        return annotation
    for inner in getattr(annotation, "__args__", ()):
        result = _group_of(inner)
        if result is not None:
            return result
    return None
