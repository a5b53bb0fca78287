"""Retargeting from files of other makers: what their joints do, or one line why not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from fixtures.rig_accuracy import accuracy
from fixtures.rigs import MAKERS, REFUSED, UNNAMED, Maker, write_as

import ambulo
from ambulo.cli import main
from ambulo.configs.errors import AmbuloError, MotionError
from ambulo.motion.formats.files import read_motion, write_motion
from ambulo.motion.kinematics import motion_kinematics
from ambulo.motion.motion import Motion
from ambulo.motion.retargeting.retarget import retarget
from ambulo.motion.retargeting.source import prepared, read_source
from ambulo.motion.roles import roles_of
from ambulo.motion.rotations import quat_angle, quat_multiply
from ambulo.motion.skeleton import Skeleton
from ambulo.motion.skeletons import load_skeleton

Walk = Callable[..., Motion]
BY_NAME = {maker.name: maker for maker in MAKERS}
FEW = ("lafan z-up inches", "unreal", "rokoko", "smpl", "biped")
POSITION_CM, ROTATION_DEG = 0.5, 2.0
"""What every joint's mean error must keep."""


@pytest.fixture(scope="module")
def gaits() -> dict[str, Motion]:
    """Three walks of the suite's own generator."""
    network = ambulo.load("gait_net")
    return {
        "walk": network.walk(cycles=3),
        "long steps": network.walk(cycles=3, stride=1.2),
        "quick": network.walk(cycles=3, cadence=1.15),
    }


def check(path: Path, truth: Motion, maker: Maker, target: str) -> None:
    write_as(path, truth, maker)
    source = read_source(path)
    done = retarget(source, load_skeleton(target), fit_lengths=True, ground=False)
    assert done.scale == pytest.approx(1.0, abs=1e-3)
    found = accuracy(truth, done.motion)
    assert max(found.positions_cm.values()) < POSITION_CM, found.positions_cm
    assert max(found.rotations_deg.values()) < ROTATION_DEG, found.rotations_deg
    # What is printed is what is true.
    assert done.error.position_cm == pytest.approx(found.position, abs=0.1)
    assert done.error.rotation_deg == pytest.approx(found.rotation, abs=0.5)


@pytest.mark.parametrize("maker", UNNAMED, ids=lambda maker: maker.name)
def test_a_walk_without_names_is_the_walk(
    maker: Maker, gaits: dict[str, Motion], tmp_path: Path
) -> None:
    check(tmp_path / "walk.bvh", gaits["walk"], maker, "human23")
    assert "roles: by shape" in read_source(tmp_path / "walk.bvh").note


@pytest.mark.parametrize("name", FEW)
def test_every_convention_gives_the_same_motion(
    name: str, gaits: dict[str, Motion], tmp_path: Path
) -> None:
    """World orientations, too: no joint is half a turn off that looks right in place."""
    truth, target = gaits["walk"], load_skeleton("human23")
    check(tmp_path / "walk.bvh", truth, BY_NAME[name], "human23")
    done = retarget(read_source(tmp_path / "walk.bvh"), target, fit_lengths=True)
    known = retarget(truth, target, fit_lengths=True)
    angles = np.rad2deg(
        quat_angle(*(motion_kinematics(r.motion)[1] for r in (done, known)))
    ).mean(axis=0)
    # Hands and toes have no zero where the file has no rest pose.
    assert np.median(angles) < 2.0
    assert angles.max() < 25.0


@pytest.mark.slow
@pytest.mark.parametrize("target", ["human23", "ik23", "cmu31", "daz43"])
@pytest.mark.parametrize("maker", MAKERS, ids=lambda maker: maker.name)
def test_all_makers_and_targets(
    maker: Maker, target: str, gaits: dict[str, Motion], tmp_path: Path
) -> None:
    for name, truth in gaits.items():
        check(tmp_path / f"{name}.bvh", truth, maker, target)


@pytest.mark.slow
@pytest.mark.parametrize("maker", MAKERS, ids=lambda maker: maker.name)
def test_captured_motion_of_all_makers(maker: Maker, cmu: Path, tmp_path: Path) -> None:
    for clip in ("asfamc/02/02_01.amc", "asfamc/07/07_01.amc", "bvh_daz/08/08_01.bvh"):
        truth = read_motion(cmu / clip, drop_tpose=True)[::4]
        check(tmp_path / "clip.bvh", truth, maker, "human23")


@pytest.mark.parametrize(("maker", "reason"), REFUSED, ids=lambda item: str(item)[:24])
def test_what_cannot_be_mapped_is_refused_in_one_line(
    maker: Maker,
    reason: str,
    gaits: dict[str, Motion],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    clip, out = tmp_path / "walk.bvh", tmp_path / "out.bvh"
    write_as(clip, gaits["walk"], maker)
    assert main(["data", "convert", str(clip), str(out), "--skeleton", "human23"]) == 2
    printed = capsys.readouterr()
    assert reason in printed.err
    assert printed.err.count("\n") == 1
    assert not printed.out
    assert not out.exists()


def test_the_command_says_what_it_chose(
    gaits: dict[str, Motion], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    clip, out = tmp_path / "walk.bvh", tmp_path / "out.npz"
    write_as(clip, gaits["walk"], BY_NAME["lafan z-up inches"])
    words = ["data", "convert", str(clip), str(out), "--skeleton", "human23"]
    assert main([*words, "--fit-lengths", "--keep-feet"]) == 0
    printed = capsys.readouterr().out
    assert all(len(line) < 250 for line in printed.splitlines())
    assert "joints 0.0 cm from the source's" in printed
    assert "axes: Z is up" in printed
    assert "rest pose: a T-pose computed from the motion" in printed
    assert accuracy(gaits["walk"], read_motion(out)).position < POSITION_CM


def without(skeleton: Skeleton, *limbs: str) -> Skeleton:
    """The skeleton with given roles, those of `limbs` not among them."""
    return skeleton.replace(
        roles={r: j for r, j in roles_of(skeleton).items() if not r.endswith(limbs)}
    )


def test_limbs_with_unknown_names_are_found_by_shape(walk_motion: Walk) -> None:
    walk = walk_motion(20)
    names = [
        name if name[1:] not in ("humerus", "radius", "wrist", "hand") else f"{name}xyz"
        for name in walk.skeleton.joints
    ]
    odd = walk.replace(skeleton=walk.skeleton.replace(joints=tuple(names)))
    assert roles_of(odd.skeleton) == roles_of(walk.skeleton)
    assert not ambulo.retarget(odd, "human23").missing


def test_limbs_without_roles_are_never_silent(
    walk_motion: Walk,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
) -> None:
    walk = walk_motion(20)
    odd = walk.replace(skeleton=without(walk.skeleton, "arm", "hand"))
    arms = [f"{s}_{limb}" for s in ("left", "right") for limb in ("upper_arm", "hand")]
    done = ambulo.retarget(odd, "human23")
    assert set(done.missing) >= set(arms)
    retarget(odd, load_skeleton("human23"))
    assert caplog.text.count("roles: no joints found for left_upper_arm, ") == 2
    assert not retarget(walk, load_skeleton("human23")).missing
    clip, out = str(tmp_path / "odd.npz"), str(tmp_path / "out.npz")
    write_motion(clip, odd)
    words = ["data", "convert", clip, out, "--skeleton", "human23"]
    assert main([*words, "--strict"]) == 2
    assert "stay as at rest (found: hips, " in capsys.readouterr().err
    assert main(words) == 0
    assert "no joints found for left_upper_arm" in capsys.readouterr().out
    assert main(["data", "info", clip]) == 0
    assert "not found: left_upper_arm, " in capsys.readouterr().out


def test_a_file_s_zero_pose_that_is_none_is_refused_as_rest_pose(
    gaits: dict[str, Motion], tmp_path: Path
) -> None:
    write_as(tmp_path / "walk.bvh", gaits["walk"], BY_NAME["lafan"])
    source = read_source(tmp_path / "walk.bvh", rest_pose="file")
    with pytest.raises(MotionError, match=r"bones would be \d+ degrees"):
        retarget(source, load_skeleton("human23"))


def test_axes_can_be_given(gaits: dict[str, Motion], tmp_path: Path) -> None:
    write_as(tmp_path / "walk.bvh", gaits["walk"], BY_NAME["unreal"])
    known = read_source(tmp_path / "walk.bvh")
    for axes in ("z-up", "Z,-Y"):
        given = read_source(tmp_path / "walk.bvh", axes=axes)
        assert not given.notes
        np.testing.assert_allclose(
            *(motion_kinematics(s.motion)[0] for s in (given, known)), atol=1e-9
        )
    motion = read_motion(tmp_path / "walk.bvh")
    done = ambulo.retarget(
        motion, "human23", fit_lengths=True, ground=False, axes="z-up"
    )
    assert accuracy(gaits["walk"], done.motion).position < POSITION_CM
    with pytest.raises(AmbuloError, match="expected y-up, z-up"):
        read_source(tmp_path / "walk.bvh", axes="upwards")


def test_a_frame_can_be_the_rest_pose(gaits: dict[str, Motion], tmp_path: Path) -> None:
    truth = gaits["walk"]
    write_as(tmp_path / "walk.bvh", truth, BY_NAME["lafan"])
    source = read_source(tmp_path / "walk.bvh", rest_pose="frame:5")
    assert source.note == "rest pose: frame 5"
    assert np.abs(source.motion.rotations[5, 1:, 1:]).max() < 1e-6
    done = retarget(source, load_skeleton("human23"), fit_lengths=True, ground=False)
    assert accuracy(truth, done.motion).position < POSITION_CM
    for choice, reason in (
        ("frame:5000", "the last frame is"),
        ("t-pose", "no frame is a T-pose"),
        ("frame:-1", "expected auto, file"),
    ):
        with pytest.raises(AmbuloError, match=reason):
            read_source(tmp_path / "walk.bvh", rest_pose=choice)


def test_nothing_is_changed_where_nothing_is_wrong(walk_motion: Walk) -> None:
    walk = walk_motion(40)
    source = prepared(walk)
    assert source.motion is walk
    assert not source.notes


def test_a_foot_whose_toe_lies_below_the_ankle_leads_to_its_tip(
    walk_motion: Walk,
) -> None:
    """The same feet by other joints: the toe's rotation is none in this walk."""
    walk = walk_motion(40)
    skeleton = walk.skeleton
    offsets, tips = skeleton.offsets.copy(), skeleton.tips.copy()
    for tip, owner in enumerate(skeleton.tip_parents):
        if skeleton.joints[owner].endswith("toes"):
            offsets[owner], tips[tip] = [0.0, 0.0, -0.04], [0.2, 0.0, 0.0]
    below = walk.replace(skeleton=skeleton.replace(offsets=offsets, tips=tips))
    source, target = prepared(below), load_skeleton("human23")
    assert not source.notes
    done, known = retarget(source, target), retarget(walk, target)
    feet = [target.index(f"Talus{side}") for side in "LR"]
    turns = (motion_kinematics(r.motion)[1][:, feet] for r in (done, known))
    assert np.rad2deg(quat_angle(*turns)).max() < 1.0
    places = (motion_kinematics(r.motion)[0] for r in (done, known))
    assert np.abs(next(places) - next(places)).max() < 0.02


def test_a_body_that_lies_is_not_turned_upright(walk_motion: Walk) -> None:
    """Asleep on the floor along one axis; its skeleton stands along Z at rest."""
    walk = walk_motion(40)
    rotations = np.tile([1.0, 0.0, 0.0, 0.0], (40, len(walk.skeleton), 1))
    rotations[:, 0] = [np.sqrt(0.5), 0.0, np.sqrt(0.5), 0.0]
    root = np.tile([2.0, 3.0, 0.12], (40, 1))
    lying = walk.replace(rotations=rotations, root_positions=root)
    assert prepared(lying).motion is lying


@pytest.mark.parametrize("name", ["unreal", "lafan z-up inches", "smpl"])
def test_up_is_found_without_a_step(
    name: str, gaits: dict[str, Motion], tmp_path: Path
) -> None:
    """On a treadmill, with jumps in place: nothing but the floor shows which axis is up."""
    walk = gaits["walk"]
    root = walk.root_positions * [0.0, 1.0, 1.0]
    root[20:40, 2] += 0.3 * np.sin(np.linspace(0.0, np.pi, 20))
    truth = walk.replace(root_positions=root)
    write_as(tmp_path / "walk.bvh", truth, BY_NAME[name])
    source, target = read_source(tmp_path / "walk.bvh"), load_skeleton("human23")
    done = retarget(source, target, fit_lengths=True, ground=False)
    assert accuracy(truth, done.motion).position < POSITION_CM


def test_a_body_that_never_stands_without_a_rest_pose_is_refused(
    gaits: dict[str, Motion], tmp_path: Path
) -> None:
    """It swims, in a file whose offsets are no pose: any axis could be up."""
    walk = gaits["walk"]
    rotations = walk.rotations.copy()
    prone = np.array([np.sqrt(0.5), 0.0, np.sqrt(0.5), 0.0])
    rotations[:, 0] = quat_multiply(prone, rotations[:, 0])
    root = np.outer(walk.times, [1.0, 0.0, 0.1])
    swim = walk.replace(rotations=rotations, root_positions=root)
    write_as(tmp_path / "swim.bvh", swim, BY_NAME["lafan"])
    with pytest.raises(MotionError, match="which axis is up"):
        read_source(tmp_path / "swim.bvh")
    assert read_source(tmp_path / "swim.bvh", axes="y-up").notes


@pytest.mark.parametrize("renamed", ["source", "target"])
def test_hands_of_unknown_arms_are_not_bent(walk_motion: Walk, renamed: str) -> None:
    """Whichever skeleton lacks the arms: hands stay on them as at rest, which is noted."""
    walk, target = walk_motion(20), load_skeleton("human23")
    assert not any("do not move" in note for note in retarget(walk, target).notes)
    hands = [target.index(name) for name in target.joints if "Hand" in name]
    if renamed == "source":
        walk = walk.replace(skeleton=without(walk.skeleton, "arm"))
    else:
        target = without(target, "arm")
    moved = retarget(walk, target)
    assert quat_angle(moved.motion.rotations, np.eye(4)[0])[:, hands].max() < 0.01
    [note] = [note for note in moved.notes if "do not move" in note]
    odd = (walk.skeleton if renamed == "source" else target).name
    assert "left_hand, right_hand" in note
    assert f"{odd} has no left_upper_arm, left_forearm, right_upper_arm, " in note
