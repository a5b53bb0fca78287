"""`ambulo ik`: what prepares inverse kinematics."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ambulo.commands.ik import extract as extract_command
from ambulo.common.errors import Parser, front_door

if TYPE_CHECKING:
    import argparse

ACTIONS = {"extract": extract_command}
"""Each action's module; it adds its flags and runs."""


@front_door
def main(argv: Sequence[str] | None = None) -> int:
    """Run `ambulo ik ...`; its exit code."""
    args = make_parser().parse_args(argv)
    run: Callable[[argparse.Namespace], int] = ACTIONS[args.action].run
    return run(args)


def make_parser() -> Parser:
    """The command line of `ambulo ik`."""
    parser = Parser(
        prog="ambulo ik",
        description="Prepare neural inverse kinematics.",
        epilog="`ambulo train-ik` trains on what `ambulo ik extract` writes.",
        allow_abbrev=False,
    )
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    for module in ACTIONS.values():
        module.add_parser(actions)
    return parser


if __name__ == "__main__":
    sys.exit(main())
