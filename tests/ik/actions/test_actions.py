"""Actions: where they lead effectors, over time, alone and together."""

from __future__ import annotations

import numpy as np
import pytest

from ambulo.configs.errors import IKError
from ambulo.ik.actions.action import IKAction, Timing, act, acting, facing, min_jerk
from ambulo.ik.actions.body import Crouch, Lean
from ambulo.ik.actions.feet import FootPlant, Step
from ambulo.ik.actions.gaze import LookAt
from ambulo.ik.actions.hands import Grab, Reach
from ambulo.ik.actions.standing import ankle_height, standing_pose
from ambulo.ik.layers.goals import EffectorGoals
from ambulo.ik.layers.layer import LayerKind, PoseLayer
from ambulo.ik.layers.stack import Frame, LayerStack
from ambulo.ik.pose import Pose, fk, turned
from ambulo.ik.rig import TARGETS, load_rig
from ambulo.ik.solver.targets import Targets, row_of
from ambulo.motion.rotations import (
    quat_angle,
    quat_conjugate,
    quat_from_rotvec,
    quat_multiply,
    quat_rotate,
)

RIG = load_rig()
STANDING = standing_pose(RIG)
GOALS = EffectorGoals.at(Targets.of_pose(RIG, STANDING), ("LeftFoot", "RightFoot"))
QUICK = Timing(rise=0.5)
FORWARD = np.array([1.0, 0.0, 0.0])


def shown(*actions: IKAction, time: float, pose: Pose = STANDING) -> Frame:
    """The character with the actions at a time."""
    stack = LayerStack(RIG, lambda tick: pose)
    stack.add(PoseLayer("actions", LayerKind.IK, acting(actions), fade_in=0.0), 0.0)
    return stack.tick(time)


def place(frame: Frame, name: str) -> np.ndarray:
    """World place of an effector."""
    joint: np.ndarray = fk(RIG, frame.pose)[0][0, RIG.effectors[row_of(name)]]
    return joint


def gaze(frame: Frame) -> np.ndarray:
    """Where the head faces."""
    turn = fk(RIG, frame.pose)[1][0, RIG.effectors[row_of("Head")]]
    rest = RIG.target_rest[row_of("Head")]
    way: np.ndarray = quat_rotate(quat_multiply(turn, quat_conjugate(rest)), FORWARD)
    return way


def all_met(frame: Frame) -> bool:
    """Whether every goal was reached."""
    assert frame.solution is not None
    return bool(frame.solution.reached.all())


def test_standing_pose_stands_flat_and_upright() -> None:
    positions, turns = fk(RIG, STANDING)
    foot = row_of("LeftFoot")
    assert positions[0, RIG.effectors[foot], 2] == pytest.approx(
        ankle_height(RIG), abs=1e-3
    )
    level = quat_angle(turns[0, RIG.effectors[foot]], RIG.target_rest[foot])
    assert level < np.deg2rad(0.5)
    np.testing.assert_allclose(
        facing(GOALS, RIG.target_rest[TARGETS.index("Hips")])[0], FORWARD, atol=0.01
    )


def test_min_jerk_and_timing() -> None:
    np.testing.assert_allclose(min_jerk([-1, 0, 0.25, 0.5, 1, 2])[[0, 1, 3, 4, 5]],
                               [0, 0, 0.5, 1, 1])  # fmt: skip
    # 10 / 64 - 15 / 256 + 6 / 1024
    assert min_jerk(0.25) == pytest.approx(0.103515625)
    timing = Timing(begin=1.0, rise=0.5, hold=2.0, fall=1.0)
    values = [timing.at(t) for t in (0.9, 1.25, 1.5, 3.5, 4.0, 4.5)]
    np.testing.assert_allclose(values, [0.0, 0.5, 1.0, 1.0, 0.5, 0.0], atol=1e-12)
    assert timing.end == 4.5
    with pytest.raises(IKError, match="positive"):
        Timing(rise=0.0)


def test_reach_goes_along_its_arc_and_comes_back() -> None:
    start = GOALS.position("LeftHand")[0]
    point = start + np.array([0.2, 0.0, 0.3])
    timing = Timing(rise=1.0, hold=0.5, fall=1.0)
    reach = Reach("LeftHand", point, arc=0.1, timing=timing)
    half = reach.lead(GOALS, 0.5).position("LeftHand")[0]
    np.testing.assert_allclose(
        half, start + np.array([0.1, 0.0, 0.15 + 0.1]), atol=1e-12
    )
    np.testing.assert_allclose(reach.lead(GOALS, 1.2).position("LeftHand")[0], point)
    assert reach.lead(GOALS, 2.5) is GOALS
    frame = shown(reach, time=1.0)
    assert np.linalg.norm(place(frame, "LeftHand") - point) < 1e-3


def test_reach_turns_the_hand_where_asked() -> None:
    here = GOALS.rotation("RightHand")[0]
    wanted = quat_multiply(quat_from_rotvec(np.array([0.0, 0.0, 0.6])), here)
    point = GOALS.position("RightHand")[0] + np.array([0.2, 0.1, 0.2])
    reach = Reach("RightHand", point, wanted, timing=QUICK)
    half = reach.lead(GOALS, 0.25).rotation("RightHand")[0]
    assert quat_angle(half, here) == pytest.approx(0.3)
    assert all_met(shown(reach, time=0.6))


def test_look_at_faces_the_point_upright() -> None:
    point = np.array([2.0, 1.2, 1.0])
    frame = shown(LookAt(RIG, point, timing=QUICK), time=0.5)
    way = point - place(frame, "Head")
    angle = np.arccos(gaze(frame) @ way / np.linalg.norm(way))
    assert np.rad2deg(angle) < 2.0
    turn = fk(RIG, frame.pose)[1][0, RIG.effectors[row_of("Head")]]
    rest = RIG.target_rest[row_of("Head")]
    left = quat_rotate(quat_multiply(turn, quat_conjugate(rest)), np.array([0, 1.0, 0]))
    assert abs(left[2]) < 0.02


def test_look_at_half_way_and_limit() -> None:
    head = GOALS.position("Head")[0]
    left = LookAt(
        RIG, head + np.array([0.0, 3.0, 0.0]), limit=np.deg2rad(60.0), timing=QUICK
    )
    way = left.direction(GOALS, 1.0)[0]
    assert np.rad2deg(np.arctan2(way[1], way[0])) == pytest.approx(60.0, abs=1.0)
    full = left.lead(GOALS, 0.5).rotation("Head")[0]
    half = left.lead(GOALS, 0.25).rotation("Head")[0]
    start = GOALS.rotation("Head")[0]
    assert quat_angle(start, half) == pytest.approx(quat_angle(start, full) / 2)


def test_look_at_follows_a_moving_point() -> None:
    moving = LookAt(RIG, lambda time: (2.0, time - 2.0, 1.6), timing=QUICK)
    right, left = (gaze(shown(moving, time=t))[1] for t in (1.0, 3.0))
    assert right < -0.3
    assert left > 0.3


def test_grab_holds_the_object_from_grip_to_goal() -> None:
    start = GOALS.position("RightHand")[0] + np.array([0.35, 0.1, 0.25])
    goal = start + np.array([0.0, 0.25, 0.1])
    grab = Grab("RightHand", start, goal, grip=(-0.08, 0.0, 0.0), lift=0.05)
    assert (grab.held_from, grab.held_until) == (0.8, 1.8)
    for time in np.linspace(0.8, 1.8, 6):
        wrist = grab.lead(GOALS, time).position("RightHand")[0]
        np.testing.assert_allclose(
            wrist, grab.object_at(time) - np.array([0.08, 0, 0]), atol=1e-9
        )
    np.testing.assert_array_equal(grab.object_at(0.5), start)
    np.testing.assert_array_equal(grab.object_at(9.0), goal)
    # It comes along the approach: in front of the object before it is there.
    before = grab.lead(GOALS, 0.62).position("RightHand")[0]
    assert before[0] < start[0] - 0.08 - 0.01
    assert abs(before[1] - start[1]) < 0.02
    assert grab.lead(GOALS, 2.7) is GOALS
    frame = shown(grab, time=1.3)
    assert np.linalg.norm(place(frame, "RightHand") - grab.wrist_at(1.3)) < 1e-3


def test_goal_paths_of_grab_do_not_jump() -> None:
    start = GOALS.position("RightHand")[0] + np.array([0.35, 0.1, 0.25])
    grab = Grab("RightHand", start, start + np.array([0.0, 0.3, 0.0]))
    times = np.linspace(-0.1, 2.8, 1000)
    path = [grab.lead(GOALS, t).position("RightHand")[0] for t in times]
    assert np.linalg.norm(np.diff(path, axis=0), axis=1).max() < 0.006


@pytest.mark.parametrize("direction", [0.0, 0.5 * np.pi, np.pi])
def test_lean_turns_the_trunk_about_the_hips(direction: float) -> None:
    angle = np.deg2rad(20.0)
    lean = Lean(RIG, angle, direction, timing=QUICK)
    led = lean.lead(GOALS, 0.5)
    trunk = (led.position("Head") - led.position("Hips"))[0]
    before = (GOALS.position("Head") - GOALS.position("Hips"))[0]
    assert np.linalg.norm(trunk) == pytest.approx(np.linalg.norm(before))
    way = np.array([np.cos(direction), np.sin(direction), 0.0])
    assert (trunk - before) @ way == pytest.approx(
        np.linalg.norm(before) * np.sin(angle), rel=0.1
    )
    frame = shown(lean, time=0.5)
    assert all_met(frame)
    assert np.linalg.norm(place(frame, "LeftFoot") - GOALS.position("LeftFoot")) < 1e-3


def test_lean_ahead_is_where_the_character_looks() -> None:
    side = Pose(
        STANDING.root,
        np.concatenate(
            [turned(RIG, STANDING.rotations[:, 0], np.array([0.5 * np.pi]))[:, None],
             STANDING.rotations[:, 1:]], axis=1,
        ),
    )  # fmt: skip
    goals = EffectorGoals.at(Targets.of_pose(RIG, side))
    led = Lean(RIG, 0.3, timing=QUICK).lead(goals, 0.5)
    way = (led.position("Head") - goals.position("Head"))[0]
    assert way[1] > 0.1
    assert abs(way[0]) < 0.02


def test_crouch_lowers_the_hips_and_keeps_the_feet() -> None:
    crouch = Crouch(RIG, 0.25, timing=QUICK)
    half = crouch.lead(GOALS, 0.25)
    down = (GOALS.position("Hips") - half.position("Hips"))[0]
    np.testing.assert_allclose(down, [0.3 * 0.125, 0.0, 0.125], atol=1e-3)
    frame = shown(crouch, time=0.5)
    assert all_met(frame)
    assert frame.pose.root[0, 2] == pytest.approx(STANDING.root[0, 2] - 0.25, abs=1e-3)
    for foot in ("LeftFoot", "RightFoot"):
        assert np.linalg.norm(place(frame, foot) - GOALS.position(foot)) < 1e-3
    # The head goes down too, and stays over the feet.
    moved = place(frame, "Head") - GOALS.position("Head")[0]
    assert moved[2] < -0.2
    assert abs(moved[0]) < 0.05


def test_step_swings_over_the_ground_and_lands_exactly() -> None:
    start = GOALS.position("LeftFoot")[0]
    goal = start + np.array([0.4, 0.0, 0.0])
    step = Step(RIG, "LeftFoot", goal, clearance=0.1, seconds=0.5)
    half = step.lead(GOALS, 0.25)
    np.testing.assert_allclose(
        half.position("LeftFoot")[0], start + np.array([0.2, 0.0, 0.1]), atol=1e-9
    )
    hips = (half.position("Hips") - GOALS.position("Hips"))[0]
    np.testing.assert_allclose(hips, [0.1, 0.0, 0.0], atol=1e-9)
    for time in (0.5, 0.7, 5.0):
        np.testing.assert_array_equal(
            step.lead(GOALS, time).position("LeftFoot")[0], goal
        )
    frame = shown(step, time=0.5)
    assert np.linalg.norm(place(frame, "LeftFoot") - goal) < 1e-3
    right = GOALS.position("RightFoot")
    assert np.linalg.norm(place(frame, "RightFoot") - right) < 1e-3


def test_step_puts_the_toes_down_then_up() -> None:
    goal = GOALS.position("LeftFoot")[0] + np.array([0.4, 0.0, 0.0])
    step = Step(RIG, "LeftFoot", goal, seconds=1.0)
    rest = quat_conjugate(GOALS.rotation("LeftFoot"))
    slopes = [
        quat_rotate(
            quat_multiply(step.lead(GOALS, time).rotation("LeftFoot"), rest), FORWARD
        )[0, 2]
        for time in (0.4, 0.6, 1.0)
    ]
    assert slopes[0] < -0.1
    assert slopes[1] > 0.1
    assert slopes[2] == pytest.approx(0.0, abs=1e-9)


def test_steps_compose_to_a_walk() -> None:
    left, right = (GOALS.position(f)[0] for f in ("LeftFoot", "RightFoot"))
    ahead = np.array([0.3, 0.0, 0.0])
    walk = [
        Step(RIG, "LeftFoot", left + ahead, begin=0.0),
        Step(RIG, "RightFoot", right + 2 * ahead, begin=0.6),
        Step(RIG, "LeftFoot", left + 2 * ahead, begin=1.2),
    ]
    end = act(walk, GOALS, 2.0)
    np.testing.assert_allclose(end.position("LeftFoot")[0], left + 2 * ahead)
    np.testing.assert_allclose(end.position("RightFoot")[0], right + 2 * ahead)
    hips = (end.position("Hips") - GOALS.position("Hips"))[0]
    np.testing.assert_allclose(hips, 2 * ahead, atol=1e-9)
    assert all_met(shown(*walk, time=2.0))


def test_foot_plant_keeps_the_foot_while_the_animation_slides() -> None:
    plant = FootPlant.of(GOALS, "LeftFoot", end=1.0)
    slid = GOALS.place(
        "LeftFoot", GOALS.position("LeftFoot") + np.array([0.1, 0.0, 0.02])
    )
    held = plant.lead(slid, 0.5).position("LeftFoot")
    np.testing.assert_array_equal(held, GOALS.position("LeftFoot"))
    assert plant.lead(slid, 1.2) is slid
    far = GOALS.place(
        "LeftFoot", GOALS.position("LeftFoot") + np.array([0.5, 0.0, 0.0])
    )
    np.testing.assert_allclose(
        plant.lead(far, 0.5).position("LeftFoot"), far.position("LeftFoot")
    )


def test_foot_plant_stands_on_a_slope() -> None:
    normal = np.array([-np.sin(0.3), 0.0, np.cos(0.3)])
    plant = FootPlant.of(
        GOALS, "LeftFoot", ankle=0.08, ground=lambda place: (0.1, normal)
    )
    led = plant.lead(GOALS, 1.0)
    spot = led.position("LeftFoot")[0]
    flat = GOALS.position("LeftFoot")[0]
    expected = np.array([flat[0], flat[1], 0.1]) + 0.08 * normal
    np.testing.assert_allclose(spot, expected, atol=1e-12)
    tilt = quat_angle(led.rotation("LeftFoot"), GOALS.rotation("LeftFoot"))
    assert tilt[0] == pytest.approx(0.3)


def test_actions_compose_whatever_their_order() -> None:
    hand = GOALS.position("RightHand")[0]
    actions = [
        LookAt(RIG, (2.0, -0.5, 0.8), timing=QUICK),
        Reach("RightHand", hand + np.array([0.3, 0.0, 0.0]), timing=QUICK),
        Crouch(RIG, 0.2, timing=QUICK),
        Lean(RIG, 0.2, timing=QUICK),
    ]
    one = act(actions, GOALS, 0.6)
    other = act([actions[1], actions[0], *actions[2:]], GOALS, 0.6)
    np.testing.assert_allclose(one.positions, other.positions, atol=1e-12)
    np.testing.assert_allclose(one.rotations, other.rotations, atol=1e-12)
    frame = shown(*actions, time=0.6)
    assert (
        np.linalg.norm(place(frame, "RightHand") - hand - np.array([0.3, 0, 0])) < 1e-3
    )
    way = np.array([2.0, -0.5, 0.8]) - place(frame, "Head")
    assert gaze(frame) @ way / np.linalg.norm(way) > np.cos(np.deg2rad(3.0))
    assert frame.pose.root[0, 2] == pytest.approx(STANDING.root[0, 2] - 0.2, abs=1e-3)


def test_planted_feet_do_not_drag_the_body_along() -> None:
    """The animation sways as a whole: the hips do, the feet do not."""
    plants = [FootPlant.of(GOALS, "LeftFoot"), FootPlant.of(GOALS, "RightFoot")]
    sway = np.array([0.0, 0.08, -0.02])
    swayed = Pose(STANDING.root + sway, STANDING.rotations)
    frame = shown(*plants, time=1.0, pose=swayed)
    np.testing.assert_allclose(frame.pose.root, STANDING.root + sway, atol=1e-9)
    for foot in ("LeftFoot", "RightFoot"):
        assert np.linalg.norm(place(frame, foot) - GOALS.position(foot)) < 1e-3
