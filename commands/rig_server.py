"""`ambulo rig-server`: learn characters from streams of poses, and answer them."""

from __future__ import annotations

import logging
import os
import sys
from dataclasses import dataclass
from typing import Annotated

from ambulo.commands.network_flags import ServerFlags
from ambulo.common.command_line import Arg, command
from ambulo.common.files import json_text, write_or_print
from ambulo.common.flag_types import Count, OutFile, Port, Positive
from ambulo.common.paths import resolve_path
from ambulo.common.signals import StopRequest
from ambulo.configs.errors import ConfigError

# The matrices are small: more threads only wait for each other. Read at first use.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

log = logging.getLogger(__name__)

EPILOG = """\
examples:
  ambulo rig-server                              listens on 127.0.0.1:6003
  ambulo rig-server --bind 0.0.0.0 --secret-file key.txt
  ambulo rig-client --motion walk.bvh            a client that replays a clip
"""


@dataclass(frozen=True, kw_only=True)
class RigServerFlags(ServerFlags):
    """Learn characters from streams of poses over UDP, and answer them.

    Answers start as soon as what is learned is good enough (docs/rig_server.md).
    """

    port: Port = 6003
    """UDP port; 0: any free one"""
    models: Annotated[str, Arg("DIR")] = "runs/rigs"
    """folder of learned rigs"""
    max_models: Count = 256
    """most learned rigs in DIR"""
    max_models_mb: Annotated[Positive, Arg("MB")] = 1000.0
    """largest size of these files together; those unused longest are removed"""
    forget: bool = False
    """read and write no learned rigs"""
    no_v1: bool = False
    """do not take version 1"""
    save_every: Annotated[Positive, Arg("S")] = 20.0
    """time between two writes of a rig"""
    loss: Annotated[Positive, Arg("CM2")] = 1e-3
    """prequential loss below which answers start"""
    no_sequences: bool = False
    """learn no free runs"""
    plain: bool = False
    """plain lines instead of the live table"""
    report: OutFile | None = None
    """write all counts as JSON at the end"""


@command("ambulo rig-server", EPILOG)
def main(flags: RigServerFlags) -> int:
    """Run the server until Ctrl-C or SIGTERM; its exit code."""
    flags.set_up_logging()
    secret = flags.secret()
    if not secret and not flags.is_loopback:
        log.warning(
            "%s is open to the network and no secret is set: any host can stream to this "
            "server (--secret-file FILE closes it)",
            flags.bind,
        )
    from ambulo.commands.rig.view import View, report_of
    from ambulo.common.console import announce, bars
    from ambulo.rig_server.character import Thresholds
    from ambulo.rig_server.clients import ServerConfig
    from ambulo.rig_server.udp import UdpServer
    from ambulo.rig_server.warm_up import warm_up

    folder = None if flags.forget else resolve_path(flags.models)
    if folder is not None and folder.exists() and not folder.is_dir():
        raise ConfigError(f"--models {folder}: is a file, not a folder")
    config = ServerConfig(
        models=folder,
        secret=secret,
        version_1=not flags.no_v1,
        max_clients=flags.max_clients,
        idle_seconds=flags.idle,
        save_seconds=flags.save_every,
        max_models=flags.max_models,
        max_model_bytes=int(1e6 * flags.max_models_mb),
        sequences=not flags.no_sequences,
        thresholds=Thresholds(loss=flags.loss),
    )
    with UdpServer(config, flags.bind, flags.port) as udp:
        # After binding, so that a port that is taken is reported at once.
        announce("loading compiled code ...")
        with bars(0) as progress:
            task = progress.add_task("", total=None)

            def compiled(kernel: str, done: int, total: int) -> None:
                text = f"compiling (first start only): {kernel}"
                progress.update(task, description=text, completed=done, total=total)

            warm_up(compiled)
        with StopRequest("the frame in hand", flags.seconds) as request:
            print(f"listening on {flags.bind}:{udp.port}", file=sys.stderr, flush=True)
            with View(udp.server, live=False if flags.plain else None) as tick:
                udp.run(request.due, tick)
        report = report_of(udp.server)
    saver = udp.server.clients.saver  # closing has saved every model that had changed
    report |= {"saved": saver.written, "save_failures": saver.failed}
    write_or_print(flags.report, json_text(report, indent=2))
    return 0
