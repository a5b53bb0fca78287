"""Choices among names that flags make."""

from __future__ import annotations

from collections.abc import Collection

from ambulo.configs.errors import ConfigError, nearest

ALL = "all"
"""Value of a flag that stands for all names."""
NONE = "none"
"""Value of a flag that stands for no name."""


def check_choice(flag: str, value: str, known: Collection[str], noun: str = "") -> None:
    """Refuse a `value` of a flag that is not `known`.

    Raises:
        ConfigError: "FLAG: unknown NOUN VALUE", with the nearest name.
    """
    if value not in known:
        what = f"{noun} {value!r}" if noun else repr(value)
        raise ConfigError(f"{flag}: unknown {what}{nearest(value, known)}")


def chosen(
    flag: str, text: str, known: Collection[str], noun: str = "", *, none: bool = False
) -> tuple[str, ...]:
    """Return the names in `text`, with commas between; all of them for "all".

    With `none`, "none" stands for no name.

    Raises:
        ConfigError: See `check_choice`.
    """
    if text == ALL:
        return tuple(known)
    if none and text == NONE:
        return ()
    names = [name.strip() for name in text.split(",")]
    for name in names:
        check_choice(flag, name, (*known, ALL, *([NONE] if none else [])), noun)
    return tuple(dict.fromkeys(names))


def chosen_numbers(flag: str, text: str, most: float) -> list[float]:
    """Return the numbers in `text`, with commas between.

    Raises:
        ConfigError: Something else, or numbers that are not from 0 to `most`.
    """
    try:
        values = [float(part) for part in text.split(",")]
    except ValueError:
        values = [-1.0]
    if not all(0.0 <= value <= most for value in values):
        raise ConfigError(
            f"{flag} {text}: must be numbers from 0 to {most:g} with commas between"
        )
    return values
