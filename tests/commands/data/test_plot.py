"""`ambulo data plot` and the drawing of skeletons below it."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import imageio.v2 as imageio
import numpy as np
import pytest

from ambulo import cli
from ambulo.commands.data.plot import cut
from ambulo.configs.errors import MotionError, RenderError
from ambulo.motion.formats.files import write_motion
from ambulo.motion.kinematics import joint_positions
from ambulo.motion.landmarks import rest_points
from ambulo.motion.motion import Motion
from ambulo.motion.operations import transform
from ambulo.motion.skeleton import Skeleton
from ambulo.motion.skeletons import load_skeleton
from ambulo.viz.contact_sheet import contact_sheet
from ambulo.viz.skeleton_actor import (
    LEFT,
    MIDDLE,
    RIGHT,
    Actor,
    actor_of,
    actor_of_positions,
    headings,
    mean_heading,
)
from ambulo.viz.skeleton_film import film_frames, shown_frames, write_film
from ambulo.viz.skeleton_view import (
    DARK,
    FRONT,
    LIGHT,
    SIDE,
    TOP,
    Camera,
    body_strokes,
    ground_strokes,
    shadow_strokes,
)


def main(arguments: list[str]) -> int:
    return cli.main(["data", *arguments])


Walk = Callable[..., Motion]
ORIGIN = np.zeros(3)


@pytest.fixture
def walker(walk_motion: Walk) -> Actor:
    contacts = np.zeros((60, 2), np.bool_)
    contacts[:30, 0] = True
    return actor_of(walk_motion(), contacts=contacts, label="walker")


@pytest.mark.parametrize(
    ("camera", "right_and_up", "near"),
    [
        (SIDE, (1.0, 3.0), -2.0),  # from -Y: +X to the right
        (FRONT, (2.0, 3.0), 1.0),  # from +X: the character's left to the right
        (TOP, (1.0, 2.0), 3.0),
        (SIDE.turned(np.pi / 2), (2.0, 3.0), 1.0),  # of one who faces +Y: from +X
    ],
)
def test_cameras_see_from_where_they_say(
    camera: Camera, right_and_up: tuple[float, float], near: float
) -> None:
    picture, depth = camera.project(np.array([1.0, 2.0, 3.0]), ORIGIN)
    np.testing.assert_allclose(picture, right_and_up, atol=1e-12)
    assert depth == pytest.approx(near)


def test_perspective_enlarges_what_is_near() -> None:
    camera = Camera(azimuth=0.0, distance=4.0)
    picture, _ = camera.project(np.array([[2.0, 1.0, 0.0], [-4.0, 1.0, 0.0]]), ORIGIN)
    np.testing.assert_allclose(picture[:, 0], [2.0, 0.5])


def test_bones_know_their_side_and_the_feet(walker: Actor, walk_motion: Walk) -> None:
    skeleton = walk_motion().skeleton
    sides = {
        (
            *skeleton.joints,
            *(f"{skeleton.joints[j]}_end" for j in skeleton.tip_parents),
        )[end]: side
        for (_, end), side in zip(walker.bones.tolist(), walker.sides, strict=True)
    }
    assert sides["ltibia"] == LEFT
    assert sides["rfingers_end"] == RIGHT
    assert sides["thorax"] == MIDDLE
    assert "lhipjoint" not in sides  # of no length
    ends = [{int(walker.bones[bone, 1]) for bone in foot} for foot in walker.feet]
    toes = [skeleton.index(name) for name in ("ltoes", "rtoes")]
    assert [toe in foot for toe, foot in zip(toes, ends, strict=True)] == [True, True]
    knees = [skeleton.index(name) for name in ("lfoot", "rfoot")]
    assert [knee in foot for knee, foot in zip(knees, ends, strict=True)] == [
        False,
        False,
    ]


@pytest.mark.parametrize("name", ["human23", "ik23", "cmu31", "daz43"])
def test_every_skeleton_has_a_head_feet_and_a_heading(name: str) -> None:
    skeleton = load_skeleton(name)
    rotations = np.zeros((1, len(skeleton), 4))
    rotations[..., 0] = 1.0
    still = Motion(skeleton, 30.0, skeleton.offsets[:1], rotations)
    actor = actor_of(still)
    top = actor.positions[0, :, 2].max()
    middle = actor.positions[0][list(actor.head)].mean(axis=0)
    assert top - 0.25 < middle[2] < top + 0.01
    assert abs(middle[1]) < 0.02
    assert actor.feet[0]
    assert actor.feet[1]
    assert headings(actor)[0] == pytest.approx(0.0, abs=0.01)
    turned = actor_of(transform(still, yaw=2.0))
    assert mean_heading(turned) == pytest.approx(2.0, abs=0.01)


@pytest.mark.parametrize("stretched", [0, 1, 2])
def test_bones_below_still_hips_are_drawn_unless_they_change_length(
    stretched: int,
) -> None:
    """All of a seated trunk is drawn; nothing joins a body to still roots above it."""
    skeleton = Skeleton(
        name="trunk",
        joints=("root", "a", "b", "left", "right", "head"),
        parents=(-1, 0, 1, 2, 2, 2),
        offsets=np.array([
            [0, 0, 1], [0, 0, 0.3], [0, 0, 0.3], [0, 0.5, 0], [0, -0.5, 0], [0, 0, 0.3],
        ]),
        orders=("XYZ",) * 6,
    )  # fmt: skip
    points = np.tile(rest_points(skeleton), (10, 1, 1))
    points[:, 3, 2] += np.linspace(0.0, 0.3, 10)  # the left arm is raised
    if stretched:
        points[:, stretched:] += np.linspace(0.0, 1.0, 10)[:, None, None]
    actor = actor_of_positions(skeleton, points)
    assert actor.body == stretched
    assert len(actor.bones) == 5 - stretched


def test_a_still_root_far_from_the_body_changes_no_picture(
    walk_motion: Walk,
) -> None:
    """As programs for animation write it: the hips move below a root that never does."""
    walk = walk_motion()
    skeleton = walk.skeleton
    rooted = Skeleton(
        "rooted",
        ("still", *skeleton.joints),
        (-1, *(parent + 1 for parent in skeleton.parents)),
        np.vstack([np.zeros(3), [3.0, 2.0, 1.0], skeleton.offsets[1:]]),
    )
    joints = joint_positions(walk) + np.array([3.0, 2.0, 0.0])
    points = np.concatenate([np.zeros((len(joints), 1, 3)), joints], axis=1)
    actor = actor_of_positions(rooted, points)
    alone = actor_of_positions(walk.skeleton, joints)
    np.testing.assert_array_equal(actor.drawn, alone.drawn)
    assert len(actor.bones) == len(alone.bones)
    assert sorted(actor.sides) == sorted(alone.sides)
    assert len(actor.head) == len(alone.head) > 0


def test_positions_without_tips_make_an_actor_too(walk_motion: Walk) -> None:
    walk = walk_motion()
    actor = actor_of_positions(walk.skeleton, joint_positions(walk), ground=0.1)
    assert actor.positions.shape == (60, 31, 3)
    assert actor.bones.max() < 31
    assert actor.ground == 0.1
    with pytest.raises(MotionError, match=r"expected shape \(T, 31, 3\)"):
        actor_of_positions(walk.skeleton, np.zeros((4, 5, 3)))


def test_a_foot_in_contact_has_its_own_colour(walker: Actor) -> None:
    def feet(frame: int) -> int:
        strokes = body_strokes(walker, frame, FRONT, ORIGIN, LIGHT)
        greenish = strokes.colours[:, 1] > strokes.colours[:, [0, 2]].max(axis=1)
        return int(greenish.sum())

    assert feet(10) == len(walker.feet[0])
    assert feet(50) == 0


def test_strokes_are_ordered_from_far_to_near(walker: Actor) -> None:
    strokes = body_strokes(walker, 0, SIDE, ORIGIN, LIGHT)
    _, near = SIDE.project(walker.positions[0], ORIGIN)
    depth = near[walker.bones].mean(axis=1)
    order = np.argsort(depth, kind="stable")
    seen = SIDE.project(walker.positions[0][walker.bones[order]], ORIGIN)[0]
    np.testing.assert_allclose(strokes.segments, seen)
    ghost = body_strokes(walker, 0, SIDE, ORIGIN, LIGHT, ghost=True)
    assert len(np.unique(ghost.colours, axis=0)) == 1


def test_shadow_and_grid_lie_on_the_ground(walker: Actor) -> None:
    on_ground = replace(walker, ground=0.25)
    shadow = shadow_strokes(on_ground, 5, SIDE, ORIGIN, DARK)
    np.testing.assert_allclose(shadow.segments[..., 1], 0.25)
    grid = ground_strokes(TOP, np.array([0.3, 0.0, 0.0]), step=0.5, radius=2.0)
    vertical = grid.segments[:, 0, 0] == grid.segments[:, 1, 0]
    lines = grid.segments[vertical][:, 0, 0] + 0.3
    np.testing.assert_allclose(lines / 0.5, np.round(lines / 0.5), atol=1e-9)
    assert grid.colours[:, 3].min() > 0.0


def test_a_film_shows_frames_in_real_time() -> None:
    np.testing.assert_array_equal(shown_frames(13, 120.0, 30.0), [0, 4, 8, 12])
    np.testing.assert_array_equal(shown_frames(5, 25.0, 25.0), range(5))
    assert len(shown_frames(1, 60.0, 30.0)) == 1
    assert shown_frames(101, 25.0, 20.0)[-1] == 100


def test_a_film_has_a_panel_for_each_actor(walker: Actor) -> None:
    frames = list(
        film_frames(
            [walker[:9], walker[:9]], 120.0, 30.0, title="two", ghost=True, panel=120,
            captions=["known"] * 9,
        )
    )  # fmt: skip
    assert len(frames) == 3
    assert frames[0].shape == (154, 240, 3)
    assert frames[0].dtype == np.uint8
    assert np.abs(frames[0].astype(int) - frames[2]).max() > 50


def test_a_film_of_unequal_actors_is_refused(walker: Actor) -> None:
    with pytest.raises(MotionError, match="same number of frames"):
        next(film_frames([walker, walker[:5]], 120.0, 30.0))
    with pytest.raises(MotionError, match="same number of frames"):
        next(film_frames([], 120.0, 30.0))


def test_a_film_of_another_kind_is_refused(walker: Actor, tmp_path: Path) -> None:
    with pytest.raises(RenderError, match=r"\.mp4 or \.gif"):
        write_film(tmp_path / "a.avi", [walker], 120.0)


@pytest.mark.integration
@pytest.mark.parametrize("frames", [1, 60])
def test_a_sheet_is_drawn_of_any_length(walker: Actor, frames: int) -> None:
    png = contact_sheet(walker[:frames], 120.0, title="a $x_1$ title", subtitle="facts")
    picture = imageio.imread(io.BytesIO(png))
    assert picture.shape[:2] == (902, 1430)
    background = np.round(255 * np.array(LIGHT.background))
    drawn = np.abs(picture[..., :3] - background).max(axis=-1) > 60
    assert 0.01 < drawn.mean() < 0.3


def test_a_cut_is_what_lies_between_the_times(walk_motion: Walk) -> None:
    walk = walk_motion()
    assert len(cut(walk, 0.0, None)) == 60
    middle = cut(walk, 0.1, 0.2)
    np.testing.assert_array_equal(middle.root_positions, walk.root_positions[12:25])
    for start, stop in ((0.6, None), (-1.0, None), (0.3, 0.2), (float("nan"), None)):
        with pytest.raises(MotionError, match="nothing from"):
            cut(walk, start, stop)


@pytest.mark.integration
def test_plot_writes_sheet_and_films(
    clips: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(clips)
    films = ["--gif", "a.gif", "--mp4", "a.mp4", "--stop", "0.2"]
    assert main(["plot", "a.bvh", *films, "--theme", "dark"]) == 0
    assert capsys.readouterr().out.split() == ["a.png", "a.gif", "a.mp4"]
    assert imageio.imread("a.png").shape[:2] == (902, 1430)
    gif = imageio.mimread("a.gif")
    assert len(gif) == 5
    assert len(imageio.mimread("a.mp4")) == 7


@pytest.mark.integration
def test_a_part_is_drawn_in_the_whole(
    clips: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(clips)
    assert main(["plot", "a.bvh", "--out", "whole.png"]) == 0
    capsys.readouterr()
    film = ["--gif", "a.gif"]
    assert main(["plot", "a.bvh", "--frames", "12:36", "--out", "part.png", *film]) == 0
    text = capsys.readouterr().out
    assert "frames 12:36; 1.2" in text
    assert len(imageio.mimread("a.gif")) == 5
    whole, part = (
        imageio.imread(name).astype(int) for name in ("whole.png", "part.png")
    )
    # Poses differ, and the chosen times are shaded.
    assert np.abs(whole - part)[: whole.shape[0] // 2].max() > 60
    assert np.abs(whole - part)[2 * whole.shape[0] // 3 :, 500:].max() > 20


def test_the_cycle_of_a_walk_is_told_and_drawn(
    tmp_path: Path,
    walk_motion: Walk,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    write_motion(tmp_path / "w.npz", walk_motion(300))
    assert main(["plot", "w.npz", "--cycle", "--frames", "100:", "--out", "w.png"]) == 0
    first, last = (
        int(number)
        for number in capsys.readouterr()
        .out.split("frames ")[1]
        .split(",")[0]
        .split(":")
    )
    assert first >= 100
    assert last - first == pytest.approx(120, abs=2)
    write_motion(tmp_path / "s.npz", walk_motion(40))
    assert main(["plot", "s.npz", "--cycle", "--out", "s.png"]) == 2
    assert "a clip to follow lasts" in capsys.readouterr().err
    assert not (tmp_path / "s.png").exists()
