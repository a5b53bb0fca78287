"""Bodies whose head is not tracked: they stay as they are, where they are."""

from __future__ import annotations

import numpy as np
import pytest

from ambulo.ik.avatar.layout import HEAD
from ambulo.ik.trackers.conventions import TrackerSample
from ambulo.ik.trackers.layout import HEAD_ROW
from ambulo.ik.trackers.network import TrackerNetwork
from ambulo.ik.trackers.tracker import BodyTracker, FrameStatus
from ambulo.ik.trackers.tracks import TrackerTrack, track_of
from ambulo.motion.motion import Motion

DT = 1.0 / 60.0


@pytest.fixture
def walked(
    shipped_network: TrackerNetwork, walk: Motion
) -> tuple[BodyTracker, TrackerTrack]:
    """A body that has walked for two seconds, and its track."""
    body, track = BodyTracker(shipped_network), track_of(walk)
    for k in range(120):
        body.step(track.sample(k), DT)
    return body, track


def without(sample: TrackerSample, rows: list[int]) -> TrackerSample:
    """The sample without some trackers."""
    present = sample.present.copy()
    present[rows] = False
    return TrackerSample(sample.positions, sample.rotations, present)


@pytest.mark.parametrize("lost", [[HEAD_ROW], [0, 1, HEAD_ROW]])
def test_a_body_without_a_head_stays_standing(
    lost: list[int], walked: tuple[BodyTracker, TrackerTrack]
) -> None:
    body, track = walked
    before = body.step(track.sample(120), DT).positions.copy()
    shape = body.shape
    for _ in range(600):
        frame = body.step(without(track.sample(120), lost), DT)
    assert frame.status is FrameStatus.LOST
    assert frame.positions[HEAD, 2] == pytest.approx(before[HEAD, 2], abs=0.15)
    np.testing.assert_allclose(frame.root[:2], before[0, :2], atol=0.3)
    assert body.shape.ratios == pytest.approx(shape.ratios, abs=1e-9)
    frame = body.step(track.sample(121), DT)
    assert frame.status in (FrameStatus.OK, FrameStatus.GAP)
    for k in range(122, 150):
        frame = body.step(track.sample(k), DT)
    np.testing.assert_allclose(
        frame.positions[HEAD], track.positions[149, HEAD_ROW], atol=0.1
    )


def test_a_pause_that_ends_without_a_head_moves_nobody(
    walked: tuple[BodyTracker, TrackerTrack],
) -> None:
    body, track = walked
    before = body.step(track.sample(120), DT).positions.copy()
    for dt in (0.6, DT, DT):
        frame = body.step(without(track.sample(121), [HEAD_ROW]), dt)
        assert frame.status is FrameStatus.GAP
        np.testing.assert_array_equal(frame.positions, before)
    frame = body.step(track.sample(122), DT)
    assert frame.status is FrameStatus.OK
    assert np.abs(frame.positions - before).max() < 0.5
