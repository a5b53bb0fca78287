"""The next frame from the last ones, and a walk that goes on by itself."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from ambulo.motion.rotations import quat_angle
from ambulo.rig_server.frames import RigFrame
from ambulo.rig_server.layout import LEGS
from ambulo.rig_server.sequence import PosePlane, SequenceLearner, pose_plane_of

Floats = NDArray[np.float64]


def track_of(frames: list[RigFrame]) -> tuple[Floats, Floats]:
    """Positions of the root and rotations, the root's in the world first."""
    rotations = np.array([frame.rotations for frame in frames])
    rotations[:, 0] = [frame.root_rotation for frame in frames]
    return np.array([frame.root_position for frame in frames]), rotations


def test_the_plane_gives_the_poses_back(walk: list[RigFrame]) -> None:
    positions, rotations = track_of(walk[:264])
    plane = pose_plane_of(positions, rotations)
    places, _ = plane.place(positions, rotations)
    features = plane.mean + places @ plane.back
    heights, poses = plane.poses(features, plane.yaw(rotations))
    np.testing.assert_allclose(heights, positions[:, 2], atol=0.01)
    assert quat_angle(poses[:, 0], rotations[:, 0]).max() < 0.03
    assert quat_angle(poses[:, 1:], rotations[:, 1:]).max() < 0.12
    assert places.std(axis=0).max() == pytest.approx(1.0)


def test_root_steps_are_in_the_yaw_frame_before(walk: list[RigFrame]) -> None:
    positions, rotations = track_of([walk[0], walk[0]])
    still = np.tile([1.0, 0, 0, 0], (7, 1))
    blank = np.zeros((22, 1))
    plane = PosePlane(still, blank[:, 0], blank, blank.T)
    positions[1] = positions[0] + [0.0, 0.1, 0.0]
    rotations[:, 0] = np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5)  # faces +Y
    _, steps = plane.place(positions, rotations)
    np.testing.assert_allclose(steps, [[0.1, 0.0, 0.0]], atol=1e-12)


@pytest.fixture(scope="module")
def walker(walk: list[RigFrame]) -> SequenceLearner:
    learner = SequenceLearner(LEGS)
    for frame in [*walk, *walk]:  # 1,320 frames, with a cut in the middle
        learner.add(frame)
        learner.learn()
    return learner


def test_a_walk_goes_on_without_input(
    walker: SequenceLearner, walk: list[RigFrame]
) -> None:
    assert walker.ready
    positions, rotations = walker.run(660)
    assert np.isfinite(positions).all()
    np.testing.assert_allclose(np.linalg.norm(rotations, axis=-1), 1.0, atol=1e-6)
    speed = np.linalg.norm(np.diff(positions[:, :2], axis=0), axis=1).mean() * 120
    assert speed == pytest.approx(1.2, rel=0.05)
    knee = rotations[200:, 2, 2]
    real = np.array([frame.rotations[2, 2] for frame in walk])
    assert knee.std() == pytest.approx(real.std(), rel=0.25)
    centred = knee - knee.mean()
    period = 60 + int(np.argmax([centred[:-s] @ centred[s:] for s in range(60, 200)]))
    assert period == pytest.approx(132, rel=0.1)


def test_the_run_begins_where_the_stream_ended(
    walker: SequenceLearner, walk: list[RigFrame]
) -> None:
    positions, rotations = walker.run(1)
    last = walk[-1]
    assert np.linalg.norm(positions[0] - last.root_position) < 0.03
    assert quat_angle(rotations[0, 1:], last.rotations[1:]).max() < 0.06


def test_a_cut_in_the_stream_is_not_learned(walk: list[RigFrame]) -> None:
    learner = SequenceLearner(LEGS)
    learner.add(walk[0])
    learner.add(walk[1])
    learner.add(walk[3], follows=False)
    far = RigFrame(**{**vars(walk[4]), "root_position": walk[4].root_position + 5.0})
    learner.add(far)
    learner._project()
    assert learner._joined[:4].tolist() == [False, True, False, False]


def test_nothing_is_promised_too_early(walk: list[RigFrame]) -> None:
    learner = SequenceLearner(LEGS)
    for frame in walk[:100]:
        learner.add(frame)
        learner.learn()
    assert not learner.ready


def test_a_restored_walk_goes_on(walker: SequenceLearner, walk: list[RigFrame]) -> None:
    other = SequenceLearner(LEGS)
    other.restore(walker.state())
    assert not other.ready  # it has seen no frame yet
    for frame in walk[-20:]:
        other.add(frame)
        other.learn()
    assert other.ready
    np.testing.assert_allclose(other.run(5)[0], walker.run(5)[0], atol=0.05)


def test_state_of_another_rig_is_refused(walker: SequenceLearner) -> None:
    state = walker.state()
    state["mean_local"] = state["mean_local"][:3]
    with pytest.raises(ValueError, match="mean_local"):
        SequenceLearner(LEGS).restore(state)


def test_a_character_that_stands_still_stays_finite(walk: list[RigFrame]) -> None:
    learner = SequenceLearner(LEGS)
    for _ in range(600):
        learner.add(walk[0])
        learner.learn()
    if learner.ready:
        positions, rotations = learner.run(100)
        assert np.isfinite(rotations).all()
        assert np.linalg.norm(positions[-1] - walk[0].root_position) < 0.2


def test_a_stream_of_cuts_is_never_ready(walk: list[RigFrame]) -> None:
    learner = SequenceLearner(LEGS)
    for i, frame in enumerate(walk[:300]):
        learner.add(frame, follows=i % 3 > 0)
        learner.learn()
    assert not learner.ready
    assert learner.network.steps == 0
