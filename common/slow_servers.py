"""Connections that are cut when a server sends too little, however regularly it does.

A timeout of `requests` begins anew with every byte; a server that sends one now and then
would hold a download for ever.
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
    """Cuts the connection of one request that falls behind a rate.

    At least `rate` times (seconds so far - `grace`) bytes must have been counted.
    """

    def __init__(self, grace: float, rate: float) -> None:
        """Begin now.

        Args:
            grace: Time for the answer to begin, and slack later, [s].
            rate: Least bytes in a second.
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
        """Tell which connection is to be cut."""
        self._socket = connection

    def behind(self, seconds: float) -> bool:
        """Whether too little has arrived `seconds` after the beginning."""
        return self.bytes < (seconds - self._grace) * self._rate

    def _work(self) -> None:
        while not self._done.wait(min(0.25, 0.5 * self._grace)):
            if self.behind(time.monotonic() - self._start):
                self.cut = True
                if self._socket is not None:
                    with contextlib.suppress(OSError):  # it is closed already
                        # Of the plain socket: TLS has a farewell of its own, and waits.
                        socket.socket.shutdown(self._socket, socket.SHUT_RDWR)


class _Watched:
    """A connection that tells the watch of its thread about its socket."""

    sock: socket.socket | None

    def request(self, *args: Any, **kwargs: Any) -> None:
        super().request(*args, **kwargs)  # type: ignore[misc]
        watch: Watch | None = getattr(_current, "watch", None)
        if watch is not None:
            watch.uses(self.sock)


class _PlainConnection(_Watched, HTTPConnection):
    """http."""


class _SecureConnection(_Watched, HTTPSConnection):
    """https."""


class _PlainPool(HTTPConnectionPool):
    ConnectionCls = _PlainConnection


class _SecurePool(HTTPSConnectionPool):
    ConnectionCls = _SecureConnection


class _Adapter(HTTPAdapter):
    """Makes watched connections."""

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
