"""One tracked player on the rig: targets count as far as its trackers can be used."""

from __future__ import annotations

import numpy as np
import pytest

from ambulo.configs.errors import IKError
from ambulo.ik.rig import Rig
from ambulo.ik.trackers.layout import HEAD_ROW, HIPS_ROW, LEFT_HAND
from ambulo.ik.trackers.network import TrackerNetwork
from ambulo.ik.trackers.rig_player import RigPlayer
from ambulo.ik.trackers.shape import BodyShape
from ambulo.ik.trackers.tracker import BodyTracker, FrameStatus
from ambulo.ik.trackers.tracks import track_of
from ambulo.motion.motion import Motion

DT = 1.0 / 60.0


@pytest.fixture
def player(shipped_network: TrackerNetwork, rig: Rig) -> RigPlayer:
    """A player of the rig's proportions."""
    return RigPlayer(BodyTracker(shipped_network, BodyShape()), rig)


def test_a_player_has_no_pose_before_the_first_step(player: RigPlayer) -> None:
    assert not player.targets().position_weights.any()
    for ask in (player.pose, player.problem):
        with pytest.raises(IKError, match="before the first step"):
            ask()


def test_a_tracker_that_comes_back_counts_more_and_more(
    player: RigPlayer, walk: Motion
) -> None:
    track, weights = track_of(walk), []
    track.present[30:60, LEFT_HAND] = False
    for k in range(90):
        player.step(track.sample(k), DT)
        weights.append(player.targets().position_weights[0])
    hand = np.array(weights)[:, LEFT_HAND]
    assert set(hand[:30]) == {1.0}
    assert not hand[30:60].any()
    np.testing.assert_allclose(np.diff(hand[59:71]), DT / 0.2, atol=1e-9)
    assert set(hand[72:]) == {1.0}
    assert set(np.array(weights)[:, HEAD_ROW]) == {1.0}
    assert not np.array(weights)[:, HIPS_ROW].any()


def test_a_step_back_in_time_changes_nothing(player: RigPlayer, walk: Motion) -> None:
    track = track_of(walk)
    for k in range(10):
        player.step(track.sample(k), DT)
    before, targets = player.pose(), player.targets()
    frame = player.step(track.sample(50), 0.0)
    assert frame.status is FrameStatus.TIME
    np.testing.assert_array_equal(player.pose().rotations, before.rotations)
    np.testing.assert_array_equal(player.targets().positions, targets.positions)
