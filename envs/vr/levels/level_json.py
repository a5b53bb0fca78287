"""Strict reading of JSON values: every error is `key: rule`, still without the file."""

from __future__ import annotations

import math
import reprlib
from typing import Any

from ambulo.configs.errors import nearest
from ambulo.configs.names import LEVEL

MAX_COORDINATE = 1e6
"""Largest number in a level, [m] or [rad]."""
MAX_NAME = 200
"""Longest level name, [characters]."""


class Problem(Exception):
    """`key: rule`, still without the file."""


def short(value: object) -> str:
    """One short line that shows `value`."""
    return " ".join(reprlib.repr(value).split())


def flag(value: object, key: str) -> bool:
    """`value` if it is true or false."""
    if not isinstance(value, bool):
        raise Problem(f"{key}: expected true or false, got {short(value)}")
    return value


def as_table(
    data: object, key: str, allowed: tuple[str, ...], required: tuple[str, ...]
) -> dict[str, Any]:
    """`data` as an object that has all `required` keys and only `allowed` ones."""
    if not isinstance(data, dict):
        raise Problem(f"{key}: expected an object, got {short(data)}")
    prefix = "" if key == "level" else f"{key}."
    for name in data:
        if name not in allowed:
            shown = name if name.isprintable() else ascii(name)
            hint = nearest(name, allowed)
            raise Problem(f"{prefix}{shown[:MAX_NAME]}: unknown key{hint}")
    for name in required:
        if name not in data:
            raise Problem(f"{prefix}{name}: missing")
    return data


def as_list(table: dict[str, Any], key: str) -> list[Any]:
    """The list under `key`; empty without it."""
    value = table.get(key, [])
    if not isinstance(value, list):
        raise Problem(f"{key}: expected a list, got {short(value)}")
    return value


def as_text(value: object, key: str) -> str:
    """`value` as one line of text."""
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        raise Problem(f"{key}: expected one line of text, got {short(value)}")
    if len(value) > MAX_NAME:
        raise Problem(f"{key}: longer than {MAX_NAME} characters")
    return value


def as_name(value: object, key: str) -> str:
    """`value` as the name of a level or of a family."""
    text = as_text(value, key)
    if not LEVEL.allows(text):
        raise Problem(f"{key}: expected {LEVEL.expected}, got {short(value)}")
    return text


def as_number(value: object, key: str) -> float:
    """`value` as a finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Problem(f"{key}: expected a number, got {short(value)}")
    if isinstance(value, float) and not math.isfinite(value):
        raise Problem(f"{key}: must be finite, got {value}")
    if abs(value) > MAX_COORDINATE:
        raise Problem(f"{key}: beyond {MAX_COORDINATE:g}, got {short(value)}")
    return float(value)


def as_numbers(value: object, key: str, count: int) -> list[float]:
    """`value` as `count` finite numbers."""
    if not isinstance(value, list) or len(value) != count:
        raise Problem(f"{key}: expected {count} numbers, got {short(value)}")
    return [as_number(item, key) for item in value]
