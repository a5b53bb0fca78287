"""What the training commands share besides their flags."""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

from ambulo.common.files import check_parent, write_atomic
from ambulo.common.paths import resolve_path
from ambulo.common.run_folder import RunFolder
from ambulo.common.signals import Interrupted
from ambulo.configs.base import Config
from ambulo.configs.errors import ConfigError, nearest
from ambulo.configs.vr import ENGINE_PLACES

Folder = TypeVar("Folder", bound=RunFolder)


def show_config(args: argparse.Namespace, config: Config) -> int:
    """Print the settings or write them to a file, as asked."""
    if args.print_config:
        print(config.to_json(), end="")
    if args.save_config:
        check_parent(args.save_config)
        path = resolve_path(args.save_config)
        write_atomic(path, config.to_json())
        print(f"settings written to {path}", file=sys.stderr)
    return 0


def set_up_logging(args: argparse.Namespace) -> None:
    """Messages of this package as `--log-level` and `--verbose` say, others' warnings."""
    name = args.log_level or ("info" if args.verbose else "warning")
    levels = ("debug", "info", "warning", "error")
    if name.lower() not in levels:
        raise ConfigError(f"--log-level: unknown level {name!r}{nearest(name, levels)}")
    logging.basicConfig(
        level="WARNING", format="%(levelname)s %(name)s: %(message)s", force=True
    )
    logging.getLogger("ambulo").setLevel(name.upper())


def folder_to_continue(
    args: argparse.Namespace, folder: Folder | None, *, begun: bool
) -> Folder | None:
    """The folder of a resumed run, swept; None where `--run-name` asks for a new one.

    A run that has not `begun` has no checkpoint yet.
    """
    if args.run_name or folder is None:
        return None
    folder.sweep()
    if not begun:
        print("no checkpoint yet: starting from the beginning", file=sys.stderr)
    return folder


def tell_interrupted(interrupted: Interrupted, folder: RunFolder) -> int:
    """Say how the run in `folder` is continued; the exit code."""
    print(
        f"ambulo: {interrupted}; saved. Continue with:\n"
        f"  {folder.program} --resume {folder.path}",
        file=sys.stderr,
    )
    return interrupted.exit_code


def evaluation_arguments(
    args: argparse.Namespace, values: Sequence[str], switches: Sequence[str]
) -> list[str]:
    """The arguments of `ambulo eval` for `--eval` of a training command.

    Args:
        args: flags of the training command.
        values: names of flags with a value that are handed over where they were given.
        switches: names of flags without one.
    """
    told = [str(resolve_path(args.eval))]
    for name in values:
        value = getattr(args, name)
        if value is not None:
            told += [f"--{name.replace('_', '-')}", str(value)]
    told += [f"--{name.replace('_', '-')}" for name in switches if getattr(args, name)]
    return told if args.deterministic else [*told, "--stochastic"]


def shareable_arguments(arguments: Sequence[str]) -> list[str]:
    """The flags of a training as a model file may tell them.

    Where engines are is left out, and of other absolute paths only the name is left.
    """
    flags = {f"--{key.replace('_', '-')}" for key in ENGINE_PLACES}
    keys = tuple(f"environment.{key}=" for key in ENGINE_PLACES)
    told: list[str] = []
    rest = iter(arguments)
    for argument in rest:
        flag, equals, value = argument.partition("=")
        if flag in flags:
            if not equals:
                next(rest, None)
        elif argument.removeprefix("--set=").startswith(keys):
            if not argument.startswith("--set=") and told and told[-1] == "--set":
                told.pop()
        elif equals and os.path.isabs(value):
            told.append(f"{flag}={Path(value).name}")
        else:
            told.append(Path(argument).name if os.path.isabs(argument) else argument)
    return told
