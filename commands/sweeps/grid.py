"""Grids of settings: `--set a=1,2 --set b=x,y` are four variants."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import product

from ambulo.common.flag_types import assignment
from ambulo.configs.base import Config
from ambulo.configs.errors import ConfigError

MAX_RUNS = 10_000
"""Most runs of one sweep."""
_UNSAFE = re.compile(r"[^\w.+-]+")


class Variant(Config):
    """One combination of settings."""

    label: str
    """Its settings as text, for tables; `preset` if it changes none."""
    folder: str
    """How the names of its run folders begin."""
    overrides: tuple[str, ...] = ()
    """Its settings, each `group.key=value`."""


def variants_of(settings: Sequence[str]) -> tuple[Variant, ...]:
    """Return all combinations of the values in `settings`, each `key=value[,value ...]`.

    A comma inside brackets or quotes belongs to a value.

    Raises:
        ConfigError: one has no value, two are of one key, or there are too many.
    """
    axes: dict[str, list[str]] = {}
    for text in settings:
        key, values = assignment(text, "KEY=VALUE[,VALUE ...]")
        if key in axes:
            raise ConfigError(f"--set {key}: given twice; write {key}=A,B")
        if key == "training.seed":
            raise ConfigError("--set training.seed: a sweep sets it; see --seeds")
        axes[key] = split_values(values)
        if not all(axes[key]) or len(set(axes[key])) < len(axes[key]):
            raise ConfigError(f"--set {text!r}: a value is empty or there twice")
    count = 1
    for choices in axes.values():
        count *= len(choices)
    if count > MAX_RUNS:
        raise ConfigError(f"--set: {count} combinations; at most {MAX_RUNS} runs")
    shown = [key for key, choices in axes.items() if len(choices) > 1]
    variants: list[Variant] = []
    for combination in product(*axes.values()):
        chosen = dict(zip(axes, combination, strict=True))
        label = " ".join(f"{_short(key)}={chosen[key]}" for key in shown) or "preset"
        folder = _UNSAFE.sub("-", label).strip(".-+")[:80]
        if folder in {variant.folder for variant in variants} or not folder:
            folder = f"{folder}_{len(variants)}"
        overrides = tuple(f"{key}={value}" for key, value in chosen.items())
        variants.append(Variant(label=label, folder=folder, overrides=overrides))
    return tuple(variants)


def split_values(text: str) -> list[str]:
    """Return the values of `a,b,c`; a comma inside brackets or quotes is no separator."""
    values, depth, quoted = [""], 0, False
    for character in text:
        quoted ^= character == '"'
        if not quoted:
            depth += (character in "[{") - (character in "]}")
        if character == "," and not quoted and depth == 0:
            values.append("")
        else:
            values[-1] += character
    return [value.strip() for value in values]


def _short(key: str) -> str:
    """Return the last part of a dotted key."""
    return key.rpartition(".")[2]
