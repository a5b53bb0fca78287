from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ambulo.configs.errors import MotionError, MotionFileError, SkeletonError
from ambulo.motion.formats.axes import Axes, likely_units, metres_per_unit
from ambulo.motion.formats.bvh import BvhFile, read_bvh, write_bvh
from ambulo.motion.formats.bvh_motion import bvh_to_motion, motion_to_bvh
from ambulo.motion.formats.files import read_motion, units_of, write_motion
from ambulo.motion.kinematics import joint_positions
from ambulo.motion.motion import Motion
from ambulo.motion.rotations import quat_angle
from ambulo.motion.skeleton import Skeleton

Walk = Callable[..., Motion]

ARM = """HIERARCHY
ROOT Base
{
  OFFSET 0 1 0
  CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation
  JOINT Elbow
  {
    OFFSET 0 2 0
    CHANNELS 1 Xrotation
    End Site
    {
      OFFSET 0 0 3
    }
  }
}
MOTION
Frames: 2
Frame Time: 0.0333333
1 2 3 0 0 0 0
1 2 3 90 0 0 -90
"""


def arm(tmp_path: Path, text: str = ARM) -> Path:
    path = tmp_path / "arm.bvh"
    path.write_bytes(text.encode())
    return path


def test_motion_in_our_axes(tmp_path: Path) -> None:
    motion = read_motion(arm(tmp_path), units="m")
    # File x, y, z become our y, z, x.
    np.testing.assert_array_equal(motion.root_positions, [[3, 1, 2], [3, 1, 2]])
    assert motion.skeleton.orders == ("XYZ", "Y")
    # At rest the elbow is 2 m above; turned 90 degrees about the file's Z, which is our
    # X, it lies at the file's -x, our -y.
    places = joint_positions(motion)
    np.testing.assert_allclose(places[0, 1], [3, 1, 4], atol=1e-12)
    np.testing.assert_allclose(places[1, 1], [3, -1, 2], atol=1e-12)
    np.testing.assert_array_equal(motion.skeleton.tips, [[3, 0, 0]])


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace("\n", "\r"),
        lambda text: text.replace(" ", "\t"),
        lambda text: text.replace("\n", "  \n\n"),
        str.lower,
        str.upper,
        lambda text: text.replace("\n{", " {"),
        lambda text: text.rstrip("\n"),
        lambda text: "\ufeff" + text,
        lambda text: text.replace("Frames: 2", "Frames:2"),
        lambda text: text.replace("Frames: 2", "Frames :\t2"),
        lambda text: text.replace("Frame Time:", "FrameTime: "),
        lambda text: text.replace(" 90 ", " +90.00 ").replace("-90", "-.9e2"),
        lambda text: text.replace("End Site", "End Site Tip"),
    ],
)
def test_spellings(tmp_path: Path, change: Callable[[str], str]) -> None:
    plain = read_bvh(arm(tmp_path))
    other = read_bvh(arm(tmp_path, change(ARM)))
    np.testing.assert_array_equal(plain.values, other.values)
    assert [j.channels for j in plain.joints] == [j.channels for j in other.joints]
    assert (plain.tips, plain.fps) == (other.tips, other.fps)


def test_names_with_spaces_and_from_other_alphabets(tmp_path: Path) -> None:
    text = ARM.replace("Base", "My  Hips").replace("Elbow", "Локоть 肘")
    path = arm(tmp_path, text)
    assert [j.name for j in read_bvh(path).joints] == ["My Hips", "Локоть 肘"]
    write_motion(path, read_motion(path))
    assert read_motion(path).skeleton.joints == ("My Hips", "Локоть 肘")


@pytest.mark.parametrize(
    ("text", "fps"),
    [
        (".0083333", 120.0),
        ("0.008333", 120.0),
        ("0.00833333", 120.0),
        ("0.0333", 30.0),
        ("0.041667", 24.0),
        ("0.04", 25.0),
        ("0.0333667", 1 / 0.0333667),
        ("0.03", 1 / 0.03),
        ("2", 0.5),
    ],
)
def test_rate_from_printed_digits(tmp_path: Path, text: str, fps: float) -> None:
    assert read_bvh(arm(tmp_path, ARM.replace("0.0333333", text))).fps == fps


def test_position_channel_replaces_offset(tmp_path: Path) -> None:
    text = ARM.replace("CHANNELS 1 X", "CHANNELS 2 Zposition X")
    text = text.replace("1 2 3 0 0 0 0", "1 2 3 0 0 0 5 0").replace("-90", "6 -90")
    motion = read_motion(arm(tmp_path, text), units=0.1)
    assert motion.joint_offsets is not None
    # OFFSET 0 2 0 in the file; its z is 5, then 6: ours x.
    ours = [[0.5, 0, 0.2], [0.6, 0, 0.2]]
    np.testing.assert_allclose(motion.joint_offsets[:, 1], ours)
    np.testing.assert_allclose(joint_positions(motion)[0, 1], [0.8, 0.1, 0.4])
    path = tmp_path / "moved.bvh"
    write_motion(path, motion, units=0.1)
    again = read_motion(path, units=0.1)
    np.testing.assert_allclose(joint_positions(again), joint_positions(motion))
    assert again.joint_offsets is not None


def test_constant_position_channels_are_the_skeleton(tmp_path: Path) -> None:
    text = ARM.replace("CHANNELS 1 X", "CHANNELS 2 Yposition X")
    text = text.replace("1 2 3 0 0 0 0", "1 2 3 0 0 0 2 0").replace("-90", "2 -90")
    assert read_motion(arm(tmp_path, text)).joint_offsets is None


def test_root_without_position_channels_stays_at_its_offset(tmp_path: Path) -> None:
    text = ARM.replace("CHANNELS 6 Xposition Yposition Zposition", "CHANNELS 3")
    motion = read_motion(arm(tmp_path, text.replace("1 2 3 ", "")), units=1.0)
    np.testing.assert_array_equal(motion.root_positions, [[0, 0, 1], [0, 0, 1]])


angles = st.floats(-720, 720, allow_nan=False)


@given(
    values=st.lists(
        st.lists(angles | st.floats(-1e9, 1e9), min_size=7, max_size=7),
        min_size=1,
        max_size=4,
    ),
    frame_time=st.floats(1e-6, 1e4),
)
def test_file_round_trip_is_exact(
    tmp_path_factory: pytest.TempPathFactory,
    values: list[list[float]],
    frame_time: float,
) -> None:
    path = tmp_path_factory.mktemp("bvh") / "a.bvh"
    joints = read_bvh(arm(path.parent)).joints
    bvh = BvhFile(joints, ((1, (0.1, 1e-17, -3.0)),), frame_time, np.array(values))
    write_bvh(path, bvh)
    again = read_bvh(path)
    assert again.values.tobytes() == bvh.values.tobytes()
    assert (again.joints, again.tips) == (bvh.joints, bvh.tips)
    assert again.frame_time == frame_time


@given(st.lists(st.floats(-1e9, 1e9), min_size=6, max_size=6), st.integers(0, 20))
def test_printed_numbers_are_read_exactly(
    tmp_path_factory: pytest.TempPathFactory, values: list[float], digits: int
) -> None:
    """The double nearest to the text, however many digits it has."""
    texts = [
        f"{v:.{digits}f}" if i % 2 else f"{v:.{digits}e}" for i, v in enumerate(values)
    ]
    channels = "Xposition Yposition Zposition Zrotation Xrotation Yrotation"
    path = tmp_path_factory.mktemp("numbers") / "a.bvh"
    path.write_text(
        f"HIERARCHY\nROOT a\n{{\nOFFSET 0 0 0\nCHANNELS 6 {channels}\n}}\n"
        f"MOTION\nFrames: 1\nFrame Time: 1\n{' '.join(texts)}\n"
    )
    row = read_bvh(path).values[0]
    assert row.tobytes() == np.array([float(t) for t in texts]).tobytes()


def test_written_angles_do_not_jump(walk_motion: Walk) -> None:
    motion = walk_motion(240, speed=0.0)
    turn = np.linspace(0.0, 6.0 * np.pi, 240)
    rotations = np.array(motion.rotations)
    rotations[:, 0] = 0.0
    rotations[:, 0, 0], rotations[:, 0, 3] = np.cos(turn / 2), np.sin(turn / 2)
    values = motion_to_bvh(motion.replace(rotations=rotations)).values
    assert np.abs(np.diff(values, axis=0)).max() < 10.0
    assert np.ptp(values[:, 3:6], axis=0).max() == pytest.approx(1080.0)


def test_every_joint_has_three_rotation_channels(tmp_path: Path) -> None:
    skeleton = Skeleton("s", ("a", "b"), (-1, 0), np.eye(3)[:2], orders=("ZXY", "Y"))
    half = np.sqrt(0.5)
    about = {"X": [half, half, 0, 0], "Y": [half, 0, half, 0]}
    for axis in "YX":
        rotations = np.array([[[1, 0, 0, 0], about[axis]]], dtype=float)
        motion = Motion(skeleton, 30.0, np.zeros((1, 3)), rotations)
        bvh = motion_to_bvh(motion)
        assert sorted(bvh.joints[1].channels) == [f"{c}rotation" for c in "XYZ"]
        assert np.count_nonzero(bvh.values[0, 6:]) == 1
        again = bvh_to_motion(bvh, "cm")
        assert quat_angle(again.rotations, rotations).max() < 1e-9


def test_rest_orientations_are_baked_in() -> None:
    half = np.sqrt(0.5)
    skeleton = Skeleton(
        "s",
        ("a", "b", "c"),
        (-1, 0, 1),
        np.array([[0, 0, 1], [1, 0, 0], [0, 2, 0]]),
        rest=np.array([[half, 0, 0, half], [half, half, 0, 0], [1, 0, 0, 0]]),
    )
    rng = np.random.default_rng(3)
    rotations = rng.normal(size=(5, 3, 4))
    rotations /= np.linalg.norm(rotations, axis=-1, keepdims=True)
    motion = Motion(skeleton, 30.0, rng.normal(size=(5, 3)), rotations)
    again = bvh_to_motion(motion_to_bvh(motion), "cm")
    np.testing.assert_allclose(
        joint_positions(again), joint_positions(motion), atol=1e-12
    )


def test_blender_axes(tmp_path: Path, walk_motion: Walk) -> None:
    motion, path = walk_motion(10), tmp_path / "z_up.bvh"
    axes = Axes(up="Z", forward="-Y")
    write_motion(path, motion, axes=axes)
    # The walk goes to the file's -Y.
    assert np.ptp(read_bvh(path).values[:, 1]) == pytest.approx(120.0 * 9 / 120)
    again = read_motion(path, axes=axes)
    np.testing.assert_allclose(
        joint_positions(again), joint_positions(motion), atol=1e-12
    )
    assert again.skeleton.orders == motion.skeleton.orders


@pytest.mark.parametrize("up", ["X", "-X", "Y", "-Y", "Z", "-Z"])
@pytest.mark.parametrize("forward", ["X", "-X", "Y", "-Y", "Z", "-Z"])
def test_all_axes(up: str, forward: str) -> None:
    if up[-1] == forward[-1]:
        with pytest.raises(MotionError, match="one axis"):
            Axes(up, forward)
        return
    axes = Axes(up, forward)
    assert np.linalg.det(axes.matrix) == 1.0
    v = np.array([[1.0, 2.0, 3.0]])
    np.testing.assert_array_equal(axes.to_ours(v), v @ axes.matrix.T)
    np.testing.assert_array_equal(axes.to_file(axes.to_ours(v)), v)


@pytest.mark.parametrize("unit", ["m", "cm", "mm", "inch", "asf"])
def test_units_are_found(tmp_path: Path, walk_motion: Walk, unit: str) -> None:
    path = tmp_path / "walk.bvh"
    for scale in (0.75, 1.0, 1.25):
        motion = walk_motion(3)
        sized = motion.replace(
            skeleton=motion.skeleton.scaled(scale),
            root_positions=motion.root_positions * scale,
        )
        write_motion(path, sized, units=unit)
        assert units_of(path) == unit
        again = read_motion(path)
        np.testing.assert_allclose(
            joint_positions(again), joint_positions(sized), atol=1e-12
        )


def test_unit_rules() -> None:
    assert likely_units(0.0) == "cm"
    assert metres_per_unit("0.5") == 0.5
    with pytest.raises(MotionError, match="did you mean 'inch'"):
        metres_per_unit("inches")
    for bad in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(MotionError, match="above 0"):
            metres_per_unit(bad)


def test_names_that_bvh_cannot_hold() -> None:
    skeleton = Skeleton("s", ("a{b",), (-1,), np.zeros((1, 3)))
    motion = Motion(skeleton, 30.0, np.zeros((1, 3)), np.array([[[1.0, 0, 0, 0]]]))
    with pytest.raises(SkeletonError, match="cannot be written"):
        motion_to_bvh(motion)


def test_nothing_is_left_of_a_write_that_fails(
    tmp_full_disk: Path, walk_motion: Walk
) -> None:
    path = tmp_full_disk / "walk.bvh"
    write_motion(path, walk_motion(2))
    before = path.read_bytes()
    with pytest.raises(MotionFileError, match="cannot be written"):
        write_motion(path, walk_motion(2000))
    assert path.read_bytes() == before
    assert [p.name for p in tmp_full_disk.iterdir()] == ["walk.bvh"]
