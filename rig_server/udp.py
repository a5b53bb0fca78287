"""The rig server on a UDP socket."""

from __future__ import annotations

import select
import socket
import time
from collections.abc import Callable

from ambulo.configs.errors import AmbuloError
from ambulo.rig_server.clients import ServerConfig
from ambulo.rig_server.server import PORT, RigServer

DRAINED = 1024
"""Largest number of datagrams taken from the socket before frames are processed again."""
SOCKET_BUFFER = 1 << 22
NAP = 0.05
"""Longest wait without datagrams, [s]."""


def bound_socket(bind: str, port: int, buffer: int) -> socket.socket:
    """Return a UDP socket that does not block, with a receive buffer of `buffer` bytes.

    Raises:
        AmbuloError: The address cannot be bound.
    """
    family = socket.AF_INET6 if ":" in bind else socket.AF_INET
    endpoint = socket.socket(family, socket.SOCK_DGRAM)
    try:
        endpoint.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        endpoint.setblocking(False)
        endpoint.bind((bind, port))
    except (OSError, OverflowError) as error:
        endpoint.close()
        reason = getattr(error, "strerror", None) or str(error)
        raise AmbuloError(f"{bind}:{port}: cannot be bound: {reason}") from None
    return endpoint


class UdpServer:
    """A `RigServer` with its socket; a context manager that closes both."""

    def __init__(
        self, config: ServerConfig, bind: str = "127.0.0.1", port: int = PORT
    ) -> None:
        """Bind `bind`:`port` (0: any free port)."""
        self._socket = bound_socket(bind, port, SOCKET_BUFFER)
        self.port: int = self._socket.getsockname()[1]
        self.server = RigServer(config, self._send)
        self._busy = False

    def __enter__(self) -> UdpServer:
        """Return the server."""
        return self

    def __exit__(self, *_: object) -> None:
        """Save all models and close the socket."""
        self.server.close()
        self._socket.close()

    def run(
        self,
        stopped: Callable[[], bool],
        tick: Callable[[], None] | None = None,
        every: float = 0.25,
    ) -> None:
        """Serve until `stopped()`; call `tick` about every `every` seconds."""
        due = time.monotonic()
        while not stopped():
            self.step()
            now = time.monotonic()
            if now >= due:
                due = now + every
                self.server.sweep()
                if tick is not None:
                    tick()

    def step(self) -> None:
        """Empty the socket (wait for it without work), then do a piece of work.

        If the socket never empties, work gets as much time as receiving.
        """
        if not self._busy:
            select.select([self._socket], [], [], NAP)
        start = time.perf_counter()
        emptied = self.server.drain(self._socket, DRAINED)
        end = 0.0 if emptied else 2.0 * time.perf_counter() - start
        self._busy = self.server.work()
        while self._busy and time.perf_counter() < end:
            self._busy = self.server.work()

    def _send(self, data: bytes, address: tuple[str, int]) -> None:
        self._socket.sendto(data, address)
