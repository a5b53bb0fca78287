"""Flags of training commands as data: what `--help` says and which settings they change."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Flag:
    """A flag of a training command, most often for one setting."""

    name: str
    """The flag as it is documented, such as `--batch-size`."""
    keys: str = ""
    """Dotted keys of the settings that it changes, separated by spaces."""
    help: str = ""
    """One line for `--help`."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Further arguments of `ArgumentParser.add_argument`, such as `type`."""
    alias: str | None = None
    """Another spelling."""
    convert: Callable[[Any], Any] | None = None
    """Value of the setting for the given value; None: the given value."""
    exclusive: bool = False
    """Whether it excludes the other exclusive flags of its group."""

    @property
    def attribute(self) -> str:
        """Name of its value among the parsed arguments."""
        given: str | None = self.options.get("dest")
        return given or self.name.lstrip("-").replace("-", "_")


def number(name: str, keys: str, help: str, kind: type = int) -> Flag:
    """Return a flag with a number as its value."""
    metavar = "N" if kind is int else "X"
    return Flag(name, keys, help, {"type": kind, "metavar": metavar})


def text(name: str, keys: str, help: str, metavar: str = "NAME") -> Flag:
    """Return a flag with a text as its value."""
    return Flag(name, keys, help, {"metavar": metavar})


def switch(name: str, keys: str, help: str) -> Flag:
    """Return a flag without a value."""
    return Flag(name, keys, help, {"action": "store_true", "default": None})


FRESH = switch(
    "--fresh",
    "",
    "begin anew; without it the newest unfinished run on the same data and settings in "
    "the output folder is continued, if there is one",
)
COMMON_FLAGS: Mapping[str, Sequence[Flag]] = {
    "what to do": (
        text("--config", "", "JSON settings, over the preset", "FILE"),
        Flag(
            "--set",
            help="one setting, such as training.seed=1 (repeatable)",
            options={
                "action": "append",
                "default": [],
                "metavar": "KEY=VALUE",
                "dest": "overrides",
            },
        ),
        text("--resume", "", "continue a run folder or a checkpoint file", "PATH"),
        text("--eval", "", "evaluate a model; no training", "MODEL"),
        text("--save-config", "", "write the settings to FILE; no training", "FILE"),
        switch("--print-config", "", "print the settings; no training"),
    ),
    "training": (
        number("--seed", "training.seed", "seed of everything random"),
        text("--device", "training.device", "torch device, such as cpu or cuda"),
    ),
    "results": (
        text(
            "--output",
            "training.output",
            "folder of runs (default: runs); user:// works",
            "FOLDER",
        ),
        text("--run-name", "", "name of the run folder"),
        switch("--force", "", "replace a run of that name"),
        Flag(
            "--json",
            help="results as JSON, to FILE or to standard output",
            options={"nargs": "?", "const": "-", "metavar": "FILE"},
        ),
        Flag(
            "--progress",
            help="progress bar (default: on)",
            options={"action": argparse.BooleanOptionalAction, "default": None},
        ),
        switch("--verbose", "", "more messages, and tracebacks"),
        text(
            "--log-level",
            "",
            "debug, info, warning or error (default: warning)",
            "LEVEL",
        ),
    ),
}
"""Flags of every training command by group of `--help`."""
