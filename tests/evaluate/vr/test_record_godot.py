"""Films from a real Godot engine that draws, and what is said without one."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import imageio.v2 as imageio
import numpy as np
import pytest

from ambulo.configs.errors import BridgeError, RenderError
from ambulo.envs.godot.locate import find_drawing_engine, find_engine
from ambulo.envs.vr.contract import WorldSpec
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.world.cameras import chase_path
from ambulo.evaluate.command import main
from ambulo.viz import godot_film
from ambulo.viz.godot_film import GodotFilm

LEVEL = Level(
    "small",
    np.array([-4.0, -4.0, 4.0, 4.0]),
    holes=np.array([[-3.0, 1.0, -1.0, 3.0]]),
    boxes=np.array([[-2.0, -2.0, 1.25, 0.5, 0.5, 1.25, 0.3]]),
    cylinders=np.array([[2.0, 2.0, 0.4, 1.0]]),
    start=np.array([0.0, 0.0, 0.0]),
    goal=np.array([2.0, -2.0]),
)
HERE = np.array([[0.0, 0.0, 0.0, 0.0]])
PLAY = [
    "none", "--baselines", "oracle", "--level-set", "open", "--episodes", "1",
    "--no-report", "--world", "godot", "--seed", "3",
]  # fmt: skip


def film(poses=HERE, **options) -> GodotFilm:
    """A small film from behind."""
    views = {"chase": chase_path(poses[:, :3], poses[:, 3])}
    options = {"goal_radius": 1.0, "size": (160, 120), "rays": False} | options
    return GodotFilm(LEVEL, poses, WorldSpec(), **({"views": views} | options))


def group_of(pid: int) -> list[int]:
    """Processes of the group that `pid` leads."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[2]) == pid and fields[0] != "Z":
            found.append(int(folder.name))
    return found


def test_the_map_from_above_shows_every_thing_in_its_place(drawing):
    with film(views={"top": None}) as drawn:
        (picture,) = drawn.frames()
    assert picture.shape == (120, 160, 3)
    # X to the right, Y up; the level is 8 m, the picture 8 * 1.06 m tall
    scale = 120 / (8 * 1.06)

    def colour(x: float, y: float):
        row, column = round(59.5 - scale * y), round(79.5 + scale * x)
        patch = picture[row - 1 : row + 2, column - 1 : column + 2]
        return patch.reshape(-1, 3).mean(axis=0)

    sky = np.array([204, 217, 230])
    np.testing.assert_allclose(colour(-5.2, 0.0), sky, atol=2)
    floor = colour(3.0, 0.5)
    assert np.abs(floor - sky).max() > 3
    assert floor.min() > 150
    goal = colour(2.0, -2.6)
    assert goal[1] > goal[0] + 40
    assert colour(-2.0, 2.0).max() < 90  # the hole is dark
    player = colour(-0.1, 0.0)
    assert np.abs(player - floor).max() > 20
    box, drum = colour(-2.0, -2.0), colour(2.0, 2.0)
    for thing in (box, drum):
        assert np.abs(thing - floor).max() > 15


def test_the_picture_follows_the_player(drawing):
    poses = np.array([[0, 0, 0, 0], [0.5, 0, 0, 0.4], [0, 0, 0, 0.0]])
    views = {"chase": chase_path(poses[:, :3], poses[:, 3]), "top": None}
    with film(poses, views=views, rays=True) as drawn:
        frames = list(drawn.frames())
    assert len(frames) == 3
    assert all(frame.shape == (120, 320, 3) for frame in frames)
    for view in (slice(0, 160), slice(160, 320)):
        assert (frames[0][:, view] != frames[1][:, view]).mean() > 0.005
        assert frames[0][:, view].std() > 10


def test_nothing_is_left_when_a_film_is_given_up(drawing):
    many = np.repeat(HERE, 500, axis=0)
    with film(many) as drawn:
        next(drawn.frames())
        pid = drawn.pid
        assert len(group_of(pid)) >= 1
    assert group_of(pid) == []
    drawn.close()  # again does nothing


def assert_gone(pid: int) -> None:
    """Its process group ends: children of a killed one are reaped a moment later."""
    deadline = time.monotonic() + 60
    while group_of(pid) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert group_of(pid) == []


def test_an_engine_that_is_killed_is_one_line_and_leaves_nothing(drawing):
    with film(np.repeat(HERE, 500, axis=0)) as drawn:
        frames = drawn.frames()
        next(frames)
        pid = drawn.pid
        os.killpg(pid, signal.SIGKILL)
        with pytest.raises(RenderError, match="the engine stopped drawing"):
            list(frames)
    assert_gone(pid)


def test_what_the_engine_refuses_is_told(drawing):
    with (
        film(bodies=np.zeros((2, 95))) as drawn,
        pytest.raises(
            RenderError, match="replay: bodies: expected 1 of them, as frames"
        ),
    ):
        list(drawn.frames())


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_a_killed_program_takes_the_engine_with_it(drawing):
    code = (
        "import numpy as np, time\n"
        "from ambulo.envs.vr.contract import WorldSpec\n"
        "from ambulo.envs.vr.levels.level import Level\n"
        "from ambulo.viz.godot_film import GodotFilm\n"
        "level = Level('l', np.array([-4.0, -4.0, 4.0, 4.0]))\n"
        "film = GodotFilm(level, np.zeros((5000, 4)), WorldSpec(), goal_radius=1.0,"
        " views={'top': None}, size=(160, 120))\n"
        "next(film.frames())\n"
        "print(film.pid, flush=True)\n"
        "time.sleep(600)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as one:
        assert one.stdout is not None
        pid = int(one.stdout.readline())
        assert group_of(pid)
        one.kill()
    assert_gone(pid)


@pytest.mark.slow
def test_an_evaluation_is_filmed_in_the_engine(drawing, tmp_path, capsys):
    path = tmp_path / "walk.gif"
    assert main([*PLAY, "--record", str(path)]) == 0
    assert f"video: {path}" in capsys.readouterr().out
    frames = imageio.mimread(path, memtest=False)
    assert len(frames) > 20
    assert frames[0].shape[:2] == (360, 960)
    assert (np.asarray(frames[0]) != np.asarray(frames[-1])).any()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["walk.gif"]


def test_record_is_another_name_of_video():
    for flag in ("--video", "--record"):
        assert main.parse([flag, "walk.mp4"]).video == "walk.mp4"


def test_no_engine_that_draws_is_one_line_before_anything_is_played(
    blind, tmp_path, capsys
):
    path = tmp_path / "walk.mp4"
    arguments = [*PLAY, "--godot-bin", str(blind), "--record", str(path)]
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "godot/install_engine.sh --with-gl" in error
    assert not path.exists()


def test_no_engine_at_all_names_the_same_installer(blind, monkeypatch):
    monkeypatch.delenv("GODOT_BIN", raising=False)
    with pytest.raises(BridgeError):
        find_engine()
    with pytest.raises(RenderError, match=r"install_engine\.sh --with-gl"):
        find_drawing_engine()


def test_the_starter_beside_the_named_engine_comes_first(blind):
    starter = blind.with_name("godot-xvfb")
    starter.write_text("#!/bin/sh\n")
    starter.chmod(0o755)
    assert find_drawing_engine(str(blind)) == starter


def test_an_engine_that_ends_at_once_is_one_line(blind, monkeypatch):
    monkeypatch.setenv("DISPLAY", ":9")
    monkeypatch.setattr(godot_film, "import_project", lambda *_: None)
    with (
        film(engine=str(blind)) as drawn,
        pytest.raises(RenderError, match="the engine could not draw"),
    ):
        list(drawn.frames())


def test_a_stranger_at_the_door_is_turned_away(blind, monkeypatch):
    """Another program of the machine that connects learns nothing."""
    blind.write_text("#!/bin/sh\nexec /bin/sleep 600\n")
    monkeypatch.setenv("DISPLAY", ":9")
    monkeypatch.setattr(godot_film, "import_project", lambda *_: None)
    monkeypatch.setattr(godot_film, "START_TIMEOUT", 1.0)
    with film(engine=str(blind)) as drawn:
        stranger = socket.create_connection(drawn.address)
        stranger.sendall(b"0" * 32 + b"\n")
        with pytest.raises(RenderError, match="did not begin to draw"):
            list(drawn.frames())
        stranger.settimeout(5)
        assert stranger.recv(1) == b""
        stranger.close()
