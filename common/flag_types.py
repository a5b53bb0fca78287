"""Types of flags: what values are allowed, for fields of `ambulo.common.command_line`."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import PurePath
from typing import Annotated, Any

from ambulo.common.command_line import Arg, Flags, Output, Rule
from ambulo.common.files import check_parent
from ambulo.configs.errors import ConfigError, nearest


def positional(metavar: str) -> Arg:
    """Return the mark of a value that is written without a flag."""
    return Arg(metavar, positional=True)


def at_least(least: float) -> Rule:
    """Return the rule of numbers from `least` on."""
    return rule(lambda value: value >= least, f"must be at least {least:g}")


def above(bound: float) -> Rule:
    """Return the rule of finite numbers over `bound`."""
    return rule(lambda value: bound < value < math.inf, f"must be above {bound:g}")


def within(low: float, high: float) -> Rule:
    """Return the rule of numbers from `low` to `high`."""
    return rule(lambda value: low <= value <= high, f"must be {low:g} to {high:.10g}")


def ending(*suffixes: str) -> Rule:
    """Return the rule of file names with one of these endings."""
    *rest, last = suffixes
    ends = f"{', '.join(rest)} or {last}" if rest else last
    return rule(
        lambda name: PurePath(name).suffix.lower() in suffixes, f"must end in {ends}"
    )


def one_of(names: Callable[[], Iterable[str]], what: str) -> Rule:
    """Return the rule of names of a registry, which is read when a name is checked."""

    def fault(name: str) -> str | None:
        known = list(names())
        return None if name in known else f"unknown {what}{nearest(name, known)}"

    return fault


def names_of(names: Callable[[], Iterable[str]], what: str) -> Rule:
    """Return the rule of names of a registry with commas between."""
    each = one_of(names, what)

    def fault(text: str) -> str | None:
        result = (each(name.strip()) for name in text.split(",") if name)
        return next((rule for rule in result if rule), None)

    return fault


def rule(holds: Callable[[Any], bool], text: str) -> Rule:
    """Return the rule of values for which `holds` is true."""
    return lambda value: None if holds(value) else text


def _writable(name: str) -> None:
    check_parent(name)


Count = Annotated[int, at_least(1)]
"""1, 2, 3 ..."""
NaturalNumber = Annotated[int, at_least(0)]
"""0, 1, 2 ..."""
Seed = NaturalNumber
"""Seed of everything random."""
Port = Annotated[int, within(0, 65_535)]
"""Port of this machine; 0 takes a free one."""
Fraction = Annotated[float, within(0.0, 1.0)]
"""Part of a whole."""
Positive = Annotated[float, above(0.0)]
"""A finite number above 0."""
Duration = Annotated[
    float,
    Arg("S"),
    rule(lambda value: 0.0 < value <= 3600.0, "must be above 0, at most 3600"),
]
"""Time up to an hour, [s]."""
OutPath = Annotated[str, Arg("PATH"), Output()]
"""File or folder that will be written; the command checks which of them, and where."""
OutFile = Annotated[OutPath, Arg("FILE"), _writable]
"""File that will be written: its folder is there, and can be written to."""
JsonFile = Annotated[OutFile, Arg("FILE", bare="-")]
"""File of results as JSON; `-`, or the flag alone, is standard output."""
ReportFile = Annotated[str, Arg("FILE", bare="-"), _writable]
"""File of a run's results as JSON, `-` as in `JsonFile`; as the run's own results, it is
replaced when the same command continues or repeats the run."""
Assignments = Annotated[
    tuple[str, ...], Arg("NAME=VALUE", names=("--set",), repeated=True)
]
"""Type of the flag `--set NAME=VALUE`, which may be repeated."""


def assignment(
    text: str, expected: str = "NAME=VALUE", flag: str = "--set"
) -> tuple[str, str]:
    """Return name and value of `NAME=VALUE`; `ConfigError` for another text."""
    name, equals, value = (part.strip() for part in text.partition("="))
    if not (name and equals):
        raise ConfigError(f"{flag} {text:.60}: expected {expected}")
    return name, value


def numbers_of(texts: Iterable[str]) -> dict[str, float]:
    """Return the numbers in `NAME=NUMBER` texts by name; `ConfigError` for others."""
    result = {}
    for text in texts:
        name, value = assignment(text, "NAME=VALUE, VALUE a number")
        try:
            result[name] = float(value)
        except ValueError:
            raise ConfigError(
                f"--set {text:.60}: expected NAME=VALUE, VALUE a number"
            ) from None
    return result


def _log_level(name: str) -> str | None:
    levels = ("debug", "info", "warning", "error")
    hint = nearest(name, levels)
    return None if name.lower() in levels else f"unknown level{hint}"


@dataclass(frozen=True, kw_only=True)
class LogFlags(Flags):
    """How much is logged."""

    log_level: Annotated[str | None, Arg("LEVEL"), _log_level] = None
    """debug, info, warning or error (default: warning; info with --verbose)"""

    def set_up_logging(self) -> None:
        """Set the level of this package's messages; other packages log warnings only."""
        name = self.log_level or ("info" if self.verbose else "warning")
        logging.basicConfig(
            level="WARNING", format="%(levelname)s %(name)s: %(message)s", force=True
        )
        logging.getLogger("ambulo").setLevel(name.upper())
