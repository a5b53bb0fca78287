"""Apply to Armature: the character moves, and Blender does not take it back."""

from __future__ import annotations

import math

import numpy as np
import pytest
from fixtures.armatures import NEAR, gap, place_of, target

bpy = pytest.importorskip(
    "bpy", reason="no Blender here (the bpy wheel): run `make test-blender`"
)
from ambulo_ik import live
from ambulo_ik.session import SESSION
from mathutils import Matrix, Vector

ops = bpy.ops


@pytest.fixture
def follower(context, armature):
    """The rig in its starting pose, following six empties."""
    from ambulo_ik.binding import write_pose
    from ambulo_ik.session import bound_to

    from ambulo.ik.pose import start_pose

    binding = bound_to(armature).binding
    write_pose(armature, binding, start_pose(binding.rig))
    context.view_layer.update()
    ops.ambulo_ik.apply()
    return armature


def test_apply_makes_six_targets_and_moves_nothing(context, armature):
    before = {bone.name: bone.matrix.copy() for bone in armature.pose.bones}
    ops.ambulo_ik.apply()
    names = [row.name for row in armature.ambulo_ik.targets]
    assert names == ["LeftHand", "RightHand", "LeftFoot", "RightFoot", "Head", "Hips"]
    assert all(row.empty is not None for row in armature.ambulo_ik.targets)
    assert all(row.reached for row in armature.ambulo_ik.targets)
    for name in names:
        moved = armature.pose.bones[name].matrix.translation - before[name].translation
        assert moved.length < NEAR, name


def test_effectors_are_at_their_targets_within_one_tick(context, follower):
    hand = target(follower, "LeftHand").empty
    before = place_of(follower, "LeftHand")
    hand.location += Vector((0.10, -0.20, 0.15))
    for name in ("Hips", "Head"):
        target(follower, name).empty.location.z -= 0.08
    context.view_layer.update()  # Blender's one update: the handler solves and writes
    assert (place_of(follower, "LeftHand") - before).length > 0.2
    for row in follower.ambulo_ik.targets:
        assert row.reached, row.name
        assert gap(follower, row.name) < NEAR, row.name


@pytest.mark.parametrize("lift", [0.01, 0.2, 0.35])
def test_a_straight_leg_at_rest_is_lifted(context, armature, lift):
    """From the T pose no derivative says that a straight knee can bend."""
    ops.ambulo_ik.apply()
    target(armature, "LeftFoot").empty.location.z += lift
    context.view_layer.update()
    for row in armature.ambulo_ik.targets:
        assert gap(armature, row.name) < NEAR, row.name


def test_rotations_follow_too(context, follower):
    head = target(follower, "Head").empty
    turn = Matrix.Rotation(0.4, 4, "Z")
    head.matrix_world = (
        head.matrix_world
        @ head.matrix_world.inverted()
        @ (
            Matrix.Translation(head.location)
            @ turn
            @ Matrix.Translation(-head.location)
        )
        @ head.matrix_world
    )
    context.view_layer.update()
    bone = follower.matrix_world @ follower.pose.bones["Head"].matrix
    off = bone.to_quaternion().rotation_difference(head.matrix_world.to_quaternion())
    assert math.degrees(off.angle) < 0.5 or math.degrees(2 * math.pi - off.angle) < 0.5


def test_a_moved_turned_and_scaled_object_follows_in_the_world(context, follower):
    follower.location, follower.rotation_euler = (0.1, 0.05, 0.0), (0.0, 0.0, 0.1)
    follower.scale = (1.03, 1.03, 1.03)
    context.view_layer.update()
    for row in follower.ambulo_ik.targets:
        if row.reached:
            assert gap(follower, row.name) < NEAR, row.name
    assert sum(row.reached for row in follower.ambulo_ik.targets) >= 4


def test_the_same_targets_give_the_same_pose_by_any_way(context, follower):
    hand = target(follower, "RightHand").empty
    home = hand.location.copy()
    away = home + Vector((-0.1, -0.25, 0.2))
    hand.location = away
    context.view_layer.update()
    first = [tuple(bone.matrix.translation) for bone in follower.pose.bones]
    for step in (0.3, -0.4, 0.2):
        hand.location = home + Vector((0.0, step, abs(step)))
        context.view_layer.update()
    hand.location = away
    context.view_layer.update()
    again = [tuple(bone.matrix.translation) for bone in follower.pose.bones]
    assert np.abs(np.array(first) - np.array(again)).max() < 1e-5


def test_nothing_is_written_until_something_changes(context, follower):
    assert not live.tick(follower)
    follower.pose.bones["LeftArm"].rotation_quaternion = (1.0, 0.0, 0.0, 0.0)
    context.view_layer.update()
    # A pose that the user makes by hand is left until a target moves.
    kept = follower.pose.bones["LeftArm"].rotation_quaternion
    assert tuple(kept) == (1.0, 0.0, 0.0, 0.0)


def test_weights_leave_targets_free(context, follower):
    target(follower, "LeftHand").position_weight = 0.0
    target(follower, "LeftHand").rotation_weight = 0.0
    before = place_of(follower, "LeftHand")
    target(follower, "LeftHand").empty.location.z += 0.3
    context.view_layer.update()
    assert (place_of(follower, "LeftHand") - before).length < 0.05
    target(follower, "LeftHand").position_weight = 1.0
    target(follower, "LeftHand").empty.location.z -= 0.2
    context.view_layer.update()
    assert gap(follower, "LeftHand") < NEAR


def test_unreachable_targets_say_so(context, follower):
    target(follower, "RightHand").empty.location.x -= 2.0
    context.view_layer.update()
    row = target(follower, "RightHand")
    assert not row.reached
    assert row.position_error == pytest.approx(gap(follower, "RightHand"), abs=2e-3)
    assert row.position_error > 1.0
    for name in ("LeftFoot", "RightFoot", "Hips"):
        assert gap(follower, name) < NEAR, name


def test_bake_keys_what_is_seen(context, follower):
    scene = context.scene
    scene.frame_start, scene.frame_end = 1, 8
    hand = target(follower, "LeftHand").empty
    for frame, lift in ((1, 0.0), (8, 0.2)):
        hand.keyframe_insert("location", frame=frame)
        hand.location.z += lift
    hand.keyframe_insert("location", frame=8)
    seen = {}
    for frame in (1, 4, 8):
        scene.frame_set(frame)
        assert gap(follower, "LeftHand") < NEAR
        seen[frame] = tuple(place_of(follower, "LeftHand"))
    assert ops.ambulo_ik.bake() == {"FINISHED"}
    assert not follower.ambulo_ik.live
    for frame, where in seen.items():
        scene.frame_set(frame)
        assert np.abs(np.array(place_of(follower, "LeftHand")) - where).max() < 1e-4


def test_stop_lets_go(context, follower):
    ops.ambulo_ik.stop()
    before = place_of(follower, "LeftHand")
    target(follower, "LeftHand").empty.location.z += 0.2
    context.view_layer.update()
    assert (place_of(follower, "LeftHand") - before).length < 1e-7


def test_targets_to_bones(context, follower):
    ops.ambulo_ik.stop()
    follower.pose.bones["LeftArm"].rotation_quaternion = (0.9, 0.3, 0.2, 0.1)
    context.view_layer.update()
    assert gap(follower, "LeftHand") > 0.05
    ops.ambulo_ik.targets_to_bones()
    assert gap(follower, "LeftHand") < 1e-5


def test_a_deleted_target_is_absent(context, follower):
    bpy.data.objects.remove(target(follower, "LeftHand").empty)
    target(follower, "RightHand").empty.location.z += 0.05
    context.view_layer.update()
    assert follower.ambulo_ik.problem == ""
    assert gap(follower, "RightHand") < NEAR


def test_problems_are_told_not_raised(context, follower):
    follower.scale = (1.0, 1.0, 3.0)
    context.view_layer.update()
    assert "apply the scale" in follower.ambulo_ik.problem
    follower.scale = (1.0, 1.0, 1.0)
    target(follower, "LeftHand").empty.location.z += 0.05
    context.view_layer.update()
    assert follower.ambulo_ik.problem == ""


@pytest.fixture
def random_network(tmp_path):
    """A small network of random weights: its answers are useless, but they are used."""
    from ambulo.ik.pose import start_pose
    from ambulo.ik.rig import load_rig
    from ambulo.ik.solver.features import INPUTS, outputs_of
    from ambulo.ik.solver.headers import IKNetworkHeader
    from ambulo.ik.solver.network import save_ik_network
    from ambulo.motion.rotations import matrix_to_sixd, quat_multiply, quat_to_matrix

    rig, rng = load_rig("ik23"), np.random.default_rng(0)
    outputs, pose = outputs_of(rig), start_pose(rig)
    rotations = pose.rotations[0].copy()
    rotations[0] = quat_multiply(rig.skeleton.rest[0], rotations[0])
    sixd = matrix_to_sixd(quat_to_matrix(rotations)).ravel()
    tensors = {
        "layers.0.weight": rng.normal(0.0, 0.02, (16, INPUTS)).astype(np.float32),
        "layers.0.bias": np.zeros(16, np.float32),
        "layers.1.weight": rng.normal(0.0, 0.05, (outputs, 16)).astype(np.float32),
        "layers.1.bias": np.zeros(outputs, np.float32),
        "mean": np.concatenate([pose.root[0], sixd]).astype(np.float32),
    }
    save_ik_network(tmp_path / "net", IKNetworkHeader(hidden=(16,)), tensors)
    return tmp_path / "net" / "ik_network.safetensors"


def test_loaded_weights_are_used(context, follower, random_network):
    def elbow():
        return np.array(place_of(follower, "LeftForeArm"))

    without = elbow()
    ops.ambulo_ik.load_weights(filepath=str(random_network))
    live.tick(follower)
    context.view_layer.update()
    assert np.linalg.norm(elbow() - without) > 1e-3
    for row in follower.ambulo_ik.targets:
        assert gap(follower, row.name) < NEAR, row.name
    follower.ambulo_ik.free_joints = "BASE"
    live.tick(follower)
    context.view_layer.update()
    assert np.linalg.norm(elbow() - without) < 1e-3
    follower.ambulo_ik.free_joints = "NETWORK"
    live.tick(follower)
    ops.ambulo_ik.run_tests()
    report = [line.name for line in context.scene.ambulo_ik.report]
    assert any(line.startswith("Network alone: effectors") for line in report)
    ops.ambulo_ik.reset_weights()
    live.tick(follower)
    context.view_layer.update()
    assert np.linalg.norm(elbow() - without) < 1e-3


def test_a_network_answers_in_the_armatures_size(context, armature, random_network):
    from ambulo_ik.session import bound_to, predict, use_network

    from ambulo.ik.pose import fk, start_pose
    from ambulo.ik.solver.targets import Targets

    use_network(str(random_network))
    small = bound_to(armature)
    pose = start_pose(small.binding.rig)
    guess = predict(small, Targets.of_pose(small.binding.rig, pose))
    armature.scale = (2.0, 2.0, 2.0)
    context.view_layer.update()
    large = bound_to(armature)
    assert large.binding.size == pytest.approx(2.0, abs=1e-5)
    twice = predict(
        large, Targets.of_pose(large.binding.rig, start_pose(large.binding.rig))
    )
    assert np.abs(twice.root - 2.0 * guess.root).max() < 1e-4
    places = [fk(b.binding.rig, p)[0] for b, p in ((small, guess), (large, twice))]
    assert np.abs(places[1] - 2.0 * places[0]).max() < 1e-3


def test_damaged_weights_leave_the_solver_as_it_was(context, follower, random_network):
    data = bytearray(random_network.read_bytes())
    random_network.write_bytes(bytes(data[: len(data) // 2]))
    with pytest.raises(RuntimeError, match="ik_network"):
        ops.ambulo_ik.load_weights(filepath=str(random_network))
    assert SESSION.network is None
    assert context.scene.ambulo_ik.weights == ""


def test_two_characters_follow_their_own_targets(context, follower):
    ops.ambulo_ik.add_rig()
    other = context.object
    other.location.x = 2.0
    context.view_layer.update()
    ops.ambulo_ik.apply()
    target(follower, "LeftHand").empty.location.z += 0.1
    target(other, "RightFoot").empty.location.z += 0.15
    context.view_layer.update()
    assert gap(follower, "LeftHand") < NEAR
    assert gap(other, "RightFoot") < NEAR
