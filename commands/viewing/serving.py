"""Show a model or a run in the browser until the viewer is stopped."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable
from dataclasses import replace

import ambulo.shipped
from ambulo.commands.viewing.flags import PlayFlags, WatchFlags, WindowFlags
from ambulo.commands.viewing.kinds import (
    STAGES,
    check_flags,
    open_stage,
    playable_file,
    stage_of,
)
from ambulo.commands.viewing.run_curves import RunCurves
from ambulo.commands.viewing.run_follower import RunFollower
from ambulo.common.paths import resolve_path
from ambulo.common.run_folder import RunFolder
from ambulo.common.signals import StopRequest
from ambulo.configs.errors import RunFolderError
from ambulo.evaluate.shared.models import model_kind
from ambulo.train.shared.watching import check_watch
from ambulo.viz.viewer.curves import ReadCurves
from ambulo.viz.viewer.empty_stage import EmptyStage
from ambulo.viz.viewer.panel import Models
from ambulo.viz.viewer.stage import Stage
from ambulo.viz.viewer.viewer import Viewer
from ambulo.viz.viewer.window import open_server

_WAIT = 0.2
"""Time between looks at whether to stop, [s]."""
LOWEST = 19
"""Niceness that gives way to everything else."""


def play(flags: PlayFlags) -> int:
    """Show a model until it is stopped."""
    check_watch(flags.port)
    file = playable_file(flags.model)
    check_flags(file, flags)
    models = Models(playable(), lambda name: open_stage(replace(flags, model=name)))
    title = f"{flags.model}: loading"
    return serve(flags, title, lambda: stage_of(file, flags), models)


def playable() -> list[str]:
    """Return the names of the shipped models that can be shown."""
    result = ambulo.shipped.shipped_models()
    return [name for name, file in sorted(result.items()) if model_kind(file) in STAGES]


def watch(flags: WatchFlags) -> int:
    """Show a run until it is stopped."""
    run = RunFolder(resolve_path(flags.run))
    if not run.exists:
        raise RunFolderError(
            f"{run.path}: is not the folder of a run (no run.json and config.json)"
        )
    check_watch(flags.port)
    give_way()
    follower = RunFollower(run, PlayFlags(model=str(run.path)))
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


def serve(
    flags: WindowFlags,
    title: str,
    make: Callable[[], Stage],
    models: Models | None = None,
    *,
    curves: ReadCurves | None = None,
    follower: RunFollower | None = None,
    rests: bool = False,
) -> int:
    """Show a stage until Ctrl-C, SIGTERM or `--seconds`; the exit code.

    The address is printed when the stage stands, so that no error comes after it; a window
    that is open shows `title` until then.

    Args:
        flags: Of the server.
        title: Shown until the stage stands.
        make: Makes the stage; what it raises ends the viewer.
        models: What can be loaded instead.
        curves: Learning curves.
        follower: Gives other stages later.
        rests: Whether the clock stands while no window is open.
    """
    server = open_server(flags.port, "ambulo")
    viewer = Viewer(server, EmptyStage(title), models, curves, rests=rests)
    viewer.start()
    request = StopRequest("the picture in hand", flags.seconds)
    try:
        viewer.put(make())
        print(f"ambulo: {server.address}", file=sys.stderr, flush=True)
        if follower is not None:
            follower.start(viewer.put_newer)
        with request:
            while not (request.due() or viewer.clock.wait(_WAIT)):
                pass
    finally:
        if follower is not None:
            follower.stop()
        viewer.close()
    return 0
