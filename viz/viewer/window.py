"""The web server of a viewer: on the loopback address, with a secret URL.

The URL ends in a random token, without which other users and programs of this machine are
refused. viser has no option for that, nor for checking the Origin of a connection, so its
server is started with a check in front of the handshake: any other page in the browser could
otherwise control the viewer, and read it under a name that resolves to this machine. Messages
of windows are checked as well (`messages`).
"""

from __future__ import annotations

import contextlib
import hmac
import io
import logging
import os
import secrets
import socket
from collections.abc import Callable, Iterator, Mapping
from http import HTTPStatus
from threading import Lock
from typing import Any

from ambulo.configs.errors import ConfigError
from ambulo.viz.viewer.messages import MessageGate

LOOPBACK = "127.0.0.1"
"""The address that is bound."""
_NAMES = (LOOPBACK, "localhost", "[::1]")
_PATCHING = Lock()


def open_server(port: int, label: str) -> Any:
    """Return a started `viser.ViserServer` on this port of the loopback address.

    Its attribute `address` is the URL of windows, token included.

    Args:
        port: The port; 0 takes a free one.
        label: Title of its panel.

    Raises:
        ConfigError: The port is in use, or invalid.
        ImportError: viser is not installed.
    """
    import viser

    port = checked_port(port)
    token, gate = secrets.token_urlsafe(16), MessageGate()
    with _guarded(port, token, gate), contextlib.redirect_stdout(io.StringIO()):
        server: Any = viser.ViserServer(LOOPBACK, port, label=label, verbose=False)
    if server.get_port() != port:
        server.stop()
        raise ConfigError(f"--port {port}: is taken; --port 0 takes a free one")
    gate.widgets = server.gui._gui_input_handle_from_uuid
    server.address = f"http://localhost:{port}/{token}"
    server.request_share_url = _never_shared
    server.gui.configure_theme(show_logo=False, show_share_button=False)
    return server


def stop_server(server: Any) -> None:
    """Stop a server without viser's output."""
    with contextlib.redirect_stdout(io.StringIO()):
        server.stop()


def _never_shared(verbose: bool = True) -> None:
    """Refuse a window's request of a public tunnel, which viser offers."""


def checked_port(port: int) -> int:
    """Return the port, or a free one for 0; `ConfigError` if it cannot be bound."""
    if not 0 <= port <= 65535:
        raise ConfigError(f"--port {port}: must be 0 to 65535")
    with socket.socket() as probe:
        if os.name == "posix":  # on Windows it would take a port that is in use
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
    """Return why a request with these headers is refused, or None.

    The Host must be this machine's loopback name (against DNS rebinding), and the Origin, which
    browsers send with every WebSocket handshake, this server.
    """
    own = {f"{name}:{port}" for name in _NAMES}
    host = headers.get("Host", "")
    if host not in own:
        return f"Host {host!r} is not this server"
    origin = headers.get("Origin")
    if origin is not None and origin not in {f"http://{name}" for name in own}:
        return f"Origin {origin!r} is not this server"
    return None


def inner_path(path: str, token: str) -> str | None:
    """Return a request's path after the token, or None without it."""
    begin = f"/{token}"
    given = path[: len(begin)].encode(errors="replace")
    rest = path[len(begin) :]
    if not hmac.compare_digest(given, begin.encode()) or rest[:1] not in ("", "/", "?"):
        return None
    return rest if rest.startswith("/") else f"/{rest}"


@contextlib.contextmanager
def _guarded(port: int, token: str, gate: MessageGate) -> Iterator[None]:
    """Apply the checks of this module to servers that start in the context."""
    import websockets.asyncio.server

    module: Any = websockets.asyncio.server
    with _PATCHING:
        plain = module.serve
        module.serve = _checking(plain, port, token, gate)
        try:
            yield
        finally:
            module.serve = plain


def _checking(
    serve: Callable[..., Any], port: int, token: str, gate: MessageGate
) -> Any:
    """Return `serve` with checks before its own handling of requests and messages."""

    def guarded(
        handler: Callable[[Any], Any],
        *args: Any,
        process_request: Any = None,
        **options: Any,
    ) -> Any:
        def check(connection: Any, request: Any) -> Any:
            why, path = (
                refusal(request.headers, port),
                inner_path(request.path, token),
            )
            if why is None and path is None:
                why = "the address lacks the token that the command printed"
            if why is not None:
                logging.getLogger(__name__).warning("refused: %s", why)
                return connection.respond(HTTPStatus.FORBIDDEN, f"{why}\n")
            request.path = path
            return (
                None
                if process_request is None
                else process_request(connection, request)
            )

        async def handle(connection: Any) -> None:
            gate.guard(connection)
            await handler(connection)

        return serve(handle, *args, process_request=check, **options)

    return guarded
