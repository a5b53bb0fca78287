"""Retargeting as a whole: invariants, goals, the ground and real clips."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ambulo.configs.errors import MotionError
from ambulo.motion.contacts import foot_contacts, foot_skate
from ambulo.motion.euler import axis_quat
from ambulo.motion.formats.files import read_motion
from ambulo.motion.kinematics import forward_kinematics, joint_positions
from ambulo.motion.landmarks import below, body_points
from ambulo.motion.motion import Motion
from ambulo.motion.operations import mirror
from ambulo.motion.retargeting.body import retarget_body
from ambulo.motion.retargeting.ground import sole_heights
from ambulo.motion.retargeting.retarget import Retargeted, retarget
from ambulo.motion.retargeting.source import Source
from ambulo.motion.rotations import (
    quat_angle,
    quat_conjugate,
    quat_from_yaw,
    quat_multiply,
    quat_rotate,
    swing_twist,
)
from ambulo.motion.skeleton import Skeleton
from ambulo.motion.skeletons import SKELETONS, load_skeleton

Walk = Callable[..., Motion]


def moved(motion: Motion, yaw: float, shift: tuple[float, float]) -> Motion:
    """`motion` turned about Z, then moved over the ground."""
    turn = quat_from_yaw(np.array(yaw))
    rotations = motion.rotations.copy()
    rotations[:, 0] = quat_multiply(turn, rotations[:, 0])
    root = quat_rotate(turn, motion.root_positions) + np.array([*shift, 0.0])
    return motion.replace(root_positions=root, rotations=rotations)


def soles(result: Retargeted) -> np.ndarray:
    motion = result.motion
    placed = forward_kinematics(
        motion.skeleton, motion.root_positions, motion.rotations
    )
    return sole_heights(retarget_body(motion.skeleton), *placed)


def test_a_motion_on_its_own_skeleton_stays_as_it_is(walk_motion: Walk) -> None:
    walk = walk_motion(40)
    result = retarget(walk, walk.skeleton, refine=False)
    assert result.scale == pytest.approx(1.0)
    assert quat_angle(result.motion.rotations, walk.rotations).max() < 1e-7
    down = walk.root_positions - result.motion.root_positions
    np.testing.assert_allclose(down[:, :2], 0.0, atol=1e-12)
    np.testing.assert_allclose(down[:, 2], result.ground, atol=1e-12)


def test_a_larger_body_walks_in_its_own_scale(walk_motion: Walk) -> None:
    walk = walk_motion(40)
    small = retarget(walk, load_skeleton("human23"), refine=False)
    large = walk.replace(
        skeleton=walk.skeleton.scaled(1.5), root_positions=1.5 * walk.root_positions
    )
    again = retarget(large, load_skeleton("human23"), refine=False)
    assert again.scale == pytest.approx(small.scale / 1.5)
    np.testing.assert_allclose(
        again.motion.root_positions[:, :2],
        small.motion.root_positions[:, :2],
        atol=1e-9,
    )
    assert quat_angle(again.motion.rotations, small.motion.rotations).max() < 1e-7


@pytest.mark.integration
@given(yaw=st.floats(-3.0, 3.0), x=st.floats(-20.0, 20.0), y=st.floats(-20.0, 20.0))
@settings(max_examples=8, deadline=None)
def test_the_result_moves_with_the_source(
    yaw: float, x: float, y: float, walk_motion: Walk
) -> None:
    walk = walk_motion(20)
    here = retarget(walk, load_skeleton("human23"))
    there = retarget(moved(walk, yaw, (x, y)), load_skeleton("human23"))
    expected = moved(here.motion, yaw, (here.scale * x, here.scale * y))
    np.testing.assert_allclose(
        joint_positions(there.motion), joint_positions(expected), atol=1e-6
    )


def test_the_mirrored_source_gives_the_mirrored_result(walk_motion: Walk) -> None:
    walk = walk_motion(40)
    target = load_skeleton("human23")
    one = mirror(retarget(walk, target).motion)
    other = retarget(mirror(walk), target).motion
    assert np.abs(joint_positions(one) - joint_positions(other)).max() < 2e-3


@pytest.mark.parametrize("name", SKELETONS)
@pytest.mark.parametrize("frames", [1, 2, 3])
def test_short_motions_and_every_target_work(
    name: str, frames: int, walk_motion: Walk
) -> None:
    for fit in (False, True):
        result = retarget(walk_motion(frames), load_skeleton(name), fit_lengths=fit)
        assert len(result.motion) == frames
        assert result.motion.skeleton.joints == load_skeleton(name).joints
        assert result.contacts.shape == (frames, 2)


def test_limbs_point_as_the_source_s_do(walk_motion: Walk) -> None:
    walk = walk_motion(60)
    result = retarget(walk, load_skeleton("ik23"), refine=False)
    pairs = {
        ("lfemur", "ltibia"): ("LeftThigh", "LeftShin"),
        ("rtibia", "rfoot"): ("RightShin", "RightFoot"),
        ("lhumerus", "lradius"): ("LeftArm", "LeftForeArm"),
        ("rradius", "rhand"): ("RightForeArm", "RightHand"),
    }
    there, here = joint_positions(walk), joint_positions(result.motion)
    for (a, b), (c, d) in pairs.items():
        theirs = there[:, walk.skeleton.index(b)] - there[:, walk.skeleton.index(a)]
        skeleton = result.motion.skeleton
        mine = here[:, skeleton.index(d)] - here[:, skeleton.index(c)]
        cosine = np.sum(theirs * mine, axis=-1)
        cosine /= np.linalg.norm(theirs, axis=-1) * np.linalg.norm(mine, axis=-1)
        assert cosine.min() > 1.0 - 1e-9, (a, b)


def test_hinges_stay_hinges_within_their_limits(walk_motion: Walk) -> None:
    result = retarget(walk_motion(60), load_skeleton("human23")).motion
    skeleton = result.skeleton
    for name in ("TibiaL", "TibiaR", "ForeArmL", "ForeArmR", "FootPinkyL"):
        joint = skeleton.index(name)
        axis = np.eye(3)["XYZ".index(skeleton.orders[joint])]
        swing, twist = swing_twist(result.rotations[:, joint], axis)
        assert np.abs(swing[:, 1:]).max() < 1e-9
        angle = 2.0 * np.arctan2(twist[:, 1:] @ axis, twist[:, 0])
        low, high = skeleton.limits[skeleton.angle_slices[joint]][0]
        assert angle.min() > low - np.deg2rad(3.0)
        assert angle.max() < high + np.deg2rad(3.0)


def test_fitted_lengths_are_the_source_s(walk_motion: Walk) -> None:
    walk = walk_motion(60)
    source = retarget_body(walk.skeleton)
    result = retarget(walk, load_skeleton("human23"), fit_lengths=True)
    fitted = retarget_body(result.motion.skeleton)
    assert result.scale == pytest.approx(1.0)
    for start, end in (
        ("left_thigh", "left_shin"),
        ("right_shin", "right_foot"),
        ("left_upper_arm", "left_forearm"),
        ("right_forearm", "right_hand"),
        ("hips", "chest"),
        ("neck", "head"),
    ):
        assert fitted.length(start, end) == pytest.approx(source.length(start, end))
    assert max(result.residuals_cm.values()) < 2.0
    assert result.residuals_cm["left_hand"] < 0.2


def test_standing_feet_are_laid_flat_on_the_ground(walk_motion: Walk) -> None:
    # A still body on a floor that seems to sink by 3 cm, its feet tipped by 6 degrees.
    skeleton = walk_motion(1).skeleton
    frames = 90
    rotations = np.zeros((frames, len(skeleton), 4))
    rotations[..., 0] = 1.0
    for foot in ("lfoot", "rfoot"):
        tipped = axis_quat("Y", np.full(frames, np.deg2rad(6.0)))
        rotations[:, skeleton.index(foot)] = tipped
    root = np.zeros((frames, 3))
    root[:, 2] = 0.93 - np.linspace(0.0, 0.03, frames)
    still = Motion(skeleton, 30.0, root, rotations)
    result = retarget(still, load_skeleton("human23"))
    assert result.contacts.all()
    assert np.abs(soles(result)).max() < 1e-3
    _, frames_of = forward_kinematics(
        result.motion.skeleton, result.motion.root_positions, result.motion.rotations
    )
    for foot in ("TalusL", "TalusR"):
        up = quat_rotate(
            frames_of[:, result.motion.skeleton.index(foot)], np.array([0.0, 0.0, 1.0])
        )
        assert np.rad2deg(np.arccos(up[:, 2])).max() < 1.0
    raw = retarget(still, load_skeleton("human23"), refine=False)
    assert np.abs(soles(raw)).max() > 0.015


def test_hands_that_reach_the_ground_do_not_sink_into_it(walk_motion: Walk) -> None:
    """A body bent down to the ground whose arms are shorter than the target's."""
    walk, straight = walk_motion(30, speed=0.0), [1.0, 0.0, 0.0, 0.0]
    skeleton, rotations = walk.skeleton, walk.rotations.copy()
    offsets = skeleton.offsets.copy()
    pitch = axis_quat("Y", np.array(2.8))
    rotations[:, 0] = pitch
    for side, sign in (("l", 1.0), ("r", -1.0)):
        femur, arm = (skeleton.index(f"{side}{n}") for n in ("femur", "humerus"))
        rotations[:, femur] = quat_multiply(quat_conjugate(pitch), rotations[:, femur])
        rotations[:, arm] = axis_quat("X", np.array(0.5 * np.pi * sign))
        rotations[:, skeleton.index(f"{side}radius")] = straight
        for part in ("radius", "wrist", "hand", "fingers", "thumb"):
            offsets[skeleton.index(side + part)] *= 0.8
    bent = walk.replace(skeleton=skeleton.replace(offsets=offsets), rotations=rotations)
    for ground, low, high in ((False, -0.2, -0.1), (True, -0.01, 0.01)):
        done = retarget(Source(bent, ()), load_skeleton("human23"), ground=ground)
        points, own = body_points(done.motion), done.motion.skeleton
        hands = [p for s in "LR" for p in below(own, own.index(f"Hand{s}"))]
        assert low < points[:, hands, 2].min() < high


def test_a_skeleton_without_roles_is_refused(walk_motion: Walk) -> None:
    stick = Skeleton("stick", ("a", "b"), (-1, 0), np.array([[0, 0, 1], [0, 0, 1.0]]))
    with pytest.raises(MotionError, match="stick: retargeting needs joints for hips"):
        retarget(walk_motion(2), stick)


@pytest.mark.parametrize(
    ("clip", "target"),
    [
        ("asfamc/07/07_01.amc", "human23"),
        ("asfamc/02/02_03.amc", "human23"),
        ("asfamc/05/05_11.amc", "ik23"),
        ("bvh_mb/05/05_11.bvh", "human23"),
        ("bvh_daz/13/13_18.bvh", "human23"),
    ],
)
def test_real_clips(clip: str, target: str, cmu: Path) -> None:
    motion = read_motion(cmu / clip, drop_tpose=True)[::5]
    result = retarget(motion, load_skeleton(target))
    assert np.mean(list(result.residuals_cm.values())) < 0.8
    assert max(result.residuals_cm.values()) < 2.5
    if "daz" in clip:  # its upper arms are turned by half a turn at rest
        assert max(result.residuals_cm[f"{s}_hand"] for s in ("left", "right")) < 0.5
    standing = soles(result)[result.contacts]
    assert abs(np.median(standing)) < 0.005
    assert np.percentile(np.abs(standing), 90) < 0.02
    assert soles(result).min() > -0.03
    theirs = result.scale * foot_skate(motion, foot_contacts(motion))
    # A dancer who spins on one foot: its wider sole is faster at its rim.
    allowed = 1.6 if "05_11" in clip else 1.2
    assert foot_skate(result.motion, result.contacts) < allowed * theirs
