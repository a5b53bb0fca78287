"""Bodies over WebSocket, on real sockets."""

from __future__ import annotations

import contextlib
import json
import socket
import time
from typing import Any

import numpy as np
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from ambulo.commands.trackers import websocket
from ambulo.commands.trackers.connection import MAX_CONTROL
from ambulo.ik.trackers.network import TrackerNetwork
from ambulo.ik.trackers.record_motion import record_motion
from ambulo.ik.trackers.recording import Recording
from ambulo.ik.trackers.recording_lines import header_line, parse_row, row_line
from ambulo.ik.trackers.session import BodySession
from ambulo.motion.gaits.generated_walks import generated_walks

HEADER = {
    "format": "ambulo-trackers",
    "version": 1,
    "convention": "openxr",
    "trackers": ["Head"],
}
ROW = [0.0, 1.6, 0.0, 0.0, 0.0, 0.0, 1.0]


@pytest.fixture(scope="module")
def recording() -> Recording:
    return record_motion(generated_walks(60.0, 1.0)[5], axes="openxr")


def joined(port: int | None, **options: Any) -> ClientConnection:
    return connect(f"ws://127.0.0.1:{port}", compression=None, **options)


def said(client: ClientConnection) -> dict[str, Any]:
    message: dict[str, Any] = json.loads(client.recv(timeout=10.0))
    return message


def body(client: ClientConnection, row: object) -> dict[str, Any]:
    """The answer to a row."""
    client.send(row if isinstance(row, str) else json.dumps(row))
    while "skeleton" in (message := said(client)):
        pass
    return message


def test_a_stream_is_what_python_gives(
    serve: Any, network: TrackerNetwork, recording: Recording
) -> None:
    server, header = serve(), recording.header
    session = BodySession(network, header)
    with joined(server.port) as client:
        client.send(header_line(header))
        skeleton = said(client)["skeleton"]
        assert len(skeleton["joints"]) == len(skeleton["parents"]) == 23
        np.testing.assert_allclose(
            skeleton["offsets"], session.body.skeleton.offsets, atol=1e-6
        )
        for i in range(len(recording)):
            line = row_line(recording.row(i), header)
            answer = body(client, line)
            frame = session.step(parse_row(line, header))
            np.testing.assert_allclose(answer["root"], frame.root, atol=2e-6)
            np.testing.assert_allclose(answer["rotations"], frame.rotations, atol=2e-6)
            np.testing.assert_allclose(answer["contacts"], frame.contacts, atol=2e-6)
            assert answer["status"] == "ok"
            assert answer["trackers"] == ["ok", "ok", "ok"]
            assert answer["t"] == pytest.approx(recording.times[i], abs=1e-6)
    assert server.websocket.rows == len(recording)


def test_answers_in_the_axes_of_an_engine(serve: Any) -> None:
    server = serve()
    with joined(server.port) as client, joined(server.port) as other:
        client.send(json.dumps(HEADER | {"answers": "unreal"}))
        other.send(json.dumps(HEADER))
        for i in range(5):
            row = [i / 60, [0.5, *ROW[1:]]]
            theirs, ours = body(client, row), body(other, row)
        np.testing.assert_allclose(
            np.array(theirs["root"]) / 100.0, np.array(ours["root"]) * [1, -1, 1],
            atol=1e-5,
        )  # fmt: skip
        np.testing.assert_allclose(
            theirs["rotations"], np.array(ours["rotations"]) * [1, -1, 1, -1], atol=1e-5
        )


def test_wrong_messages_get_one_error_each(serve: Any) -> None:
    server = serve()
    with joined(server.port) as client:
        client.send(json.dumps(HEADER))
        assert "skeleton" in said(client)
        for text, rule in (
            ("nonsense", "not valid JSON"),
            ("[0, null, null]", "the time and 1 poses"),
            ("[NaN, null]", "NaN is not a JSON number"),
            ("[" * 3000, "nested too deep"),
            ("{}", "expected an array"),
        ):
            assert rule in body(client, text)["error"]
        client.send(b"bytes")
        assert said(client) == {"error": "expected a text message"}
        assert body(client, [0.0, None])["status"] == "no_head"
        assert body(client, [0.1, ROW])["status"] == "ok"
        assert body(client, [0.05, ROW])["status"] == "time"
        answer = body(client, [0.2, [*ROW[:6], 0.2]])
        assert answer["trackers"] == ["not_unit"]
    assert server.websocket.wrong == 6


def test_a_wrong_header_ends_the_stream(serve: Any) -> None:
    server = serve()
    with joined(server.port) as client:
        client.send(json.dumps(HEADER | {"convention": "openvr"}))
        assert "convention" in said(client)["error"]
        with pytest.raises(ConnectionClosed):
            client.recv(timeout=10.0)
    with joined(server.port) as client:
        client.send("x" * 20_000)
        with pytest.raises(ConnectionClosed) as caught:
            client.recv(timeout=10.0)
        assert caught.value.rcvd is not None
        assert caught.value.rcvd.code == 1009


def test_wrong_rows_without_end_are_closed(serve: Any) -> None:
    server = serve()
    with joined(server.port) as client:
        client.send(json.dumps(HEADER))
        assert "skeleton" in said(client)
        for _ in range(websocket.MOST_WRONG):
            assert "error" in body(client, "wrong")
        with pytest.raises(ConnectionClosed):
            client.recv(timeout=10.0)
    assert server.websocket.wrong == websocket.MOST_WRONG


def test_a_t_pose_is_waited_for(serve: Any) -> None:
    with joined(serve().port) as client:
        client.send(json.dumps(HEADER | {"calibrate": True}))
        assert body(client, [0.0, None])["waiting"] == "no Head yet"
        assert "waiting" not in body(client, [0.1, ROW])


def test_origins(serve: Any) -> None:
    server = serve(origins=("http://localhost:8000",))
    for origin, status in (
        ("http://evil.example", 403),
        ("http://localhost:8000", None),
        (None, None),
    ):
        if status is None:
            with joined(server.port, origin=origin):
                continue
        with pytest.raises(InvalidStatus) as caught, joined(server.port, origin=origin):
            pass
        assert caught.value.response.status_code == status


def test_a_secret(serve: Any) -> None:
    server = serve(secret=b"correct horse")
    for given in (
        {},
        {"Authorization": "Bearer wrong"},
        {"Authorization": "B\u00e4rer"},
    ):
        with (
            pytest.raises(InvalidStatus) as caught,
            joined(server.port, additional_headers=given),
        ):
            pass
        assert caught.value.response.status_code == 401
    right = {"Authorization": "Bearer correct horse"}
    with joined(server.port, additional_headers=right) as client:
        client.send(json.dumps(HEADER))
        assert "skeleton" in said(client)


def test_places_are_bounded_and_come_back(serve: Any) -> None:
    server = serve(max_clients=2)
    with joined(server.port), joined(server.port):
        with pytest.raises(InvalidStatus) as caught, joined(server.port):
            pass
        assert caught.value.response.status_code == 503
    end = time.monotonic() + 10.0
    while server.places.used and time.monotonic() < end:
        time.sleep(0.01)
    with joined(server.port):
        pass


def test_silent_clients_are_closed(serve: Any) -> None:
    server = serve(idle_seconds=0.2)
    with joined(server.port) as client, pytest.raises(ConnectionClosed):
        client.recv(timeout=10.0)


def test_a_connection_without_a_header_is_closed_soon(
    serve: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(websocket, "HEADER_SECONDS", 0.2)
    server = serve()
    with joined(server.port) as client, pytest.raises(ConnectionClosed):
        client.recv(timeout=10.0)
    end = time.monotonic() + 10.0
    while server.places.used and time.monotonic() < end:
        time.sleep(0.01)
    assert server.places.used == 0


@pytest.mark.integration
def test_clients_that_do_not_read_or_break_hurt_no_other(
    serve: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(websocket, "SEND_SECONDS", 0.5)
    server = serve()
    address = ("127.0.0.1", server.port)
    raw = socket.create_connection(address)
    raw.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n")  # a handshake that never ends
    broken = socket.create_connection(address)
    broken.sendall(b"\x00\xff" * 500)
    deaf = socket.create_connection(address)
    deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    deaf.sendall(HANDSHAKE + frame_of(json.dumps(HEADER)))
    deaf.setblocking(False)
    slowest, row, end = 0.0, 0, time.monotonic() + 60.0
    with joined(server.port) as client:
        client.send(json.dumps(HEADER))
        assert "skeleton" in said(client)
        while not server.websocket.slow and time.monotonic() < end:
            row += 1
            with contextlib.suppress(OSError):  # as much as it takes; nothing is read
                deaf.send(frame_of(json.dumps([row / 60, ROW])) * 50)
            start = time.perf_counter()
            answer = body(client, [row / 60, [0.001 * (row % 90), *ROW[1:]]])
            slowest = max(slowest, time.perf_counter() - start)
            assert answer["status"] == "ok"
        assert server.websocket.slow == 1
        assert slowest < 2.0
    for each in (raw, broken, deaf):
        each.close()


@pytest.mark.parametrize("leaves", [False, True])
def test_a_flood_of_pings_ends_its_connection_alone(
    leaves: bool, serve: Any, caplog: pytest.LogCaptureFixture
) -> None:
    server, answers = serve(), b""
    with joined(server.port) as client:
        client.send(json.dumps(HEADER))
        assert "skeleton" in said(client)
        with socket.create_connection(("127.0.0.1", server.port)) as flood:
            flood.sendall(HANDSHAKE + PING * 20_000)
            with contextlib.suppress(ConnectionResetError):
                while not leaves and (read := flood.recv(1 << 16)):
                    answers += read
        assert body(client, [0.0, ROW])["status"] == "ok"
        end = time.monotonic() + 10.0
        while server.places.used > 1 and time.monotonic() < end:
            time.sleep(0.01)
        assert server.places.used == 1
    assert answers.count(PONG) <= 2 * MAX_CONTROL
    assert not [each for each in caplog.records if each.name == "asyncio"]


PING, PONG = b"\x89\x80" + bytes(4), b"\x8a\x00"
HANDSHAKE = b"""GET / HTTP/1.1\r
Host: 127.0.0.1\r
Upgrade: websocket\r
Connection: Upgrade\r
Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r
Sec-WebSocket-Version: 13\r
\r
"""


def frame_of(text: str) -> bytes:
    """A masked text frame of RFC 6455, its mask 0."""
    data = text.encode()
    size = len(data)
    length = bytes([0x80 | size]) if size < 126 else b"\xfe" + size.to_bytes(2, "big")
    return b"\x81" + length + bytes(4) + data
