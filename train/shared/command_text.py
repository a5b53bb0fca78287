"""Command lines as text: for model files, and for `ambulo eval`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from ambulo.common.paths import resolve_path
from ambulo.train.shared.flags import RunFlags


def shareable_arguments(
    arguments: Sequence[str], private: Sequence[str] = ()
) -> list[str]:
    """Return the flags of a training for model files, without paths of this machine.

    Of absolute paths only the name is left.

    Args:
        arguments: the flags.
        private: settings of the group `environment` that are left out.
    """
    flags = {f"--{key.replace('_', '-')}" for key in private}
    keys = tuple(f"environment.{key}=" for key in private)
    kept: list[str] = []
    rest = iter(arguments)
    for argument in rest:
        flag, equals, value = argument.partition("=")
        if flag in flags:
            if not equals:
                next(rest, None)
        elif argument.removeprefix("--set=").startswith(keys):
            if not argument.startswith("--set=") and kept and kept[-1] == "--set":
                kept.pop()
        elif equals and os.path.isabs(value):
            kept.append(f"{flag}={Path(value).name}")
        else:
            kept.append(Path(argument).name if os.path.isabs(argument) else argument)
    return kept


def evaluation_arguments(args: RunFlags, names: Sequence[str]) -> list[str]:
    """Return the arguments of `ambulo eval` for `--eval` of a training command.

    Args:
        args: flags of the training command.
        names: attributes of the flags that are passed on where they were given.
    """
    assert args.eval is not None
    passed = [str(resolve_path(args.eval))]
    for name in ("force", *names):
        value = getattr(args, name)
        flag = f"--{name.replace('_', '-')}"
        if value is True:
            passed.append(flag)
        elif value is not None and value is not False:
            passed += [flag, str(value)]
    return passed
