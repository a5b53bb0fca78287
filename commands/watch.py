"""`ambulo watch`: a training run in the browser, running or finished."""

from __future__ import annotations

import contextlib
import os
import sys
from dataclasses import dataclass
from typing import Annotated

from ambulo.commands.viewing.request import PlayRequest
from ambulo.commands.viewing.run_curves import RunCurves
from ambulo.commands.viewing.run_follower import RunFollower
from ambulo.commands.viewing.serving import WindowFlags, serve
from ambulo.common.command_line import command
from ambulo.common.flag_types import positional
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


@dataclass(frozen=True, kw_only=True)
class WatchFlags(WindowFlags):
    """Show the learning curves of a training, and its newest checkpoint acting."""

    run: Annotated[str, positional("RUN")]
    """folder of the run"""


@command("ambulo watch", EPILOG)
def main(flags: WatchFlags) -> int:
    """Show a run until it is stopped."""
    run = RunFolder(resolve_path(flags.run))
    if not run.exists:
        raise RunFolderError(
            f"{run.path}: is not the folder of a run (no run.json and config.json)"
        )
    flags.check_window()
    give_way()
    follower = RunFollower(run, PlayRequest())
    return serve(
        flags,
        f"{run.path.name}: loading",
        follower.first,
        curves=RunCurves(run),
        follower=follower,
        rests=True,
    )


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
