"""Faults of clips, made of a walk: named by their frames, or mended."""

from __future__ import annotations

import csv
import logging
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from ambulo.configs.errors import MotionError
from ambulo.motion.clip_checks import (
    checked_clip,
    checked_part,
    ground_height,
    lowest_feet,
    mended_clip,
)
from ambulo.motion.formats.files import read_motion
from ambulo.motion.kinematics import joint_positions
from ambulo.motion.landmarks import body_points
from ambulo.motion.motion import Motion
from ambulo.motion.roles import roles_of
from ambulo.motion.rotations import quat_from_rotvec, quat_multiply

Walk = Callable[..., Motion]


def moved(motion: Motion, rows: slice, shift: tuple[float, float, float]) -> Motion:
    """`motion` with the root of some frames elsewhere."""
    root = motion.root_positions.copy()
    root[rows] += shift
    return motion.replace(root_positions=root)


def with_rotations(
    motion: Motion, joints: list[str], rows: slice, turn: list[float]
) -> Motion:
    """`motion` with the rotations of some joints turned in some frames."""
    rotations = motion.rotations.copy()
    for joint in joints:
        j = motion.skeleton.index(joint)
        rotations[rows, j] = quat_multiply(
            rotations[rows, j], quat_from_rotvec(np.array(turn))
        )
    return motion.replace(rotations=rotations)


def faults(motion: Motion, first: int = 0) -> list[str]:
    return [str(fault) for fault in mended_clip(motion, first)[1]]


@pytest.mark.parametrize("fps", [24.0, 30.0, 60.0, 120.0])
def test_a_walk_has_no_faults(walk_motion: Walk, fps: float) -> None:
    walk = walk_motion(round(2.0 * fps), fps)
    same, found = mended_clip(walk)
    assert found == ()
    assert same is walk


def test_a_jump_of_the_root(walk_motion: Walk) -> None:
    clip = moved(walk_motion(240), slice(100, None), (0.3, 0.0, 0.0))
    with pytest.raises(
        MotionError,
        match=r"walk: frames 599 to 600: the root jumps by 0\.30 m.*--frames A:B",
    ):
        checked_clip(clip, first=500)


@pytest.mark.parametrize(("fps", "jump"), [(24.0, 0.3), (120.0, 0.15), (120.0, 3.0)])
def test_jumps_at_any_rate(walk_motion: Walk, fps: float, jump: float) -> None:
    clip = moved(walk_motion(round(2.0 * fps), fps), slice(30, None), (0.0, jump, 0.0))
    assert [f.first for f in mended_clip(clip)[1] if not f.mended] == [29]


def test_a_spike_is_interpolated(
    walk_motion: Walk, caplog: pytest.LogCaptureFixture
) -> None:
    walk = walk_motion(240)
    clip = moved(walk, slice(100, 103), (0.0, 0.0, 0.4))
    with caplog.at_level(logging.WARNING):
        mended = checked_clip(clip, first=7)
    assert "frames 107 to 109: the root jumps by 0.40 m and back" in caplog.text
    np.testing.assert_allclose(mended.root_positions, walk.root_positions, atol=1e-3)
    np.testing.assert_array_equal(mended.rotations[:100], walk.rotations[:100])
    np.testing.assert_array_equal(mended.rotations[103:], walk.rotations[103:])


def test_a_part_is_retargeted_in_the_whole_clip(walk_motion: Walk) -> None:
    walk = walk_motion(240)
    spiked = moved(walk, slice(10, 12), (0.0, 0.0, 0.4))
    part = checked_part(spiked, "100:200")
    assert (part.first, len(part.clip), len(part.whole)) == (100, 100, 240)
    np.testing.assert_allclose(
        part.whole[part.frames].root_positions, part.clip.root_positions
    )
    np.testing.assert_allclose(
        part.whole.root_positions, walk.root_positions, atol=1e-3
    )
    alone = checked_part(moved(walk, slice(30, None), (3.0, 0.0, 0.0)), "100:200")
    assert (len(alone.whole), alone.first, alone.frames) == (100, 100, slice(0, 100))
    with pytest.raises(MotionError, match="frames 29 to 30: the root jumps"):
        checked_part(moved(walk, slice(30, None), (3.0, 0.0, 0.0)), "20:200")


def test_a_limb_that_jumps(walk_motion: Walk) -> None:
    walk = walk_motion(240)
    spike = with_rotations(walk, ["lfemur"], slice(50, 52), [0.0, -1.5, 0.0])
    assert faults(spike) == [
        "frames 50 to 51: the left foot jumps by 1.04 m and back; interpolated"
    ]
    stays = with_rotations(walk, ["lfemur"], slice(50, None), [0.0, -1.5, 0.0])
    assert (
        "frames 49 to 50: the left foot jumps by 1.03 m between them"
        in faults(stays)[0]
    )


def test_exchanged_hands_and_arms(walk_motion: Walk) -> None:
    walk = walk_motion(240)
    names = walk.skeleton.joints
    other = [
        names.index({"l": "r", "r": "l"}[n[0]] + n[1:])
        if n[1:] in ("humerus", "radius", "wrist", "hand", "clavicle")
        else j
        for j, n in enumerate(names)
    ]
    # Data of the arms under the names of the others: the skeleton's shoulders change sides.
    skeleton = walk.skeleton.replace(offsets=walk.skeleton.offsets[other])
    crossed = walk.replace(skeleton=skeleton, rotations=walk.rotations[:, other])
    assert faults(crossed)[0] == (
        "frames 0 to 239: the left shoulder is right of the right one: arms are exchanged"
    )


def test_feet_that_exchange_places(walk_motion: Walk) -> None:
    walk = walk_motion(240)
    rotations = walk.rotations.copy()
    for part in ("femur", "tibia", "foot"):
        left, right = (walk.skeleton.index(side + part) for side in "lr")
        rotations[125:, [left, right]] = rotations[125:, [right, left]]
    offsets = walk.skeleton.offsets.copy()
    offsets[[walk.skeleton.index(s + "femur") for s in "lr"], 1] = 0.0
    clip = walk.replace(
        rotations=rotations, skeleton=walk.skeleton.replace(offsets=offsets)
    )
    found = [str(f) for f in mended_clip(clip)[1] if "exchange" in f.text]
    assert found == [
        "frames 124 to 125: left and right foot exchange places between them; choose frames "
        "on one side with --frames A:B"
    ]


def test_feet_under_the_ground(
    walk_motion: Walk, caplog: pytest.LogCaptureFixture
) -> None:
    walk = walk_motion(240)
    # Slowly down and up again, which is no jump.
    dip = np.zeros((240, 3))
    dip[80:160, 2] = -0.35 * np.sin(np.linspace(0.0, np.pi, 80)) ** 2
    clip = walk.replace(root_positions=walk.root_positions + dip)
    with pytest.raises(
        MotionError, match=r"frame 1[12]\d: the (left|right) foot is 0\.3\d m under"
    ):
        checked_clip(clip)
    shallow = walk.replace(root_positions=walk.root_positions + 0.4 * dip)
    with caplog.at_level(logging.WARNING):
        assert checked_clip(shallow) is shallow
    assert "m under the ground of the clip; lifted" in caplog.text


def test_the_ground_is_where_feet_stand(walk_motion: Walk) -> None:
    walk = walk_motion(240)
    low = lowest_feet(walk, body_points(walk))
    assert low.shape == (240, 2)
    assert ground_height(walk) == pytest.approx(low.min(), abs=0.05)
    raised = moved(walk, slice(None), (0.0, 0.0, 2.0))
    assert ground_height(raised) == pytest.approx(ground_height(walk) + 2.0)
    assert faults(raised) == []


@pytest.mark.parametrize("hanging", [0.0, 0.2])
def test_a_lying_person(walk_motion: Walk, hanging: float) -> None:
    """Also one whose leg hangs down, [rad]: the trunk is high over the lowest point."""
    walk = walk_motion(240)
    pitch = 0.5 * np.pi * np.clip((np.arange(240) - 60) / 60.0, 0.0, 1.0)
    turn = quat_from_rotvec(pitch[:, None] * [0.0, 1.0, 0.0])
    rotations = np.repeat(walk.rotations[:1], 240, axis=0)
    thigh = roles_of(walk.skeleton)["left_thigh"]
    hangs = quat_from_rotvec(pitch[:, None] * [0.0, -hanging, 0.0])
    rotations[:, thigh] = quat_multiply(hangs, rotations[:, thigh])
    rotations[:, 0] = quat_multiply(turn, rotations[:, 0])
    clip = walk.replace(rotations=rotations)
    low = joint_positions(clip)[..., 2].min(axis=1)
    on_ground = clip.root_positions - low[:, None] * [0.0, 0.0, 1.0]
    clip = clip.replace(root_positions=on_ground)
    found = [fault for fault in mended_clip(clip, first=10)[1] if "lies" in fault.text]
    assert 70 < found[0].first < 170
    assert not found[0].mended
    with pytest.raises(MotionError, match="the person lies"):
        checked_clip(clip)


def test_rates_and_lengths(walk_motion: Walk, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        checked_clip(walk_motion(30, 10.0))
    assert "frames 0 to 29: 10 fps: what is fast is cut short" in caplog.text
    with pytest.raises(
        MotionError, match="2 fps: too few to follow; expected 5 or more"
    ):
        checked_clip(walk_motion(30, 2.0))
    for frames in (1, 2, 59):
        with pytest.raises(
            MotionError, match=r"fps; a clip to follow lasts 0\.5 s or more"
        ):
            checked_clip(walk_motion(frames))


def test_a_made_up_t_pose_is_left_out(walk_motion: Walk) -> None:
    walk = walk_motion(240)
    rotations = np.concatenate(
        [0.0 * walk.rotations[:1] + [1.0, 0, 0, 0], walk.rotations]
    )
    root = np.concatenate([walk.root_positions[:1], walk.root_positions])
    clip = walk.replace(root_positions=root, rotations=rotations)
    mended, found = mended_clip(clip, first=3)
    np.testing.assert_array_equal(mended.rotations, walk.rotations)
    assert [str(f) for f in found] == [
        "frame 3: a T-pose that was never recorded; left out"
    ]


@pytest.mark.slow
def test_good_clips_have_no_faults(cmu: Path) -> None:
    """03_02 stands still for 23 frames, jumps by 11 cm, and its hands by 80 cm later."""
    rows = list(csv.DictReader((cmu / "manifest.csv").open()))
    refused = []
    for row in rows:
        if row["format"] not in ("amc", "bvh"):
            continue
        _, found = mended_clip(read_motion(cmu / row["file"]))
        if any(not fault.mended for fault in found):
            refused.append(Path(row["file"]).stem)
    assert refused == ["03_02"]
