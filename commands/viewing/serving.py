"""Serve a viewer until it is stopped."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

from ambulo.commands.viewing.run_follower import RunFollower
from ambulo.common.command_line import Arg, Flags
from ambulo.common.flag_types import Port, Positive
from ambulo.common.signals import StopRequest
from ambulo.viz.viewer.curves import ReadCurves
from ambulo.viz.viewer.empty_stage import EmptyStage
from ambulo.viz.viewer.panel import Models
from ambulo.viz.viewer.stage import Stage
from ambulo.viz.viewer.viewer import Viewer
from ambulo.viz.viewer.window import PORT, checked_port, open_server

_WAIT = 0.2
"""Time between looks at whether to stop, [s]."""


@dataclass(frozen=True, kw_only=True)
class WindowFlags(Flags):
    """The server of a viewer."""

    port: Port = PORT
    """port on the loopback address; 0 takes a free one"""
    seconds: Annotated[Positive | None, Arg("S")] = None
    """stop after this time (default: never)"""

    def check_window(self) -> None:
        """Refuse what the server cannot do, before a model is loaded.

        Raises:
            ConfigError: The port is taken.
            ImportError: viser is not installed.
        """
        import viser  # noqa: F401

        checked_port(self.port)


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
    end = time.monotonic() + flags.seconds if flags.seconds else float("inf")
    try:
        viewer.put(make())
        print(f"ambulo: {server.address}", file=sys.stderr, flush=True)
        if follower is not None:
            follower.start(viewer.put_newer)
        with StopRequest("the picture in hand") as request:
            while request.signal_number is None and time.monotonic() < end:
                if viewer.clock.wait(_WAIT):
                    break
    finally:
        if follower is not None:
            follower.stop()
        viewer.close()
    return 0
