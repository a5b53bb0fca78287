"""`ambulo track-server`: bodies for live streams over WebSocket and UDP."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import sys
from collections.abc import Callable

import numpy as np

from ambulo.commands.network_flags import SECRET_VARIABLE
from ambulo.commands.trackers.flags import TrackServerFlags
from ambulo.commands.trackers.stream import Places, StreamConfig
from ambulo.commands.trackers.udp import UdpBodies
from ambulo.commands.trackers.websocket import WebSocketBodies
from ambulo.common.find_model import find_model
from ambulo.common.signals import StopRequest
from ambulo.configs.errors import ConfigError
from ambulo.ik.trackers.conventions import TrackerSample
from ambulo.ik.trackers.network import TrackerNetwork
from ambulo.ik.trackers.tracker import BodyTracker
from ambulo.policies.agents.body_tracker import load_tracker_network
from ambulo.rig_server.udp import bound_socket

DRAINED = 256
"""Most datagrams that are taken off the socket before others have a turn."""
SOCKET_BUFFER = 1 << 20
TICK = 0.1
"""Time between two looks at signals and silent clients, [s]."""


def track_server(flags: TrackServerFlags) -> int:
    """Serve until Ctrl-C or SIGTERM; return the exit code."""
    flags.set_up_logging()
    secret = flags.secret()
    if not secret and not flags.is_loopback:
        raise ConfigError(
            f"--bind {flags.bind}: is open to the network; --secret-file FILE (or "
            f"{SECRET_VARIABLE}) is needed"
        )
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
    with StopRequest("the row in hand", flags.seconds) as request:
        run_server(
            server, request.due, lambda text: print(text, file=sys.stderr, flush=True)
        )
    print(server.summary(), file=sys.stderr)
    return 0


def warm_up(network: TrackerNetwork) -> None:
    """Compile what the first rows would wait for."""
    body, sample = BodyTracker(network), TrackerSample.nothing()
    present = np.ones_like(sample.present)
    height = np.array([0.0, 0.0, 1.6])
    for _ in range(3):
        body.step(
            TrackerSample(sample.positions + height, sample.rotations, present), 0.02
        )


class BodyServer:
    """Bodies over WebSocket and UDP, in one thread."""

    def __init__(
        self,
        network: TrackerNetwork,
        config: StreamConfig,
        bind: str = "127.0.0.1",
        port: int | None = 6005,
        udp_port: int | None = 6004,
    ) -> None:
        """A server that does not listen yet.

        Args:
            network: The network that all bodies share.
            config: Limits, origins and the shared secret.
            bind: Address to listen on.
            port: Of the WebSocket; 0 for any free one, None for none.
            udp_port: As `port`, for UDP.
        """
        self.port, self.udp_port = port, udp_port
        self.places = Places(config.max_clients)
        self.websocket = WebSocketBodies(network, config, self.places)
        self._bind = bind
        self._socket: socket.socket | None = None
        self.udp = UdpBodies(network, config, self.places, self._send)
        self._came = asyncio.Event()

    async def run(
        self, stopped: Callable[[], bool], started: Callable[[str], None]
    ) -> None:
        """Serve until `stopped()`; `started` gets a line when all is bound.

        Raises:
            AmbuloError: An address cannot be bound.
        """
        async with contextlib.AsyncExitStack() as stack:
            where = []
            if self.port is not None:
                serving = self.websocket.serving(self._bind, self.port)
                self.port = await stack.enter_async_context(serving)
                where.append(f"ws://{_host(self._bind)}:{self.port}")
            if self.udp_port is not None:
                self._listen(self.udp_port)
                stack.callback(self._close)
                worker = asyncio.create_task(self._work())
                stack.callback(worker.cancel)
                where.append(f"udp://{_host(self._bind)}:{self.udp_port}")
            started(f"listening on {' and '.join(where)}")
            while not stopped():
                await asyncio.sleep(TICK)
                self.udp.forget_silent()

    def summary(self) -> str:
        """One line about what was done."""
        faults = ", ".join(f"{name} {n}" for name, n in self.udp.faults.items() if n)
        return (
            f"answered {self.websocket.rows} rows over WebSocket and {self.udp.rows} over "
            f"UDP; refused {self.websocket.wrong} messages and {faults or 0} datagrams"
        )

    def _listen(self, port: int) -> None:
        """Bind the UDP socket; `AmbuloError` if it cannot be."""
        self._socket = endpoint = bound_socket(self._bind, port, SOCKET_BUFFER)
        self.udp_port = endpoint.getsockname()[1]
        asyncio.get_running_loop().add_reader(endpoint, self._drain, endpoint)

    def _drain(self, endpoint: socket.socket) -> None:
        """Take datagrams off the socket."""
        self.udp.drain(endpoint, DRAINED)
        self._came.set()

    async def _work(self) -> None:
        """Answer datagrams; after each, others have a turn."""
        while True:
            await self._came.wait()
            self._came.clear()
            while self.udp.work():
                await asyncio.sleep(0.0)

    def _send(self, data: bytes, address: tuple[str, int]) -> None:
        if self._socket is not None:
            self._socket.sendto(data, address)

    def _close(self) -> None:
        if self._socket is not None:
            asyncio.get_running_loop().remove_reader(self._socket)
            self._socket.close()
            self._socket = None
        self.udp.close()


def run_server(
    server: BodyServer, stopped: Callable[[], bool], started: Callable[[str], None]
) -> None:
    """Run a server in this thread; see `BodyServer.run`."""
    with asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as runner:
        runner.run(server.run(stopped, started))


def _host(bind: str) -> str:
    return f"[{bind}]" if ":" in bind else bind
