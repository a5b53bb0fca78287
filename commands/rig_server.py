"""`ambulo rig-server`: learn characters from streams of poses, and answer them."""

from __future__ import annotations

import argparse
import ipaddress
import json
import logging
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from ambulo.common.errors import Parser, front_door, set_up_logging
from ambulo.common.files import check_parent, without_nan, write_atomic
from ambulo.common.paths import resolve_path
from ambulo.common.signals import StopRequest
from ambulo.configs.errors import ConfigError
from ambulo.configs.reading import read_regular

# The matrices are small: more threads only wait for each other. Read at first use.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

log = logging.getLogger(__name__)

Number = TypeVar("Number", int, float)

SECRET_VARIABLE = "AMBULO_RIG_SECRET"
"""Environment variable with the shared secret."""

EPILOG = """\
examples:
  ambulo rig-server                              listens on 127.0.0.1:6003
  ambulo rig-server --bind 0.0.0.0 --secret-file key.txt
  ambulo rig-client --motion walk.bvh            a client that replays a clip
"""


@front_door
def main(argv: Sequence[str] | None = None) -> int:
    """Run the server until Ctrl-C or SIGTERM; its exit code."""
    args = make_parser().parse_args(argv)
    set_up_logging(args)
    check_parent(args.report)
    secret = read_secret(args.secret_file)
    if not secret and not is_loopback(args.bind):
        log.warning(
            "%s is open to the network and no secret is set: any host can stream to this "
            "server (--secret-file FILE closes it)",
            args.bind,
        )
    from ambulo.commands.rig.view import CompileView, View, report_of
    from ambulo.rig_server.character import Thresholds
    from ambulo.rig_server.clients import ServerConfig
    from ambulo.rig_server.udp import UdpServer
    from ambulo.rig_server.warm_up import warm_up

    folder = None if args.forget else resolve_path(args.models)
    if folder is not None and folder.exists() and not folder.is_dir():
        raise ConfigError(f"--models {folder}: is a file, not a folder")
    config = ServerConfig(
        models=folder,
        secret=secret,
        version_1=not args.no_v1,
        max_clients=args.max_clients,
        idle_seconds=args.idle,
        save_seconds=args.save_every,
        max_models=args.max_models,
        max_model_bytes=int(1e6 * args.max_models_mb),
        sequences=not args.no_sequences,
        thresholds=Thresholds(loss=args.loss),
    )
    with UdpServer(config, args.bind, args.port) as udp:
        # After binding, so that a port that is taken is reported at once.
        with CompileView(live=False if args.plain else None) as report_kernel:
            warm_up(report_kernel)
        with StopRequest("the frame in hand") as request:
            print(f"listening on {args.bind}:{udp.port}", file=sys.stderr, flush=True)
            end = time.monotonic() + args.seconds if args.seconds else float("inf")
            with View(udp.server, live=False if args.plain else None) as tick:
                udp.run(
                    lambda: request.signal_number is not None or time.monotonic() > end,
                    tick,
                )
        report = report_of(udp.server)
    saver = udp.server.clients.saver  # closing has saved every model that had changed
    report = replace(report, saved=saver.written, save_failures=saver.failed)
    if args.report:
        values = without_nan(report.to_json())
        write_atomic(resolve_path(args.report), json.dumps(values, indent=2) + "\n")
    return 0


def make_parser() -> Parser:
    """The command line of `ambulo rig-server`."""
    parser = Parser(
        prog="ambulo rig-server",
        description="Learn characters from streams of poses over UDP, and answer them "
        "as soon as what is learned is good enough (docs/rig_server.md).",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("--bind", default="127.0.0.1", metavar="ADDRESS", help="address to listen on")
    add(
        "--port",
        type=port_number,
        default=6003,
        help="UDP port; 0: any free one (6003)",
    )
    add("--models", default="runs/rigs", metavar="DIR", help="learned rigs (runs/rigs)")
    add(
        "--max-models",
        type=positive_int,
        default=256,
        metavar="N",
        help="most learned rigs in DIR; those unused longest are removed (256)",
    )
    add("--max-models-mb", type=positive_float, default=1000.0, metavar="MB")
    add("--forget", action="store_true", help="read and write no learned rigs")
    add(
        "--secret-file",
        metavar="FILE",
        help=f"shared secret (or {SECRET_VARIABLE}); then only signed version 2 is taken",
    )
    add("--no-v1", action="store_true", help="do not take version 1")
    add("--max-clients", type=positive_int, default=32, metavar="N")
    add("--idle", type=positive_float, default=60.0, metavar="S", help="forget after")
    add("--save-every", type=positive_float, default=20.0, metavar="S")
    add(
        "--loss",
        type=positive_float,
        default=1e-3,
        metavar="CM2",
        help="prequential loss below which answers start (0.001)",
    )
    add("--no-sequences", action="store_true", help="learn no free runs")
    add("--seconds", type=positive_float, metavar="S", help="stop after S seconds")
    add("--plain", action="store_true", help="plain lines instead of the live table")
    add("--report", metavar="FILE", help="write all counts as JSON at the end")
    add("--log-level", metavar="LEVEL")
    add("--verbose", action="store_true")
    return parser


MAX_SECRET = 4096
"""Longest file with a secret, [bytes]."""


def read_secret(file: str | None) -> bytes:
    """The shared secret of `--secret-file` or the environment; empty without one."""
    if file is None:
        source, secret = SECRET_VARIABLE, os.environ.get(SECRET_VARIABLE, "").encode()
        if not secret:
            return b""
    else:
        source, secret = file, read_regular(resolve_path(file), MAX_SECRET).strip()
    if len(secret) < 8:
        raise ConfigError(f"{source}: a secret has at least 8 bytes")
    return secret


def is_loopback(address: str) -> bool:
    """Return whether only this machine reaches an address."""
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return address == "localhost"


def port_number(text: str) -> int:
    """An argument type: 0 to 65535."""
    value = int(text)
    if not 0 <= value <= 65_535:
        raise argparse.ArgumentTypeError(f"0 to 65535, got {value}")
    return value


def positive_int(text: str) -> int:
    """An argument type: a whole number above 0."""
    return _above_zero(int(text), text)


def positive_float(text: str) -> float:
    """An argument type: a number above 0."""
    return _above_zero(float(text), text)


def _above_zero(value: Number, text: str) -> Number:
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"must be above 0, got {text}")
    return value


if __name__ == "__main__":
    sys.exit(main())
