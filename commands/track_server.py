"""`ambulo track-server`: whole bodies for live streams of headsets and controllers."""

from __future__ import annotations

import re
import sys
import time
from dataclasses import dataclass
from typing import Annotated

from ambulo.commands.network_flags import SECRET_VARIABLE, ServerFlags
from ambulo.common.command_line import Arg, command
from ambulo.common.flag_types import Count, Port, rule
from ambulo.common.signals import StopRequest
from ambulo.configs.errors import ConfigError

PORT, UDP_PORT = 6005, 6004
"""Ports by default."""
ORIGIN = re.compile(r"https?://[A-Za-z0-9.\-\[\]:]+")
"""Origin of a web page, as browsers send it."""
EPILOG = """\
examples:
  ambulo track-server                      WebSocket 127.0.0.1:6005, UDP 127.0.0.1:6004
  ambulo track-server --origin http://localhost:8000
  ambulo track-server --bind 0.0.0.0 --secret-file key.txt
"""


@dataclass(frozen=True, kw_only=True)
class TrackServerFlags(ServerFlags):
    """Answer live streams of headset, controllers and further trackers with whole bodies.

    Over WebSocket and UDP (docs/trackers_stream.md).
    """

    port: Port = PORT
    """of the WebSocket; 0: any free one"""
    udp_port: Port = UDP_PORT
    """of UDP; 0: any free one"""
    no_websocket: bool = False
    """serve UDP alone"""
    no_udp: bool = False
    """serve WebSocket alone"""
    model: Annotated[str, Arg("NAME")] = "ik_trackers"
    """network that predicts bodies"""
    origin: Annotated[
        tuple[str, ...],
        Arg("URL", repeated=True),
        rule(
            ORIGIN.fullmatch, "expected scheme and host, such as http://localhost:8000"
        ),
    ] = ()
    """a web page that may connect, such as http://localhost:8000 (repeatable)"""
    max_clients: Count = 16
    """most clients at once"""

    def __post_init__(self) -> None:
        """Refuse a server of nothing."""
        super().__post_init__()
        if self.no_udp and self.no_websocket:
            raise ConfigError("--no-udp and --no-websocket: nothing would be served")


@command("ambulo track-server", EPILOG)
def main(flags: TrackServerFlags) -> int:
    """Serve until Ctrl-C or SIGTERM; return the exit code."""
    flags.set_up_logging()
    secret = flags.secret()
    if not secret and not flags.is_loopback:
        raise ConfigError(
            f"--bind {flags.bind}: is open to the network; --secret-file FILE (or "
            f"{SECRET_VARIABLE}) is needed"
        )
    from ambulo.commands.trackers.server import BodyServer, run_server, warm_up
    from ambulo.commands.trackers.stream import StreamConfig
    from ambulo.common.find_model import find_model
    from ambulo.policies.agents.body_tracker import load_tracker_network

    network, _ = load_tracker_network(find_model(flags.model))
    config = StreamConfig(flags.max_clients, flags.idle, secret, flags.origin)
    server = BodyServer(
        network,
        config,
        flags.bind,
        None if flags.no_websocket else flags.port,
        None if flags.no_udp else flags.udp_port,
    )
    warm_up(network)
    with StopRequest("the row in hand") as request:
        end = time.monotonic() + flags.seconds if flags.seconds else float("inf")

        def stopped() -> bool:
            return request.signal_number is not None or time.monotonic() > end

        run_server(
            server, stopped, lambda text: print(text, file=sys.stderr, flush=True)
        )
    print(server.summary(), file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
