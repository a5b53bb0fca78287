"""Serve a viewer until it is stopped."""

from __future__ import annotations

import argparse
import sys
import time

from ambulo.common.errors import Parser
from ambulo.common.extras import missing_package
from ambulo.common.signals import StopRequest
from ambulo.configs.errors import ConfigError
from ambulo.viz.viewer.stage import Stage
from ambulo.viz.viewer.viewer import Models, Viewer
from ambulo.viz.viewer.window import PORT, checked_port, open_server

_WAIT = 0.2
"""Time between looks at whether to stop, [s]."""


def add_window_flags(parser: Parser) -> None:
    """Add the flags of the server."""
    parser.add_argument(
        "--port", type=int, default=PORT, metavar="N",
        help=f"port on the loopback address; 0 takes a free one (default: {PORT})",
    )  # fmt: skip
    parser.add_argument(
        "--seconds",
        type=float,
        metavar="S",
        help="stop after this time (default: never)",
    )
    parser.add_argument("--verbose", action="store_true", help="show tracebacks")


def check_window(args: argparse.Namespace) -> None:
    """Refuse what the server cannot do, before a model is loaded.

    Raises:
        ConfigError: The port is taken.
        MissingPackageError: viser is not installed.
    """
    try:
        import viser  # noqa: F401
    except ImportError as error:
        raise missing_package(error) or error from None
    if args.seconds is not None and not args.seconds > 0.0:
        raise ConfigError(f"--seconds {args.seconds:g}: must be above 0")
    checked_port(args.port)


def serve(args: argparse.Namespace, stage: Stage, models: Models | None = None) -> int:
    """Show `stage` until Ctrl-C or `--seconds`; the exit code."""
    server = open_server(args.port, "ambulo")
    viewer = Viewer(server, stage, models)
    viewer.start()
    print(f"ambulo: http://localhost:{server.get_port()}", file=sys.stderr, flush=True)
    end = time.monotonic() + args.seconds if args.seconds else float("inf")
    try:
        with StopRequest("the picture in hand") as request:
            while request.signal_number is None and time.monotonic() < end:
                if viewer.clock.wait(_WAIT):
                    break
    finally:
        viewer.close()
    return 0
