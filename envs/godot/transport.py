"""HTTP/1.1 over one kept-alive socket, as little of it as `/rl/*` needs, and fast.

`send` and `receive` are apart, so that several engines work at the same time: send to
all, then read from all. A request is never repeated: a repeated step would be a second step.
"""

from __future__ import annotations

import contextlib
import ipaddress
import re
import socket
import time
from dataclasses import dataclass
from typing import Any, NoReturn
from urllib.parse import urlsplit

from ambulo.configs.errors import ConfigError
from ambulo.configs.json_text import json_value
from ambulo.envs.godot.errors import (
    BadStatus,
    BridgeFault,
    Closed,
    Malformed,
    Refused,
    TimedOut,
)

JSON = "application/json"
BINARY = "application/x-ambulo"
MAX_HEAD = 64 * 1024
"""Longest head of an answer, [bytes]."""
MAX_BODY = 256 * 2**20
"""Longest body of an answer, [bytes]."""
_CHUNK = 256 * 1024
_PROTOCOL = b"HTTP/1."
_STATUS = re.compile(rb"HTTP/1\.[01] ([1-5]\d\d)(?: [^\r\n]*)?")


@dataclass(frozen=True)
class Response:
    """A whole answer."""

    status: int
    """HTTP status."""
    content_type: str
    """Without parameters, lower case."""
    body: bytes
    """As many bytes as its Content-Length said."""

    def json(self) -> Any:
        """The body as JSON.

        Raises:
            Malformed: it is none, or holds NaN or infinity.
        """
        try:
            return json_value(self.body)
        except ValueError as error:
            shown = self.body[:60].decode("utf-8", "replace")
            raise Malformed(f"not JSON ({error}): {shown!r}") from None

    def checked(self) -> Response:
        """This answer, if it is no error.

        Raises:
            BadStatus: with what the error's body says.
        """
        if 200 <= self.status < 300:
            return self
        message, code, field = self.body[:200].decode("utf-8", "replace"), "", None
        # A proxy's page, or another program's, stays as it is.
        with contextlib.suppress(ValueError, KeyError, TypeError, AttributeError):
            error = json_value(self.body)["error"]
            message, code = str(error["message"]), str(error["code"])
            field = None if error.get("field") is None else str(error["field"])
        message = " ".join(message.split())[:500]
        if self.status == 401:
            message += "; the game's token must be in AMBULO_TOKEN"
        raise BadStatus(self.status, message, code, field)


class HttpConnection:
    """One kept-alive connection; after any fault it is closed and cannot be used on."""

    def __init__(
        self, host: str, port: int, *, timeout: float, token: str | None = None
    ) -> None:
        """Connect at once.

        Args:
            host: name or address.
            port: TCP port.
            timeout: for connecting, and from a request to its whole answer, [s].
            token: bearer token.

        Raises:
            ConfigError: a token for another machine.
            Refused: no server listens there.
            TimedOut: no connection in time.
        """
        check_token(host, token)
        self.host, self.port, self.timeout = host, port, timeout
        self._token = token
        self._heads: dict[tuple[str, str, str, str], bytes] = {}
        self._last_head = b"", (0, dict[str, str]())
        """Head of the last answer, and what it says: a trainer's are all the same."""
        self._chunk = memoryview(bytearray(_CHUNK))
        self._pending = False
        self._deadline = 0.0
        self._waited_for = ""
        try:
            self._socket: socket.socket | None = socket.create_connection(
                (host, port), timeout
            )
        except TimeoutError:
            raise TimedOut(
                f"no connection to {host}:{port} within {timeout:g} s"
            ) from None
        except OSError as error:
            reason = error.strerror or error
            raise Refused(f"cannot connect to {host}:{port}: {reason}") from None
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def request(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        *,
        content_type: str = JSON,
        accept: str = JSON,
    ) -> Response:
        """Send and receive; see there for the errors."""
        self.send(method, path, body, content_type=content_type, accept=accept)
        return self.receive()

    def send(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        *,
        content_type: str = JSON,
        accept: str = JSON,
    ) -> None:
        """Send one request in one write; its answer must be received before the next.

        Raises:
            Closed: the other side has closed the connection, or an answer was left.
            TimedOut: the other side does not read.
        """
        key = (method, path, content_type, accept)
        head = self._heads.get(key)
        if head is None:
            head = self._heads[key] = self._head(*key)
        self._waited_for = f"{method} {path}"
        if self._socket is None or self._pending:
            self._fail(Closed(f"{self._waited_for}: the connection is not usable"))
        self._deadline = time.monotonic() + self.timeout
        try:
            self._patience(self.timeout)
            self._pending = True
            self._socket.sendall(b"%s%d\r\n\r\n%s" % (head, len(body), body))
        except TimeoutError:
            self._fail(self._timed_out())
        except OSError as error:
            self._fail(self._closed(error))
        except BaseException:  # such as Ctrl-C: half a request may be on its way
            self.close()
            raise

    def receive(self) -> Response:
        """The answer to the request that was sent; errors of HTTP are answers too.

        Raises:
            TimedOut: it did not come within `timeout` seconds of the request.
            Closed: the connection ended before.
            Malformed: what came is not HTTP as this page speaks it.
        """
        if self._socket is None or not self._pending:
            self._fail(Closed("no request is waiting for an answer"))
        try:
            response, keep = self._read(bytearray())
        except BridgeFault as fault:
            self._fail(fault)
        except BaseException:
            self.close()
            raise
        self._pending = False
        if not keep:
            self.close()
        return response

    def close(self) -> None:
        """Close the socket; again does nothing."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _head(self, method: str, path: str, content_type: str, accept: str) -> bytes:
        """Everything of a request up to the number of bytes of its body."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        token = f"Authorization: Bearer {self._token}\r\n" if self._token else ""
        return (
            f"{method} {path} HTTP/1.1\r\nHost: {host}:{self.port}\r\n{token}"
            f"Accept: {accept}\r\nContent-Type: {content_type}\r\nContent-Length: "
        ).encode("ascii")

    def _read(self, data: bytearray) -> tuple[Response, bool]:
        """The answer, and whether the connection stays open."""
        end = -1
        while end < 0:
            self._more(data)
            if not data.startswith(_PROTOCOL[: len(data)]):
                shown = bytes(data[:60]).decode("latin-1")
                raise Malformed(f"{self._waited_for}: not an HTTP answer: {shown!r}")
            end = data.find(b"\r\n\r\n")
            if end > MAX_HEAD or (end < 0 and len(data) > MAX_HEAD):
                raise Malformed(f"{self._waited_for}: the head never ends")
        head = bytes(data[:end])
        if head != self._last_head[0]:
            self._last_head = head, _parsed_head(head)
        status, headers = self._last_head[1]
        if "transfer-encoding" in headers:
            raise Malformed(f"{self._waited_for}: a transfer encoding is not expected")
        length = headers.get("content-length", "")
        if not (length.isascii() and length.isdigit() and len(length) < 12):
            raise Malformed(f"{self._waited_for}: Content-Length {length[:20]!r}")
        start, size = end + 4, int(length)
        if size > MAX_BODY:
            raise Malformed(f"{self._waited_for}: an answer of {size} bytes")
        while len(data) < start + size:
            self._more(data)
        if len(data) > start + size:
            raise Malformed(f"{self._waited_for}: bytes after the end of the answer")
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        keep = headers.get("connection", "").lower() != "close"
        return Response(status, kind, bytes(memoryview(data)[start:])), keep

    def _more(self, data: bytearray) -> None:
        """Append what has come to `data`, waiting for at least one byte."""
        assert self._socket is not None
        left = self._deadline - time.monotonic()
        try:
            if left <= 0.0 or data:  # data received so far are in time
                self._patience(max(left, 0.0))
            count = self._socket.recv_into(self._chunk)
        except (TimeoutError, BlockingIOError):
            raise self._timed_out() from None
        except OSError as error:
            raise self._closed(error) from None
        if not count:
            state = "in the middle of its answer" if data else "without an answer"
            raise Closed(f"{self._waited_for}: the engine hung up {state}")
        data += self._chunk[:count]

    def _patience(self, seconds: float) -> None:
        """Wait so long at most from now on, by a system call if it was not so before."""
        assert self._socket is not None
        if seconds != self._socket.gettimeout():
            self._socket.settimeout(seconds)

    def _timed_out(self) -> TimedOut:
        return TimedOut(
            f"{self._waited_for}: no whole answer from {self.host}:{self.port} "
            f"within {self.timeout:g} s"
        )

    def _closed(self, error: OSError) -> Closed:
        return Closed(f"{self._waited_for}: {error.strerror or error}")

    def _fail(self, fault: BridgeFault) -> NoReturn:
        self.close()
        raise fault


def address_of(url: str) -> tuple[str, int]:
    """Host and port of `http://host:port`.

    Raises:
        ConfigError: another scheme, no host, a path, or no such port.
    """
    try:
        parts = urlsplit(url if "//" in url else f"//{url}", scheme="http")
        port = 8080 if parts.port is None else parts.port
    except ValueError as error:
        raise ConfigError(f"godot_url = {url!r}: {error}") from None
    if parts.scheme != "http" or not parts.hostname or parts.path.strip("/"):
        raise ConfigError(f"godot_url = {url!r}: must be like http://127.0.0.1:8080")
    return parts.hostname, port


def check_token(host: str, token: str | None) -> None:
    """Refuse to send `token` where others on the network could read it.

    Raises:
        ConfigError: there is one, and `host` is not this machine.
    """
    if token is None or host.lower() == "localhost":
        return
    with contextlib.suppress(ValueError):
        if ipaddress.ip_address(host).is_loopback:
            return
    raise ConfigError(
        f"the token in AMBULO_TOKEN is not sent to {host} by plain HTTP: unset it, "
        "or reach the game through a tunnel that ends at 127.0.0.1"
    )


def _parsed_head(head: bytes) -> tuple[int, dict[str, str]]:
    """Status and headers (lower-case names)."""
    first, *lines = head.split(b"\r\n")
    match = _STATUS.fullmatch(first)
    if match is None:
        raise Malformed(f"not an HTTP answer: {first[:60].decode('latin-1')!r}")
    headers = {}
    for line in lines:
        name, colon, value = line.decode("latin-1").partition(":")
        if not colon:
            raise Malformed(f"not an HTTP header: {name[:60]!r}")
        headers[name.lower()] = value.strip()
    return int(match[1]), headers
