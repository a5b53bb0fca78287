"""The next frame from the last ones, and a walk that goes on by itself."""

from __future__ import annotations

import numpy as np
import pytest

from ambulo.motion.rotations import quat_angle
from ambulo.rig_server.frames import RigFrame
from ambulo.rig_server.layout import LEGS
from ambulo.rig_server.pose_pca import Track, place_frames, pose_pca_of
from ambulo.rig_server.sequence import SequenceLearner


def track_of(frames: list[RigFrame]) -> Track:
    return Track(
        np.array([frame.root_position for frame in frames]),
        np.array([frame.root_rotation for frame in frames]),
        np.array([frame.rotations[1:] for frame in frames]),
    )


def test_the_plane_gives_the_poses_back(walk: list[RigFrame]) -> None:
    track = track_of(walk[:264])
    space = pose_pca_of(track)
    assert space.explained > 0.98
    features = space.mean + space.coordinates(track) @ space.back
    heights, root, local = space.poses(features, space.yaw(track.rotations))
    np.testing.assert_allclose(heights, track.positions[:, 2], atol=0.01)
    assert quat_angle(root, track.rotations).max() < 0.03
    assert quat_angle(local, track.local).max() < 0.12
    spread = space.coordinates(track).std(axis=0)
    assert spread.max() == pytest.approx(1.0)


def test_the_compiled_plane_is_the_same(walk: list[RigFrame]) -> None:
    track = track_of(walk[:264])
    space = pose_pca_of(track)
    coordinates, steps = np.zeros((100, 6)), np.zeros((100, 3))
    # Frames 150 to 239 in a ring of 100, so that the end lies before the start.
    rows = (np.arange(140, 240) % 100).argsort() + 140
    ring = [np.ascontiguousarray(part[rows]) for part in vars(track).values()]
    place_frames(
        space.reference, space.mean_local, space.mean, space.axes, *ring, 150, 90,
        coordinates, steps,
    )  # fmt: skip
    found = np.arange(150, 240)
    np.testing.assert_allclose(
        coordinates[found % 100], space.coordinates(track)[found], atol=1e-9
    )
    np.testing.assert_allclose(
        steps[found % 100], space.steps(track)[found - 1], atol=1e-12
    )
    assert not coordinates[found[-1] % 100 + 1 : 50].any()


def test_root_steps_are_in_the_yaw_frame_before(walk: list[RigFrame]) -> None:
    frame = walk[0]
    turned = np.array([np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5)])  # faces +Y
    track = Track(
        np.array([[0.0, 0, 1], [0.0, 0.1, 1]]),
        np.array([turned, turned]),
        np.array([frame.rotations[1:]] * 2),
    )
    space = pose_pca_of(
        Track(track.positions, np.tile([1.0, 0, 0, 0], (2, 1)), track.local)
    )
    np.testing.assert_allclose(space.steps(track), [[0.1, 0.0, 0.0]], atol=1e-12)


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
    track = walker.run(660)
    assert np.isfinite(track.positions).all()
    np.testing.assert_allclose(np.linalg.norm(track.local, axis=-1), 1.0, atol=1e-6)
    speed = np.linalg.norm(np.diff(track.positions[:, :2], axis=0), axis=1).mean() * 120
    assert speed == pytest.approx(1.2, rel=0.05)
    knee = track.local[200:, 1, 2]
    real = np.array([frame.rotations[2, 2] for frame in walk])
    assert knee.std() == pytest.approx(real.std(), rel=0.25)
    centred = knee - knee.mean()
    period = 60 + int(np.argmax([centred[:-s] @ centred[s:] for s in range(60, 200)]))
    assert period == pytest.approx(132, rel=0.1)


def test_the_run_begins_where_the_stream_ended(
    walker: SequenceLearner, walk: list[RigFrame]
) -> None:
    first = walker.run(1)
    last = walk[-1]
    assert np.linalg.norm(first.positions[0] - last.root_position) < 0.03
    assert quat_angle(first.local[0], last.rotations[1:]).max() < 0.06


def test_a_cut_in_the_stream_is_not_learned(walk: list[RigFrame]) -> None:
    learner = SequenceLearner(LEGS)
    learner.add(walk[0])
    learner.add(walk[1])
    learner.add(walk[3], follows=False)
    far = RigFrame(**{**vars(walk[4]), "root_position": walk[4].root_position + 5.0})
    learner.add(far)
    assert learner._run[:4].tolist() == [1, 2, 1, 1]


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
    np.testing.assert_allclose(
        other.run(5).positions, walker.run(5).positions, atol=0.05
    )


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
        track = learner.run(100)
        assert np.isfinite(track.local).all()
        assert np.linalg.norm(track.positions[-1] - walk[0].root_position) < 0.2
