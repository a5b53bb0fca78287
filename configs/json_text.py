"""JSON from untrusted sources: limits of depth, numbers and characters."""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn

MAX_DEPTH = 100
"""Deepest nesting of lists and objects."""
MAX_DIGITS = 309
"""Digits of the largest finite float; longer integers are refused."""


def json_value(text: str | bytes) -> Any:
    r"""Return the value of a JSON text.

    Raises:
        ValueError: Not JSON, or JSON that other programs misread: NaN, numbers beyond the range
            of a float, lone surrogates (`"\ud800"`), duplicate keys, nesting deeper than
            `MAX_DEPTH`. One line.
    """
    value = large_json_value(
        text, parse_constant=_no_constant, parse_float=_float, parse_int=_int
    )
    if problem := first_problem(value):
        raise ValueError(problem)
    return value


def large_json_value(text: str | bytes, **hooks: Any) -> Any:
    """Return the value of a JSON text, fast: numbers and characters are not checked.

    Args:
        text: JSON.
        hooks: Arguments of `json.loads`.

    Raises:
        ValueError: Not JSON, a duplicate key, or nested too deeply. One line.
    """
    try:
        return json.loads(text, object_pairs_hook=unique_keys, **hooks)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None


def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the object of `pairs`: an `object_pairs_hook` that refuses duplicate keys.

    Raises:
        ValueError: A key is a duplicate; parsers disagree on which value counts.
    """
    data = dict(pairs)
    if len(data) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise ValueError(f"{key!r:.60}: given twice in one object")
            seen.add(key)
    return data


def first_problem(
    value: object,
    largest: int | None = None,
    farthest: float = math.inf,
    longest: int | None = None,
) -> str | None:
    """Return the first problem of a value made of lists and dictionaries, or None.

    Args:
        value: Plain data; other types than text, number, list and dictionary are skipped.
        largest: Largest integer; None for any.
        farthest: Largest other number.
        longest: Most entries of a list; None for any.
    """
    level, depth = [value], 0
    while level:
        if depth > MAX_DEPTH:
            return _TOO_DEEP
        inner: list[object] = []
        for item in level:
            if isinstance(item, str) and not _is_text(item):
                return f"{item!r:.60} is not text: half a character"
            if largest is not None and type(item) is int and abs(item) > largest:
                return f"{_short(item)}: beyond {largest}"
            if isinstance(item, float) and abs(item) > farthest:
                return f"{item:g}: beyond {farthest:g}"
            if (
                longest is not None
                and isinstance(item, list | tuple)
                and len(item) > longest
            ):
                return f"a list of {len(item)} entries: more than {longest}"
            if isinstance(item, dict):
                inner += [*item.keys(), *item.values()]
            elif isinstance(item, list | tuple):
                inner += item
        level, depth = inner, depth + 1
    return None


def _is_text(value: str) -> bool:
    """Whether UTF-8 can encode the text."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _short(number: int) -> str:
    """Format a number of any size; Python refuses to print thousands of digits."""
    if number.bit_length() > 200:
        return f"an integer of {number.bit_length()} bits"
    return str(number)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _float(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text:.40} is beyond the range of numbers")
    return value


def _int(text: str) -> int:
    if len(text) > MAX_DIGITS:
        raise ValueError(f"{text:.20}...: an integer of {len(text)} digits")
    value = int(text)
    _float(text)  # 309 digits may still be too many
    return value


_TOO_DEEP = f"nested more than {MAX_DEPTH} deep"
