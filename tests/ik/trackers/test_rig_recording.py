"""A tracked recording on the rig: the solver brings hands, feet and head where they were."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from ambulo.ik.pose import fk
from ambulo.ik.rig import Rig
from ambulo.ik.solver.solver import NeuralIKSolver
from ambulo.ik.trackers.layout import TRACKED
from ambulo.ik.trackers.network import TrackerNetwork
from ambulo.ik.trackers.record_motion import record_motion
from ambulo.ik.trackers.rig_poses import recording_on_rig
from ambulo.ik.trackers.session import track_recording
from ambulo.ik.trackers.shape import BodyShape
from ambulo.motion.kinematics import joint_positions
from ambulo.motion.motion import Motion


def test_hands_feet_and_head_are_where_the_tracked_body_has_them(
    shipped_network: TrackerNetwork, walk: Motion, rig: Rig
) -> None:
    recording = record_motion(walk)
    tracked = track_recording(shipped_network, recording, rate=24.0)
    poses, targets = recording_on_rig(rig, tracked)
    assert len(poses) == len(targets) == len(tracked.motion)
    solution = NeuralIKSolver(rig).solve(targets, poses)
    assert solution.reached.mean() > 0.98
    assert np.median(solution.position_residual[:, :5]) < 1e-3
    truth = joint_positions(tracked.motion)[:, list(TRACKED[:5])]
    there = fk(rig, solution.pose)[0][:, list(rig.effectors[:5])]
    scale = tracked.shape.scale
    assert np.median(np.linalg.norm(scale * there - truth, axis=-1)) < 2e-3


def test_the_ground_of_the_recording_becomes_that_of_the_rig(
    shipped_network: TrackerNetwork, walk: Motion, rig: Rig
) -> None:
    plain = record_motion(walk)
    high = dataclasses.replace(
        plain,
        header=plain.header.replace(ground=4.0),
        positions=plain.positions + np.array([0.0, 0.0, 4.0]),
    )
    one, other = (track_recording(shipped_network, r) for r in (plain, high))
    a, b = recording_on_rig(rig, one)[0], recording_on_rig(rig, other, 4.0)[0]
    np.testing.assert_allclose(a.root, b.root, atol=1e-4)


@pytest.mark.parametrize("size", [0.8, 1.1])
def test_a_player_of_another_size_gets_the_rigs(
    size: float, shipped_network: TrackerNetwork, walk: Motion, rig: Rig
) -> None:
    """Twice as large a player walks on the rig as one of its size does."""
    recording = record_motion(walk)
    scaled = dataclasses.replace(
        recording,
        header=recording.header.replace(shape=None),
        positions=recording.positions * size,
    )
    shape = BodyShape(size, size, size)
    same = track_recording(shipped_network, recording, shape=BodyShape())
    other = track_recording(shipped_network, scaled, shape=shape)
    a, b = recording_on_rig(rig, same)[0], recording_on_rig(rig, other)[0]
    assert np.linalg.norm(a.root - b.root, axis=-1)[30:].mean() < 0.05
