from pathlib import Path

import imageio.v2 as imageio
import numpy as np
import pytest

from ambulo.configs.errors import RenderError
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.levels.level_io import parse_level
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


def test_frames_show_player_and_goal(gl: None, tmp_path):
    with render.EpisodeRenderer(LEVEL, 160, 120) as renderer:
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


@pytest.mark.integration
@pytest.mark.parametrize("name", ["a.gif", "a.mp4"])
def test_a_full_disk_is_one_error_and_leaves_no_film(
    tmp_full_disk: Path, name: str, capfd: pytest.CaptureFixture[str]
) -> None:
    noise = np.random.default_rng(0)
    frames = [noise.integers(0, 255, (200, 200, 3), dtype=np.uint8) for _ in range(14)]
    with pytest.raises(RenderError, match=r"cannot write .*(disk|space)"):
        render.write_video(frames, tmp_full_disk / name)
    assert list(tmp_full_disk.iterdir()) == []
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("size", [(4.0, 4.0), (7.0, 6.0), (30.0, 20.0), (100.0, 100.0)])
def test_the_view_from_above_shows_the_whole_floor(
    gl: None, size: tuple[float, float]
) -> None:
    bounds = np.array([1.0, -2.0, 1.0 + size[0], -2.0 + size[1]])
    floor = floor_in_view(Level("x", bounds))
    wide, tall = size
    scale = 120 / 1.06 / max(tall, wide * 120 / 160)
    assert floor.sum() == pytest.approx(wide * tall * scale**2, rel=0.03)


def floor_in_view(level: Level) -> np.ndarray:
    """Pixels from above that are no sky, shape (120, 160)."""
    with render.EpisodeRenderer(level, 160, 120) as renderer:
        away = np.array([-99.0, 0.0, -50.0])
        picture = renderer.frame(away, 0.0, camera="top")
    floor: np.ndarray = picture.astype(int).sum(axis=2) > 300
    return floor


SURFACES = {
    "ramps": [{"from": [-3, 0, 0], "to": [0, 0, 1], "width": 2}],
    "stairs": [{"from": [-3, 0, 0], "to": [0, 0, 1], "width": 2, "steps": 6}],
    "heightfields": [
        {"origin": [-3, -1, 0.1], "cell": 1, "heights": [[0, 0, 1], [0, 0.5, 1]]}
    ],
    "meshes": [
        {
            "vertices": [[-3, -1, 0.5], [0, -1, 0.5], [0, 1, 0.5]],
            "triangles": [[0, 1, 2]],
        }
    ],
}


@pytest.mark.parametrize("kind", SURFACES)
def test_surfaces_are_drawn(gl: None, kind: str) -> None:
    """Also above nothing, where the level has no ground."""
    data = {
        "name": kind,
        "bounds": [-4, -4, 4, 4],
        "heights": True,
        "ground": False,
        "boxes": [{"center": [2, 2, -0.1], "half_size": [1, 1, 0.1]}],
        kind: SURFACES[kind],
    }
    seen = floor_in_view(parse_level(data, "x", solvable=False))
    columns = np.nonzero(seen)[1]
    left = columns < 80
    # Looking down, X is right: the surface is left of the box, and there is no ground.
    assert left.sum() > 250
    assert (~left).sum() > 250
    assert seen.sum() < 4500


def test_the_goal_and_the_player_stand_on_upper_floors(gl: None) -> None:
    level = Level("high", np.array([-4.0, -4.0, 4.0, 4.0]), heights=True)
    with render.EpisodeRenderer(level, 160, 120) as renderer:
        low, high = (
            renderer.frame(np.array([0.0, 0.0, z]), 0.0, np.array([2.0, 0.0, z]))
            for z in (0.0, 2.0)
        )
    # The camera goes along: both stand where they stood in the picture, and the floor does not.
    green = [(p[..., 1] > p[..., 0].astype(int) + 80) for p in (low, high)]
    assert green[0].sum() > 100
    assert (green[0] != green[1]).mean() < 0.01
    assert (low != high).any(axis=2).mean() > 0.1


def test_a_floor_above_the_player_does_not_hide_him(gl: None) -> None:
    slab = np.array([[0.0, 0.0, 2.5, 2.0, 2.0, 0.1, 0.0]])
    bounds = np.array([-4.0, -4.0, 4.0, 4.0])
    level = Level("roofed", bounds, boxes=slab, heights=True)
    with render.EpisodeRenderer(level, 160, 120) as renderer:
        under = renderer.frame(np.zeros(3), 0.0, camera="top")
        away = renderer.frame(np.array([3.5, 3.5, 0.0]), 0.0, camera="top")
    middle = np.s_[56:64, 76:84]
    blue = [
        int(p[middle][..., 2].max()) - int(p[middle][..., 0].min())
        for p in (under, away)
    ]
    assert blue[0] > blue[1] + 20
