"""The web server of a viewer: on loopback, for pages of its own alone.

viser has no option for the Origin of a connection, so its server is started with a check in
front of the handshake: any other page that the browser shows could otherwise drive the
viewer, and read it under a name that it resolves to this machine.
"""

from __future__ import annotations

import contextlib
import io
import logging
import socket
from collections.abc import Callable, Iterator, Mapping
from http import HTTPStatus
from threading import Lock
from typing import Any

from ambulo.configs.errors import ConfigError

LOOPBACK = "127.0.0.1"
"""The address that is bound."""
PORT = 8080
_NAMES = (LOOPBACK, "localhost", "[::1]")
_PATCHING = Lock()


def open_server(port: int, label: str) -> Any:
    """Return a started `viser.ViserServer` on this port of the loopback address.

    Args:
        port: The port; 0 takes a free one.
        label: Title of its panel.

    Raises:
        ConfigError: The port is taken, or no port.
        ImportError: viser is not installed.
    """
    import viser

    port = checked_port(port)
    with _guarded(port), contextlib.redirect_stdout(io.StringIO()):
        server: Any = viser.ViserServer(LOOPBACK, port, label=label, verbose=False)
    if server.get_port() != port:
        server.stop()
        raise ConfigError(f"--port {port}: is taken; --port 0 takes a free one")
    server.request_share_url = _never_shared
    server.gui.configure_theme(show_logo=False, show_share_button=False)
    return server


def stop_server(server: Any) -> None:
    """Stop a server without what viser prints."""
    with contextlib.redirect_stdout(io.StringIO()):
        server.stop()


def _never_shared(verbose: bool = True) -> None:
    """Answer a window that asks for a public tunnel, which viser offers: there is none."""


def checked_port(port: int) -> int:
    """Return the port, or a free one for 0; `ConfigError` where it cannot be bound."""
    if not 0 <= port <= 65535:
        raise ConfigError(f"--port {port}: must be 0 to 65535")
    with socket.socket() as probe:
        # As servers do: a port whose last connections are closing is free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError as error:
            raise ConfigError(
                f"--port {port}: cannot be bound ({error.strerror}); --port 0 takes a "
                "free one"
            ) from None
        free: int = probe.getsockname()[1]
        return free


def refusal(headers: Mapping[str, str], port: int) -> str | None:
    """Why a request with these headers is refused; None: it is not.

    The Host must be this machine's loopback name (against names that are made to resolve to
    it), and the Origin, which browsers send with every WebSocket handshake, this server.
    """
    own = {f"{name}:{port}" for name in _NAMES}
    host = headers.get("Host", "")
    if host not in own:
        return f"Host {host!r} is not this server"
    origin = headers.get("Origin")
    if origin is not None and origin not in {f"http://{name}" for name in own}:
        return f"Origin {origin!r} is not this server"
    return None


@contextlib.contextmanager
def _guarded(port: int) -> Iterator[None]:
    """Let servers that start in the context refuse what `refusal` does."""
    import websockets.asyncio.server

    module: Any = websockets.asyncio.server
    with _PATCHING:
        plain = module.serve
        module.serve = _checking(plain, port)
        try:
            yield
        finally:
            module.serve = plain


def _checking(serve: Callable[..., Any], port: int) -> Any:
    """Return `serve` with a check before its own handling of requests."""

    def guarded(*args: Any, process_request: Any = None, **options: Any) -> Any:
        def check(connection: Any, request: Any) -> Any:
            why = refusal(request.headers, port)
            if why is not None:
                logging.getLogger(__name__).warning("refused: %s", why)
                return connection.respond(HTTPStatus.FORBIDDEN, f"{why}\n")
            return (
                None
                if process_request is None
                else process_request(connection, request)
            )

        return serve(*args, process_request=check, **options)

    return guarded
