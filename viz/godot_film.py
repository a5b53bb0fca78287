"""Pictures of recorded episodes from a real Godot engine that draws.

An engine is started on `scenes/demo/replay.tscn`, with a virtual screen if there is no other.
It connects to this process, receives level and poses, and sends frames back; nothing is written
to disk. The engine ends when the connection is closed on either side.
"""

from __future__ import annotations

import contextlib
import hmac
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.configs.closing import Closing
from ambulo.configs.errors import RenderError
from ambulo.envs.godot.launcher import end_group
from ambulo.envs.godot.locate import (
    SCREEN_STARTER,
    find_drawing_engine,
    find_engine,
    find_project,
    import_project,
)
from ambulo.envs.offscreen import Frame
from ambulo.envs.vr.contract import WorldSpec
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.levels.level_io import level_data
from ambulo.envs.vr.world.cameras import CHASE, CameraPath

SCENE = "res://scenes/demo/replay.tscn"
START_TIMEOUT = 120.0
"""Time limit from the start of the engine to its first message, [s]."""
FRAME_TIMEOUT = 120.0
"""Longest wait for a part of a frame, [s]."""
STOP_TIMEOUT = 5.0
"""Time limit for the engine to quit by itself, [s]."""
_POLL = 0.05
_NOISE = "libEGL warning"
"""Prefix of harmless lines of every engine on a virtual screen."""


class GodotFilm(Closing):
    """Draws one episode in a real engine; use as a context manager or call `close`."""

    def __init__(
        self,
        level: Level,
        poses: Floats,
        spec: WorldSpec,
        *,
        goal_radius: float,
        views: Mapping[str, CameraPath | None],
        bodies: Floats | None = None,
        size: tuple[int, int] = (640, 480),
        rays: bool = True,
        smooth: bool = True,
        frame_time: float | None = None,
        engine: str | None = None,
    ) -> None:
        """Start the engine; `frames` yields the pictures.

        Args:
            level: Level to draw, with its goal.
            poses: Rows x, y, z [m] and yaw [rad] of the player, one per frame, shape (F, 4).
            spec: Settings of the rays.
            goal_radius: Radius of the disc around the goal, [m].
            views: Cameras of F frames by name, side by side; None: the whole level from above.
                The view "eyes" does not show the rays.
            bodies: Poses of human23 for the character: the pelvis' position [m], then the
                joints' local rotations, wxyz. Shape (F, 95).
            size: Width and height of a view, [px].
            rays: Draw the ray sensor's readings.
            smooth: Anti-aliasing, which takes a processor four times as long.
            frame_time: Time between poses, [s]: without `bodies`, a character follows the
                player; None: a capsule is drawn.
            engine: The Godot program, see `find_drawing_engine`.

        Raises:
            RenderError: No engine can draw.
            BridgeError: No Godot project.
        """
        program, project = find_drawing_engine(engine), find_project()
        import_project(_headless(program, engine), project)
        self._job = {
            "size": list(size),
            "views": [_view(name, path) for name, path in views.items()],
            "level": level_data(level),
            "spec": asdict(spec),
            "goal": None if level.goal is None else level.goal.tolist(),
            "goal_radius": goal_radius,
            "rays": rays,
            "smooth": smooth,
            "frame_time": frame_time,
            "frames": np.round(poses, 5).tolist(),
            "bodies": None if bodies is None else np.round(bodies, 6).tolist(),
        }  # fmt: skip
        self._key = secrets.token_hex(16)
        self._wire: socket.socket | None = None
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 (closed in close)
        self._door = socket.create_server(("127.0.0.1", 0))
        try:
            self._process = self._start(program, project)
        except OSError as error:
            self._door.close()
            self._log.close()
            raise RenderError(
                f"{program}: cannot be started: {error.strerror or error}"
            ) from None

    @property
    def pid(self) -> int:
        """Process id of the engine or its starter, which leads a process group."""
        return self._process.pid

    @property
    def address(self) -> tuple[str, int]:
        """Address on which this process waits for the engine."""
        host, port = self._door.getsockname()
        return host, port

    def frames(self) -> Iterator[Frame]:
        """The pictures, one per pose, shape (height, views * width, 3).

        Raises:
            RenderError: The engine ended early, or does not answer; with its last output.
        """
        self._connect()
        width, height = self._job["size"]
        views = len(self._job["views"])
        for _ in range(len(self._job["frames"])):
            data = self._receive(views * width * height * 3)
            pictures = np.frombuffer(data, np.uint8).reshape(views, height, width, 3)
            yield np.concatenate(list(pictures), axis=1)

    def close(self) -> None:
        """Disconnect, and make sure that the engine and its screen end. Idempotent."""
        self._door.close()
        if self._wire is not None:
            self._wire.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(STOP_TIMEOUT)
        self._end()
        self._log.close()

    def _start(self, program: Path, project: Path) -> subprocess.Popen[bytes]:
        port = self._door.getsockname()[1]
        arguments = [
            str(program), "--path", str(project), "--xr-mode", "off",
            "--audio-driver", "Dummy", "--rendering-driver", "opengl3",
            "--disable-vsync", "--resolution", "320x180", SCENE,
            "--", f"--port={port}", f"--key={self._key}",
        ]  # fmt: skip
        return subprocess.Popen(
            arguments,
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C is for us; we end the group
        )

    def _connect(self) -> None:
        """Wait for the engine, and send it the scene."""
        deadline = time.monotonic() + START_TIMEOUT
        self._door.settimeout(_POLL)
        while self._wire is None:
            if self._process.poll() is not None:
                raise RenderError(f"the engine could not draw {self._last_words()}")
            if time.monotonic() > deadline:
                raise RenderError(
                    f"the engine did not begin to draw within {START_TIMEOUT:g} s "
                    f"{self._last_words()}"
                )
            with contextlib.suppress(TimeoutError):
                self._wire = self._accept()
        body = json.dumps(self._job, allow_nan=False).encode()
        try:
            self._wire.sendall(len(body).to_bytes(4, "little") + body)
        except OSError:
            raise self._broken() from None

    def _accept(self) -> socket.socket | None:
        """The next connection, if it is our engine's."""
        wire, _ = self._door.accept()
        wire.settimeout(FRAME_TIMEOUT)
        said, expected = b"", f"{self._key}\n".encode()
        with contextlib.suppress(OSError):
            while len(said) < len(expected):
                part = wire.recv(len(expected) - len(said))
                if not part:
                    break
                said += part
        if hmac.compare_digest(said, expected):
            return wire
        wire.close()
        return None

    def _receive(self, count: int) -> bytearray:
        assert self._wire is not None, "connected"
        data = bytearray(count)
        view, got = memoryview(data), 0
        while got < count:
            try:
                size = self._wire.recv_into(view[got:])
            except OSError:
                raise self._broken() from None
            if size == 0:
                raise self._broken()
            got += size
        return data

    def _broken(self) -> RenderError:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(1.0)  # its last output is written by then
        return RenderError(f"the engine stopped drawing {self._last_words()}")

    def _last_words(self) -> str:
        self._log.seek(0)
        text = self._log.read().decode("utf-8", "replace")
        lines = [" ".join(line.split()) for line in text.splitlines()]
        lines = [line for line in lines if line and not line.startswith(_NOISE)]
        return f"[{' | '.join(lines[-4:]) or 'it said nothing'}]"

    def _end(self) -> None:
        """End the process group: the engine, its starter and its screen."""
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                if hasattr(os, "killpg"):
                    os.killpg(self._process.pid, signal.SIGTERM)
                else:
                    self._process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(STOP_TIMEOUT)
        end_group(self._process)


def _view(name: str, path: CameraPath | None) -> dict[str, Any]:
    """The JSON form of a view for the engine."""
    if path is None:
        return {"name": name, "field_of_view": CHASE.field_of_view, "poses": None}
    rows = np.column_stack([path.places, path.turns])
    return {
        "name": name,
        "field_of_view": path.field_of_view,
        "poses": np.round(rows, 6).tolist(),
    }


def _headless(program: Path, named: str | None) -> Path:
    """An engine that imports the project: the one beside the starter, if needed."""
    if program.name != SCREEN_STARTER:
        return program
    neighbour: Any = shutil.which(program.with_name("godot"))
    return Path(neighbour) if neighbour else find_engine(named)
