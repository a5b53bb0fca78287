"""`ambulo completion`: a script that completes commands, flags and names in a shell.

The script is made of the parsers that the commands themselves parse with.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass
from pkgutil import resolve_name
from typing import Annotated, Any, Literal, get_args

from ambulo.common.command_line import Flags, command
from ambulo.common.errors import Parser
from ambulo.common.extras import missing_package
from ambulo.common.flag_types import positional

Shell = Literal["bash", "zsh", "fish"]
SHELLS = get_args(Shell)
MODEL_COMMANDS = ("eval", "export", "play", "rollouts")
"""Commands whose first argument is a model."""


@dataclass(frozen=True, kw_only=True)
class CompletionFlags(Flags):
    """Print a script that completes commands, flags, presets and models."""

    shell: Annotated[Shell, positional("SHELL")]
    """shell that reads the script"""


@command(
    "ambulo completion",
    "bash: ambulo completion bash > ~/.local/share/bash-completion/completions/ambulo\n"
    "zsh: to a file _ambulo in a folder of $fpath\n"
    "fish: to ~/.config/fish/completions/ambulo.fish",
)
def main(flags: CompletionFlags) -> int:
    """Print the completion script of a shell."""
    import shtab

    print(shtab.complete(command_tree(), shell=flags.shell))
    return 0


def command_tree() -> argparse.ArgumentParser:
    """Return one parser of all commands: those of the commands, with names to choose.

    Of a command whose packages are not installed the name alone is there.
    """
    from ambulo.command_table import AMBULO
    from ambulo.configs.presets import preset_folders
    from ambulo.configs.task_registry import task_names
    from ambulo.configs.trainings import folder_of
    from ambulo.shipped import shipped_models

    tree = argparse.ArgumentParser(prog="ambulo", allow_abbrev=False)
    tree.add_argument("--version", action="store_true", help="print the version")
    models, tasks, presets = (
        sorted(shipped_models()),
        list(task_names()),
        preset_folders(),
    )
    groups: dict[tuple[str, ...], Any] = {(): tree.add_subparsers(metavar="COMMAND")}
    for words, row in AMBULO.leaves():
        above = words[:-1]
        if above and above not in groups:
            group = groups[()].add_parser(above[0], help=AMBULO.rows[above[0]].summary)
            groups[above] = group.add_subparsers(metavar="NAME")
        own = parser_at(row.target)
        parser = groups[above].add_parser(
            words[-1], help=row.summary, parents=[own] if own else [], add_help=not own
        )
        names: dict[str, list[str]] = {}
        if words[0] == "train":
            kind = words[-1]
            names = {"preset": list(presets[folder_of(kind) or kind]), "task": tasks}
        elif words[0] in MODEL_COMMANDS:
            names = {"model": models}
        for action in parser._actions:
            _complete(action, names)
    return tree


def parser_at(target: str) -> Parser | None:
    """Return the parser of the command `module:attribute`; None if it lacks packages."""
    try:
        result = resolve_name(target)
        parser: Parser = getattr(result, "__self__", result).parser()
        return parser  # that of a training's `main` is the training's
    except ImportError as error:
        if missing_package(error) is None:
            raise
        return None


def _complete(action: argparse.Action, names: Mapping[str, list[str]]) -> None:
    """Let an argument complete to names, or to the files or folders of its metavar."""
    import shtab

    files: dict[str, Any] = dict.fromkeys(("FILE", "PATH", "CLIP", "OUT"), shtab.FILE)
    files |= dict.fromkeys(("FOLDER", "DIR", "RUN"), shtab.DIRECTORY)
    if action.dest in names:
        action.choices = names[action.dest]
    elif action.choices is None and action.metavar in files:
        action.complete = files[action.metavar]  # type: ignore[attr-defined]
