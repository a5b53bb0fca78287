"""godot-rl's side of godot_speed.py: its venv, the scene that it drives, its driver."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
from _godot_walk import Sample, Task

from ambulo.configs.caches import user_cache
from ambulo.envs.godot.locate import find_engine, find_project
from ambulo.envs.vr.levels.level_io import level_data

PEER = Path(__file__).resolve().parent / "godot_peer"
PEER_PACKAGES = ("godot-rl==0.8.2", "gymnasium==1.0.0")
PEER_NEEDS = ("cloudpickle", "farama-notifications", "typing_extensions")
SHARED = (
    "world", "contract.gd", "spec.gd", "checks.gd",
    "policy/observation.gd", "policy/memory.gd",
)  # fmt: skip
"""Parts of our add-on that the peer scene uses: level files, observation, world."""


class Peer:
    """godot-rl in its venv, and a copy of the scene that it drives."""

    def __init__(self, folder: Path, framerate: int, speedup: int) -> None:
        """Build both: the venv once in the cache, the scene in `folder`."""
        self._folder, self._framerate, self._speedup = folder, framerate, speedup
        self._python = peer_python()
        project = folder / "peer"
        shutil.copytree(PEER, project, ignore=shutil.ignore_patterns("*.py", ".*"))
        for name in SHARED:
            source = find_project() / "addons" / "ambulo_rl" / name
            target = project / "ambulo_rl" / name
            target.parent.mkdir(parents=True, exist_ok=True)
            (shutil.copytree if source.is_dir() else shutil.copy)(source, target)
        engine = find_engine()
        importing = [str(engine), "--headless", "--path", str(project), "--import"]
        subprocess.run(importing, check=True, capture_output=True, timeout=300)
        launcher = folder / "peer.x86_64"  # godot-rl starts a program of such a name
        launcher.write_text(
            f"#!/bin/sh\necho $$ > '{folder}/engine.pid'\n"
            f"exec '{engine}' --path '{project}' \"$@\" > '{folder}/engine.log' 2>&1\n"
        )
        launcher.chmod(0o755)

    def measure(self, task: Task, body: str) -> Sample:
        """One measurement; the driver and its engine end with it.

        Raises:
            RuntimeError: the driver failed; with the end of both logs.
        """
        folder = self._folder
        names = ("result.json", "seen.npy", "engine.pid", "engine.log")
        for name in names:
            (folder / name).unlink(missing_ok=True)
        np.save(folder / "actions.npy", task.actions)
        setup = {
            "agents": task.agents,
            "limit": task.limit,
            "levels": [level_data(level) for level in task.bank.levels],
            "starts": task.starts.tolist(),
            "goals": task.goals.tolist(),
        }
        (folder / "setup.json").write_text(json.dumps(setup))
        command = [
            str(self._python), str(PEER / "driver.py"), str(folder), str(free_port()),
            body, str(self._framerate), str(self._speedup), str(task.warm_up),
        ]  # fmt: skip
        with (folder / "driver.log").open("w") as log:
            driver = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        try:
            code = driver.wait(600)
        finally:
            if driver.poll() is None:
                driver.kill()
                driver.wait()
            self._end_engine()
        if code != 0 or not (folder / "result.json").exists():
            raise RuntimeError(
                f"godot-rl's side failed (exit code {code}):\n"
                + "\n".join(
                    tail(folder / f"{name}.log") for name in ("driver", "engine")
                )
            )
        result = json.loads((folder / "result.json").read_text())
        seen = np.load(folder / "seen.npy")
        return Sample(result["seconds"], result["episodes"], seen)

    def _end_engine(self) -> None:
        """Kill the engine if a driver that died has left it."""
        with contextlib.suppress(OSError, ValueError):
            pid = int((self._folder / "engine.pid").read_text())
            command = Path(f"/proc/{pid}/cmdline").read_bytes()
            if str(self._folder).encode() in command:  # not another's by now
                os.kill(pid, signal.SIGKILL)


def peer_python() -> Path:
    """The interpreter of a venv with godot-rl and what its `GodotEnv` imports."""
    folder = user_cache("godot-rl-venv")
    python = folder / "bin" / "python"
    check = [str(python), "-c", "import godot_rl.core.godot_env"]
    if (
        not python.exists()
        or subprocess.run(check, capture_output=True, check=False).returncode
    ):
        print(f"installing {PEER_PACKAGES[0]} into {folder}", file=sys.stderr)
        venv = [sys.executable, "-m", "venv", "--clear", "--without-pip", str(folder)]
        subprocess.run(venv, check=True)
        install = [
            sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet",
            "--no-deps", *PEER_PACKAGES, *PEER_NEEDS, f"numpy=={np.__version__}",
        ]  # fmt: skip
        subprocess.run(install, check=True)
    return python


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def tail(file: Path) -> str:
    """The last lines of a log."""
    if not file.exists():
        return f"{file.name}: none"
    lines = file.read_text("utf-8", "replace").splitlines()
    return "\n".join([f"{file.name}:", *lines[-12:]])
