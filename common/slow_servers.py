"""Connections that are cut when a server is too slow, however regularly it sends.

A timeout of `requests` restarts with every byte; a server that sends one occasionally would
block a download forever.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import requests
from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

_current = threading.local()


class Watch:
    """Cuts the connection of a request whose rate is too low.

    At least `rate` times (seconds so far - `grace`) bytes must have been counted.
    """

    def __init__(self, grace: float, rate: float) -> None:
        """Start the watch.

        Args:
            grace: Time limit of the answer's beginning, and slack later, [s].
            rate: Smallest rate, [bytes/s].
        """
        self.cut = False
        """Whether the connection was cut."""
        self.bytes = 0
        """Bytes that arrived; whoever reads them counts."""
        self._grace, self._rate = grace, rate
        self._start = time.monotonic()
        self._done = threading.Event()
        self._socket: socket.socket | None = None

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """Watch the requests that this thread makes in the context."""
        _current.watch = self
        thread = threading.Thread(target=self._work, daemon=True, name="slow-server")
        thread.start()
        try:
            yield
        finally:
            _current.watch = None
            self._done.set()
            thread.join()

    def uses(self, connection: socket.socket | None) -> None:
        """Set the connection to cut."""
        self._socket = connection

    def behind(self, seconds: float) -> bool:
        """Whether too little has arrived `seconds` after the start."""
        return self.bytes < (seconds - self._grace) * self._rate

    def _work(self) -> None:
        while not self._done.wait(min(0.25, 0.5 * self._grace)):
            if self.behind(time.monotonic() - self._start):
                self.cut = True
                if self._socket is not None:
                    with contextlib.suppress(OSError):  # it is closed already
                        # The plain socket: closing TLS would exchange messages, and wait.
                        socket.socket.shutdown(self._socket, socket.SHUT_RDWR)


class _Watched:
    """A connection that reports its socket to the watch of its thread."""

    sock: socket.socket | None

    def request(self, *args: Any, **kwargs: Any) -> None:
        super().request(*args, **kwargs)  # type: ignore[misc]
        watch: Watch | None = getattr(_current, "watch", None)
        if watch is not None:
            watch.uses(self.sock)


class _PlainConnection(_Watched, HTTPConnection):
    """A watched HTTP connection."""


class _SecureConnection(_Watched, HTTPSConnection):
    """A watched HTTPS connection."""


class _PlainPool(HTTPConnectionPool):
    ConnectionCls = _PlainConnection


class _SecurePool(HTTPSConnectionPool):
    ConnectionCls = _SecureConnection


class _Adapter(HTTPAdapter):
    """An adapter with watched connections."""

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        """Make the pools."""
        super().init_poolmanager(*args, **kwargs)
        pools = {"http": _PlainPool, "https": _SecurePool}
        self.poolmanager.pool_classes_by_scheme = pools


def watched_session() -> requests.Session:
    """Return a session whose requests a `Watch` can cut."""
    session = requests.Session()
    for scheme in ("http://", "https://"):
        session.mount(scheme, _Adapter())
    return session
