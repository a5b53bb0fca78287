"""Starting and ending engines: what may be missing, and that none is ever left behind."""

from __future__ import annotations

import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from ambulo.configs.errors import AmbuloError, BridgeError
from ambulo.envs.godot.engine import EngineProcess
from ambulo.envs.godot.errors import EngineDied
from ambulo.envs.godot.locate import find_engine, find_project
from ambulo.envs.godot.settings import BridgeSettings
from ambulo.envs.godot.world import GodotWorld
from ambulo.envs.vr.contract import WorldSpec


def test_a_taken_port_is_named(program, tmp_path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with (
            EngineProcess(program, find_project(), tmp_path / "log", port=port) as one,
            pytest.raises(EngineDied, match=rf"exit code \d+.*{port}"),
        ):
            one.wait_until_ready()


def test_an_engine_that_never_gets_ready(tmp_path) -> None:
    sleeper = tmp_path / "godot"
    sleeper.write_text("#!/bin/sh\necho 'still loading'\nexec sleep 60\n")
    sleeper.chmod(0o755)
    imported = tmp_path / "project" / ".godot"
    imported.mkdir(parents=True)
    for name in ("global_script_class_cache.cfg", "ambulo_import.stamp"):
        (imported / name).touch()
    process = EngineProcess(
        sleeper, imported.parent, tmp_path / "log", start_timeout=2.0
    )
    with pytest.raises(EngineDied, match=r"not ready within 2 s .*still loading"):
        process.wait_until_ready()
    assert not process.running
    assert not Path(f"/proc/{process.pid}").exists()


def test_a_missing_scene_is_named(program, make, tmp_path) -> None:
    project = tmp_path / "game"
    shutil.copytree(find_project(), project)
    file = project / "project.godot"
    text = re.sub(
        r"run/main_scene=.*", 'run/main_scene="res://no.tscn"', file.read_text()
    )
    file.write_text(text)
    (project / ".godot" / "ambulo_import.stamp").touch()
    with pytest.raises(BridgeError, match=r"no\.tscn"):
        make(1, project=str(project))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"binary": "no-such-godot"}, "godot_bin = 'no-such-godot': no such program"),
        ({"project": "/no/such/folder"}, "holds no project.godot"),
    ],
)
def test_what_is_not_there_is_named(settings, message, program) -> None:
    with pytest.raises(BridgeError, match=re.escape(message)):
        GodotWorld(
            1, WorldSpec(), BridgeSettings(**{"binary": str(program)} | settings)
        )


def test_no_engine_anywhere_tells_how_to_get_one(monkeypatch, tmp_path) -> None:
    for name in ("HOME", "PATH", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.delenv("GODOT_BIN", raising=False)
    with pytest.raises(AmbuloError, match=r"godot/install_engine\.sh"):
        find_engine()
    monkeypatch.setenv("GODOT_BIN", "/gone/godot")
    with pytest.raises(AmbuloError, match="GODOT_BIN = '/gone/godot'"):
        find_engine()
    program = tmp_path / "ambulo" / "godot-4" / "bin" / "godot"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.delenv("GODOT_BIN")
    assert find_engine() == program


def test_temporary_logs_go_unless_there_was_a_fault(make, kill, monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    make(1, log_folder=None).close()
    assert not list(tmp_path.glob("ambulo-godot-*/engine-0.log"))
    world = make(1, log_folder=None)
    kill(world.pids[0], signal.SIGKILL)
    world.step(np.zeros((1, 3)))
    world.close()
    assert len(list(tmp_path.glob("ambulo-godot-*/engine-0.log"))) == 1


TRAINER = """
import signal, sys, time
import numpy as np
from ambulo.envs.godot.settings import BridgeSettings
from ambulo.envs.godot.world import GodotWorld
from ambulo.envs.vr.contract import WorldSpec
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job ignores it
settings = BridgeSettings(binary=sys.argv[1])
world = GodotWorld(2, WorldSpec(), settings)
print(*world.pids, flush=True)
{ending}
"""


def run_trainer(program: Path, ending: str) -> tuple[subprocess.Popen[str], list[int]]:
    process = subprocess.Popen(
        [sys.executable, "-c", TRAINER.format(ending=ending), str(program)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    return process, [int(word) for word in line.split()]


def gone(pids: list[int], seconds: float = 20.0) -> bool:
    """Whether all processes end (or are zombies of another parent) in time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if not any(running(pid) for pid in pids):
            return True
        time.sleep(0.05)
    return False


def running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


@pytest.mark.parametrize(
    ("ending", "number", "code"),
    [
        ("time.sleep(60)", signal.SIGKILL, -9),
        ("time.sleep(60)", signal.SIGINT, -2),
        ("sys.exit(3)", None, 3),
        ("import os; os._exit(5)", None, 5),
    ],
)
def test_no_engine_outlives_its_trainer(program, ending, number, code) -> None:
    process, pids = run_trainer(program, ending)
    try:
        assert len(pids) == 1
        if number is not None:
            process.send_signal(number)
        process.communicate(timeout=60)
        assert process.returncode == code
        assert gone(pids)
    finally:
        process.kill()
        process.wait()


def test_an_engine_started_by_a_thread_outlives_the_thread_only(program, make) -> None:
    made = []
    thread = threading.Thread(target=lambda: made.append(make(1)))
    thread.start()
    thread.join()
    world = made[0]
    for _ in range(3):
        world.step(np.zeros((1, 3)))
    assert not world.faults


def test_an_engine_watches_for_its_trainer_by_itself(program) -> None:
    """Without the kernel's help (as on other systems, or started by a thread)."""
    code = "from ambulo.envs.godot import engine; engine.dying_with_us = lambda: []\n"
    process = subprocess.Popen(
        [
            sys.executable,
            "-c",
            code + TRAINER.format(ending="time.sleep(60)"),
            str(program),
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        pids = [int(word) for word in process.stdout.readline().split()]
        assert len(pids) == 1
        process.kill()
        process.communicate()
        assert gone(pids)
    finally:
        process.kill()
        process.wait()
