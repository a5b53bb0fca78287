from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from fixtures.motion_texts import ASF_ROOT
from hypothesis import given
from hypothesis import strategies as st

from ambulo.configs.errors import MotionError, MotionFileError
from ambulo.motion.formats.acclaim import motion_to_acclaim
from ambulo.motion.formats.amc import AmcFile, find_asf, read_amc, write_amc
from ambulo.motion.formats.files import read_motion, units_of, write_motion
from ambulo.motion.kinematics import forward_kinematics, joint_positions, tip_positions
from ambulo.motion.landmarks import body_points
from ambulo.motion.motion import Motion
from ambulo.motion.rotations import quat_angle
from ambulo.motion.skeleton import Skeleton

Walk = Callable[..., Motion]

ASF = f""":units
  mass 1.0
  length 1
  angle deg
{ASF_ROOT}  begin
    name upper
    direction 1 0 0
    length 3
    axis 0 0 90 XYZ
    dof rx
  end
  begin
    name lower
    direction 0 1 0
    length 2
    axis 0 0 0 XYZ
    dof rx rz
  end
:hierarchy
  begin
    root upper
    upper lower
  end
"""
AMC = """#!OML:ASF C:\\mocap\\arm.ASF
:FULLY-SPECIFIED
:DEGREES
1
root 1 2 3 0 0 0
upper 0
lower 0 0
2
root 1 2 3 0 0 0
upper 90
lower 0 90
"""


def arm(tmp_path: Path, amc: str = AMC, asf: str = ASF) -> Path:
    (tmp_path / "arm.asf").write_text(asf)
    path = tmp_path / "07_01.amc"
    path.write_bytes(amc.encode())
    return path


def test_motion_in_our_axes(tmp_path: Path) -> None:
    motion = read_motion(arm(tmp_path), units=1.0)
    np.testing.assert_array_equal(motion.root_positions, [[3, 1, 2]] * 2)
    places = joint_positions(motion)
    np.testing.assert_allclose(places[0], [[3, 1, 2], [3, 1, 2], [3, 4, 2]])
    # The frame of the upper bone is turned by 90 degrees about the file's z, so its rx is
    # a turn about the file's y, our z: the elbow goes from the file's x to its -z.
    np.testing.assert_allclose(places[1, 2], [0, 1, 2], atol=1e-12)


def test_units_come_from_the_skeleton(tmp_path: Path) -> None:
    path = arm(tmp_path, asf=ASF.replace("length 1\n", "length 0.45\n"))
    scale = 0.0254 / 0.45
    np.testing.assert_allclose(
        read_motion(path).root_positions[0], np.array([3, 1, 2]) * scale
    )
    assert units_of(path) == "asf"
    assert units_of(arm(tmp_path)) == "inch"


@pytest.mark.parametrize(
    "change",
    [
        lambda t: t.replace("\n", "\r\n"),
        lambda t: t.replace("\n", "\r"),
        lambda t: t.replace(" ", "\t "),
        lambda t: t.replace("\n", "\n\n"),
        lambda t: t.rstrip("\n"),
        lambda t: t.replace("upper 90\nlower 0 90", "lower 0 90\nupper 90"),
        lambda t: t.replace("\n1\n", "\n41\n").replace("\n2\n", "\n42\n"),
        lambda t: t.replace(":DEGREES\n", ""),
        lambda t: t.replace(":FULLY", "# a comment\n:fully"),
        lambda t: t.replace("90", "9.0e+001"),
    ],
)
def test_spellings(tmp_path: Path, change: Callable[[str], str]) -> None:
    expected = joint_positions(read_motion(arm(tmp_path)))
    got = joint_positions(read_motion(arm(tmp_path, change(AMC))))
    np.testing.assert_array_equal(got, expected)


def test_radians_and_rate(tmp_path: Path) -> None:
    text = AMC.replace(":DEGREES", ":RADIANS\n:SAMPLES-PER-SECOND 60")
    text = text.replace("90", repr(np.pi / 2))
    motion = read_motion(arm(tmp_path, text))
    expected = read_motion(arm(tmp_path))
    assert motion.fps == 60.0
    np.testing.assert_allclose(
        joint_positions(motion), joint_positions(expected), atol=1e-12
    )


def test_root_with_another_order_and_place(tmp_path: Path) -> None:
    asf = ASF.replace("TX TY TZ RX RY RZ", "RZ TZ TX TY RX").replace(
        "position 0 0 0", "position 10 20 30"
    )
    amc = AMC.replace("root 1 2 3 0 0 0", "root 90 3 1 2 0")
    motion = read_motion(arm(tmp_path, amc, asf), units=1.0)
    np.testing.assert_array_equal(motion.root_positions[0], [33, 11, 22])
    np.testing.assert_array_equal(motion.skeleton.offsets[0], [30, 10, 20])
    # Turned by 90 degrees about the file's z, the upper bone points to its y, our z.
    np.testing.assert_allclose(joint_positions(motion)[0, 2], [33, 11, 25])


number = st.floats(-1e9, 1e9)


@given(st.lists(st.lists(number, min_size=9, max_size=9), min_size=1, max_size=4))
def test_file_round_trip_is_exact(
    tmp_path_factory: pytest.TempPathFactory, values: list[list[float]]
) -> None:
    path = tmp_path_factory.mktemp("amc") / "a.amc"
    bones = (("root", 6), ("upper", 1), ("lower", 2))
    amc = AmcFile(bones, np.array(values), first=3, degrees=False, fps=59.94)
    write_amc(path, amc)
    again = read_amc(path)
    assert again.values.tobytes() == amc.values.tobytes()
    assert (again.bones, again.first, again.fps) == (bones, 3, 59.94)
    assert again.degrees is False


def test_the_skeleton_is_found(tmp_path: Path) -> None:
    path = arm(tmp_path)
    (tmp_path / "07.ASF").write_text(ASF)
    (tmp_path / "other.asf").write_text(ASF)
    # The header's name comes first, in any case and whatever its folder.
    assert find_asf(path, "C:\\mocap\\ARM.asf").name == "arm.asf"
    assert find_asf(path, "/home/x/arm.asf").name == "arm.asf"
    # Then the subject's number.
    assert find_asf(path, "C:\\gone.asf").name == "07.ASF"
    (tmp_path / "07.ASF").unlink()
    with pytest.raises(MotionFileError, match=r"arm\.asf, other\.asf"):
        find_asf(path, "gone.asf")
    (tmp_path / "other.asf").unlink()
    assert find_asf(path, "gone.asf").name == "arm.asf"


def test_the_skeleton_of_another_subject_is_not_taken(tmp_path: Path) -> None:
    # Bones have the same names, so that only the number tells.
    path = arm(tmp_path)
    asf = (tmp_path / "arm.asf").rename(tmp_path / "12.asf")
    with pytest.raises(MotionFileError, match=r"12\.asf.*name one with --asf FILE"):
        read_motion(path)
    assert len(read_motion(path, asf=asf)) > 0
    asf.rename(tmp_path / "7.asf")
    assert find_asf(path).name == "7.asf"
    (tmp_path / "7.asf").unlink()
    with pytest.raises(MotionFileError, match="none"):
        read_motion(path)


@pytest.mark.parametrize(
    ("asf", "rule"),
    [
        (ASF.replace("upper", "femur"), "bone 'upper' does not move"),
        (ASF.replace("dof rx rz", "dof rx"), "'lower' has 2 numbers, the skeleton 1"),
        (ASF.replace("TX TY TZ RX RY RZ", "TX TY TZ"), "'root' has 6"),
    ],
)
def test_wrong_skeleton_names_both_files(tmp_path: Path, asf: str, rule: str) -> None:
    path = arm(tmp_path, asf=asf)
    with pytest.raises(MotionFileError, match=rule) as caught:
        read_motion(path)
    assert "07_01.amc" in str(caught.value)
    assert "arm.asf" in str(caught.value)


def test_bone_missing_in_every_frame(tmp_path: Path) -> None:
    path = arm(tmp_path, AMC.replace("upper 0\n", "").replace("upper 90\n", ""))
    with pytest.raises(MotionFileError, match="'upper' of the skeleton is missing"):
        read_motion(path)


@pytest.mark.parametrize("order", ["XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX", "ZXZ"])
@pytest.mark.parametrize("ending", [".amc", ".bvh"])
def test_motion_round_trip(
    tmp_path: Path, walk_motion: Walk, order: str, ending: str
) -> None:
    motion = walk_motion(40, order=order)
    path = tmp_path / f"walk{ending}"
    write_motion(path, motion)
    again = read_motion(path)
    assert again.fps == motion.fps
    if ending == ".bvh":  # it names every channel once; ours XZY is the file's ZYX
        assert set(again.skeleton.orders) == {"XZY" if order == "ZXZ" else order}
    places = [again.skeleton.index(name) for name in motion.skeleton.joints]
    points = [body_points(one)[:, -len(one.skeleton.tips) :] for one in (again, motion)]
    for one, other in (
        (joint_positions(again)[:, places], joint_positions(motion)),
        tuple(np.sort(p, axis=1) for p in points),
    ):
        np.testing.assert_allclose(one, other, atol=1e-12)
    turned = quat_angle(again.rotations[:, places], motion.rotations)
    assert np.degrees(turned).max() < 1e-6
    # A skeleton that was read is written without any further bone.
    write_motion(path, again)
    third = read_motion(path)
    assert third.skeleton.joints == again.skeleton.joints
    assert third.skeleton.orders == again.skeleton.orders
    np.testing.assert_allclose(third.skeleton.axes, again.skeleton.axes, atol=1e-12)
    np.testing.assert_allclose(third.skeleton.limits, again.skeleton.limits, atol=1e-12)


def test_frames_limits_and_hinges_are_kept() -> None:
    half = np.sqrt(0.5)
    skeleton = Skeleton(
        "s",
        ("root", "hip", "knee"),
        (-1, 0, 1),
        np.array([[0, 0, 1], [0, 0.1, 0], [0, 0, -0.4]]),
        rest=np.array([[1, 0, 0, 0], [half, half, 0, 0], [1, 0, 0, 0]]),
        orders=("ZXY", "ZXY", "Y"),
        axes=np.array([[1, 0, 0, 0], [1, 0, 0, 0], [half, 0, 0, half]]),
        limits=np.array([[-1.0, 1.0]] * 6 + [[-0.5, 2.0]]),
    )
    rotations = np.tile([1.0, 0, 0, 0], (3, 3, 1))
    # The knee's Y in a frame turned by 90 degrees about Z is a turn about -X.
    rotations[1, 2] = [np.cos(0.2), -np.sin(0.2), 0, 0]
    motion = Motion(skeleton, 60.0, np.zeros((3, 3)), rotations)
    asf, amc = motion_to_acclaim(motion)
    knee = asf.bone("knee")
    assert knee is not None
    # Our Y is the file's X.
    assert knee.dof == ("rx",)
    np.testing.assert_allclose(knee.limits, [np.degrees([-0.5, 2.0])])
    column = sum(count for name, count in amc.bones if name != "knee")
    np.testing.assert_allclose(np.radians(amc.values[:, column]), [0, 0.4, 0])


def test_what_amc_cannot_hold(walk_motion: Walk) -> None:
    motion = walk_motion(2)
    moving = motion.replace(joint_offsets=np.zeros((2, len(motion.skeleton), 3)))
    with pytest.raises(MotionError, match="move away"):
        motion_to_acclaim(moving)
    for name in ("two words", "7th", "end", "root", "a#b"):
        names = ("base", *motion.skeleton.joints[1:-1], name)
        bad = motion.replace(skeleton=motion.skeleton.replace(joints=names))
        if name == "root":
            names = ("root", *motion.skeleton.joints[1:])
            assert motion_to_acclaim(motion)[1].bones[0] == ("root", 6)
        with pytest.raises(MotionError.__mro__[1], match=r"written to ASF|called root"):
            motion_to_acclaim(bad)


def test_bone_ends_equal_an_independent_program(cmu: Path) -> None:
    """Forward kinematics of `reference_fk`, raw units, to 1e-9."""
    checked = 0
    for reference in sorted(cmu.glob("reference_fk/*.npz")):
        trial = reference.stem[:5]
        path = cmu / "asfamc" / trial[:2] / f"{trial}.amc"
        if not path.is_file():
            continue
        stored = np.load(reference, allow_pickle=False)
        motion = read_motion(path, units=1.0)
        skeleton = motion.skeleton
        assert list(skeleton.joints) == stored["names"].tolist()
        # The reference stores the end of each bone, a joint stands at its start.
        ends = motion_ends(motion)[stored["frames"]]
        np.testing.assert_allclose(
            ends, stored["positions"][..., [2, 0, 1]], rtol=0, atol=1e-9
        )
        checked += 1
    assert checked >= 5


def motion_ends(motion: Motion) -> np.ndarray:
    """Ends of all bones: where the children start, or the tip. Shape (T, J, 3)."""
    places, turns = forward_kinematics(
        motion.skeleton, motion.root_positions, motion.rotations
    )
    tips = tip_positions(motion.skeleton, places, turns)
    ends = np.array(places)
    for joint in range(1, len(motion.skeleton)):
        below = motion.skeleton.children(joint)
        if below:
            ends[:, joint] = places[:, below[0]]
        else:
            ends[:, joint] = tips[:, motion.skeleton.tip_parents.index(joint)]
    return ends
