"""The socket client against a server that sends whatever it is told to."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator

import pytest

from ambulo.configs.errors import ConfigError
from ambulo.envs.godot.client import GodotClient
from ambulo.envs.godot.errors import BadStatus, Closed, Malformed, Refused, TimedOut
from ambulo.envs.godot.transport import (
    JSON,
    HttpConnection,
    Response,
    address_of,
    check_token,
)


class Script:
    """Answers the k-th request of one connection with `answers[k]`, piece by piece."""

    def __init__(self, answers: list[list[bytes | float]]) -> None:
        self.requests: list[bytes] = []
        self.accepted = 0
        self._answers = answers
        self._stop = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._stop.set()
        self._listener.close()
        self._thread.join(10)

    def _run(self) -> None:
        with contextlib.suppress(OSError):
            connection, _ = self._listener.accept()
            self.accepted += 1
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with connection:
                for pieces in self._answers:
                    self.requests.append(connection.recv(1 << 16))
                    for piece in pieces:
                        if isinstance(piece, bytes):
                            connection.sendall(piece)
                        else:
                            self._stop.wait(piece)


@pytest.fixture
def serve() -> Iterator:
    running: list[Script] = []

    def start(*answers: list[bytes | float]) -> tuple[Script, HttpConnection]:
        script = Script(list(answers))
        running.append(script)
        return script, HttpConnection("127.0.0.1", script.port, timeout=2.0)

    yield start
    for script in running:
        script.close()


def reply(body: bytes, head: bytes = b"", status: bytes = b"200 OK") -> bytes:
    start = b"HTTP/1.1 %s\r\nContent-Type: application/json\r\n" % status
    return b"%sContent-Length: %d\r\n%s\r\n%s" % (start, len(body), head, body)


def test_one_connection_serves_many_requests(serve) -> None:
    script, connection = serve([reply(b'{"a": 1}')], [reply(b"[2]")], [reply(b"")])
    assert connection.request("POST", "/x", b"body").json() == {"a": 1}
    assert connection.request("GET", "/y").json() == [2]
    assert connection.request("GET", "/z").body == b""
    connection.close()
    assert script.accepted == 1
    head, _, body = script.requests[0].partition(b"\r\n\r\n")
    assert body == b"body"
    lines = head.decode().split("\r\n")
    assert lines[0] == "POST /x HTTP/1.1"
    assert f"Host: 127.0.0.1:{script.port}" in lines
    assert "Content-Length: 4" in lines
    assert not any(line.startswith("Authorization") for line in lines)


def test_answers_in_pieces_are_put_together(serve) -> None:
    whole = reply(b"x" * 1000)
    pieces = [whole[:5], 0.02, whole[5:60], 0.02, whole[60:500], 0.02, whole[500:]]
    _, connection = serve(pieces)
    assert connection.request("GET", "/").body == b"x" * 1000


def test_the_token_is_sent(serve) -> None:
    script, connection = serve([reply(b"1")])
    connection._token = "secret"
    connection.request("GET", "/")
    assert b"\r\nAuthorization: Bearer secret\r\n" in script.requests[0]


def test_header_names_have_no_case_and_close_is_obeyed(serve) -> None:
    _, connection = serve(
        [b"HTTP/1.1 200 OK\r\ncONTENT-lENGTH: 1\r\nConnection: Close\r\n\r\n1"]
    )
    assert connection.request("GET", "/").body == b"1"
    with pytest.raises(Closed, match="not usable"):
        connection.request("GET", "/")


@pytest.mark.parametrize(
    "answer",
    [
        b"\x00\xff" * 40 + b"\r\n\r\n",
        b"SSH-2.0-OpenSSH\r\n\r\n",
        b"HTTP/2 200 OK\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1e3\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 999999999999999\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        reply(b"1") + b"tail",
        b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 20_000,
    ],
)
def test_what_is_not_http_is_malformed(serve, answer: bytes) -> None:
    _, connection = serve([answer])
    with pytest.raises(Malformed):
        connection.request("GET", "/")
    with pytest.raises(Closed, match="not usable"):
        connection.request("GET", "/")


@pytest.mark.parametrize("cut", [0, 5, 40, -1])
def test_a_cut_answer_is_closed(serve, cut: int) -> None:
    _, connection = serve([reply(b"12345")[:cut]])
    with pytest.raises(Closed, match="hung up"):
        connection.request("GET", "/rl/x")


@pytest.mark.parametrize(
    "pieces", [[60.0], [b"HTTP/1.1 200 OK\r\n", *[b"X: 1\r\n", 0.1] * 600]]
)
def test_silence_and_trickle_time_out(serve, pieces) -> None:
    _, connection = serve(pieces)
    connection.timeout = 0.5
    with pytest.raises(TimedOut, match=r"/rl/step.*within 0\.5 s"):
        connection.request("POST", "/rl/step")


def test_an_answer_that_waits_in_the_socket_is_in_time(serve) -> None:
    """Who reads late, because another engine was slow, loses nothing."""
    _, connection = serve([reply(b"7")])
    connection.timeout = 0.2
    connection.send("GET", "/")
    time.sleep(0.4)
    assert connection.receive().json() == 7


def test_an_answer_must_be_read_before_the_next_request(serve) -> None:
    _, connection = serve([reply(b"1")], [reply(b"2")])
    connection.send("GET", "/")
    with pytest.raises(Closed, match="not usable"):
        connection.send("GET", "/")
    with pytest.raises(Closed, match="no request"):
        connection.receive()


def test_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(Refused, match=str(port)):
        HttpConnection("127.0.0.1", port, timeout=1.0)


def test_errors_of_http_tell_what_the_body_says(serve) -> None:
    body = b'{"error": {"code": "bad_value", "message": "too\\nlarge", "field": "a.b"}}'
    _, connection = serve([reply(body, status=b"400 Bad Request")])
    with pytest.raises(BadStatus, match="400 bad_value: too large") as caught:
        connection.request("GET", "/").checked()
    assert (caught.value.status, caught.value.code) == (400, "bad_value")
    assert caught.value.field == "a.b"


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b'{"error": 1}', b"\xff\xfe"])
def test_errors_of_strangers_are_errors_too(body: bytes) -> None:
    with pytest.raises(BadStatus, match="HTTP 502"):
        Response(502, "text/html", body).checked()


@pytest.mark.parametrize("body", [b"", b"{", b"NaN", b'{"a": Infinity}', b"\xff"])
def test_what_is_not_json_is_malformed(body: bytes) -> None:
    with pytest.raises(Malformed):
        Response(200, "application/json", body).json()


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("http://127.0.0.1:9000", ("127.0.0.1", 9000)),
        ("http://localhost:1/", ("localhost", 1)),
        ("127.0.0.1:81", ("127.0.0.1", 81)),
        ("http://[::1]:82", ("::1", 82)),
        ("http://game", ("game", 8080)),
    ],
)
def test_addresses(url: str, address: tuple[str, int]) -> None:
    assert address_of(url) == address


@pytest.mark.parametrize(
    "url", ["https://x:1", "ftp://x", "http://", "http://x:99999", "http://x/rl", ""]
)
def test_bad_addresses_are_named(url: str) -> None:
    with pytest.raises(ConfigError, match="godot_url"):
        address_of(url)


@pytest.mark.parametrize("host", ["10.1.2.3", "example.org", "::2", "0.0.0.0"])
def test_a_token_never_leaves_this_machine_in_the_clear(host) -> None:
    with pytest.raises(ConfigError, match=f"AMBULO_TOKEN is not sent to {host}"):
        HttpConnection(host, 9, timeout=1.0, token="secret")
    url = f"http://[{host}]:9" if ":" in host else f"http://{host}:9"
    with pytest.raises(ConfigError, match=f"AMBULO_TOKEN is not sent to {host}"):
        GodotClient(url, token="secret")
    GodotClient(url).close()


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "localhost", "::1"])
def test_a_token_is_for_games_of_this_machine(host) -> None:
    check_token(host, "secret")


def test_a_wrong_token_names_the_variable() -> None:
    body = b'{"error": {"code": "unauthorized", "message": "no", "field": null}}'
    with pytest.raises(BadStatus, match=r"HTTP 401 unauthorized: no; .*AMBULO_TOKEN"):
        Response(401, JSON, body).checked()
