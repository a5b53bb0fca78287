"""Learning from a stream: anatomy, prequential errors, the start of answers."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from ambulo.rig_server.anatomy import anatomy_of
from ambulo.rig_server.character import AnswerGate, Thresholds
from ambulo.rig_server.frames import RigFrame, floats_of, frame_of
from ambulo.rig_server.layout import LEGS, RigLayout
from ambulo.rig_server.learner import FrameScore, PrequentialErrors, RigLearner
from ambulo.rig_server.memory import RECENT, FrameMemory

MakeWalk = Callable[..., list[RigFrame]]


@pytest.fixture(scope="module")
def taught(walk: list[RigFrame]) -> RigLearner:
    learner = RigLearner(LEGS)
    for frame in walk:
        learner.observe(frame)
        learner.learn()
    return learner


def test_lengths_and_hinges_are_read_off_the_stream(walk: list[RigFrame]) -> None:
    offsets = np.array([frame.offsets for frame in walk[:132]])
    rotations = np.array([frame.rotations for frame in walk[:132]])
    rig = anatomy_of(LEGS, offsets, rotations)
    np.testing.assert_allclose(rig.offsets[2], [0, 0, -0.42], atol=1e-6)
    np.testing.assert_allclose(rig.reach, 0.82, atol=1e-6)
    for calf in (2, 5):
        np.testing.assert_allclose(abs(rig.axes[calf]), [0, 1, 0], atol=1e-5)
        # 0.35 +- 0.3 rad about the mean, and the margin of 0.1 on both sides.
        assert rig.limits[calf, 1] - rig.limits[calf, 0] == pytest.approx(0.8, abs=0.01)


def test_a_still_leg_gets_the_normal_of_its_plane(walk: list[RigFrame]) -> None:
    frame = walk[0]
    rig = anatomy_of(LEGS, frame.offsets[None], frame.rotations[None])
    for calf in (2, 5):
        np.testing.assert_allclose(abs(rig.axes[calf]), [0, 1, 0], atol=1e-5)


def test_errors_are_taken_before_learning(walk: list[RigFrame]) -> None:
    """Whether a frame will be learned from cannot change its own score."""
    scores = []
    for learns in (True, False):
        learner = RigLearner(LEGS)
        for frame in walk[:20]:
            learner.observe(frame)
            learner.learn()
        scores.append(learner.observe(walk[20]))
        if learns:
            learner.learn()
    assert scores[0] == scores[1]


def test_a_stream_is_learned_within_800_frames(walk: list[RigFrame]) -> None:
    learner = RigLearner(LEGS)
    scores = []
    for frame in walk:
        scores.append(learner.observe(frame))
        learner.learn()
    last = scores[-132:]
    assert max(score.loss for score in scores[60:]) < 1e-3
    assert np.mean([score.network_loss for score in last]) < 1.0
    assert np.mean([score.middle_error for score in last]) < 0.005
    assert np.mean([score.middle_error for score in last]) < 0.5 * np.mean(
        [score.middle_error for score in scores[1:66]]
    )
    assert learner.network.refused == 0


def test_unseen_frames_of_the_same_character(
    taught: RigLearner, make_walk: MakeWalk
) -> None:
    errors, angles = [], []
    for frame in make_walk(132, swing=0.35):
        local = taught.predict(frame).rotations
        np.testing.assert_allclose(np.linalg.norm(local, axis=1), 1.0, atol=1e-9)
        positions, turned = taught.positions(local)
        wanted, wanted_turned = taught.positions(frame.rotations)
        errors.append(np.linalg.norm(positions - wanted, axis=1)[[2, 5]].mean())
        np.testing.assert_allclose(positions[[3, 6]], wanted[[3, 6]], atol=1e-4)
        angles.append(abs((turned * wanted_turned).sum(axis=1)[[2, 5]]).mean())
    assert np.mean(errors) < 0.01
    assert math.degrees(2 * math.acos(min(1.0, float(np.mean(angles))))) < 3.0


def test_a_slope_tilts_the_foot_with_the_ground(
    taught: RigLearner, walk: list[RigFrame]
) -> None:
    frame = walk[300]
    level = taught.predict(frame)
    floats = floats_of(LEGS, frame)
    slope = 0.2
    # Turn both normals by 0.2 rad about the pelvis' Y axis.
    c, s = math.cos(slope), math.sin(slope)
    turn = np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]])
    floats[49:52] = floats[53:56] = turn @ frame.up
    tilted = taught.predict(frame_of(LEGS, floats))
    _, flat = taught.positions(level.rotations)
    _, steep = taught.positions(tilted.rotations)
    for foot in (3, 6):
        angle = 2 * math.acos(min(1.0, abs(float(flat[foot] @ steep[foot]))))
        assert angle == pytest.approx(slope, abs=0.1)


def test_targets_that_differ_from_the_pose_are_answered_not_learned(
    walk: list[RigFrame],
) -> None:
    """The engine asks for a lower foot than the animation has: labels stay the pose."""
    learner = RigLearner(LEGS)
    for frame in walk[:200]:
        asked = RigFrame(
            **{**vars(frame), "targets": frame.targets + np.array([0.0, 0.0, 0.03])}
        )
        score = learner.observe(asked)
        answer = learner.predict(asked)
        learner.learn()
    assert score.loss < 1e-3
    positions, _ = learner.positions(answer.rotations)
    np.testing.assert_allclose(positions[[3, 6]], asked.targets, atol=1e-3)


def test_another_rig_without_chains_is_learned() -> None:
    """Root, one arm: an effector on the root's child has no two bones of its own."""
    rig = RigLayout("stick", ("root", "stick"), (-1, 0), (1,), scale=1.0)
    learner = RigLearner(rig)
    for i in range(300):
        angle = 0.5 * math.sin(0.1 * i)
        floats = np.zeros(21, np.float32)
        floats[6] = 1.0
        floats[7:10] = (0.0, 0.3 * math.sin(0.1 * i), 1.0)
        floats[10], floats[13] = math.sin(angle / 2), math.cos(angle / 2)
        floats[17] = 0.0
        floats[18:21] = floats[7:10]
        score = learner.observe(frame_of(rig, floats))
        learner.learn()
    assert score.angle_error < 0.1


def test_degenerate_streams_stay_finite() -> None:
    floats = np.zeros(63, np.float32)
    floats[[6, 13, 20, 27, 34, 41, 48]] = 1.0
    floats[[52, 56]] = 1.0
    learner = RigLearner(LEGS)
    for i in range(70):
        floats[57:63] = 1e5 * math.sin(i)
        learner.observe(frame_of(LEGS, floats))
        learner.learn()
    assert np.isfinite(learner.network.flat).all()
    assert np.isfinite(learner.predict(frame_of(LEGS, floats)).rotations).all()


def test_solver_starts_by_itself_and_stops_for_another_character(
    walk: list[RigFrame], make_walk: MakeWalk
) -> None:
    learner = RigLearner(LEGS)
    solver = AnswerGate(learner)
    started = []
    for frame in walk[:200]:
        assert (solver.solve(frame) is None) == (not solver.started)
        learner.observe(frame)
        started.append(solver.update())
        learner.learn()
    assert not any(started[:59])
    assert started[-1]
    assert solver.started_at >= 60
    for frame in make_walk(60, thigh=0.6):
        learner.observe(frame)
        solver.update()
    assert not solver.started


def test_thresholds_are_of_smoothed_errors() -> None:
    learner = RigLearner(LEGS)
    solver = AnswerGate(learner, Thresholds(frames=1))
    learner.anatomy = anatomy_of(
        LEGS, np.ones((1, 7, 3)), np.tile([1.0, 0, 0, 0], (1, 7, 1))
    )
    learner.progress.add(FrameScore(1e-4, 1.0, 1e-3, 1e-3, 0.1, 0.1))
    assert solver.update()
    learner.progress.add(FrameScore(1.0, 1.0, 1e-3, 1e-3, 0.1, 0.1))
    assert learner.progress.mean("loss") == pytest.approx(0.5 * (1.0 + 1e-4))
    assert not solver.update()


def test_progress_skips_what_is_not_a_number() -> None:
    progress = PrequentialErrors()
    progress.add(FrameScore(math.nan, 1.0, 1.0, math.nan, 1.0, 1.0))
    progress.add(FrameScore(2.0, 1.0, 1.0, math.nan, 1.0, 1.0))
    assert progress.mean("loss") == 2.0
    assert math.isnan(progress.mean("middle_error"))


def test_memory_keeps_old_frames_and_its_size(walk: list[RigFrame]) -> None:
    memory = FrameMemory(LEGS)
    memory.sample = 300
    size = memory.rotations.nbytes
    for i in range(3000):
        memory.scene.hits.flags.writeable = True
        memory.add(walk[i % len(walk)], np.full((2, 3), float(i)))
    assert memory.rotations.nbytes == size
    kept = memory.scene.targets[RECENT : RECENT + 300, 0, 0]
    # A fair sample of 0..2999: its mean is 1499.5 +- 50 (one standard error).
    assert abs(kept.mean() - 1499.5) < 200
    rows = memory.batch((memory.seen - 1) % RECENT, 32)
    assert rows[0] == 2999 % RECENT
    assert (rows[8:] >= RECENT).all()
    assert (rows[1:8] < RECENT).all()


def test_a_large_rig_takes_no_more_than_its_share() -> None:
    bones = tuple(str(i) for i in range(256))
    rig = RigLayout("big", bones, (-1, *range(255)), (255,))
    memory = FrameMemory(rig)
    arrays = (memory.rotations, memory.offsets, *memory.scene, *memory.ready)
    assert sum(array.nbytes for array in arrays) <= 16_000_000


def test_far_from_what_it_learned_the_anatomy_answers(
    taught: RigLearner, walk: list[RigFrame]
) -> None:
    frame = walk[-1]
    near = taught.effectors_of(frame)
    far = near + np.array([0.3, 0.0, 0.2])  # a high step forward; the walk has none
    smooth = taught.network.smooth
    kept = smooth.copy()
    answers = [taught.predict(frame, goal).rotations for goal in (near, far)]
    smooth[:] = 0.0
    alone = [taught.predict(frame, goal).rotations for goal in (near, far)]
    smooth[:] = kept
    gaps = [np.abs(a - b).max() for a, b in zip(answers, alone, strict=True)]
    assert gaps[0] > 1e-2
    assert gaps[1] < 1e-3
