"""`ambulo gait`: data, use and inverse of gait networks."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ambulo.commands.gait import compose as compose_command
from ambulo.commands.gait import estimate as estimate_command
from ambulo.commands.gait import extract_cycles as extract_command
from ambulo.commands.gait import generate as generate_command
from ambulo.commands.gait import reference as reference_command
from ambulo.commands.gait import report as report_command
from ambulo.commands.gait import train_estimator as estimator_command
from ambulo.common.errors import Parser, front_door

if TYPE_CHECKING:
    import argparse

ACTIONS = {
    "generate": generate_command,
    "reference": reference_command,
    "estimate": estimate_command,
    "report": report_command,
    "extract-cycles": extract_command,
    "train-estimator": estimator_command,
    "compose": compose_command,
}
"""Each action's module; it adds its flags and runs."""


@front_door
def main(argv: Sequence[str] | None = None) -> int:
    """Run `ambulo gait ...`; its exit code."""
    args = make_parser().parse_args(argv)
    run: Callable[[argparse.Namespace], int] = ACTIONS[args.action].run
    return run(args)


def make_parser() -> Parser:
    """The command line of `ambulo gait`."""
    parser = Parser(
        prog="ambulo gait",
        description="Walks from gait parameters, and gait parameters from walks.",
        epilog="`train_forward_gaitnet` trains the network that these use.",
        allow_abbrev=False,
    )
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    for module in ACTIONS.values():
        module.add_parser(actions)
    return parser


if __name__ == "__main__":
    sys.exit(main())
