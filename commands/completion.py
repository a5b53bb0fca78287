"""`ambulo completion`: a script that completes commands, flags and names in a shell.

The script is made of the parsers that the commands themselves parse with.
"""

from __future__ import annotations

import argparse
import contextlib
import io
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any

from ambulo.common.errors import Parser, front_door, parser_of
from ambulo.common.extras import missing_package
from ambulo.configs.presets import preset_folders
from ambulo.configs.task_registry import task_names
from ambulo.configs.trainings import folder_of
from ambulo.shipped import shipped_models

SHELLS = ("bash", "zsh", "fish")
Table = Mapping[str, tuple[str, str]]
"""`module:function` and description of each command."""

MODEL_COMMANDS = ("eval", "export")
"""Commands whose first argument is a model."""


def main(argv: Sequence[str], commands: Table, trainings: Table) -> int:
    """Print the completion script of the shell that `argv` names; the exit code.

    Args:
        argv: command line after `ambulo completion`.
        commands: table of the sub-commands of `ambulo`.
        trainings: table of the kinds of `ambulo train`.
    """

    def run(arguments: Sequence[str] | None) -> int:
        args = make_parser().parse_args(arguments)
        import shtab

        tree = command_tree(commands, trainings)
        for action in _actions(tree):
            _complete_files(action, shtab.FILE, shtab.DIRECTORY)
        print(shtab.complete(tree, shell=args.shell))
        return 0

    return front_door(run)(argv)


def make_parser() -> Parser:
    """Return the parser of `ambulo completion`."""
    parser = Parser(
        prog="ambulo completion",
        description="Print a script that completes commands, flags, presets and models.",
        epilog="bash: ambulo completion bash > ~/.local/share/bash-completion/completions/"
        "ambulo; zsh: to a file _ambulo in a folder of $fpath; fish: to "
        "~/.config/fish/completions/ambulo.fish",
    )
    parser.add_argument("shell", choices=SHELLS, help="shell that reads the script")
    return parser


def command_tree(commands: Table, trainings: Table) -> argparse.ArgumentParser:
    """Return one parser of all commands: those of the commands, with names to choose.

    Of a command whose packages are not installed the name alone is there.
    """
    tree = argparse.ArgumentParser(prog="ambulo", allow_abbrev=False)
    tree.add_argument("--version", action="store_true", help="print the version")
    rows = tree.add_subparsers(metavar="COMMAND")
    for name, (target, meaning) in commands.items():
        if name == "train":
            kinds = rows.add_parser(name, help=meaning).add_subparsers(metavar="KIND")
            for kind, (training, what) in trainings.items():
                parser = _add(kinds, kind, training, what)
                _offer(
                    parser, "preset", list(preset_folders()[folder_of(kind) or kind])
                )
                _offer(parser, "task", list(task_names()))
        elif name == "completion":
            rows.add_parser(name, help=meaning, parents=[make_parser()], add_help=False)
        else:
            parser = _add(rows, name, target, meaning)
            if name in MODEL_COMMANDS:
                _offer(parser, "model", sorted(shipped_models()))
    return tree


def _add(
    rows: argparse._SubParsersAction[argparse.ArgumentParser],
    name: str,
    target: str,
    meaning: str,
) -> argparse.ArgumentParser:
    """Add the command `module:function` with its own flags; return its new parser."""
    module, _, function = target.partition(":")
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            own = parser_of(getattr(import_module(module), function))
    except ImportError as error:
        if missing_package(error) is None:
            raise
        own = None
    parents = [] if own is None else [own]
    return rows.add_parser(name, help=meaning, parents=parents, add_help=own is None)


def _offer(parser: argparse.ArgumentParser, name: str, choices: list[str]) -> None:
    """Let an argument complete to `choices`."""
    for action in parser._actions:
        if action.dest == name:
            action.choices = choices


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Yield the arguments of a parser and of all parsers below it."""
    for action in parser._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                yield from _actions(below)


def _complete_files(
    action: argparse.Action, file: Mapping[str, Any], folder: Mapping[str, Any]
) -> None:
    """Let an argument complete to files or folders, as its metavar says."""
    words = action.metavar if isinstance(action.metavar, str) else ""
    if action.choices is not None:
        return
    if words in ("FILE", "PATH", "CLIP", "OUT"):
        action.complete = file  # type: ignore[attr-defined]
    elif words in ("FOLDER", "DIR", "RUN"):
        action.complete = folder  # type: ignore[attr-defined]
