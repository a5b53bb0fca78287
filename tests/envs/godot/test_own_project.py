"""The add-on in a game of somebody's own, in the real engine: it keeps out of the way."""

from __future__ import annotations

import functools
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from fixtures.processes import port_of

from ambulo.envs.godot.transport import HttpConnection

PROJECT = """config_version=5
[application]
config/name="Game"
run/main_scene="res://main.tscn"
[autoload]
AmbuloServer="*res://addons/ambulo_rl/server/server.gd"
[physics]
3d/physics_engine="Jolt Physics"
"""
AUTOSTART = "[ambulo]\nserver/autostart=true\n"
SCENE = """[gd_scene load_steps=2 format=3]
[ext_resource type="Script" path="res://main.gd" id="1"]
[node name="Main" type="Node"]
script = ExtResource("1")
"""
SCRIPT = """extends Node
var _frames := 0

func _process(_delta: float) -> void:
	_frames += 1
	if _frames == 40 and not "--idle-exit=100" in OS.get_cmdline_user_args():
		print("GAME port=%d physics_steps=%d" % [
			get_tree().root.get_node("AmbuloServer").call("port"),
			Engine.max_physics_steps_per_frame,
		])
		get_tree().quit(7)
"""
Run = Callable[..., subprocess.Popen[str]]


@pytest.fixture(scope="module")
def project(own_game: Path) -> Path:
    """A project with the add-on and a main scene of its own."""
    (own_game / "project.godot").write_text(PROJECT)
    (own_game / "main.tscn").write_text(SCENE)
    (own_game / "main.gd").write_text(SCRIPT)
    return own_game


@pytest.fixture
def run(launch: Run, project: Path) -> Run:
    """Starts the game with user arguments."""
    return functools.partial(launch, project=project)


@pytest.mark.parametrize("arguments", [(), ("--quick", "level2", "--seed=5")])
def test_a_headless_run_is_the_games_own(run: Run, arguments: tuple[str, ...]) -> None:
    process = run(*arguments)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 7, (out, err)
    assert "AMBULO_READY" not in out
    assert "GAME port=0 physics_steps=8" in out
    assert "ERROR" not in err


def test_autostart_listens_and_does_not_wait(run: Run, project: Path) -> None:
    with socket.socket() as stream:
        if stream.connect_ex(("127.0.0.1", 8080)) == 0:
            pytest.skip("port 8080 is taken")
    file = project / "project.godot"
    file.write_text(PROJECT + AUTOSTART)
    try:
        process = run("--quick")
        out, err = process.communicate(timeout=120)
    finally:
        file.write_text(PROJECT)
    assert process.returncode == 7, (out, err)
    assert "AMBULO_READY port=8080" in out
    assert "GAME port=8080 physics_steps=8" in out


def test_with_an_argument_of_the_server_unknown_ones_are_refused(run: Run) -> None:
    process = run("--port=0", "--quick")
    out, err = process.communicate(timeout=120)
    assert process.returncode == 2, (out, err)
    assert "ambulo: --quick: unknown argument" in err


def test_without_a_white_list_no_scene_is_opened(run: Run) -> None:
    process = run("--port=0", "--idle-exit=100")
    connection = HttpConnection("127.0.0.1", port_of(process), timeout=30)
    assert connection.request("GET", "/scenes").checked().json()["scenes"] == []
    answer = connection.request("POST", "/scene", b'{"scene_path":"res://main.tscn"}')
    assert answer.status == 403
    assert (
        "create res://config/scene_whitelist.json" in answer.json()["error"]["message"]
    )
    connection.request("POST", "/rl/shutdown").checked()
    _, err = process.communicate(timeout=60)
    assert "ERROR" not in err
