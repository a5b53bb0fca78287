"""The real engine's server from start to end: arguments, port, token, parent, lockstep."""

from __future__ import annotations

import hashlib
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np
import pytest
from fixtures.processes import port_of

from ambulo.envs.godot.engine import EngineProcess
from ambulo.envs.godot.transport import BINARY, HttpConnection

LEVEL = (
    b'{"slots":[0],"levels":[{"name":"a","bounds":[-5,-5,5,5],"boxes":'
    b'[{"center":[0,2,0.5],"half_size":[1,0.1,0.5],"yaw":0.3}],'
    b'"cylinders":[{"center":[2,-2],"radius":0.4,"height":2}]}]}'
)
RESET = b'{"agents":[0,1],"slots":[0,0],"poses":[[0,0,0],[1,-1,2]]}'
Start = Callable[..., subprocess.Popen[str]]


def refusal(process: subprocess.Popen[str]) -> str:
    """The one line of an engine that did not start its server."""
    out, err = process.communicate(timeout=60)
    assert process.returncode == 2, (out, err)
    assert "AMBULO_READY" not in out
    lines = [line for line in err.splitlines() if line.startswith("ambulo: ")]
    assert len(lines) == 1, err
    return lines[0]


def test_a_taken_port_ends_the_engine(launch: Start) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        line = refusal(launch(f"--port={port}"))
    assert f"port {port} is taken" in line


@pytest.mark.parametrize("by_environment", [False, True])
def test_token_body_limit_host_name_and_shutdown(
    launch: Start, by_environment: bool
) -> None:
    settings = ["--port=0", "--agents=3", "--max-body=2000", "--host=box.local"]
    if by_environment:
        process = launch(*settings, AMBULO_TOKEN="s3cret")
    else:
        process = launch(*settings, "--token=s3cret")
    port = port_of(process)
    for given, status in (
        (None, 401),
        ("s3cre", 401),
        ("s3cret2", 401),
        ("S3CRET", 401),
        ("s3cret", 200),
    ):
        connection = HttpConnection("127.0.0.1", port, timeout=30, token=given)
        response = connection.request("GET", "/status")
        assert response.status == status
        if status == 401:
            assert response.json()["error"]["field"] == "authorization"
        assert connection.request("GET", "/health").status == 200
    with socket.create_connection(("127.0.0.1", port), 30) as stream:
        stream.sendall(b"GET /status HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert b"\r\nWWW-Authenticate: Bearer" in stream.recv(4096)
    with socket.create_connection(("127.0.0.1", port), 30) as stream:
        stream.sendall(b"GET /health HTTP/1.1\r\nHost: box.local:80\r\n\r\n")
        assert b" 200 OK" in stream.recv(4096)
    assert connection.request("GET", "/rl/spec").json()["agents"] == 3
    large = HttpConnection("127.0.0.1", port, timeout=30, token="s3cret")
    assert large.request("POST", "/rl/spec", b" " * 2001).status == 413
    connection = HttpConnection("127.0.0.1", port, timeout=30, token="s3cret")
    assert connection.request("POST", "/rl/shutdown").status == 200
    assert process.wait(30) == 0


def test_the_engine_ends_with_its_parent(launch: Start) -> None:
    parent = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    process = launch("--port=0", f"--parent-pid={parent.pid}")
    port = port_of(process)
    assert (
        HttpConnection("127.0.0.1", port, timeout=30).request("GET", "/health").status
        == 200
    )
    parent.send_signal(signal.SIGKILL)
    assert process.wait(30) == 0  # the parent is a zombie now, which counts as gone
    parent.wait()
    assert process.stderr is not None
    assert f"process {parent.pid} is gone" in process.stderr.read()


def test_an_engine_nobody_asks_ends(launch: Start) -> None:
    process = launch("--port=0", "--idle-exit=1")
    port_of(process)
    assert process.wait(30) == 0


def test_nothing_moves_between_requests(engine: EngineProcess) -> None:
    connection = begun(engine.port)
    connection.request("POST", "/rl/step", b'{"actions":[[0,1,0.5],[1,1,0]]}').checked()
    before = connection.request("GET", "/rl/state").checked().body
    time.sleep(0.7)  # several frames of the engine
    assert connection.request("GET", "/rl/state").body == before


def begun(port: int) -> HttpConnection:
    connection = HttpConnection("127.0.0.1", port, timeout=30)
    for path, body in (
        ("/rl/spec", b'{"agents":2,"spec":{}}'),
        ("/rl/levels", LEVEL),
        ("/rl/reset", RESET),
    ):
        connection.request("POST", path, body).checked()
    return connection


def episode_digest(connection: HttpConnection) -> str:
    """SHA-256 of all state rows of one episode with fixed random actions."""
    connection.request("POST", "/rl/reset", RESET).checked()
    rng = np.random.default_rng(5)
    digest = hashlib.sha256()
    for _ in range(150):
        actions = rng.uniform(-1, 1, (2, 3)).astype("<f8").tobytes()
        answer = connection.request(
            "POST", "/rl/step", actions, content_type=BINARY, accept=BINARY
        ).checked()
        assert answer.content_type == BINARY
        digest.update(answer.body[16:])
    return digest.hexdigest()


def test_the_same_actions_give_the_same_bytes_in_three_processes(
    launch: Start, engine: EngineProcess
) -> None:
    digests = set()
    ports = [port_of(process) for process in (launch("--port=0"), launch("--port=0"))]
    for port in [engine.port, *ports]:
        connection = begun(port)
        digests |= {episode_digest(connection) for _ in range(2)}
        if port != engine.port:
            connection.request("POST", "/rl/shutdown").checked()
    assert len(digests) == 1


def test_the_seed_decides_the_game(launch: Start, engine: EngineProcess) -> None:
    ports = [engine.port, port_of(launch("--port=0"))]
    games = []
    for port in ports:
        connection = HttpConnection("127.0.0.1", port, timeout=30)
        connection.request("POST", "/rl/spec", b'{"agents":1,"spec":{}}').checked()
        level = LEVEL.partition(b'"levels":[')[2].removesuffix(b"]}")
        for seed in (7, 8):
            body = b'{"seed":%d,"level":%s}' % (seed, level)
            answer = connection.request("POST", "/rl/reset", body).checked().json()
            assert answer["state"]["step"] == 0
            distance = answer["observation"]["goal_distance"]
            assert 5.0 <= distance <= 30.0
            games.append(answer["observation"])
    assert games[:2] == games[2:]
    assert games[0] != games[1]


def test_games_in_large_levels(engine: EngineProcess) -> None:
    connection = HttpConnection("127.0.0.1", engine.port, timeout=30)
    connection.request("POST", "/rl/spec", b'{"agents":1,"spec":{}}').checked()
    empty = b'{"name":"large","bounds":[0,0,1000,1000]}'
    for seed in range(5):
        body = b'{"seed":%d,"level":%s}' % (seed, empty)
        connection.request("POST", "/rl/reset", body).checked()
    island = (
        b'{"name":"island","bounds":[0,0,1000,1000],"goal":[10,500],"holes":[[5,490,6,510],'
        b'[14,490,15,510],[5,490,15,491],[5,509,15,510]],"goal_distance":[50,500]}'
    )
    for seed in (1, 1, 2):
        body = b'{"seed":%d,"level":%s}' % (seed, island)
        answer = connection.request("POST", "/rl/reset", body)
        assert answer.status == 409
        assert answer.json()["error"] == {
            "code": "no_free_place",
            "message": "gave up looking for a free start and goal in this level: "
            "name them in it",
            "field": "level",
        }


def test_play_mode_answers_and_draws_frames_meanwhile(launch: Start) -> None:
    connection = begun(port_of(launch("--port=0", "--mode=play")))

    def frames() -> int:
        data = connection.request("GET", "/performance").checked().json()
        return int(data["engine"]["process_frames"])

    status = connection.request("GET", "/status").checked().json()
    assert status["server"]["mode"] == "play"
    first = frames()
    deadline = time.monotonic() + 60
    while frames() < first + 3:  # it does not stand still for a busy client
        connection.request(
            "POST", "/rl/step", b'{"actions":[[0,1,0],[0,0,1]]}'
        ).checked()
        assert time.monotonic() < deadline
