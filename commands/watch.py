"""`ambulo watch`: a training run in the browser, running or finished."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Sequence

from ambulo.commands.viewing.request import PlayRequest
from ambulo.commands.viewing.run_curves import RunCurves
from ambulo.commands.viewing.run_follower import RunFollower
from ambulo.commands.viewing.serving import add_window_flags, check_window, serve
from ambulo.common.errors import Parser, front_door
from ambulo.common.paths import resolve_path
from ambulo.common.run_folder import RunFolder
from ambulo.configs.errors import RunFolderError

LOWEST = 19
"""Niceness that gives way to everything else."""
EPILOG = """\
examples:
  ambulo watch runs/first                          its curves, and its newest policy
  ambulo train walk --preset quick_test --watch    a training, from its start
"""


@front_door
def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code."""
    args = make_parser().parse_args(list(sys.argv[1:] if argv is None else argv))
    run = RunFolder(resolve_path(args.run))
    if not run.exists:
        raise RunFolderError(
            f"{run.path}: is not the folder of a run (no run.json and config.json)"
        )
    check_window(args)
    give_way()
    follower = RunFollower(run, PlayRequest())
    return serve(
        args,
        f"{run.path.name}: loading",
        follower.first,
        curves=RunCurves(run),
        follower=follower,
        rests=True,
    )


def make_parser() -> Parser:
    """Return the command line of `ambulo watch`."""
    parser = Parser(
        prog="ambulo watch",
        description="Show the learning curves of a training, and its newest checkpoint "
        "acting, in the browser.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("run", metavar="RUN", help="folder of the run")
    add_window_flags(parser)
    return parser


def give_way() -> None:
    """Let a training on the same machine go first: run only where it leaves time."""
    idle = getattr(os, "SCHED_IDLE", None)
    if idle is not None:
        with contextlib.suppress(OSError):
            os.sched_setscheduler(0, idle, os.sched_param(0))
            return
    if hasattr(os, "nice"):
        with contextlib.suppress(OSError):
            os.nice(LOWEST)


if __name__ == "__main__":
    sys.exit(main())
