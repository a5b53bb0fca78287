"""Search spaces: `low:high`, `low:high:log` or `a,b,c` for each setting."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)

from ambulo.commands.sweeps.grid import split_values
from ambulo.commands.sweeps.kinds import Training
from ambulo.common.flag_types import assignment
from ambulo.configs.errors import ConfigError

_WHOLE = re.compile(r"[+-]?\d{1,18}")


def chosen_ranges(given: Sequence[str], default: Mapping[str, str]) -> dict[str, str]:
    """Return the range of each setting: those of `--search`, or else the default ones.

    Raises:
        ConfigError: one is no `KEY=RANGE`, or two are of one key.
    """
    if not given:
        return dict(default)
    ranges: dict[str, str] = {}
    for text in given:
        expected = "KEY=LOW:HIGH[:log] or KEY=A,B,C"
        key, values = assignment(text, expected, "--search")
        if not values:
            raise ConfigError(f"--search {text}: expected {expected}")
        if key in ranges or key == "training.seed":
            rule = "given twice" if key in ranges else "every trial has its own seed"
            raise ConfigError(f"--search {key}: {rule}")
        ranges[key] = values
    return ranges


def distribution(key: str, text: str) -> BaseDistribution:
    """Return the range `text` of the setting `key`.

    Whole numbers at both ends make whole numbers.

    Raises:
        ConfigError: it is no range.
    """
    ends = text.split(":")
    if len(ends) == 1:
        choices = split_values(text)
        if len(choices) < 2 or not all(choices) or len(set(choices)) < len(choices):
            raise ConfigError(
                f"--search {key}={text}: needs two or more different values"
            )
        return CategoricalDistribution(choices)
    if len(ends) not in (2, 3) or ends[2:] not in ([], ["log"]):
        raise ConfigError(f"--search {key}={text}: expected LOW:HIGH or LOW:HIGH:log")
    is_log = len(ends) == 3
    try:
        low, high = float(ends[0]), float(ends[1])
    except ValueError:
        raise ConfigError(f"--search {key}={text}: the ends must be numbers") from None
    if not low < high < float("inf") or low == float("-inf"):
        raise ConfigError(
            f"--search {key}={text}: the low end must be below the high end"
        )
    if is_log and low <= 0:
        raise ConfigError(f"--search {key}={text}: a log range must be above 0")
    if all(_WHOLE.fullmatch(end.strip()) for end in ends[:2]):
        return IntDistribution(int(ends[0]), int(ends[1]), log=is_log)
    return FloatDistribution(low, high, log=is_log)


def checked_space(
    ranges: Mapping[str, str], training: Training, arguments: Sequence[str]
) -> dict[str, BaseDistribution]:
    """Return all distributions; their ends, or choices, must be valid settings.

    Raises:
        ConfigError: one is not.
    """
    space = {key: distribution(key, text) for key, text in ranges.items()}
    for key, values in space.items():
        ends: Sequence[Any] = ()
        if isinstance(values, CategoricalDistribution):
            ends = values.choices
        elif isinstance(values, IntDistribution | FloatDistribution):
            ends = (values.low, values.high)
        for value in ends:
            try:
                training.settings([*arguments, *overrides({key: value})])
            except ConfigError as error:
                message = str(error).removeprefix("--set: ")
                raise ConfigError(f"--search {key}={ranges[key]}: {message}") from None
    return space


def overrides(values: Mapping[str, Any]) -> list[str]:
    """Return the flags of a training that set `values`."""
    flags = []
    for key, value in values.items():
        text = value if isinstance(value, str) else json.dumps(value)
        flags += ["--set", f"{key}={text}"]
    return flags
