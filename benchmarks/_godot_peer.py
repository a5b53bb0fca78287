"""godot-rl 0.8.2 in a venv of its own, and games that its `GodotEnv` drives."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.configs.caches import user_cache
from ambulo.envs.godot.locate import find_engine

PEER = Path(__file__).resolve().parent / "godot_peer"
PEER_PACKAGES = (
    "godot-rl==0.8.2", "gymnasium==1.0.0", "cloudpickle", "farama-notifications",
    "typing_extensions",
)  # fmt: skip


class NoPeer(Exception):
    """godot-rl is not installed, and cannot be."""


def peer_python() -> Path:
    """Interpreter of a venv with godot-rl and what its `GodotEnv` imports.

    Raises:
        NoPeer: pip cannot install it.
    """
    folder = user_cache("godot-rl-venv")
    python = folder / "bin" / "python"
    check = [str(python), "-c", "import godot_rl.core.godot_env"]
    if not python.exists() or subprocess.run(check, capture_output=True).returncode:  # noqa: PLW1510
        print(f"installing {PEER_PACKAGES[0]} into {folder}", file=sys.stderr)
        venv = [sys.executable, "-m", "venv", "--clear", "--without-pip", str(folder)]
        subprocess.run(venv, check=True)
        install = [
            sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet",
            "--no-deps", *PEER_PACKAGES, f"numpy=={np.__version__}",
        ]  # fmt: skip
        done = subprocess.run(install, capture_output=True, text=True, check=False)
        if done.returncode:
            said = done.stderr.strip().splitlines() or ["pip failed"]
            raise NoPeer(f"{PEER_PACKAGES[0]} is not installed: {said[-1]}")
    return python


def peer_project(folder: Path, game: Path | None = None) -> Path:
    """Copy `game` (None: those of `benchmarks/godot_peer`) to a new `folder`; return it."""
    ignored = shutil.ignore_patterns("*.py", ".godot")
    return Path(shutil.copytree(game or PEER, folder, ignore=ignored))


class PeerGame:
    """A game that godot-rl starts and drives."""

    def __init__(self, folder: Path, project: Path, scene: str = "") -> None:
        """Import `project` and write to `folder` what starts `scene` (its main scene).

        Raises:
            NoPeer: see `peer_python`.
        """
        self._folder, self._python = folder, peer_python()
        engine = find_engine()
        importing = [str(engine), "--headless", "--path", str(project), "--import"]
        subprocess.run(importing, check=True, capture_output=True, timeout=300)
        launcher = folder / "peer.x86_64"  # godot-rl starts a program of such a name
        launcher.write_text(
            f"#!/bin/sh\necho $$ > '{folder}/engine.pid'\n"
            f"exec '{engine}' --path '{project}' {scene} \"$@\" "
            f"> '{folder}/engine.log' 2>&1\n"
        )
        launcher.chmod(0o755)

    def measure(
        self, launch: Mapping[str, Any], steps: int, actions: Floats | None = None
    ) -> tuple[dict[str, float], Floats]:
        """Return seconds and CPU seconds of `steps`, and the observations (T, N, size).

        Args:
            launch: arguments of `GodotEnv`.
            steps: after up to 200 to warm up.
            actions: shape (T, N, A); None: random ones.

        Raises:
            RuntimeError: the driver failed; with the end of both logs.
        """
        folder = self._folder
        for name in ("result.json", "seen.npy", "engine.pid", "engine.log"):
            (folder / name).unlink(missing_ok=True)
        if actions is not None:
            np.save(folder / "actions.npy", actions)
        (folder / "launch.json").write_text(json.dumps(launch))
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        driver = [
            self._python,
            PEER / "driver.py",
            folder,
            port,
            min(steps, 200),
            steps,
        ]
        try:
            done = subprocess.run(
                list(map(str, driver)), stdin=subprocess.DEVNULL, capture_output=True,
                text=True, timeout=600, check=False,
            )  # fmt: skip
        finally:
            self._end_engine()
        if done.returncode or not (folder / "result.json").exists():
            raise RuntimeError(f"godot-rl's side failed: {done.stderr[-2000:]}")
        return json.loads((folder / "result.json").read_text()), np.load(
            folder / "seen.npy"
        )

    def _end_engine(self) -> None:
        """Kill the engine if a driver that died has left it."""
        with contextlib.suppress(OSError, ValueError):
            pid = int((self._folder / "engine.pid").read_text())
            command = Path(f"/proc/{pid}/cmdline").read_bytes()
            if str(self._folder).encode() in command:  # not another's by now
                os.kill(pid, signal.SIGKILL)
