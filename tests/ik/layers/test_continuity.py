"""Bodies that follow IK from tick to tick without jumps."""

import numpy as np
import pytest

from ambulo.ik.actions.action import Timing, acting
from ambulo.ik.actions.feet import Step
from ambulo.ik.actions.hands import Reach
from ambulo.ik.actions.standing import standing_pose
from ambulo.ik.layers.continuity import Continuity
from ambulo.ik.layers.layer import LayerKind, PoseLayer, Tick
from ambulo.ik.layers.stack import Frame, LayerStack
from ambulo.ik.pose import Pose, fk
from ambulo.ik.rig import load_rig
from ambulo.ik.solver.targets import Targets
from ambulo.motion.rotations import quat_angle, quat_from_rotvec, quat_multiply

RIG = load_rig()
STANDING = standing_pose(RIG)
RATE = 240


def play(action, seconds: float, release: float | None = None) -> list[Frame]:
    """A standing character with one action, tick by tick."""
    stack = LayerStack(RIG, lambda tick: STANDING)
    layer = PoseLayer("act", LayerKind.IK, acting([action]), fade_in=0.0, fade_out=0.4)
    handle = stack.add(layer, 0.0)
    frames = []
    for i in range(int(seconds * RATE)):
        if release is not None and i == int(release * RATE):
            handle.release(i / RATE)
        frames.append(stack.tick(i / RATE))
    return frames


def speeds(frames: list[Frame]) -> np.ndarray:
    """Of the fastest joint between ticks, [m/s]."""
    places = np.stack([fk(RIG, frame.pose)[0][0] for frame in frames])
    fastest: np.ndarray = RATE * np.linalg.norm(np.diff(places, axis=0), axis=-1)
    return fastest.max(axis=1)


@pytest.mark.integration
@pytest.mark.parametrize(
    "goal",
    [(0.2, -0.5, 0.05), (0.35, 0.1, 0.05), (0.35, 0.1, 0.3), (0.5, 0.1, 2.0)],
)
def test_reaching_low_and_high_no_joint_jumps(goal) -> None:
    # The hand itself peaks at 2 to 4 m/s; solved anew in each tick, joints made 21 to 67.
    frames = play(Reach("RightHand", goal, timing=Timing(rise=0.6)), 1.2)
    assert speeds(frames).max() < 9.0
    last = frames[-1]
    assert last.solution is not None
    assert last.solution.reached.all()


@pytest.mark.integration
def test_what_is_out_of_reach_makes_small_jumps_only() -> None:
    # Solved anew: 30 m/s.
    frames = play(Step(RIG, "LeftFoot", (1.2, 0.1, 0.08)), 1.0)
    assert speeds(frames).max() < 20.0


@pytest.mark.integration
def test_nothing_is_left_when_the_layer_has_gone() -> None:
    frames = play(Reach("RightHand", (0.5, -0.2, 0.05)), 1.7, release=1.2)
    assert speeds(frames).max() < 12.0
    np.testing.assert_array_equal(frames[-1].pose.rotations, STANDING.rotations)


@pytest.mark.integration
def test_a_body_that_went_far_comes_back_as_near_as_it_can() -> None:
    hand = Targets.of_pose(RIG, STANDING).positions[0, 1]
    goal = {"at": np.array([0.4, -0.2, 0.05])}
    here = hand + np.array([0.1, 0.0, 0.1])

    def wanted(tick: Tick) -> Targets:
        return Targets.of({"RightHand": goal["at"]})

    moved = LayerStack(RIG, lambda tick: STANDING)
    moved.add(PoseLayer("hand", LayerKind.IK, wanted, fade_in=0.0), 0.0)
    for i in range(120):
        moved.tick(i / RATE)
    goal["at"] = here
    for i in range(120, 600):
        frame = moved.tick(i / RATE)
    fresh = LayerStack(RIG, lambda tick: STANDING)
    fresh.add(PoseLayer("hand", LayerKind.IK, wanted, fade_in=0.0), 0.0)
    for i in range(240):
        direct = fresh.tick(i / RATE)
    apart = fk(RIG, frame.pose)[0] - fk(RIG, direct.pose)[0]
    assert np.linalg.norm(apart, axis=-1).max() < 0.02


def pair(turn: float) -> Pose:
    """Two characters, the first with its left arm turned."""
    rotations = np.repeat(STANDING.rotations, 2, axis=0)
    arm = RIG.skeleton.index("LeftArm")
    away = quat_from_rotvec(np.array([0.0, 0.0, turn]))
    rotations[0, arm] = quat_multiply(rotations[0, arm], away)
    return Pose(np.repeat(STANDING.root, 2, axis=0), rotations)


def test_a_jump_decays_only_for_the_character_that_misses() -> None:
    below, both, missed = pair(0.0), np.array([True, True]), np.array([False, True])
    for reached in (both, missed):
        memory = Continuity()
        memory.follow(below, pair(0.0), reached, 0.0, 1.0)
        after = [
            memory.follow(below, pair(1.0), reached, 0.01, 1.0) for _ in range(100)
        ]
        angles = [
            quat_angle(pose.rotations, pair(1.0).rotations).max(1) for pose in after
        ]
        np.testing.assert_allclose([angle[1] for angle in angles], 0.0, atol=1e-6)
        first = 0.0 if reached is both else np.exp(-0.1)
        assert angles[0][0] == pytest.approx(first, abs=1e-6)
        assert angles[-1][0] < 1e-3


def test_start_is_the_last_answer_on_its_way_back() -> None:
    memory, below = Continuity(), pair(0.0)
    assert memory.start(below, 0.01, 1.0) is below
    memory.follow(below, pair(0.8), np.ones(2, np.bool_), 0.0, 1.0)
    begun = memory.start(below, 0.15, 0.5)
    turned = quat_angle(begun.rotations, below.rotations).max()
    assert turned == pytest.approx(0.8 * np.exp(-1.0) * 0.5, abs=1e-6)
    one = Pose(below.root[:1], below.rotations[:1])
    assert memory.start(one, 0.01, 1.0) is one
