"""Bodies tracked live: they meet their trackers, and no sample breaks them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import IKError
from ambulo.evaluate.trackers.scores import foot_points, ground_speed
from ambulo.ik.avatar.layout import ANKLE, HEAD, THIGHS
from ambulo.ik.trackers.conventions import TrackerSample
from ambulo.ik.trackers.layout import HEAD_ROW, HIPS_ROW, LEFT_HAND, RIGHT_HAND, TRACKED
from ambulo.ik.trackers.network import TrackerNetwork
from ambulo.ik.trackers.shape import BodyShape
from ambulo.ik.trackers.tracker import (
    BodyFrame,
    BodyTracker,
    FrameStatus,
    TrackerStatus,
)
from ambulo.ik.trackers.tracks import TrackerTrack, track_of
from ambulo.motion.kinematics import motion_kinematics
from ambulo.motion.motion import Motion
from ambulo.motion.rotations import quat_from_rotvec, quat_multiply

DT = 1.0 / 60.0
SAME = BodyShape()
UP = np.array([0.0, 0.0, 3.5])


@pytest.fixture
def track(walk: Motion) -> TrackerTrack:
    """Head and hands along the walk."""
    return track_of(walk)


@pytest.fixture
def tracker(shipped_network: TrackerNetwork) -> BodyTracker:
    """A body of the walker's proportions."""
    return BodyTracker(shipped_network, SAME)


def played(
    tracker: BodyTracker, track: TrackerTrack, frames: range
) -> list[tuple[Floats, Floats, Floats]]:
    """Root, local rotations and joint positions of some frames."""
    poses = []
    for k in frames:
        frame = tracker.step(track.sample(k), DT)
        check_pose(frame)
        poses.append(
            (frame.root.copy(), frame.rotations.copy(), frame.positions.copy())
        )
    return poses


def check_pose(frame: BodyFrame) -> None:
    """A pose is finite, and its quaternions are of unit length."""
    assert np.isfinite(frame.positions).all()
    np.testing.assert_allclose(np.linalg.norm(frame.rotations, axis=1), 1.0, atol=1e-6)
    spread = np.ptp(frame.positions, axis=0)
    assert spread.max() < 2.5


@pytest.mark.parametrize("points", [3, 4, 5, 6])
def test_hands_and_other_trackers_are_met(
    points: int, shipped_network: TrackerNetwork, walk: Motion
) -> None:
    track = track_of(walk, points)
    tracker = BodyTracker(shipped_network, SAME, smooth=False)
    far = []
    for k in range(len(track)):
        frame = tracker.step(track.sample(k), DT)
        far.append(
            np.linalg.norm(frame.positions[list(TRACKED)] - track.positions[k], axis=1)
        )
    mean = np.mean(far[30:], axis=0)
    assert mean[[LEFT_HAND, RIGHT_HAND]].max() < 0.005
    assert mean[HEAD_ROW] < 0.015
    if points >= 5:
        assert mean[2:4].max() < 0.02
    if points in (4, 6):
        assert mean[HIPS_ROW] < 0.03


def test_hips_whose_tracker_tilts_do_not_take_the_legs_along(
    tracker: BodyTracker, walk: Motion
) -> None:
    track = track_of(walk, 4)
    tilt = quat_from_rotvec(np.array([0.0, np.deg2rad(30.0), 0.0]))
    true = motion_kinematics(walk)[0]
    ankles = [thigh + ANKLE for thigh in THIGHS]
    far = []
    for k in range(len(track)):
        sample = track.sample(k)
        sample.rotations[HIPS_ROW] = quat_multiply(sample.rotations[HIPS_ROW], tilt)
        frame = tracker.step(sample, DT)
        far.append(np.linalg.norm(frame.positions[ankles] - true[k, ankles], axis=-1))
    assert np.mean(far[30:]) < 0.2


def test_a_walk_is_found_from_head_and_hands(
    tracker: BodyTracker, walk: Motion, track: TrackerTrack
) -> None:
    poses = played(tracker, track, range(len(track)))
    found = Motion(
        tracker.skeleton,
        60.0,
        np.array([p[0] for p in poses]),
        np.array([p[1] for p in poses]),
    )
    true = np.array([p[2] for p in poses])[30:]
    far = np.linalg.norm(true - motion_kinematics(walk)[0][30:], axis=-1)
    assert far.mean() < 0.07
    assert ground_speed(foot_points(found)[30:], 60.0).mean() < 0.6
    assert foot_points(found)[..., 2].min() > -0.02


def test_the_same_samples_give_the_same_poses(
    shipped_network: TrackerNetwork, track: TrackerTrack
) -> None:
    tracker = BodyTracker(shipped_network)
    first = played(tracker, track, range(60))
    tracker.reset()
    for a, b in zip(first, played(tracker, track, range(60)), strict=True):
        for x, y in zip(a, b, strict=True):
            np.testing.assert_array_equal(x, y)


def test_a_body_stands_on_ground_of_any_height(
    shipped_network: TrackerNetwork, track: TrackerTrack
) -> None:
    low, high = (BodyTracker(shipped_network, SAME) for _ in range(2))
    for k in range(60):
        sample = track.sample(k)
        raised = TrackerSample(sample.positions + UP, sample.rotations, sample.present)
        a = low.step(sample, DT).positions.copy()
        frame = high.step(raised, DT, 3.5)
        assert frame.status is FrameStatus.OK
        np.testing.assert_allclose(frame.positions - UP, a, atol=1e-5)


def test_a_floor_that_nobody_can_stand_on_is_estimated(
    tracker: BodyTracker, track: TrackerTrack
) -> None:
    for k in range(30):
        frame = tracker.step(track.sample(k), DT, 2.0)
        assert frame.status is FrameStatus.FLOOR
        check_pose(frame)
        assert frame.positions[HEAD, 2] == pytest.approx(
            track.positions[k, HEAD_ROW, 2], abs=0.1
        )
        assert abs(foot_height(frame)) < 0.3
    assert tracker.step(track.sample(30), DT, float("nan")).status is FrameStatus.FLOOR


def foot_height(frame: BodyFrame) -> float:
    """Height of the lowest joint, [m]."""
    return float(frame.positions[:, 2].min())


def test_a_lost_hand_lets_go_slowly_and_comes_back_without_a_jump(
    tracker: BodyTracker, track: TrackerTrack
) -> None:
    track.present[90:150, LEFT_HAND] = False
    hands, statuses = [], []
    for k in range(240):
        frame = tracker.step(track.sample(k), DT)
        hands.append(frame.positions[TRACKED[LEFT_HAND]].copy())
        statuses.append(frame.statuses[LEFT_HAND])
    assert set(statuses[90:150]) == {TrackerStatus.LOST}
    assert statuses[89] == statuses[150] == TrackerStatus.OK
    speeds = np.linalg.norm(np.diff(hands, axis=0), axis=1) * 60.0
    assert speeds[85:170].max() < 4.0
    far = np.linalg.norm(hands[170:] - track.positions[170:240, LEFT_HAND], axis=1)
    assert far.mean() < 0.02


@pytest.mark.parametrize(
    ("change", "status"),
    [
        (lambda p, q: p.__setitem__(0, np.nan), TrackerStatus.NOT_FINITE),
        (lambda p, q: p.__setitem__(1, 1e9), TrackerStatus.NOT_FINITE),
        (
            lambda p, q: q.__setitem__(slice(None), [np.inf, 0, 0, 0]),
            TrackerStatus.NOT_FINITE,
        ),
        (lambda p, q: q.__imul__(5.0), TrackerStatus.NOT_UNIT),
        (lambda p, q: q.__imul__(0.0), TrackerStatus.NOT_UNIT),
        (lambda p, q: p.__iadd__(5.0), TrackerStatus.JUMPED),
    ],
)
def test_an_impossible_sample_has_a_status_and_moves_nothing(
    change: object, status: TrackerStatus, tracker: BodyTracker, track: TrackerTrack
) -> None:
    played(tracker, track, range(60))
    before = tracker.step(track.sample(60), DT).positions.copy()
    sample = track.sample(61)
    change(sample.positions[RIGHT_HAND], sample.rotations[RIGHT_HAND])  # type: ignore[operator]
    frame = tracker.step(sample, DT)
    assert frame.statuses[RIGHT_HAND] == status
    assert frame.statuses[LEFT_HAND] == TrackerStatus.OK
    assert np.linalg.norm(frame.positions - before, axis=1).max() < 0.08


def test_a_player_who_is_moved_elsewhere_is_placed_there(
    tracker: BodyTracker, track: TrackerTrack
) -> None:
    played(tracker, track, range(60))
    track.positions[60:] += [5.0, 0.0, 0.0]
    gaps = []
    for k in range(60, 90):
        frame = tracker.step(track.sample(k), DT)
        check_pose(frame)
        gaps.append(frame.status is FrameStatus.GAP)
    assert sum(gaps) == 1
    assert frame.positions[HEAD, 0] == pytest.approx(
        track.positions[89, HEAD_ROW, 0], abs=0.1
    )


def test_a_frozen_tracker_is_lost(tracker: BodyTracker, track: TrackerTrack) -> None:
    track.positions[60:, RIGHT_HAND] = track.positions[60, RIGHT_HAND]
    track.rotations[60:, RIGHT_HAND] = track.rotations[60, RIGHT_HAND]
    statuses = [
        tracker.step(track.sample(k), DT).statuses[RIGHT_HAND] for k in range(240)
    ]
    assert statuses[100] == TrackerStatus.OK
    assert set(statuses[130:]) == {TrackerStatus.FROZEN}


def test_still_players_are_not_frozen(tracker: BodyTracker, walk: Motion) -> None:
    sample = track_of(walk).sample(0)
    for _ in range(200):
        frame = tracker.step(sample, DT)
    assert frame.statuses[HEAD_ROW] == TrackerStatus.OK


@pytest.mark.parametrize("dt", [0.0, -0.1, float("nan"), float("inf")])
def test_time_that_does_not_go_forward_repeats_the_pose(
    dt: float, tracker: BodyTracker, track: TrackerTrack
) -> None:
    played(tracker, track, range(30))
    before = tracker.step(track.sample(30), DT).positions.copy()
    frame = tracker.step(track.sample(31), dt)
    assert frame.status is FrameStatus.TIME
    np.testing.assert_array_equal(frame.positions, before)
    assert tracker.step(track.sample(31), DT).status is FrameStatus.OK


def test_a_long_pause_begins_anew(tracker: BodyTracker, track: TrackerTrack) -> None:
    played(tracker, track, range(60))
    assert tracker.step(track.sample(200), 5.0).status is FrameStatus.GAP
    check_pose(tracker.step(track.sample(201), DT))


def test_without_a_head_the_body_stands_at_rest(
    shipped_network: TrackerNetwork,
) -> None:
    frame = BodyTracker(shipped_network).step(TrackerSample.nothing(), DT)
    assert frame.status is FrameStatus.NO_HEAD
    assert set(frame.statuses.tolist()) == {TrackerStatus.ABSENT}
    check_pose(frame)


def test_other_shapes_are_refused(shipped_network: TrackerNetwork) -> None:
    good = TrackerSample.nothing()
    bad = TrackerSample(good.positions[:3], good.rotations, good.present)
    with pytest.raises(IKError, match=r"positions: expected \(6, 3\)"):
        BodyTracker(shipped_network).step(bad, DT)


def test_proportions_that_are_given_stay(
    shipped_network: TrackerNetwork, walk: Motion
) -> None:
    shape = BodyShape(0.95, 1.05, 0.97)
    tracker = BodyTracker(shipped_network, shape)
    played(tracker, track_of(walk), range(90))
    assert tracker.shape == shape
    tracker.set_shape(BodyShape())
    assert tracker.shape == BodyShape()


def test_the_size_of_a_player_is_found(
    shipped_network: TrackerNetwork, track: TrackerTrack
) -> None:
    tracker = BodyTracker(shipped_network)
    for k in range(len(track)):
        sample = track.sample(k)
        small = TrackerSample(0.85 * sample.positions, sample.rotations, sample.present)
        tracker.step(small, DT)
    assert 0.8 < tracker.shape.scale < 0.93


numbers = st.floats(allow_nan=True, allow_infinity=True, width=64)


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_no_sequence_of_samples_breaks_the_body(
    data: st.DataObject, shipped_network: TrackerNetwork, walk: Motion
) -> None:
    track = track_of(walk, 6)
    tracker = BodyTracker(shipped_network)
    for k in range(12):
        sample = track.sample(k)
        row = data.draw(st.integers(0, 5))
        kind = data.draw(st.sampled_from(["fine", "numbers", "absent", "far"]))
        if kind == "numbers":
            sample.positions[row] = data.draw(st.tuples(numbers, numbers, numbers))
            sample.rotations[row] = data.draw(st.tuples(*[numbers] * 4))
        elif kind == "absent":
            sample.present[row] = False
        elif kind == "far":
            sample.positions[row] *= data.draw(st.floats(-50, 50))
        ground = data.draw(st.sampled_from([0.0, 0.0, -4.0, 2.0, float("nan")]))
        dt = data.draw(st.sampled_from([DT, DT, 0.0, 0.2, 3.0, float("nan"), -1.0]))
        frame = tracker.step(sample, dt, ground)
        if frame.status is not FrameStatus.TIME or k:
            assert np.isfinite(frame.positions).all()
            assert np.isfinite(frame.rotations).all()
