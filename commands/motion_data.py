"""`ambulo data`: convert, describe, validate, draw and download motion files."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence

from ambulo.commands.data import convert as motion_convert
from ambulo.commands.data import fetch as motion_fetch
from ambulo.commands.data import info as motion_info
from ambulo.commands.data import plot as motion_plot
from ambulo.commands.data import validate as motion_validate
from ambulo.common.errors import Parser, front_door

ACTIONS = {
    "convert": motion_convert,
    "info": motion_info,
    "validate": motion_validate,
    "plot": motion_plot,
    "fetch": motion_fetch,
}
"""Each action's module; it adds its flags and runs."""

EPILOG = """\
examples:
  ambulo data fetch cmu --subjects 02,07 --to cmu
  ambulo data info cmu/02
  ambulo data convert cmu/02/02_01.amc walk.bvh
  ambulo data convert cmu walks --to npz --fps 30 --skeleton human23
  ambulo data plot cmu/02/02_01.amc --mp4 walk.mp4
  ambulo data validate cmu
"""


@front_door
def main(argv: Sequence[str] | None = None) -> int:
    """Run `ambulo data ...`; its exit code."""
    args = make_parser().parse_args(argv)
    run: Callable[[argparse.Namespace], int] = ACTIONS[args.action].run
    return run(args)


def make_parser() -> Parser:
    """The command line of `ambulo data`."""
    parser = Parser(
        prog="ambulo data",
        description="Convert, describe, validate, draw and download motion capture.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    for module in ACTIONS.values():
        module.add_parser(actions)
    return parser


if __name__ == "__main__":
    sys.exit(main())
