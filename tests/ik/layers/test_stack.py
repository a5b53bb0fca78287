"""Layers: what must move moves in one tick, and none of the known ways to fail."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from fixtures.layers import (
    DT,
    HAND,
    RIG,
    STANDING,
    ShownCharacter,
    hand_of,
    over,
    reaching,
    still,
    turned_at,
)

from ambulo.ik.layers.blending import difference
from ambulo.ik.layers.layer import LayerKind, PoseLayer, Provider, Tick
from ambulo.ik.layers.stack import LayerStack
from ambulo.ik.limits import violation
from ambulo.ik.pose import Pose, fk, start_pose
from ambulo.ik.solver.masks import bones, branch
from ambulo.ik.solver.targets import Targets
from ambulo.motion.rotations import (
    quat_angle,
    quat_slerp,
)


def ik_layer(name: str, provider: Provider, weight: float = 1.0) -> PoseLayer:
    """A layer of IK with its weight from the start."""
    return PoseLayer(name, LayerKind.IK, provider, weight=weight, fade_in=0.0)


def test_within_one_tick_of_a_solve_the_character_has_moved_to_the_target() -> None:
    """The published failure: the network ran, and the character stayed as it was."""
    character = ShownCharacter()
    stack = LayerStack(RIG, still(STANDING), write=character.write)
    goal = hand_of(character.pose)[0] + np.array([0.15, 0.05, 0.2])
    stack.add(
        ik_layer("reach", lambda tick: Targets.of({"LeftHand": goal})),
        0.0,
    )
    assert np.linalg.norm(hand_of(character.pose) - goal) > 0.2
    frame = stack.tick(0.0)
    assert character.writes == 1
    assert np.linalg.norm(hand_of(character.pose) - goal) < 1e-3
    assert frame.solution is not None
    assert frame.solution.reached.all()
    trace = frame.trace.of("reach")
    assert trace.weight == 1.0
    assert trace.bones_changed > 2
    assert trace.max_delta_deg > 5.0
    feet = [RIG.skeleton.index(name) for name in ("LeftFoot", "RightFoot")]
    slip = fk(RIG, character.pose)[0][:, feet] - fk(RIG, STANDING)[0][:, feet]
    assert np.abs(slip).max() < 1e-3
    assert violation(RIG, character.pose.rotations).max() == 0.0


def test_half_weight_is_half_way_and_stays_so_for_100_ticks() -> None:
    """Defect 2: a base read back from the character converges to the override."""
    character = ShownCharacter()
    stack = LayerStack(RIG, still(STANDING), write=character.write, limits=False)
    other = turned_at("LeftForeArm", 0.8)
    stack.add(over("wave", other, weight=0.5), 0.0)
    halves = quat_slerp(
        STANDING.rotations, other.rotations, np.full((1, len(RIG)), 0.5)
    )
    for k in range(100):
        stack.tick(k * DT)
        if k == 0:
            first = character.pose.rotations
    assert quat_angle(first, halves).max() < 1e-12
    np.testing.assert_array_equal(character.pose.rotations, first)


def test_soft_masks_count_and_bones_without_weight_stay_bit_for_bit() -> None:
    """Defect 3: masks with weights taken as on or off."""
    mask = bones(RIG, {"LeftForeArm": 0.25})
    other = turned_at("LeftForeArm", 0.8, turned_at("Spine", 0.3))
    stack = LayerStack(RIG, still(STANDING), limits=False)
    stack.add(over("wave", other, mask=mask), 0.0)
    shown = stack.tick(0.0).pose.rotations
    arm = RIG.skeleton.index("LeftForeArm")
    angle = quat_angle(STANDING.rotations, shown)
    assert angle[0, arm] == pytest.approx(0.2, abs=1e-9)
    rest = np.arange(len(RIG)) != arm
    np.testing.assert_array_equal(shown[:, rest], STANDING.rotations[:, rest])


@pytest.mark.parametrize("first", ["high", "low"])
def test_higher_priority_wins_whatever_came_first(first: str) -> None:
    """Defect 4: a layer put at the end of the list, whatever its priority."""
    layers = {
        "high": over("high", turned_at("Head", 0.4), priority=100),
        "low": over("low", turned_at("Head", -0.4), priority=1),
    }
    stack = LayerStack(RIG, still(STANDING), limits=False)
    stack.add(layers[first], 0.0)
    stack.add(layers["low" if first == "high" else "high"], 0.0)
    assert stack.layers == ("low", "high")
    shown = stack.tick(0.0).pose
    assert quat_angle(shown.rotations, turned_at("Head", 0.4).rotations).max() < 1e-12


def test_kinds_are_applied_in_order_whatever_their_priority() -> None:
    stack = LayerStack(RIG, still(STANDING))
    stack.add(
        PoseLayer("hand", LayerKind.IK, reaching((0.1, 0.0, 0.1)), priority=-5), 0.0
    )
    stack.add(over("wave", STANDING, priority=50), 0.0)
    delta = difference(RIG, STANDING, STANDING)
    stack.add(PoseLayer("breath", LayerKind.ADDITIVE, still(delta), priority=99), 0.0)
    assert stack.layers == ("breath", "wave", "hand")


def test_hips_carry_their_place() -> None:
    """Defect 5: a crouch whose hips turn but stay as high as before."""
    low = Pose(STANDING.root - np.array([0.0, 0.0, 0.3]), STANDING.rotations)
    stack = LayerStack(RIG, still(STANDING))
    stack.add(over("crouch", low, mask=branch(RIG, "Hips")), 0.0)
    assert stack.tick(0.0).pose.root[0, 2] == pytest.approx(STANDING.root[0, 2] - 0.3)
    stack = LayerStack(RIG, still(STANDING))
    stack.add(over("crouch", low, mask=branch(RIG, "Spine")), 0.0)
    np.testing.assert_array_equal(stack.tick(0.0).pose.root, STANDING.root)


def test_handle_knows_that_its_layer_is_gone() -> None:
    """Defect 6: a handle that stays active for a layer that no stack has."""
    stack = LayerStack(RIG, still(STANDING))
    handle = stack.add(over("wave", turned_at("Head", 0.4)), 0.0)
    assert handle.active
    stack.clear()
    assert not handle.active
    assert handle.level(1.0) == 0.0
    frame = stack.tick(0.0)
    assert quat_angle(frame.pose.rotations, STANDING.rotations).max() < 1e-12


def test_layer_fades_in_and_out_and_is_removed() -> None:
    """Defect 7: nothing ever releases a layer; a fade of 0 where one was asked for."""
    layer = PoseLayer(
        "wave", LayerKind.OVERRIDE, still(turned_at("Head", 0.4)), fade_in=0.4, fade_out=0.2,
        duration=1.0,
    )  # fmt: skip
    stack = LayerStack(RIG, still(STANDING), limits=False)
    handle = stack.add(layer, 0.0)
    head = RIG.skeleton.index("Head")
    for time, level in ((0.1, 0.25), (0.4, 1.0), (0.99, 1.0), (1.1, 0.5), (1.15, 0.25)):
        frame = stack.tick(time)
        assert frame.trace.of("wave").weight == pytest.approx(level)
        angle = quat_angle(frame.pose.rotations, STANDING.rotations)[0, head]
        assert angle == pytest.approx(0.4 * level)
    assert handle.active
    stack.tick(1.21)
    assert not handle.active
    np.testing.assert_array_equal(stack.tick(1.3).pose.rotations, STANDING.rotations)


def test_released_while_fading_in_it_goes_from_where_it_is() -> None:
    layer = over("wave", turned_at("Head", 0.4), fade_in=1.0, fade_out=1.0)
    stack = LayerStack(RIG, still(STANDING), limits=False)
    handle = stack.add(layer, 0.0)
    stack.tick(0.5)
    handle.release(0.5)
    assert stack.tick(0.75).trace.of("wave").weight == pytest.approx(0.375)


def test_additive_turns_by_the_weighted_angle_even_when_large() -> None:
    """Defect 8: (q + (a - 1) w), normalised, of 160 degrees at half weight is not 80."""
    pose = start_pose(RIG)
    large = turned_at("LeftArm", np.deg2rad(160.0), pose)
    stack = LayerStack(RIG, still(turned_at("LeftArm", 0.1, pose)), limits=False)
    delta = difference(RIG, large, pose)
    stack.add(
        PoseLayer("lift", LayerKind.ADDITIVE, still(delta), 0, 0.5, fade_in=0.0), 0.0
    )
    below = turned_at("LeftArm", 0.1, pose)
    shown = stack.tick(0.0).pose
    arm = RIG.skeleton.index("LeftArm")
    turned = np.rad2deg(quat_angle(shown.rotations, below.rotations))
    assert turned[0, arm] == pytest.approx(80.0, abs=1e-6)
    assert np.delete(turned[0], arm).max() < 1e-6


def test_additive_of_a_pose_against_itself_changes_nothing() -> None:
    """Defect 8: a whole pose against the T-pose taken as what is added."""
    delta = difference(RIG, STANDING, STANDING)
    stack = LayerStack(RIG, still(start_pose(RIG)), limits=False)
    stack.add(PoseLayer("none", LayerKind.ADDITIVE, still(delta), fade_in=0.0), 0.0)
    assert stack.tick(0.0).trace.of("none").max_delta_deg < 1e-6


def test_additive_looks_where_the_character_looks() -> None:
    """A bow and a step ahead, made facing +X, on a character that faces +Y."""
    lower = Pose(STANDING.root + np.array([0.1, 0.0, -0.2]), STANDING.rotations)
    lean = turned_at("Spine", 0.4, lower)
    delta = difference(RIG, lean, STANDING)
    there = start_pose(RIG, [[5.0, 0.0]], [0.5 * np.pi])
    stack = LayerStack(RIG, still(there), limits=False)
    stack.add(PoseLayer("bow", LayerKind.ADDITIVE, still(delta), fade_in=0.0), 0.0)
    way = stack.tick(0.0).pose.root - there.root
    np.testing.assert_allclose(way, [[0.0, 0.1, -0.2]], atol=1e-9)


def test_new_base_replaces_the_old_one_without_a_jump() -> None:
    """Defect 9: the old base laid over the new one at full weight."""
    asked = []

    def old(tick: Tick) -> Pose:
        asked.append(tick.time)
        return STANDING

    new = Pose(STANDING.root + 1.0, turned_at("Spine", 0.4).rotations)
    stack = LayerStack(RIG, old)
    for k in range(5):
        stack.tick(k * DT)
    stack.set_base(still(new), 0.3)
    calls = len(asked)
    first = stack.tick(5 * DT)
    assert np.abs(first.pose.root - STANDING.root).max() < 0.02
    for k in range(6, 25):
        last = stack.tick(k * DT)
    assert len(asked) == calls
    np.testing.assert_array_equal(last.pose.root, new.root)
    np.testing.assert_array_equal(last.pose.rotations, new.rotations)


def test_ik_at_half_weight_is_half_way() -> None:
    stack = LayerStack(RIG, still(STANDING))
    provide = reaching((0.1, 0.0, 0.2))
    stack.add(ik_layer("reach", provide, weight=0.5), 0.0)
    way = hand_of(stack.tick(0.0).pose) - hand_of(STANDING)
    np.testing.assert_allclose(way, [[0.05, 0.0, 0.1]], atol=1e-3)


def test_ik_layers_of_two_effectors_are_solved_together() -> None:
    stack = LayerStack(RIG, still(STANDING))
    right = fk(RIG, STANDING)[0][0, RIG.effectors[1]] + np.array([0.1, 0.0, 0.1])
    stack.add(ik_layer("left", reaching((0.1, 0.0, 0.2))), 0.0)
    stack.add(
        ik_layer("right", lambda t: Targets.of({"RightHand": right})),
        0.0,
    )
    shown = fk(RIG, stack.tick(0.0).pose)[0]
    assert np.linalg.norm(shown[0, RIG.effectors[1]] - right) < 1e-3
    goal = hand_of(STANDING) + np.array([0.1, 0.0, 0.2])
    assert np.linalg.norm(shown[:, RIG.effectors[0]] - goal) < 1e-3


def test_limits_come_after_all_layers() -> None:
    stack = LayerStack(RIG, still(STANDING))
    stack.add(over("broken", turned_at("LeftShin", 1.5)), 0.0)
    frame = stack.tick(0.0)
    assert violation(RIG, turned_at("LeftShin", 1.5).rotations).max() > 0.5
    assert violation(RIG, frame.pose.rotations).max() == 0.0
    assert frame.trace.of("limits").bones_changed == 1


def test_several_characters_move_together() -> None:
    """The rows of a frame are independent: each alone gives the same."""
    many = start_pose(RIG, np.arange(6.0).reshape(3, 2), [0.0, 1.0, 2.0])

    def provide(pose: Pose) -> Callable[[Tick], Targets]:
        where = Targets.of_pose(RIG, pose)
        shift = where.positions + np.array([0.02, 0.0, 0.1])
        only = np.zeros_like(where.position_weights)
        only[:, HAND] = 1.0
        return lambda tick: Targets(shift, where.rotations, only, np.zeros_like(only))

    shown = []
    for pose in (many, many[1:2]):
        stack = LayerStack(RIG, still(pose))
        stack.add(ik_layer("reach", provide(pose)), 0.0)
        shown.append(stack.tick(0.0).pose)
    np.testing.assert_allclose(shown[0].rotations[1], shown[1].rotations[0], atol=1e-9)


def test_trace_tells_every_layer_in_order() -> None:
    stack = LayerStack(RIG, still(STANDING))
    stack.add(over("wave", turned_at("LeftForeArm", 0.3)), 0.0)
    frame = stack.tick(0.0)
    assert [entry.layer for entry in frame.trace.layers] == ["base", "wave", "limits"]
    wave = frame.trace.of("wave")
    assert (wave.kind, wave.weight, wave.bones_changed) == ("override", 1.0, 1)
    assert wave.max_delta_deg == pytest.approx(np.rad2deg(0.3))
    assert "wave" in frame.trace.lines()[1]
    assert stack.traces[-1] is frame.trace
