"""What a client is told of its body, and when."""

from __future__ import annotations

import json

import numpy as np

from ambulo.commands.trackers.stream import Stream
from ambulo.ik.trackers.conventions import TrackerSample
from ambulo.ik.trackers.layout import TRACKED
from ambulo.ik.trackers.network import TrackerNetwork
from ambulo.ik.trackers.recording_lines import parse_header
from ambulo.ik.trackers.shape import BodyShape, sized_skeleton
from ambulo.motion.kinematics import rest_positions

HEADER = json.dumps(
    {
        "format": "ambulo-trackers",
        "version": 1,
        "convention": "ambulo",
        "trackers": ["Head", "LeftHand", "RightHand"],
        "calibrate": True,
    }
)
LARGE = BodyShape(1.15, 1.15, 1.15)


def t_pose(time: float) -> TrackerSample:
    """A row of a large player in a T-pose."""
    turns = np.zeros((6, 4))
    turns[:, 0] = 1.0
    present = np.array([True, True, False, False, True, False])
    places = rest_positions(sized_skeleton(LARGE))[list(TRACKED)]
    return TrackerSample(places, turns, present, time)


def test_the_body_of_a_t_pose_is_told_before_its_first_pose(
    network: TrackerNetwork,
) -> None:
    now = 0.0
    stream = Stream(network, parse_header(HEADER), lambda: now)
    assert stream.skeleton_changed()
    small = stream.offsets
    now = 0.01
    assert stream.answer(t_pose(0.0)).waiting is None
    assert stream.skeleton_changed()
    assert stream.offsets[0, 2] > 1.1 * small[0, 2]
    now = 0.02
    stream.answer(t_pose(0.02))
    assert not stream.skeleton_changed()
