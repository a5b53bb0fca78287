"""Flags of training commands as data: spelling, help, and the settings that they change."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ambulo.configs.base import Config, plain_types


@dataclass(frozen=True)
class Flag:
    """A flag of a training command."""

    name: str
    """The flag as it is documented, such as `--batch-size`."""
    help: str = ""
    """One line for `--help`."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Further arguments of `ArgumentParser.add_argument`, such as `metavar`."""
    keys: str = ""
    """Dotted keys of the settings that it changes, separated by spaces."""
    convert: Callable[[Any], Any] | None = None
    """Value of the setting for the given value; None: the given value."""
    alias: str | None = None
    """Another spelling; names with underscores may be spelled with hyphens too."""
    exclusive: bool = False
    """Whether it excludes the other exclusive flags."""

    @property
    def attribute(self) -> str:
        """Name of its value among the parsed arguments."""
        return str(self.options.get("dest") or attribute_of(self.name))

    @property
    def spellings(self) -> list[str]:
        """All its spellings."""
        other = self.alias or self.name.replace("_", "-")
        return [self.name] if other == self.name else [self.name, other]


def attribute_of(name: str) -> str:
    """Return the attribute for the value of the flag `name`."""
    return name.lstrip("-").replace("-", "_")


def setting_flag(config: type[Config], name: str, keys: str) -> Flag:
    """Return a flag that sets `keys`, with type and help of the first one's field.

    Args:
        config: class of all settings.
        name: the flag.
        keys: dotted keys, separated by spaces.
    """
    group, _, key = keys.split(maxsplit=1)[0].partition(".")
    settings: Any = config.model_fields[group].annotation
    setting = settings.model_fields[key]
    meaning = " ".join((setting.description or "").split()).replace("%", "%%")
    meaning = meaning.partition(". ")[0].rstrip(".")
    kinds = set(plain_types(setting.annotation))
    options: dict[str, Any] = {"metavar": "VALUE"}
    if tuple in kinds:
        options["nargs"] = "+"
    elif bool in kinds:
        options = {"action": "store_true", "default": None}
    elif int in kinds or float in kinds:
        options = {"metavar": "N", "type": float if float in kinds else int}
    return Flag(name, meaning, options, keys)


def switch(name: str, help: str) -> Flag:
    """Return a flag without a value."""
    return Flag(name, help, {"action": "store_true", "default": None})


def text(name: str, help: str, metavar: str) -> Flag:
    """Return a flag with a text as its value."""
    return Flag(name, help, {"metavar": metavar})


COMMON_SETTINGS = {
    "--seed": "training.seed",
    "--device": "training.device",
    "--output": "training.output",
}
"""Key of the settings for flags that every training command has."""
FRESH = switch(
    "--fresh",
    "begin anew; without it the newest unfinished run on the same data and settings in "
    "the output folder is continued, if there is one",
)
COMMON_FLAGS: Sequence[Flag] = (
    text("--config", "JSON settings, over the preset", "FILE"),
    Flag(
        "--set",
        "one setting, such as training.seed=1 (repeatable)",
        {
            "action": "append",
            "default": [],
            "metavar": "KEY=VALUE",
            "dest": "overrides",
        },
    ),
    text("--resume", "continue a run folder or a checkpoint file", "PATH"),
    text("--eval", "evaluate a model; no training", "MODEL"),
    text("--save-config", "write the settings to FILE; no training", "FILE"),
    switch("--print-config", "print the settings; no training"),
    text("--run-name", "name of the run folder", "NAME"),
    switch("--force", "replace a run of that name"),
    Flag(
        "--episodes",
        "episodes, windows, poses or gaits of the final evaluation",
        {"metavar": "N", "type": int},
    ),
    Flag(
        "--json",
        "results as JSON, to FILE or to standard output",
        {"nargs": "?", "const": "-", "metavar": "FILE"},
    ),
    Flag(
        "--progress",
        "progress bar (default: on)",
        {"action": argparse.BooleanOptionalAction, "default": None},
    ),
    Flag(
        "--log-to",
        "also log to this service: wandb, mlflow or trackio (each an extra of its own)",
        {"choices": ["wandb", "mlflow", "trackio"]},
    ),
    Flag(
        "--log-project",
        "project or experiment there (default: ambulo)",
        {"metavar": "NAME", "default": "ambulo"},
    ),
    Flag(
        "--watch",
        "show the run in the browser, on this port of the loopback address (default: 8080)",
        {"nargs": "?", "const": 8080, "type": int, "metavar": "PORT"},
    ),
    switch("--verbose", "more messages, and tracebacks"),
    text("--log-level", "debug, info, warning (default) or error", "LEVEL"),
)
"""Further flags of every training command."""
