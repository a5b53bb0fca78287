"""The steps of retargeting: bodies at rest, alignments, the trunk, feet and the ground."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from ambulo.configs.errors import MotionError
from ambulo.motion.euler import axis_quat
from ambulo.motion.motion import Motion
from ambulo.motion.retargeting.body import retarget_body
from ambulo.motion.retargeting.feet import flattened, sole_normal
from ambulo.motion.retargeting.ground import (
    body_lift,
    ground_height,
    height_corrections,
    lowest_at_rest,
    sole_points,
)
from ambulo.motion.retargeting.transfer import (
    alignments,
    constrained_rotations,
    requested_orientations,
    source_hinge,
)
from ambulo.motion.rotations import (
    quat_angle,
    quat_from_yaw,
    quat_multiply,
    quat_rotate,
)
from ambulo.motion.skeletons import SKELETONS, load_skeleton

Walk = Callable[..., Motion]
Z = np.array([0.0, 0.0, 1.0])


def still(count: int, frames: int = 1) -> np.ndarray:
    """Identity turns (frames, count, 4)."""
    return axis_quat("X", np.zeros((frames, count)))


def test_a_body_faces_forward_whatever_its_rest_pose() -> None:
    skeleton = load_skeleton("human23")
    turned = skeleton.rest.copy()
    turned[0] = quat_from_yaw(np.array(2.0))
    body, other = retarget_body(skeleton), retarget_body(skeleton.replace(rest=turned))
    assert quat_angle(other.orientations, body.orientations).max() < 1e-7
    np.testing.assert_allclose(
        other.positions - other.positions[0],
        body.positions - body.positions[0],
        atol=1e-12,
    )


def test_thighs_one_above_the_other_are_refused() -> None:
    skeleton = load_skeleton("human23")
    offsets = skeleton.offsets.copy()
    offsets[skeleton.index("FemurL")] = [0.0, 0.0, 0.1]
    offsets[skeleton.index("FemurR")] = [0.0, 0.0, -0.1]
    with pytest.raises(MotionError, match="side by side"):
        retarget_body(skeleton.replace(offsets=offsets))


def test_hinges_are_those_of_the_skeletons() -> None:
    human, rig = (
        retarget_body(load_skeleton("human23")),
        retarget_body(load_skeleton("ik23")),
    )
    for body in (human, rig):
        np.testing.assert_allclose(body.hinge("left_shin"), [0, 1, 0], atol=1e-6)
        np.testing.assert_allclose(body.hinge("right_forearm"), [0, 0, 1], atol=1e-6)
        np.testing.assert_allclose(body.hinge("left_forearm"), [0, 0, -1], atol=1e-6)
        assert body.hinge("left_thigh") is None
    assert rig.is_ball("left_shin")
    assert not human.is_ball("left_shin")
    assert retarget_body(load_skeleton("daz43")).hinge("left_shin") is None


def test_a_hinge_is_seen_in_the_motion(walk_motion: Walk) -> None:
    body = retarget_body(walk_motion(1).skeleton)
    turns = still(len(body.skeleton), 50)
    guess = np.array([0.0, 0.0, 1.0])
    assert source_hinge(body, "left_forearm", turns, guess) is None
    # The elbow bends to the back and up, though the guess was forwards.
    axis = np.array([-0.6, 0.0, 0.8])
    angle = np.linspace(0.2, 1.5, 50)[:, None]
    bend = np.concatenate([np.cos(0.5 * angle), np.sin(0.5 * angle) * axis], axis=1)
    for name in ("lradius", "lwrist", "lhand"):
        turns[:, body.skeleton.index(name)] = bend
    seen = source_hinge(body, "left_forearm", turns, -guess)
    np.testing.assert_allclose(seen, axis, atol=1e-9)
    # Every other bend goes another way: such a joint is no hinge.
    other = np.array([0.6, 0.0, 0.8])
    bend[::2, 1:] = np.sin(0.5 * angle[::2]) * other
    for name in ("lradius", "lwrist", "lhand"):
        turns[:, body.skeleton.index(name)] = bend
    assert source_hinge(body, "left_forearm", turns, guess) is None


def test_the_bend_of_a_spine_is_shared_along_it() -> None:
    # 20 degrees in each of lowerback and upperback; the chest stands upright again.
    source, target = (
        retarget_body(load_skeleton("cmu31")),
        retarget_body(load_skeleton("human23")),
    )
    turns = still(len(source.skeleton))
    for name, degrees in (("lowerback", 20.0), ("upperback", 40.0)):
        turns[:, source.skeleton.index(name)] = axis_quat("Y", np.deg2rad([degrees]))
    aligned = alignments(source, target, turns)
    wanted = requested_orientations(source, target, turns, aligned)
    spine = target.skeleton.index("Spine")
    bent = np.rad2deg(quat_angle(wanted[0, spine], target.orientations[spine]))
    assert 20.0 < bent < 40.0
    for name in ("Pelvis", "Torso", "Head", "ArmL"):
        joint = target.skeleton.index(name)
        if name != "ArmL":
            rest = target.orientations[joint]
            assert quat_angle(wanted[0, joint], rest) == pytest.approx(0.0, abs=1e-7)


def test_a_hinge_leaves_to_its_child_what_it_cannot_do() -> None:
    body = retarget_body(load_skeleton("human23"))
    skeleton = body.skeleton
    wanted = np.tile(body.orientations, (1, 1, 1))
    knee, ankle = skeleton.index("TibiaL"), skeleton.index("TalusL")
    tilt = quat_multiply(axis_quat("Y", np.array(0.5)), axis_quat("Z", np.array(0.3)))
    wanted[0, knee] = quat_multiply(tilt, wanted[0, knee])
    local, same = constrained_rotations(body, wanted)
    assert same is wanted
    assert np.abs(local[0, knee, [1, 3]]).max() == 0.0
    reached = quat_multiply(local[0, knee], local[0, ankle])
    assert quat_angle(reached, np.array([1.0, 0, 0, 0])) == pytest.approx(0.0, abs=1e-7)


@pytest.mark.parametrize("name", SKELETONS)
def test_soles_lie_at_one_height_at_rest(name: str) -> None:
    body = retarget_body(load_skeleton(name))
    low = lowest_at_rest(body)
    for side in ("left_", "right_"):
        heights = [
            body.positions[joint, 2] + quat_rotate(body.orientations[joint], place)[2]
            for joint, place in sole_points(body, side)
        ]
        assert len(heights) >= 2
        assert min(heights) == pytest.approx(low, abs=1e-9)
        assert max(heights) < low + 0.05


def test_the_sole_normal_is_the_one_that_stands_level() -> None:
    body = retarget_body(load_skeleton("cmu31"))
    tilted = sole_normal(body, "left_", still(1)[0, :0])
    assert np.rad2deg(np.arccos(tilted[2])) == pytest.approx(20.0, abs=1.0)
    np.testing.assert_allclose(sole_normal(body, "left_", still(1)[0]), Z)
    upright = axis_quat("X", np.deg2rad([-20.0]))
    np.testing.assert_allclose(sole_normal(body, "left_", upright), tilted)


def test_only_standing_feet_near_level_are_flattened() -> None:
    body = retarget_body(load_skeleton("human23"))
    skeleton = body.skeleton
    foot, toe = skeleton.index("TalusL"), skeleton.index("FootThumbL")
    wanted = np.tile(body.orientations, (60, 1, 1))
    wanted[:, foot] = axis_quat("Y", np.full(60, np.deg2rad(10.0)))
    contacts = np.zeros((60, 2), dtype=bool)
    contacts[:30, 0] = True
    flat = flattened(body, wanted, contacts, 30.0)
    angle = np.rad2deg(quat_angle(flat[:, foot], body.orientations[foot]))
    assert angle[:20].max() < 0.01
    assert angle[40:].min() > 9.99
    np.testing.assert_allclose(flat[:, toe], wanted[:, toe], atol=1e-12)
    wanted[:, foot] = axis_quat("Y", np.full(60, np.deg2rad(40.0)))
    steep = flattened(body, wanted, contacts, 30.0)
    np.testing.assert_allclose(steep[:, foot], wanted[:, foot], atol=1e-12)


def test_ground_height() -> None:
    contacts = np.ones((4, 2), dtype=bool)
    level = np.array([[0.01, 0.03], [0.02, 0.02], [0.03, 0.01], [0.02, 0.5]])
    assert ground_height(level, contacts) == pytest.approx(0.02)
    assert ground_height(level + 0.4, contacts) == 0.0
    assert ground_height(level - 0.4, contacts) == pytest.approx(-0.38)
    assert ground_height(level, ~contacts) == pytest.approx(0.01, abs=0.003)


def test_height_corrections_go_over_from_one_contact_to_the_next() -> None:
    soles = np.zeros((101, 2))
    contacts = np.zeros((101, 2), dtype=bool)
    contacts[:30, 0] = contacts[70:, 0] = True
    soles[:30, 0], soles[70:, 0] = 0.02, -0.01
    soles[30:70, 0] = 0.2
    lifts = height_corrections(soles, contacts, 30.0)
    assert lifts[10, 0] == pytest.approx(-0.02)
    assert lifts[90, 0] == pytest.approx(0.01)
    assert lifts[50, 0] == pytest.approx(-0.0047, abs=5e-4)
    np.testing.assert_allclose(lifts[:, 1], 0.0, atol=1e-12)
    assert body_lift(lifts, 30.0)[5] == pytest.approx(-0.01, abs=1e-6)


def test_no_foot_sinks_and_a_foot_on_a_step_is_left_alone() -> None:
    soles = np.zeros((90, 2))
    contacts = np.ones((90, 2), dtype=bool)
    soles[40:50, 0] = -0.05
    contacts[:, 0] = False
    soles[:, 1] = 0.3
    lifts = height_corrections(soles, contacts, 30.0)
    assert (soles[:, 0] + lifts[:, 0]).min() > -0.01
    np.testing.assert_allclose(lifts[:, 1], 0.0, atol=1e-12)
