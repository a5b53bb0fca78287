"""A real Godot engine for the tests of the bridge, and a proxy that breaks its answers."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import socketserver
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from fixtures.godot_projects import game_with_add_on, plain_game
from fixtures.policy_replay import Done, Godot
from fixtures.processes import wait_for

from ambulo.cli import main
from ambulo.envs.godot.engine import EngineProcess
from ambulo.envs.godot.locate import find_project
from ambulo.envs.godot.settings import BridgeSettings
from ambulo.envs.godot.transport import HttpConnection
from ambulo.envs.godot.world import GodotWorld
from ambulo.envs.vr.contract import WorldSpec
from ambulo.envs.vr.levels.level import Level


@pytest.fixture(scope="session")
def program(godot_program: Path) -> Path:
    """The Godot program."""
    return godot_program


@pytest.fixture(scope="module")
def game(program: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project that was never opened in an editor, with scenes that are refused too."""
    return plain_game(program, tmp_path_factory)


@pytest.fixture(scope="module")
def own_game(program: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with the add-on and scenes of one's own, good and bad."""
    return game_with_add_on(program, tmp_path_factory)


@pytest.fixture
def in_own_game(own_game: Path, program: Path) -> Callable[[str], dict[str, str]]:
    """Settings of an environment in a scene of `own_game`, in an engine of its own."""
    rest = {"godot_project": str(own_game), "godot_bin": str(program)}
    return lambda scene: {"world": "godot", "scene": f"res://{scene}.tscn", **rest}


@pytest.fixture(scope="module")
def scene_engine(
    program: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[EngineProcess]:
    """An engine that opens any scene of a project like `own_game`."""
    game = game_with_add_on(program, tmp_path_factory)
    scenes = [f"res://{file.name}" for file in game.glob("*.tscn")]
    (game / "config").mkdir()
    (game / "config" / "scene_whitelist.json").write_text(
        json.dumps({"scenes": scenes})
    )
    log = tmp_path_factory.mktemp("scenes") / "engine.log"
    with EngineProcess(program, game, log, scene="res://room.tscn") as process:
        process.wait_until_ready()
        yield process


Launch = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def launch(program: Path) -> Iterator[Launch]:
    """Starts engines in a project with user arguments; they are ended after the test."""
    started: list[subprocess.Popen[str]] = []

    def start(
        *arguments: str, project: Path | None = None, **environment: str
    ) -> subprocess.Popen[str]:
        path = str(project or find_project())
        process = subprocess.Popen(
            [str(program), "--headless", "--path", path, "--", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **environment},
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


@pytest.fixture
def in_scene(scene_engine: EngineProcess) -> Callable[[str], dict[str, str]]:
    """Opens a scene anew in the shared engine; settings of an environment in it."""

    def opened(scene: str) -> dict[str, str]:
        path = f"res://{scene}.tscn"
        connection = HttpConnection("127.0.0.1", scene_engine.port, timeout=30.0)
        body = json.dumps({"scene_path": path}).encode()
        connection.request("POST", "/scene", body).checked()
        wait_for(
            lambda: (
                connection.request("GET", "/scene").checked().json()["status"]
                == "loaded"
            ),
            f"scene {scene}",
        )
        connection.close()
        url = f"http://127.0.0.1:{scene_engine.port}"
        return {"world": "godot", "scene": path, "godot_url": url}

    return opened


@pytest.fixture
def import_scene(
    game: Path, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """Imports a scene of the game: exit code, standard output and errors."""

    def start(scene: str, out: Path, *more: str) -> tuple[int, str, str]:
        named = ["--project", str(game), "--out", str(out), *more]
        code = main(["levels", "import", scene, *named])
        return code, *capsys.readouterr()

    return start


@pytest.fixture(scope="module")
def godot(program: Path) -> Godot:
    """Runs the engine in our project with the given arguments."""

    def run(*arguments: object) -> Done:
        command = [program, "--headless", "--path", find_project(), *arguments]
        return subprocess.run(
            [str(part) for part in command],
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    return run


@pytest.fixture(scope="session")
def engine(program: Path, tmp_path_factory) -> Iterator[EngineProcess]:
    """An engine that serves, to be attached to; shared by all tests."""
    file = tmp_path_factory.mktemp("engine") / "engine.log"
    with EngineProcess(program, find_project(), file) as process:
        process.wait_until_ready()
        yield process


@pytest.fixture
def proxy(engine: EngineProcess) -> Iterator[FaultProxy]:
    """A proxy before the shared engine that passes everything on until told otherwise."""
    with FaultProxy(engine.port) as made:
        yield made


Break = Callable[[bytes], bytes | None]
"""From a whole answer to what the client gets before the connection is closed; None:
nothing more ever, and the connection stays open."""


class FaultProxy:
    """Passes HTTP on to a port of this machine; `break_next` spoils one answer."""

    def __init__(self, port: int) -> None:
        self.upstream = port
        self.broken = 0
        self._break: tuple[str, Break] | None = None
        self._forever = False
        self._lock = threading.Lock()
        proxy = self

        class Handler(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                proxy._serve(self.request)

        class Server(socketserver.ThreadingTCPServer):
            allow_reuse_address = True
            daemon_threads = True

        self._server = Server(("127.0.0.1", 0), Handler)
        self.port = int(self._server.server_address[1])
        self.url = f"http://127.0.0.1:{self.port}"
        self._released = threading.Event()
        serve = self._server.serve_forever
        threading.Thread(target=serve, args=(0.02,), daemon=True).start()

    def break_next(self, path: str, how: Break, *, forever: bool = False) -> None:
        """Spoil the next answer to a request of `path` (or all of them)."""
        with self._lock:
            self._break, self._forever = (path, how), forever

    def __enter__(self) -> FaultProxy:
        return self

    def __exit__(self, *_: object) -> None:
        self._released.set()
        self._server.shutdown()
        self._server.server_close()

    def _serve(self, client: socket.socket) -> None:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with socket.create_connection(("127.0.0.1", self.upstream), 10) as server:
            server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            while (request := message(client)) is not None:
                server.sendall(request)
                answer = message(server)
                if answer is None:
                    return
                how = self._take(request)
                if how is None:
                    client.sendall(answer)
                    continue
                spoilt = how(answer)
                if spoilt is None:
                    self._released.wait(30)
                    return
                client.sendall(spoilt)
                return

    def _take(self, request: bytes) -> Break | None:
        with self._lock:
            if self._break is None:
                return None
            path, how = self._break
            if request.split(b" ", 2)[1] != path.encode():
                return None
            self.broken += 1
            if not self._forever:
                self._break = None
            return how


def message(stream: socket.socket) -> bytes | None:
    """One whole HTTP message; None at the end of the stream."""
    data = b""
    while b"\r\n\r\n" not in data:
        part = stream.recv(65536)
        if not part:
            return None
        data += part
    head, _, _ = data.partition(b"\r\n\r\n")
    length = 0
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            length = int(line.partition(b":")[2])
    while len(data) < len(head) + 4 + length:
        part = stream.recv(65536)
        if not part:
            return None
        data += part
    return data


def zombies() -> list[str]:
    """Ended children of this process that nobody has waited for."""
    found = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdecimal():
            continue
        try:
            name, _, rest = (folder / "stat").read_text().rpartition(")")
        except (FileNotFoundError, ProcessLookupError):
            continue
        state, parent = rest.split()[:2]
        if state == "Z" and int(parent) == os.getpid():
            found.append(name)
    return found


@pytest.fixture(autouse=True)
def _own_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Logs that are kept after faults stay with the test."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr("tempfile.tempdir", str(folder))


@pytest.fixture(autouse=True)
def _no_zombies() -> Iterator[None]:
    """No test leaves an ended child that was not waited for."""
    yield
    assert zombies() == []


@pytest.fixture
def make(program, tmp_path):
    """Makes worlds with engines of their own, or with `url` attached ones."""
    worlds = []
    level = Level("empty", np.array([-50.0, -50.0, 50.0, 50.0]))

    def build(envs: int = 2, *, place: bool = True, **settings) -> GodotWorld:
        settings = {"binary": str(program), "timeout": 10.0} | settings
        settings.setdefault("log_folder", tmp_path / "logs")
        world = GodotWorld(envs, WorldSpec(), BridgeSettings(**settings))
        worlds.append(world)
        if place:
            world.set_levels([0], [level])
            n = np.arange(envs)
            world.reset(n, np.zeros(envs, np.int64), np.zeros((envs, 3)))
        return world

    yield build
    for world in worlds:
        pids = world.pids
        world.close()
        assert not any(Path(f"/proc/{pid}").exists() for pid in pids)


@pytest.fixture
def kill() -> Iterator[Callable[[int, int], None]]:
    """Sends a signal to a process; stopped ones are continued at the end."""
    stopped = []

    def send(pid: int, number: int) -> None:
        if number == signal.SIGSTOP:
            stopped.append(pid)
        os.kill(pid, number)

    yield send
    for pid in stopped:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)
