"""A Godot engine as a child process: started, watched, ended, and never left behind."""

from __future__ import annotations

import contextlib
import logging
import os
import re
import signal
import subprocess
import time
import weakref
from pathlib import Path
from typing import Self

from ambulo.envs.godot.errors import BridgeFault, EngineDied, Rejected
from ambulo.envs.godot.launcher import dying_with_us, end_group
from ambulo.envs.godot.locate import (
    JOLT,
    PACK,
    check_scene,
    import_project,
    is_program,
)
from ambulo.envs.godot.settings import environment_token
from ambulo.envs.godot.transport import HttpConnection

log = logging.getLogger(__name__)

START_TIMEOUT = 90.0
"""Longest start of an engine, [s]."""
STOP_TIMEOUT = 3.0
"""How long an engine may take to quit when it is asked to, [s]."""
TAIL_LINES = 8
"""Lines of the engine's log in an error."""
_READY = re.compile(rb"^AMBULO_READY port=(\d+) pid=(\d+)\s*$", re.MULTILINE)
_BROKEN = re.compile(
    rb"^ERROR: (?:Failed to instantiate an autoload"
    rb'|Failed to load script "res://addons/ambulo_rl/).*',
    re.MULTILINE,
)
_REFUSAL = re.compile(rb"^ambulo: (.+)$", re.MULTILINE)
_REFUSED = 2
FRAMES_PER_SECOND = 10
"""Frames of the scene's own time in a second, one for each usual decision."""
MAIN_SCENE = "main"
"""Instead of a scene of a game: the one that its project starts with."""
_HOST = "res://addons/ambulo_rl/server/scene_host.tscn"
_POLL = 0.01


class EngineProcess:
    """One headless engine that runs our project's server on 127.0.0.1.

    It ends with `stop`, with the `with` block, when this object is collected, when this
    process ends, and, by the kernel and by its own watch, when this process is killed.
    It runs in a session of its own, so a Ctrl-C in the terminal is not for it.
    """

    def __init__(
        self,
        engine: Path,
        project: Path,
        log_file: Path,
        *,
        agents: int = 1,
        port: int = 0,
        start_timeout: float = START_TIMEOUT,
        scene: str | None = None,
        game: str | None = None,
        seed: int = 0,
        spin: int = 0,
        headless: bool = True,
        frames: int = FRAMES_PER_SECOND,
    ) -> None:
        """Start the engine; `wait_until_ready` waits for its server.

        Args:
            engine: the Godot program.
            project: folder of the Godot project, which is imported first if need be; or
                an exported game: its `.pck`, or its program.
            log_file: standard output and errors are appended to it.
            agents: envs that the engine begins with.
            port: of its server; 0 is any free one.
            start_timeout: from here to the server's first word, [s].
            scene: scene of the project that is opened and played in; None: levels.
            game: scene whose own nodes are the agents; `MAIN_SCENE`: the one that the
                project starts with; None: it has none.
            seed: of the engine's random numbers when a game starts.
            spin: how long a game awaits a step without sleep, which takes a core, [us].
            headless: draw nothing; else the program needs a screen, real or virtual.
            frames: in a second of the scene's time.

        Raises:
            BridgeError: the project cannot be imported, or has no such scene.
            EngineDied: the program cannot be run.
        """
        opened = scene if game is None else game
        if opened is not None:
            physics = JOLT if game is None else ""
            check_scene(
                project, "" if opened == MAIN_SCENE else opened, physics=physics
            )
        self._scene = opened
        import_project(engine, project)
        self.log_file, self.port = log_file, port
        self._ready, self._owner, self._token = False, os.getpid(), environment_token()
        log_file.parent.mkdir(parents=True, exist_ok=True)
        self._begin = log_file.stat().st_size if log_file.exists() else 0
        self._deadline = time.monotonic() + start_timeout
        self._start_timeout = start_timeout
        own = [f"--agents={agents}"]
        if game is not None:
            own = [f"--game={game}", f"--game-seed={seed}", f"--spin={spin}"]
            own.append("--mode=lockstep")
        arguments = [
            *dying_with_us(), *_program(engine, project),
            *(["--headless"] if headless else []), "--xr-mode", "off",
            "--fixed-fps", str(frames),
            *([] if opened is None or is_program(project) else [_HOST]), "--",
            *([] if scene is None else [f"--scene={scene}"]), f"--port={port}",
            *own, f"--parent-pid={os.getpid()}",
        ]  # fmt: skip
        try:
            with log_file.open("ab") as stream:
                self._process = subprocess.Popen(
                    arguments,
                    stdin=subprocess.DEVNULL,
                    stdout=stream,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
        except OSError as error:
            reason = error.strerror or error
            raise EngineDied(f"{engine}: cannot be started: {reason}") from None
        self._finalizer = weakref.finalize(self, _end, self._process, self._owner)

    @property
    def pid(self) -> int:
        """Process id of the engine."""
        return self._process.pid

    @property
    def running(self) -> bool:
        """Whether the process has not ended; one that has is reaped by asking."""
        return self._process.poll() is None

    def wait_until_ready(self) -> int:
        """Wait until the engine's server listens; its port.

        Raises:
            EngineDied: the engine ended, or said nothing in time; with its last words.
            Rejected: it cannot open its scene, with the reason.
        """
        while not self._ready:
            running = self.running  # before reading: what was said last is read
            said = self._new_log()
            match = _READY.search(said)
            if match is not None:
                self.port, self._ready = int(match[1]), True
                break
            if not running:
                code = self._process.returncode
                refusal = _REFUSAL.search(said)
                if self._scene is not None and code == _REFUSED and refusal is not None:
                    raise Rejected(refusal[1].decode("utf-8", "replace").strip())
                if self._scene is not None and code == 0:
                    raise Rejected(f"scene {self._scene}: its own scripts end the game")
                raise EngineDied(f"the engine ended ({_ending(code)}) {self.tail()}")
            if _BROKEN.search(said) is not None:  # it runs on, but will never listen
                self.kill()
                raise EngineDied(f"the engine cannot load its server {self.tail()}")
            if time.monotonic() > self._deadline:
                self.kill()
                raise EngineDied(
                    f"the engine was not ready within {self._start_timeout:g} s "
                    f"{self.tail()}"
                )
            time.sleep(_POLL)
        return self.port

    def ending(self, patience: float = 0.0) -> str:
        """How the process ended, within `patience` seconds; empty while it runs."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            return _ending(self._process.wait(patience))
        return ""

    def tail(self) -> str:
        """The last lines of the engine's log, with its name, in one line."""
        text = self._new_log().decode("utf-8", "replace")
        lines = [" ".join(line.split()) for line in text.splitlines() if line.strip()]
        last = " | ".join(lines[-TAIL_LINES:]) or "(empty)"
        return f"[{self.log_file}: {last}]"

    def stop(self) -> None:
        """Ask the engine to quit, kill it if it does not, and reap it; safe to call twice."""
        ours = os.getpid() == self._owner  # and not a fork's
        if ours and self._ready and self.running:
            with contextlib.suppress(BridgeFault):
                connection = HttpConnection(
                    "127.0.0.1", self.port, timeout=STOP_TIMEOUT, token=self._token
                )
                connection.request("POST", "/rl/shutdown", b"{}")
                connection.close()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._process.wait(STOP_TIMEOUT)
        self.kill()

    def kill(self) -> None:
        """End the engine at once; it is reaped. Again does nothing."""
        self._finalizer()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _new_log(self) -> bytes:
        """Output of this engine so far (at most the last 64 KiB)."""
        try:
            with self.log_file.open("rb") as stream:
                size = stream.seek(0, os.SEEK_END)
                stream.seek(max(self._begin, size - 64 * 1024))
                return stream.read()
        except OSError:
            return b""


def _program(engine: Path, project: Path) -> list[str]:
    """Begin of the command that runs `project`."""
    if is_program(project):
        return [str(project)]
    return [
        str(engine),
        "--main-pack" if project.suffix == PACK else "--path",
        str(project),
    ]


def _end(process: subprocess.Popen[bytes], owner: int) -> None:
    """Kill the engine's process group and reap the engine."""
    if os.getpid() != owner:  # a fork has no children of ours
        return
    end_group(process)


def _ending(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"
