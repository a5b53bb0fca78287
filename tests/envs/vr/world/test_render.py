from pathlib import Path

import imageio.v2 as imageio
import numpy as np
import pytest

from ambulo.configs.errors import RenderError
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.levels.solids import floor_rectangles
from ambulo.envs.vr.world import render

LEVEL = Level(
    "small",
    np.array([-4.0, -4.0, 4.0, 4.0]),
    holes=np.array([[1.0, 1.0, 2.0, 3.0], [1.5, 2.0, 5.0, 3.5]]),
    boxes=np.array([[-2.0, 2.0, 0.5, 0.4, 0.4, 0.5, 0.3]]),
    cylinders=np.array([[-2.0, -2.0, 0.4, 1.0]]),
    start=np.array([0.0, 0.0, 0.5]),
    goal=np.array([3.0, -3.0]),
)


def test_floor_rectangles_cover_the_floor_once_and_no_hole():
    rectangles = floor_rectangles(LEVEL)
    for x, y in np.random.default_rng(0).uniform(-4, 4, (500, 2)):
        inside = (rectangles[:, :2] < (x, y)).all(1) & (rectangles[:, 2:] > (x, y)).all(
            1
        )
        hole = (LEVEL.holes[:, :2] < (x, y)).all(1) & (LEVEL.holes[:, 2:] > (x, y)).all(
            1
        )
        assert inside.sum() == (0 if hole.any() else 1)


def test_frames_show_player_and_goal(tmp_path):
    try:
        renderer = render.EpisodeRenderer(LEVEL, 160, 120)
    except RenderError as error:
        pytest.skip(str(error))
    with renderer:
        here, goal = np.zeros(3), np.array([3.0, -3.0])
        empty = renderer.frame(here, 0.0, None, camera="top")
        frames = [
            renderer.frame(here, 0.0, goal, np.zeros((3, 2)), camera="top"),
            renderer.frame(np.array([1.0, 0.0, 0.0]), 0.0, goal, camera="top"),
            renderer.frame(here, 0.0, goal, []),
        ]
    assert frames[0].shape == (120, 160, 3)
    assert frames[0].dtype == np.uint8
    # looking down, X is right and Y up: the goal is in the lower right
    changed = np.argwhere((frames[0] != empty).any(axis=2))
    assert changed.mean(axis=0) == pytest.approx((102, 122), abs=6)
    for name in ("walk.mp4", "walk.gif"):
        path = render.write_video(frames, tmp_path / name)
        assert len(imageio.mimread(path)) == 3
    assert sorted(p.name for p in tmp_path.iterdir()) == ["walk.gif", "walk.mp4"]


def test_no_opengl_is_one_clear_line(monkeypatch):
    monkeypatch.setenv("MUJOCO_GL", "disable")
    with pytest.raises(RenderError, match="no OpenGL for pictures"):
        render.EpisodeRenderer(LEVEL)


def test_video_needs_frames_and_a_known_ending(tmp_path):
    with pytest.raises(RenderError, match=r"\.mp4 or \.gif"):
        render.write_video([], tmp_path / "a.avi")
    with pytest.raises(RenderError, match="no frames"):
        render.write_video([], tmp_path / "a.mp4")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["a.gif", "a.mp4"])
def test_a_full_disk_is_one_error_and_leaves_no_film(
    tmp_full_disk: Path, name: str, capfd: pytest.CaptureFixture[str]
) -> None:
    noise = np.random.default_rng(0)
    frames = [noise.integers(0, 255, (200, 200, 3), dtype=np.uint8) for _ in range(30)]
    with pytest.raises(RenderError, match=r"cannot write .*(disk|space)"):
        render.write_video(frames, tmp_full_disk / name)
    assert list(tmp_full_disk.iterdir()) == []
    assert capfd.readouterr().err == ""
