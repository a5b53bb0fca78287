"""Commands with actions, such as `ambulo data convert`: one module for each action."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from ambulo.common.errors import Parser, front_door

Subparsers = (
    argparse._SubParsersAction
)  # the type of `add_subparsers`, which has no name


class Action(Protocol):
    """A module that adds the flags of an action and runs it."""

    def add_parser(self, actions: Subparsers[argparse.ArgumentParser]) -> None:
        """Add the action's flags."""
        ...

    def run(self, args: argparse.Namespace) -> int:
        """Run the action; return the exit code."""
        ...


@dataclass(frozen=True)
class ActionCommand:
    """A command that runs one of its actions."""

    program: str
    """Its invocation, such as `ambulo data`."""
    description: str
    """Its purpose."""
    actions: Mapping[str, Action]
    """The module of each action."""
    epilog: str = ""
    """End of `--help`."""

    def __call__(self, argv: Sequence[str] | None = None) -> int:
        """Run the action that `argv` names; return the exit code."""
        return front_door(self._run)(argv)

    def parser(self) -> argparse.ArgumentParser:
        """Return the parser of all actions."""
        parser: argparse.ArgumentParser = Parser(
            prog=self.program,
            description=self.description,
            epilog=self.epilog,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
        for module in self.actions.values():
            module.add_parser(actions)
        return parser

    def _run(self, argv: Sequence[str] | None) -> int:
        args = self.parser().parse_args(argv)
        return self.actions[args.action].run(args)
