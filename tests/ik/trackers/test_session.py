"""Streams of devices: time, calibration, whole recordings."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from ambulo.configs.errors import IKError
from ambulo.ik.trackers.conventions import (
    Mounts,
    TrackerSample,
    convention,
    default_mounts,
)
from ambulo.ik.trackers.layout import HEAD_ROW, LEFT_HAND, TRACKED, TRACKERS
from ambulo.ik.trackers.network import TrackerNetwork
from ambulo.ik.trackers.record_motion import record_motion
from ambulo.ik.trackers.recording import Recording, recording_bytes, recording_of
from ambulo.ik.trackers.session import BodySession, track_recording
from ambulo.ik.trackers.shape import BodyShape, sized_skeleton
from ambulo.ik.trackers.tracker import FrameStatus, TrackerStatus
from ambulo.motion.kinematics import joint_positions, rest_positions
from ambulo.motion.motion import Motion

HAND_L = TRACKED[LEFT_HAND]


def t_pose(shape: BodyShape, time: float = 0.0, height: float = 0.0) -> TrackerSample:
    """Devices of OpenXR on a body in a T-pose."""
    rest = rest_positions(sized_skeleton(shape))[list(TRACKED)]
    rest[:, 2] += height
    kind = convention("openxr")
    devices = default_mounts(kind, shape).devices(rest, Mounts.none().rotations)
    return TrackerSample(*devices, np.ones(TRACKERS, dtype=bool), time)


def test_openxr_and_unreal_recordings_give_the_same_poses(
    shipped_network: TrackerNetwork, walk: Motion
) -> None:
    poses = []
    for axes in ("ambulo", "openxr", "unreal", "unity"):
        made = record_motion(walk[:120], axes=axes)
        read = recording_of(recording_bytes(made))
        tracked = track_recording(shipped_network, read)
        assert tracked.frames == {"ok": 120}
        assert tracked.trackers["Head"] == {"ok": 120}
        assert len(tracked.motion) == 120
        assert tracked.motion.fps == 60.0
        poses.append(joint_positions(tracked.motion))
    for other in poses[1:]:
        np.testing.assert_allclose(other, poses[0], atol=5e-4)
    hands = np.linalg.norm((poses[0] - joint_positions(walk[:120]))[:, HAND_L], axis=-1)
    assert np.median(hands) < 0.03


def test_an_unknown_player_is_measured_first(
    shipped_network: TrackerNetwork, walk: Motion
) -> None:
    made = record_motion(walk[:90], with_shape=False)
    tracked = track_recording(shipped_network, made)
    assert tracked.shape != BodyShape()
    given = track_recording(shipped_network, made, shape=BodyShape(1.1, 1.1, 1.1))
    assert given.shape.ratios == pytest.approx(1.1)


def test_another_rate_and_rows_without_a_head(
    shipped_network: TrackerNetwork, walk: Motion
) -> None:
    made = record_motion(walk[:60])
    present = made.present.copy()
    present[:6, HEAD_ROW] = False
    part = dataclasses.replace(made, present=present)
    tracked = track_recording(shipped_network, part, rate=30.0)
    assert tracked.skipped == 6
    assert tracked.frames == {"ok": 54, "no_head": 6}
    assert len(tracked.motion) == 27
    with pytest.raises(IKError, match="no row has a head"):
        track_recording(
            shipped_network, dataclasses.replace(made, present=present & False)
        )
    with pytest.raises(IKError, match="the rate must be above 0"):
        track_recording(shipped_network, made, rate=0.0)
    late = made.times.copy()
    late[-1] = 1e9
    with pytest.raises(IKError, match="more than 2200 frames"):
        track_recording(shipped_network, dataclasses.replace(made, times=late))


def test_the_ground_of_a_recording(
    shipped_network: TrackerNetwork, walk: Motion
) -> None:
    made = record_motion(walk[:60])
    tracked = track_recording(shipped_network, made)
    up = np.array([0.0, 0.0, 2.5])
    raised = dataclasses.replace(made, positions=made.positions + up)
    above = track_recording(shipped_network, raised, ground=2.5)
    np.testing.assert_allclose(
        above.motion.root_positions, tracked.motion.root_positions + up, atol=1e-4
    )


def test_time_that_goes_back(shipped_network: TrackerNetwork, walk: Motion) -> None:
    made = record_motion(walk[:40])
    session = BodySession(shipped_network, made.header)
    rows = [made.row(i) for i in range(40)]
    for row in rows[:20]:
        assert session.step(row).status == FrameStatus.OK
    before = session.step(rows[20]).positions.copy()
    again = session.step(rows[18])
    assert again.status == FrameStatus.TIME
    np.testing.assert_array_equal(again.positions, before)
    assert session.step(rows[21]).status == FrameStatus.OK
    # A clock that was set anew is believed after one row.
    reset = [dataclasses.replace(row, time=row.time - 100.0) for row in rows[22:]]
    assert session.step(reset[0]).status == FrameStatus.TIME
    assert session.step(reset[1]).status == FrameStatus.OK


def test_a_t_pose_in_front(shipped_network: TrackerNetwork, walk: Motion) -> None:
    shape = BodyShape(trunk=0.93, arm=0.96, leg=0.93)
    header = record_motion(
        walk[:2],
        ("Head", "LeftHand", "RightHand", "Hips"),
        axes="openxr",
        with_shape=False,
    ).header.replace(calibrate=True)
    session = BodySession(shipped_network, header)
    row = t_pose(shape)
    alone = row.present.copy()
    alone[LEFT_HAND] = False
    session.step(dataclasses.replace(row, present=alone))
    assert session.waiting == "no LeftHand yet"
    low = t_pose(shape, 0.1)
    low.positions[LEFT_HAND, 1] -= 1.2
    session.step(low)
    assert session.waiting is not None
    assert "T-pose" in session.waiting
    frame = session.step(t_pose(shape, 0.2))
    assert session.waiting is None
    np.testing.assert_allclose(session.body.shape.ratios, shape.ratios, atol=1e-6)
    rest = rest_positions(session.body.skeleton)
    assert np.linalg.norm(frame.positions[HAND_L] - rest[HAND_L]) < 0.05


def test_a_recording_that_promises_a_t_pose(
    shipped_network: TrackerNetwork, walk: Motion
) -> None:
    made = record_motion(walk[:20], axes="openxr")
    header = made.header.replace(calibrate=True)
    with pytest.raises(IKError, match="no T-pose"):
        track_recording(shipped_network, dataclasses.replace(made, header=header))
    rows = [t_pose(BodyShape(), 0.01 * i) for i in range(30)]
    still = Recording(
        header,
        np.array([row.time for row in rows]),
        np.array([row.positions for row in rows]),
        np.array([row.rotations for row in rows]),
        np.array([row.present for row in rows]),
    )
    tracked = track_recording(shipped_network, still)
    assert tracked.shape.stature == pytest.approx(1.75, abs=1e-3)


def test_hostile_rows_have_statuses(
    shipped_network: TrackerNetwork, walk: Motion
) -> None:
    made = record_motion(walk[:30])
    session = BodySession(shipped_network, made.header)
    for i in range(20):
        session.step(made.row(i))
    row = made.row(20)
    row.rotations[HEAD_ROW] = np.nan
    row.rotations[LEFT_HAND] *= 3.0
    frame = session.step(row)
    assert frame.statuses[HEAD_ROW] == TrackerStatus.NOT_FINITE
    assert frame.statuses[LEFT_HAND] == TrackerStatus.NOT_UNIT
    assert np.isfinite(frame.positions).all()
