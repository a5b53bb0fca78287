"""Axes of other programs: round trips, handedness, mounts of devices."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from ambulo.configs.errors import IKError
from ambulo.ik.avatar.layout import EYES
from ambulo.ik.trackers.conventions import (
    CONVENTIONS,
    PALM,
    THICKNESS,
    Mounts,
    TrackerSample,
    calibrated_mounts,
    convention,
    default_mounts,
    points_from_project,
    points_to_project,
    poses_from_project,
    poses_to_project,
    shape_in_t_pose,
    turns_to_project,
    xyzw,
)
from ambulo.ik.trackers.layout import (
    HEAD_ROW,
    LEFT_HAND,
    RIGHT_HAND,
    TRACKED,
    TRACKERS,
)
from ambulo.ik.trackers.shape import BodyShape, sized_skeleton
from ambulo.motion.kinematics import rest_positions
from ambulo.motion.rotations import (
    quat_from_rotvec,
    quat_from_yaw,
    quat_multiply,
    quat_rotate,
)

NAMES = sorted(CONVENTIONS)
SEEDS = st.integers(0, 2**32 - 1)


def random_turns(rng: np.random.Generator, *shape: int) -> np.ndarray:
    turns = rng.standard_normal((*shape, 4))
    return turns / np.linalg.norm(turns, axis=-1, keepdims=True)


@settings(max_examples=30, deadline=None)
@given(SEEDS, st.sampled_from(NAMES))
def test_round_trips(seed: int, name: str) -> None:
    rng = np.random.default_rng(seed)
    kind = convention(name)
    places, turns = rng.standard_normal((5, 3)), random_turns(rng, 5)
    poses = poses_from_project(places, turns, kind)
    again = poses_to_project(poses, kind)
    np.testing.assert_allclose(again[0], places, atol=1e-12)
    np.testing.assert_allclose(again[1], turns, atol=1e-12)


@settings(max_examples=30, deadline=None)
@given(SEEDS, st.sampled_from(NAMES))
def test_a_turned_point_is_the_same_point_on_both_sides(seed: int, name: str) -> None:
    """Rotations by other programs' quaternions follow the same formula in both hands."""
    rng = np.random.default_rng(seed)
    kind = convention(name)
    point, turn = rng.standard_normal(3), random_turns(rng)
    there = Rotation.from_quat(xyzw(turn)).apply(point)
    ours = quat_rotate(turns_to_project(turn, kind), points_to_project(point, kind))
    np.testing.assert_allclose(points_to_project(there, kind), ours, atol=1e-12)


@pytest.mark.parametrize(
    ("name", "ahead", "left", "up"),
    [
        ("openxr", (0, 0, -1), (-1, 0, 0), (0, 1, 0)),
        ("unity", (0, 0, 1), (-1, 0, 0), (0, 1, 0)),
        ("unreal", (100, 0, 0), (0, -100, 0), (0, 0, 100)),
        ("ambulo", (1, 0, 0), (0, 1, 0), (0, 0, 1)),
    ],
)
def test_axes(name: str, ahead: tuple, left: tuple, up: tuple) -> None:
    kind = convention(name)
    given = np.array([ahead, left, up], dtype=float)
    np.testing.assert_allclose(points_to_project(given, kind), np.eye(3))
    np.testing.assert_allclose(points_from_project(np.eye(3), kind), given)
    assert kind.parity == (-1.0 if name in {"unreal", "unity"} else 1.0)


@settings(max_examples=20, deadline=None)
@given(SEEDS)
def test_engines_change_poses_of_openxr_in_the_same_way(seed: int) -> None:
    """Positions and quaternions as the OpenXR plug-ins of both engines take them over."""
    rng = np.random.default_rng(seed)
    (x, y, z), (w, a, b, c) = rng.standard_normal(3), random_turns(rng)
    ours = poses_to_project(np.array([x, y, z, a, b, c, w]), convention("openxr"))
    for name, pose in (
        ("unity", [x, y, -z, -a, -b, c, w]),
        ("unreal", [-100 * z, 100 * x, 100 * y, -c, a, b, -w]),
    ):
        place, turn = poses_to_project(np.array(pose), convention(name))
        np.testing.assert_allclose(place, ours[0], atol=1e-12)
        assert abs(abs(float(turn @ ours[1])) - 1.0) < 1e-12


def test_an_unknown_convention_is_named() -> None:
    with pytest.raises(IKError, match=r"'opnxr' \(did you mean 'openxr'"):
        convention("opnxr")


def test_a_headset_that_looks_ahead_is_at_the_eyes() -> None:
    kind = convention("openxr")
    shape = BodyShape(trunk=1.1, arm=0.9, leg=1.05)
    device = np.array([[0.0, 1.7, 0.0, 0.0, 0.0, 0.0, 1.0]] * TRACKERS)
    places, turns = default_mounts(kind, shape).joints(*poses_to_project(device, kind))
    np.testing.assert_allclose(
        places[HEAD_ROW], np.array([0.0, 0.0, 1.7]) - 1.1 * np.array(EYES)
    )
    np.testing.assert_allclose(turns[HEAD_ROW], [1, 0, 0, 0])


@pytest.mark.parametrize(("row", "side"), [(LEFT_HAND, 1.0), (RIGHT_HAND, -1.0)])
def test_a_grip_in_a_t_pose(row: int, side: float) -> None:
    """Arms to the sides, palms down: the grip's axes by the specification's words."""
    kind = convention("openxr")
    # In OpenXR's axes: fingers to -X (left hand), thumbs ahead (-Z), palms down (-Y).
    x = np.array(
        [0.0, -side, 0.0]
    )  # away from the palm on the left, into it on the right
    z = np.array([0.0, 0.0, 1.0])  # -Z is from the little finger to the thumb
    y = np.cross(z, x)
    np.testing.assert_allclose(y, [side, 0.0, 0.0])  # to the wrist
    quaternion = Rotation.from_matrix(np.column_stack([x, y, z])).as_quat()
    poses = np.tile(np.array([0.0, 0, 0, 0, 0, 0, 1]), (TRACKERS, 1))
    poses[row] = [0.1, 1.4, -0.2, *quaternion]
    places, turns = default_mounts(kind).joints(*poses_to_project(poses, kind))
    wrist = np.array([0.2, -0.1 - side * PALM, 1.4 + THICKNESS])
    np.testing.assert_allclose(places[row], wrist, atol=1e-12)
    np.testing.assert_allclose(np.abs(turns[row]), [1, 0, 0, 0], atol=1e-12)


def test_the_same_devices_in_all_programs() -> None:
    rng = np.random.default_rng(3)
    joints = rng.standard_normal((TRACKERS, 3)), random_turns(rng, TRACKERS)
    for name in ("openxr", "unity", "unreal"):
        kind = convention(name)
        mounts = default_mounts(kind)
        poses = poses_from_project(*mounts.devices(*joints), kind)
        places, turns = mounts.joints(*poses_to_project(poses, kind))
        np.testing.assert_allclose(places, joints[0], atol=1e-9)
        np.testing.assert_allclose(turns, joints[1], atol=1e-9)
    own = default_mounts(convention("ambulo"))
    np.testing.assert_array_equal(own.positions, 0.0)


@settings(max_examples=20, deadline=None)
@given(SEEDS)
def test_a_t_pose_gives_the_mounts_back(seed: int) -> None:
    rng = np.random.default_rng(seed)
    kind = convention("openxr")
    shape = BodyShape(*rng.uniform(0.8, 1.2, 3))
    true = default_mounts(kind, shape)
    for row in range(TRACKERS):
        if row != HEAD_ROW:
            true.positions[row] += rng.uniform(-0.08, 0.08, 3)
        turn = quat_from_rotvec(0.3 * rng.standard_normal(3))
        true.rotations[row] = quat_multiply(true.rotations[row], turn)
        if row == HEAD_ROW:  # the eyes stay where they are on the head
            true.rotations[row] = turn
            true.positions[row] = -quat_rotate(turn, shape.trunk * np.array(EYES))
    yaw, ground = rng.uniform(-3.0, 3.0), rng.uniform(-1.0, 1.0)
    body = quat_from_yaw(np.array(yaw))
    rest = rest_positions(sized_skeleton(shape))[list(TRACKED)]
    places = quat_rotate(body, rest) + np.array([1.0, 2.0, ground])
    devices = true.devices(places, np.tile(body, (TRACKERS, 1)))
    # The hands' line says where the body faces: devices of the same offset on both sides.
    line = devices[0][LEFT_HAND] - devices[0][RIGHT_HAND]
    turned = math.atan2(-line[0], line[1]) - yaw
    present = np.ones(TRACKERS, dtype=bool)
    found = calibrated_mounts(TrackerSample(*devices, present), shape, kind, ground)
    back, facing = found.joints(*devices)
    expected = quat_from_yaw(np.array(yaw + turned))
    np.testing.assert_allclose(np.abs((facing * expected).sum(-1)), 1.0, atol=1e-9)
    eyes = back[HEAD_ROW] + quat_rotate(expected, shape.trunk * np.array(EYES))
    np.testing.assert_allclose(eyes[:2], devices[0][HEAD_ROW][:2], atol=1e-9)
    np.testing.assert_allclose(back[:, 2], rest[:, 2] + ground, atol=1e-9)


def test_a_t_pose_gives_the_proportions() -> None:
    kind = convention("openxr")
    shape = BodyShape(trunk=0.95, arm=1.05, leg=0.95)
    rest = rest_positions(sized_skeleton(shape))[list(TRACKED)]
    still = Mounts.none().rotations
    devices = default_mounts(kind, shape).devices(rest, still)
    present = np.ones(TRACKERS, dtype=bool)
    found = shape_in_t_pose(TrackerSample(*devices, present), kind)
    np.testing.assert_allclose(found.ratios, shape.ratios, atol=1e-6)
    present[LEFT_HAND] = False
    assert shape_in_t_pose(TrackerSample(*devices, present), kind).arm == pytest.approx(
        0.95
    )


def test_what_is_no_t_pose_is_refused() -> None:
    kind, shape = convention("openxr"), BodyShape()
    rest = rest_positions(sized_skeleton(shape))[list(TRACKED)]
    turns = Mounts.none().rotations
    present = np.ones(TRACKERS, dtype=bool)
    down = rest.copy()
    down[LEFT_HAND], down[RIGHT_HAND] = (0.0, 0.2, 0.8), (0.0, -0.2, 0.8)
    with pytest.raises(IKError, match="no T-pose"):
        calibrated_mounts(TrackerSample(down, turns, present), shape, kind)
    low, ahead = rest.copy(), rest.copy()
    low[[LEFT_HAND, RIGHT_HAND]] = [(0.0, 0.3, 0.75), (0.1, -0.3, 0.85)]  # walking
    ahead[[LEFT_HAND, RIGHT_HAND], 0] += 0.5
    for hands, rule in ((low, "height of the shoulders"), (ahead, "beside the head")):
        with pytest.raises(IKError, match=rule):
            calibrated_mounts(TrackerSample(hands, turns, present), shape, kind)
    with pytest.raises(IKError, match="no head"):
        calibrated_mounts(TrackerSample(rest, turns, ~present), shape, kind)
    broken = rest.copy()
    broken[HEAD_ROW, 0] = np.nan
    with pytest.raises(IKError, match="not finite"):
        calibrated_mounts(TrackerSample(broken, turns, present), shape, kind)
    with pytest.raises(IKError, match="unit length"):
        calibrated_mounts(TrackerSample(rest, 0.0 * turns, present), shape, kind)
    with pytest.raises(IKError, match="calibration: body shape: trunk"):
        shape_in_t_pose(TrackerSample(rest, turns, present), kind, ground=-3.0)


def test_broken_devices_break_no_joint_of_others() -> None:
    mounts = default_mounts(convention("openxr"))
    places, turns = np.zeros((TRACKERS, 3)), Mounts.none().rotations
    turns[LEFT_HAND] = np.nan
    turns[RIGHT_HAND] = 0.0
    places, turns = mounts.joints(places, turns)
    assert np.isfinite(places).all()
    assert np.isfinite(turns[HEAD_ROW]).all()
    assert np.isnan(turns[LEFT_HAND]).all()
