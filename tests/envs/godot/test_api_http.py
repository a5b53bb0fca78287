"""HTTP of the real engine: pieces, pipelines, limits, broken heads, many sockets, gates."""

from __future__ import annotations

import contextlib
import json
import socket
import time
from collections.abc import Iterator

import pytest

from ambulo.envs.godot.engine import EngineProcess

HEALTH = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"


class Raw:
    """A socket that speaks whatever it is told to, and reads whole answers."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), 30)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._data = b""

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def answer(self) -> tuple[int, dict[str, str], bytes]:
        """Status, header fields by lower-case name, body."""
        while b"\r\n\r\n" not in self._data:
            self._more()
        head, _, rest = self._data.partition(b"\r\n\r\n")
        lines = head.decode().split("\r\n")
        fields = {
            name.lower(): value.strip()
            for name, _, value in (line.partition(":") for line in lines[1:])
        }
        length = int(fields.get("content-length", 0))
        while len(rest) < length:
            self._data = b""
            self._more()
            rest += self._data
        self._data = rest[length:]
        return int(lines[0].split()[1]), fields, rest[:length]

    def error(self) -> tuple[int, str | None]:
        """Status and `field` of a refusal."""
        status, fields, body = self.answer()
        assert fields["content-type"] == "application/json"
        data = json.loads(body)["error"]
        assert set(data) == {"code", "message", "field"}
        assert data["code"]
        assert data["message"]
        return status, data["field"]

    def ended(self) -> bool:
        """Whether the server closes (after everything was read)."""
        with contextlib.suppress(ConnectionResetError):
            return self.socket.recv(1) == b""
        return True

    def _more(self) -> None:
        part = self.socket.recv(1 << 20)
        assert part, f"closed after {self._data!r}"
        self._data += part


@pytest.fixture
def raw(engine: EngineProcess) -> Iterator[Raw]:
    made = Raw(engine.port)
    yield made
    made.socket.close()


@pytest.fixture(autouse=True)
def _still_well(engine: EngineProcess) -> Iterator[None]:
    """After each test the engine lives and answers others."""
    yield
    other = Raw(engine.port)
    other.send(HEALTH)
    assert other.answer()[0] == 200
    other.socket.close()
    assert engine.running
    assert b"ERROR" not in engine.log_file.read_bytes()


def post(path: str, body: bytes, extra: bytes = b"") -> bytes:
    return b"POST %s HTTP/1.1\r\nHost: localhost\r\n%sContent-Length: %d\r\n\r\n%s" % (
        path.encode(),
        extra,
        len(body),
        body,
    )


def test_a_request_in_single_bytes(raw: Raw) -> None:
    for byte in post("/rl/spec", b'{"agents": 1}'):
        raw.send(bytes([byte]))
    assert raw.answer()[0] == 200
    raw.send(HEALTH)
    assert raw.answer()[0] == 200


def test_pipelined_requests_are_answered_in_order(raw: Raw) -> None:
    bad = post("/rl/spec", b'{"agents": 0}')
    raw.send((HEALTH + bad + post("/rl/spec", b'{"agents": 2}')) * 50 + HEALTH[:20])
    for _ in range(50):
        assert raw.answer()[2].startswith(b'{"status":"ok"')
        assert raw.error() == (400, "agents")
        assert json.loads(raw.answer()[2])["agents"] == 2
    raw.send(HEALTH[20:])
    assert raw.answer()[0] == 200


def test_a_client_that_has_closed_its_side_gets_all_answers(raw: Raw) -> None:
    raw.send(post("/rl/spec", b'{"agents": 2000}'))
    assert raw.answer()[0] == 200
    large = b"GET /rl/state HTTP/1.1\r\nHost: localhost\r\n\r\n" * 40
    raw.send(large + HEALTH * 100 + post("/rl/spec", b'{"agents": 1}'))
    raw.socket.shutdown(socket.SHUT_WR)
    time.sleep(0.1)  # the answers do not fit the socket
    assert min(len(raw.answer()[2]) for _ in range(40)) > 100_000
    assert [raw.answer()[0] for _ in range(101)] == [200] * 101
    assert raw.ended()


def test_a_slow_reader_of_large_answers_stops_nobody(
    raw: Raw, engine: EngineProcess
) -> None:
    raw.send(post("/rl/spec", b'{"agents": 2000}'))
    assert raw.answer()[0] == 200
    raw.send(b"GET /rl/state HTTP/1.1\r\nHost: localhost\r\n\r\n" * 20)
    other = Raw(engine.port)
    other.send(HEALTH)
    assert other.answer()[0] == 200
    sizes = {len(raw.answer()[2]) for _ in range(20)}
    assert len(sizes) == 1
    assert sizes.pop() > 100_000
    raw.send(post("/rl/spec", b'{"agents": 1}'))
    assert raw.answer()[0] == 200


@pytest.mark.parametrize(
    ("version", "option", "stays"),
    [
        (b"1.1", b"", True),
        (b"1.1", b"Connection: close\r\n", False),
        (b"1.1", b"Connection: Upgrade, CLOSE\r\n", False),
        (b"1.0", b"", False),
        (b"1.0", b"Connection: keep-alive\r\n", True),
    ],
)
def test_keep_alive(raw: Raw, version: bytes, option: bytes, stays: bool) -> None:
    text = b"GET /health HTTP/%s\r\nHost: localhost\r\n%s\r\n" % (version, option)
    raw.send(text)
    status, fields, _ = raw.answer()
    assert status == 200
    assert (fields.get("connection") == "close") is not stays
    if stays:
        raw.send(text)
        assert raw.answer()[0] == 200
    else:
        raw.socket.shutdown(socket.SHUT_WR)
        assert raw.ended()


@pytest.mark.parametrize(
    ("head", "status", "field"),
    [
        (b"nonsense\r\n\r\n", 400, None),
        (b"GET\r\n\r\n", 400, None),
        (b"GET /health\r\n\r\n", 400, None),
        (b"GET  /health HTTP/1.1\r\nHost: localhost\r\n\r\n", 400, None),
        (b"get /health HTTP/1.1\r\nHost: localhost\r\n\r\n", 400, None),
        (b"GET http://x/health HTTP/1.1\r\nHost: localhost\r\n\r\n", 400, None),
        (b"GET /health HTTP/2.0\r\nHost: localhost\r\n\r\n", 505, None),
        (b"BREW /health HTTP/1.1\r\nHost: localhost\r\n\r\n", 501, None),
        (b"GET /health HTTP/1.1\r\n\r\n", 400, "host"),
        (b"GET /health HTTP/1.1\r\nHost : localhost\r\n\r\n", 400, None),
        (b"GET /health HTTP/1.1\r\nHost: localhost\r\n folded\r\n\r\n", 400, None),
        (b"GET /health HTTP/1.1\r\nHost: localhost\nX: y\r\n\r\n", 400, None),
        (b"GET /health HTTP/1.1\r\nHost: localhost\r\nX: \xff\r\n\r\n", 400, None),
        (b"GET /health HTTP/1.1\r\nHost: localhost\r\nX: \0\r\n\r\n", 400, None),
        (b"GET /\xc3\xa9 HTTP/1.1\r\nHost: localhost\r\n\r\n", 400, None),
        (
            b"GET /health HTTP/1.1\r\n" + b"Host: localhost\r\n" * 2 + b"\r\n",
            400,
            "host",
        ),
        (b"GET /" + b"a" * 9000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", 400, None),
        (b"GET /health HTTP/1.1\r\nX: " + b"a" * 20000, 431, None),
        (b"GET /health HTTP/1.1\r\n" + b"A: b\r\n" * 101 + b"\r\n", 431, None),
        (
            b"GET /health HTTP/1.1\r\nHost: localhost\r\nExpect: x\r\n\r\n",
            417,
            "expect",
        ),
    ],
)
def test_broken_heads_are_refused_and_end(
    raw: Raw, head: bytes, status: int, field: str | None
) -> None:
    raw.send(head)
    assert raw.error() == (status, field)
    if b"HTTP/1.1\r\n\r\n" not in head:  # a whole head without Host may be followed up
        raw.socket.shutdown(socket.SHUT_WR)
        assert raw.ended()


@pytest.mark.parametrize(
    ("lengths", "status"),
    [
        ([b"-1"], 400),
        ([b"+1"], 400),
        ([b"1_0"], 400),
        ([b"0x10"], 400),
        ([b"1e3"], 400),
        ([b"1.0"], 400),
        ([b""], 400),
        ([b"2, 2"], 400),
        ([b"2", b"2"], 400),
        ([b"2", b"3"], 400),
        ([b"99999999999999999999999"], 413),
        ([b"9223372036854775808"], 413),
        ([b"104857600"], 413),
    ],
)
def test_content_length_that_lies(raw: Raw, lengths: list[bytes], status: int) -> None:
    head = b"POST /rl/reset HTTP/1.1\r\nHost: localhost\r\n"
    raw.send(
        head + b"".join(b"Content-Length: %s\r\n" % n for n in lengths) + b"\r\n{}"
    )
    assert raw.error() == (status, "content-length")
    raw.socket.shutdown(socket.SHUT_WR)
    assert raw.ended()


def test_a_chunked_body_is_refused_whole(raw: Raw) -> None:
    chunked = b"Transfer-Encoding: chunked\r\n"
    body = b"5\r\nGET /\r\n0\r\n\r\n" + HEALTH
    raw.send(
        b"POST /rl/reset HTTP/1.1\r\nHost: localhost\r\n" + chunked + b"\r\n" + body
    )
    assert raw.error() == (411, "transfer-encoding")
    raw.socket.shutdown(socket.SHUT_WR)
    assert raw.ended()  # and nothing that was inside the body has been answered


def test_a_body_of_100_mb_is_refused_and_read_away(
    raw: Raw, engine: EngineProcess
) -> None:
    size, part = 100_000_000, b" " * 1_000_000
    raw.send(
        b"POST /rl/levels HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n"
        % size
    )
    other = Raw(engine.port)
    for k in range(100):
        raw.send(part)
        if k % 25 == 0:
            other.send(HEALTH)
            assert other.answer()[0] == 200
    assert raw.error() == (413, "content-length")


def test_a_client_that_waits_to_be_told_to_go_on(raw: Raw) -> None:
    body = b'{"agents": 1}'
    head = b"POST /rl/spec HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n"
    raw.send(head + b"Content-Length: %d\r\n\r\n" % len(body))
    assert raw.answer()[0] == 100
    raw.send(body)
    assert raw.answer()[0] == 200
    raw.send(head + b"Content-Length: 99999999\r\n\r\n")
    assert raw.error() == (413, "content-length")


def test_sockets_that_stop_half_way_hold_nobody_up(engine: EngineProcess) -> None:
    silent = [Raw(engine.port) for _ in range(20)]
    for k, one in enumerate(silent):
        one.send(post("/rl/step", b'{"actions": [[0, 0, 0]]}')[: 5 * k])
    busy = Raw(engine.port)
    for _ in range(20):
        busy.send(HEALTH)
        assert busy.answer()[0] == 200
    for one in silent[:10]:
        one.socket.close()
    silent[15].socket.shutdown(socket.SHUT_WR)
    busy.send(HEALTH)
    assert busy.answer()[0] == 200
    for one in silent[10:]:
        one.socket.close()


def test_200_connections_are_all_served(engine: EngineProcess) -> None:
    crowd = [Raw(engine.port) for _ in range(200)]
    for _ in range(2):
        for one in crowd:
            one.send(HEALTH)
        assert [one.answer()[0] for one in crowd] == [200] * 200
    status = Raw(engine.port)
    status.send(b"GET /status HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert json.loads(status.answer()[2])["server"]["connections"] >= 201
    for one in crowd:
        one.socket.close()
    deadline = time.monotonic() + 30
    while True:
        status.send(b"GET /status HTTP/1.1\r\nHost: localhost\r\n\r\n")
        if json.loads(status.answer()[2])["server"]["connections"] < 100:
            break
        assert time.monotonic() < deadline, "closed sockets are not let go"
        time.sleep(0.05)


@pytest.mark.slow
@pytest.mark.slow
def test_beyond_the_limit_the_longest_idle_connection_goes(
    engine: EngineProcess,
) -> None:
    first = Raw(engine.port)
    crowd = [Raw(engine.port) for _ in range(520)]
    crowd[-1].send(HEALTH)
    assert crowd[-1].answer()[0] == 200
    assert first.ended()
    for one in crowd:
        one.socket.close()


@pytest.mark.parametrize(
    ("field", "value", "status"),
    [
        ("Host", "localhost:8080", 200),
        ("Host", "LOCALHOST", 200),
        ("Host", "[::1]:1", 200),
        ("Host", "evil.example", 403),
        ("Host", "127.0.0.1.evil.example", 403),
        ("Host", "localhost:80@evil.example", 403),
        ("Host", "", 403),
        ("Origin", "http://127.0.0.1:8080", 200),
        ("Origin", "http://localhost", 200),
        ("Origin", "http://evil.example", 403),
        ("Origin", "http://localhost.evil.example", 403),
        ("Origin", "null", 403),
        ("Origin", "file://", 403),
        ("Sec-Fetch-Site", "cross-site", 403),
        ("Sec-Fetch-Site", "same-origin", 200),
    ],
)
def test_who_is_let_in(raw: Raw, field: str, value: str, status: int) -> None:
    host = "" if field == "Host" else "Host: localhost\r\n"
    raw.send(f"GET /status HTTP/1.1\r\n{host}{field}: {value}\r\n\r\n".encode())
    if status == 200:
        assert raw.answer()[0] == 200
    else:
        assert raw.error() == (403, field.lower())
