"""`ambulo gait`: data, use and inverse of gait networks."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ambulo.train.gait import (
    compose_command,
    estimate_command,
    estimator_command,
    extract_command,
    generate_command,
    reference_command,
    report_command,
)
from ambulo.train.shared.errors import Parser, front_door

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
