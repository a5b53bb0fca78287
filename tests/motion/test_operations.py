"""Resample, retime, mirror, blend, concatenate, root-relative: by hand and by their laws."""

import numpy as np
import pytest

from ambulo.configs.errors import ConfigError, MotionError
from ambulo.motion import operations as ops
from ambulo.motion.kinematics import joint_positions
from ambulo.motion.landmarks import body_points
from ambulo.motion.motion import Motion
from ambulo.motion.roles import mirror_indices
from ambulo.motion.rotations import quat_angle, quat_from_yaw, quat_slerp
from ambulo.motion.skeleton import Skeleton
from ambulo.motion.skeletons import SKELETONS, load_skeleton


def turning(frames: int, fps: float, rate: float = 2.0, speed: float = 1.0) -> Motion:
    """A body that turns about Z at `rate` [rad/s] and moves along +X at `speed` [m/s]."""
    skeleton = load_skeleton("human23")
    time = np.arange(frames) / fps
    rotations = np.zeros((frames, 23, 4))
    rotations[..., 0] = 1.0
    rotations[:, 0] = quat_from_yaw(rate * time)
    root = np.stack([speed * time, 0 * time, 1 + 0 * time], axis=-1)
    return Motion(skeleton, fps, root, rotations, name="turning")


def wild(
    skeleton: Skeleton, frames: int = 12, seed: int = 0, offsets: bool = False
) -> Motion:
    rng = np.random.default_rng(seed)
    q = rng.normal(size=(frames, len(skeleton), 4))
    return Motion(
        skeleton,
        30.0,
        rng.normal(size=(frames, 3)),
        q / np.linalg.norm(q, axis=-1, keepdims=True),
        joint_offsets=rng.normal(size=(frames, len(skeleton), 3)) if offsets else None,
    )


def uneven(name: str) -> Skeleton:
    """A canonical skeleton whose sides differ."""
    skeleton = load_skeleton(name)
    rng = np.random.default_rng(5)
    return skeleton.replace(
        offsets=skeleton.offsets + 0.02 * rng.normal(size=skeleton.offsets.shape),
        tips=skeleton.tips + 0.01 * rng.normal(size=skeleton.tips.shape),
    )


def close(a: Motion, b: Motion, atol: float = 1e-12) -> None:
    assert a.fps == pytest.approx(b.fps)
    np.testing.assert_allclose(a.root_positions, b.root_positions, atol=atol)
    assert quat_angle(a.rotations, b.rotations).max() < max(atol, 3e-8)


@pytest.mark.parametrize("fps", [25.0, 30.0, 60.0, 119.88, 120.0, 144.0, 240.0])
def test_resampling_even_movement_is_exact_at_any_ratio(fps):
    out = ops.resample(turning(241, 120.0), fps)
    expected = turning(len(out), fps)
    close(out, expected, atol=1e-12)
    assert len(out) == int(np.floor(2.0 * fps + 1e-9)) + 1
    assert out.duration <= 2.0 + 1e-12
    assert out.duration > 2.0 - 1.0 / fps


def test_resampling_keeps_frames_that_fall_on_old_ones():
    motion = wild(load_skeleton("cmu31"), 25)
    up = ops.resample(motion, 120.0)
    np.testing.assert_array_equal(up.rotations[::4], motion.rotations)
    np.testing.assert_array_equal(up.root_positions[::4], motion.root_positions)
    down = ops.resample(up, 30.0)
    np.testing.assert_array_equal(down.rotations, motion.rotations)
    close(ops.resample(motion, 30.0), motion)


def test_resampling_between_frames_is_slerp_and_linear():
    motion = wild(load_skeleton("cmu31"), 2, offsets=True)
    out = ops.resample(motion, 120.0)
    assert len(out) == 5
    np.testing.assert_allclose(
        out.root_positions[1],
        0.75 * motion.root_positions[0] + 0.25 * motion.root_positions[1]
    )  # fmt: skip
    expected = quat_slerp(motion.rotations[0], motion.rotations[1], np.full(31, 0.25))
    np.testing.assert_allclose(out.rotations[1], expected, atol=1e-15)
    offsets = motion.joint_offsets
    np.testing.assert_allclose(out.joint_offsets[2], 0.5 * (offsets[0] + offsets[1]))


def test_one_frame_stays_one_frame():
    motion = turning(1, 120.0)
    assert len(ops.resample(motion, 25.0)) == 1
    assert ops.resample(motion, 25.0).fps == 25.0


@pytest.mark.parametrize("fps", [0.0, -1.0, float("nan"), float("inf")])
def test_a_rate_that_is_none_is_refused(fps):
    with pytest.raises(MotionError, match="fps must be above 0"):
        ops.resample(turning(3, 30.0), fps)


def test_samples_outside_are_refused():
    with pytest.raises(MotionError, match="outside the frames 0 to 2"):
        ops.sample(turning(3, 30.0), np.array([0.0, 2.5]), 30.0)


def test_retime_goes_the_same_path_in_another_time():
    slow = ops.retime(turning(61, 60.0), factor=2.0)
    assert slow.duration == pytest.approx(2.0)
    close(slow, turning(121, 60.0, rate=1.0, speed=0.5))
    fast = ops.retime(turning(61, 60.0), duration=0.5)
    close(fast, turning(31, 60.0, rate=4.0, speed=2.0))


@pytest.mark.parametrize(
    "wanted",
    [{}, {"duration": 1.0, "factor": 2.0}, {"factor": 0.0}, {"duration": -1.0}],
)
def test_a_wrong_retime_is_refused(wanted):
    with pytest.raises(MotionError, match="duration"):
        ops.retime(turning(10, 30.0), **wanted)
    with pytest.raises(MotionError, match="1 frames"):
        ops.retime(turning(1, 30.0), factor=2.0)


@pytest.mark.parametrize("name", SKELETONS)
@pytest.mark.parametrize("skeleton_of", [load_skeleton, uneven])
@pytest.mark.parametrize("offsets", [False, True])
def test_a_mirrored_motion_is_the_reflection_and_comes_back(name, skeleton_of, offsets):
    motion = wild(skeleton_of(name), offsets=offsets)
    mirrored = ops.mirror(motion)
    twins = mirror_indices(motion.skeleton)
    np.testing.assert_allclose(
        joint_positions(mirrored),
        joint_positions(motion)[:, twins] * [1.0, -1.0, 1.0],
        atol=1e-12,
    )
    back = ops.mirror(mirrored)
    close(back, motion)
    np.testing.assert_allclose(
        back.skeleton.offsets, motion.skeleton.offsets, atol=1e-12
    )
    np.testing.assert_allclose(back.skeleton.tips, motion.skeleton.tips, atol=1e-12)


@pytest.mark.parametrize("name", SKELETONS)
def test_mirrored_tips_are_reflected_too(name):
    motion = wild(uneven(name))
    there = body_points(ops.mirror(motion))[0] * [1.0, -1.0, 1.0]
    here = body_points(motion)[0]
    distances = np.linalg.norm(here[:, None] - there[None], axis=-1)
    assert distances.min(axis=1).max() < 1e-12


def test_tips_on_one_side_only_change_sides():
    skeleton = load_skeleton("human23")
    hand = skeleton.index("HandL")
    lone = skeleton.replace(tip_parents=(hand,), tips=[[0.0, 0.2, 0.1]])
    mirrored = ops.mirror_skeleton(lone)
    assert mirrored.tip_parents == (skeleton.index("HandR"),)
    np.testing.assert_allclose(mirrored.tips, [[0.0, -0.2, 0.1]])


def test_a_tree_that_is_not_symmetric_is_refused():
    skeleton = Skeleton(
        "odd", ("Hips", "LeftArm", "RightArm"), (-1, 0, 1), np.zeros((3, 3))
    )
    with pytest.raises(MotionError, match="LeftArm"):
        ops.mirror_skeleton(skeleton)


@pytest.mark.parametrize("name", ["human23", "ik23"])
def test_heading_is_the_yaw_from_plus_x_whatever_the_rest_frame(name):
    skeleton = load_skeleton(name)
    rotations = np.tile([1.0, 0, 0, 0], (1, 23, 1))
    still = Motion(skeleton, 30.0, np.zeros((1, 3)), rotations)
    np.testing.assert_allclose(ops.heading(still), [0.0], atol=1e-12)
    np.testing.assert_allclose(
        ops.heading(ops.transform(still, yaw=2.5)), [2.5], atol=1e-12
    )


@pytest.mark.parametrize("name", ["human23", "ik23"])
def test_transform_moves_every_joint_rigidly(name):
    motion = wild(load_skeleton(name))
    moved = ops.transform(motion, yaw=np.pi / 2, shift=(1.0, 2.0, 3.0))
    before, after = joint_positions(motion), joint_positions(moved)
    expected = np.stack(
        [-before[..., 1] + 1, before[..., 0] + 2, before[..., 2] + 3], axis=-1
    )
    np.testing.assert_allclose(after, expected, atol=1e-12)


@pytest.mark.parametrize("name", ["human23", "ik23"])
def test_root_relative_frames_face_plus_x_over_the_origin(name):
    motion = wild(load_skeleton(name))
    local = ops.root_relative(motion)
    np.testing.assert_allclose(ops.heading(local), 0.0, atol=1e-9)
    np.testing.assert_array_equal(local.root_positions[:, :2], 0.0)
    np.testing.assert_allclose(local.root_positions[:, 2], motion.root_positions[:, 2])
    moved = ops.transform(motion, yaw=1.1, shift=(4.0, -2.0, 0.0))
    close(ops.root_relative(moved), local, atol=1e-9)


def test_blend_ends_are_the_motions_and_the_middle_is_between():
    a, b = (wild(load_skeleton("cmu31"), seed=seed) for seed in (1, 2))
    np.testing.assert_array_equal(ops.blend(a, b, 0.0).rotations, a.rotations)
    np.testing.assert_array_equal(ops.blend(a, b, 1.0).rotations, b.rotations)
    middle = ops.blend(a, b, 0.5)
    np.testing.assert_allclose(
        quat_angle(a.rotations, middle.rotations),
        quat_angle(middle.rotations, b.rotations),
        atol=1e-7,
    )
    np.testing.assert_allclose(
        middle.root_positions, 0.5 * (a.root_positions + b.root_positions)
    )


def test_blend_takes_a_weight_for_each_frame_and_offsets_along():
    a = wild(load_skeleton("cmu31"), seed=1)
    b = wild(load_skeleton("cmu31"), seed=2, offsets=True)
    out = ops.blend(a, b, np.linspace(0.0, 1.0, len(a)))
    np.testing.assert_array_equal(
        out.rotations[[0, -1]], [a.rotations[0], b.rotations[-1]]
    )
    np.testing.assert_allclose(out.joint_offsets[0], a.skeleton.offsets, atol=1e-12)
    np.testing.assert_allclose(out.joint_offsets[-1], b.joint_offsets[-1], atol=1e-12)
    with pytest.raises(MotionError, match="one weight or 12"):
        ops.blend(a, b, np.zeros(3))


def test_motions_that_do_not_fit_together_are_refused():
    a = turning(10, 30.0)
    with pytest.raises(MotionError, match="one length"):
        ops.blend(a, turning(9, 30.0), 0.5)
    with pytest.raises(MotionError, match="different rates, 30 and 25"):
        ops.concatenate([a, turning(10, 25.0)])
    with pytest.raises(MotionError, match="human23 and cmu31"):
        ops.concatenate([a, wild(load_skeleton("cmu31"))])
    with pytest.raises(MotionError, match="longer than a motion"):
        ops.concatenate([a, a], blend_seconds=5.0)
    for seconds in (-0.1, float("nan")):
        with pytest.raises(MotionError, match="must not be below 0"):
            ops.concatenate([a, a], blend_seconds=seconds)
    for weight in (-0.1, 1.5, float("nan")):
        with pytest.raises(MotionError, match="between 0 and 1"):
            ops.blend(a, a, weight)
    with pytest.raises(MotionError, match="no motions"):
        ops.concatenate([])
    turned = np.tile([0.0, 0, 0, 1.0], (23, 1))
    other = a.replace(skeleton=a.skeleton.replace(rest=turned))
    with pytest.raises(MotionError, match="rest in different poses"):
        ops.blend(a, other, 0.5)


def test_joined_pieces_of_one_motion_are_that_motion_again():
    whole = turning(100, 50.0, rate=1.0)
    # The second piece starts elsewhere, facing elsewhere.
    piece = ops.transform(whole[40:], yaw=-2.0, shift=(7.0, 3.0, 0.0))
    joined = ops.concatenate([whole[:50], piece], blend_seconds=0.2)
    close(joined, whole, atol=1e-9)


def test_joined_motions_go_on_where_the_last_ends():
    walk = turning(60, 30.0, rate=0.5)
    joined = ops.concatenate([walk, walk, walk], blend_seconds=0.5)
    assert len(joined) == 3 * 60 - 2 * 15
    steps = np.linalg.norm(np.diff(joined.root_positions, axis=0), axis=-1)
    assert steps.max() < 1.5 / 30.0
    turns = quat_angle(joined.rotations[:-1, 0], joined.rotations[1:, 0])
    assert turns.max() < 1.5 * 0.5 / 30.0
    assert joined.skeleton is walk.skeleton


def test_joining_without_a_blend_shares_one_frame():
    walk = turning(10, 30.0)
    assert len(ops.concatenate([walk, walk], blend_seconds=0.0)) == 19
    assert ops.concatenate([walk]) is walk


@pytest.mark.parametrize(
    ("frames", "first", "count"),
    [("3:7", 3, 4), (":7", 0, 7), ("3:", 3, 7), (":", 0, 10), (None, 0, 10)],
)
def test_a_part_of_a_motion(frames, first, count):
    whole = turning(10, 30.0)
    rows = ops.frames_of(whole, frames)
    part = whole[rows]
    assert (rows.start, len(part)) == (first, count)
    assert part.root_positions[0].tolist() == whole.root_positions[first].tolist()


@pytest.mark.parametrize(
    ("wrong", "kind", "rule"),
    [
        ("half 3 3:4:5 -3:5 3.5:7", ConfigError, "expected A:B"),
        ("5:5 7:5 40:10 :0", ConfigError, "A must be below B"),
        ("0:11 10: 11:12", MotionError, "the clip has the frames"),
    ],
)
def test_frames_are_two_numbers_in_the_motion(wrong, kind, rule):
    for frames in wrong.split():
        with pytest.raises(kind, match=f"--frames {frames}: {rule}"):
            ops.frames_of(turning(10, 30.0), frames)


def test_unbending_takes_a_turn_out_of_path_and_heading():
    straight = turning(200, 50.0, rate=0.0)
    yaw = 0.5 * straight.times
    bent = ops.unbent(straight, yaw)
    np.testing.assert_allclose(
        ops.heading(bent) - ops.heading(straight), yaw, atol=1e-9
    )
    speeds = [
        np.linalg.norm(np.diff(m.root_positions, axis=0), axis=-1)
        for m in (straight, bent)
    ]
    np.testing.assert_allclose(speeds[0], speeds[1], atol=1e-12)
    close(ops.unbent(bent, -yaw), straight, atol=1e-4)
