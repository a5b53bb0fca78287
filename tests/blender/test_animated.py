"""Armatures with an action: targets are met while playing, scrubbing, again and baked."""

from __future__ import annotations

import numpy as np
import pytest
from fixtures.armatures import NEAR, gap, target

bpy = pytest.importorskip(
    "bpy", reason="no Blender here (the bpy wheel): run `make test-blender`"
)
from mathutils import Vector

from ambulo.motion.formats.files import write_motion

ops = bpy.ops
FORTH_AND_BACK = (2, 3, 4, 5, 9, 8, 7, 20, 1, 13, 13, 12.5, 13)


def gaps(armature):
    """From each bone to its target, [m]."""
    rows = armature.ambulo_ik.targets
    return {
        row.name: gap(armature, row.name) for row in rows if row.position_weight > 0.0
    }


def worst(armature):
    return max(gaps(armature).values())


def places(armature):
    return np.array([bone.matrix.translation for bone in armature.pose.bones])


def set_frame(scene, frame):
    scene.frame_set(int(frame), subframe=frame % 1)


@pytest.fixture(params=["network", "no network", "network, base pose"])
def walker(request, context, armature, tmp_path, walk_on_rig):
    """The rig with an action, its left hand led away, in both ways to solve."""
    return make_walker(context, armature, tmp_path, walk_on_rig, request.param)


def make_walker(context, armature, tmp_path, walk, how="no network"):
    key_walk(context, armature, tmp_path, walk)
    if how.startswith("network"):
        ops.ambulo_ik.load_weights(shipped=True)
    if how.endswith("base pose"):
        armature.ambulo_ik.free_joints = "BASE"
    ops.ambulo_ik.apply()
    target(armature, "LeftHand").empty.location += Vector((-0.1, 0.0, 0.15))
    context.view_layer.update()
    return armature


def key_walk(context, armature, tmp_path, walk):
    context.scene.frame_start, context.scene.frame_end = 1, 20
    context.scene.render.fps = 30
    context.scene.frame_set(1)
    file = tmp_path / "walk.npz"
    write_motion(file, walk)
    ops.ambulo_ik.load_data(filepath=str(file))
    ops.ambulo_ik.key_data()
    context.view_layer.update()


def test_targets_are_met_in_every_frame_in_any_order(context, walker):
    """Feet, hips and head stand still while the action walks; the hand is elsewhere."""
    seen = {}
    for frame in FORTH_AND_BACK:
        set_frame(context.scene, frame)
        assert worst(walker) < NEAR, (frame, gaps(walker))
        seen.setdefault(frame, places(walker))
        assert np.abs(places(walker) - seen[frame]).max() < 1e-5, frame


def test_a_target_moved_between_frames_is_met_in_the_next(context, walker):
    context.scene.frame_set(6)
    target(walker, "LeftHand").empty.location.z -= 0.2
    context.scene.frame_set(7)
    assert worst(walker) < NEAR


def test_an_evaluation_without_a_change_of_frame_keeps_the_pose(context, walker):
    context.scene.frame_set(7)
    kept = places(walker)
    walker.update_tag(refresh={"TIME"})
    context.view_layer.update()
    assert np.abs(places(walker) - kept).max() < 1e-6
    context.scene.frame_set(7)
    assert np.abs(places(walker) - kept).max() < 1e-6
    assert worst(walker) < NEAR


def test_bake_keys_the_targets(context, walker):
    seen = {}
    for frame in range(1, 21):
        context.scene.frame_set(frame)
        seen[frame] = places(walker)
    empties = {
        row.name: row.empty.matrix_world.translation.copy()
        for row in walker.ambulo_ik.targets
    }
    assert ops.ambulo_ik.bake() == {"FINISHED"}
    for frame in (20, 1, 6, 6, 13):
        context.scene.frame_set(frame)
        assert np.abs(places(walker) - seen[frame]).max() < 1e-4, frame
        for name, place in empties.items():
            bone = walker.pose.bones[name].matrix.translation
            assert (walker.matrix_world @ bone - place).length < NEAR


def test_blenders_own_bake_keys_the_targets(context, walker):
    for other in context.scene.objects:
        other.select_set(other == walker)
    context.view_layer.objects.active = walker
    ops.object.mode_set(mode="POSE")
    for bone in walker.data.bones:
        bone.select = True
    ops.nla.bake(
        frame_start=1,
        frame_end=20,
        only_selected=True,
        visual_keying=True,
        use_current_action=False,
        bake_types={"POSE"},
    )
    walker.ambulo_ik.live = False
    for frame in (20, 5, 5, 11):
        context.scene.frame_set(frame)
        assert worst(walker) < NEAR, frame


def test_tracks_are_actions_too(context, walker):
    animated = walker.animation_data
    track = animated.nla_tracks.new()
    track.strips.new("walk", 1, animated.action)
    animated.action = None
    for frame in FORTH_AND_BACK:
        set_frame(context.scene, frame)
        assert worst(walker) < NEAR, frame


def test_a_real_clip_is_met_with_the_shipped_network(context, armature, cmu):
    ops.ambulo_ik.load_data(filepath=str(cmu / "asfamc/02/02_01.amc"))
    ops.ambulo_ik.load_weights(shipped=True)
    ops.ambulo_ik.key_data()
    context.scene.frame_set(60)
    ops.ambulo_ik.apply()
    target(armature, "LeftHand").empty.location.z += 0.15
    for frame in (61, 62, 63, 61, 61, 60, 75, 58):
        context.scene.frame_set(frame)
        assert worst(armature) < NEAR, (frame, gaps(armature))


def test_bones_without_keys_do_not_drift(context, armature, tmp_path, walk_on_rig):
    """What the solver wrote in one frame is no part of the base of the next."""
    key_walk(context, armature, tmp_path, walk_on_rig)
    curves = armature.animation_data.action.fcurves
    for curve in [c for c in curves if '"Left' in c.data_path]:
        curves.remove(curve)
    armature.pose.bones["LeftArm"].rotation_quaternion = (0.9, 0.3, 0.2, 0.1)
    context.scene.frame_set(5)
    ops.ambulo_ik.apply()
    for row in armature.ambulo_ik.targets:
        if row.name != "RightHand":
            row.position_weight = row.rotation_weight = 0.0
    context.scene.frame_set(6)
    once = places(armature)
    for frame in (*FORTH_AND_BACK, 6):
        set_frame(context.scene, frame)
        assert gaps(armature)["RightHand"] < NEAR
    assert np.abs(places(armature) - once).max() < 1e-6


def test_an_edited_key_reaches_the_base(context, armature, tmp_path, walk_on_rig):
    key_walk(context, armature, tmp_path, walk_on_rig)
    context.scene.frame_set(5)
    ops.ambulo_ik.apply()
    for row in armature.ambulo_ik.targets:
        if row.name not in {"Hips", "LeftHand"}:
            row.position_weight = row.rotation_weight = 0.0
    context.view_layer.update()
    before = armature.pose.bones["RightFoot"].matrix.translation.copy()
    action = armature.animation_data.action
    for axis in range(4):
        curve = action.fcurves.find(
            'pose.bones["RightThigh"].rotation_quaternion', index=axis
        )
        for key in curve.keyframe_points:
            key.co.y = (0.8, 0.6, 0.0, 0.0)[axis]
    action.update_tag()
    context.view_layer.update()
    moved = (armature.pose.bones["RightFoot"].matrix.translation - before).length
    assert moved > 0.2
    assert worst(armature) < NEAR


def test_a_pose_made_by_hand_stays_until_the_frame_changes(
    context, armature, tmp_path, walk_on_rig
):
    make_walker(context, armature, tmp_path, walk_on_rig)
    bone = armature.pose.bones["RightArm"]
    bone.rotation_quaternion = (0.0, 1.0, 0.0, 0.0)
    context.view_layer.update()
    assert tuple(bone.rotation_quaternion) == (0.0, 1.0, 0.0, 0.0)
    context.scene.frame_set(context.scene.frame_current + 1)
    assert worst(armature) < NEAR


def test_a_saved_scene_goes_on(context, walker, tmp_path):
    context.scene.frame_set(6)
    kept, file = places(walker), tmp_path / "scene.blend"
    ops.wm.save_as_mainfile(filepath=str(file))
    ops.wm.read_factory_settings(use_empty=True)
    ops.wm.open_mainfile(filepath=str(file))
    opened = next(o for o in bpy.data.objects if o.type == "ARMATURE")
    for frame in (6, 7, 6):
        bpy.context.scene.frame_set(frame)
        assert worst(opened) < NEAR, frame
    assert np.abs(places(opened) - kept).max() < 1e-4


def test_armatures_that_share_bones_and_action(
    context, armature, tmp_path, walk_on_rig
):
    """Linked copies beside each other, one of which leads the other's hand."""
    key_walk(context, armature, tmp_path, walk_on_rig)
    walkers = [armature]
    for place in (1.0, 2.0):
        copy = armature.copy()  # the bones at rest and the action are the same data
        copy.location.y = place
        context.scene.collection.objects.link(copy)
        walkers.append(copy)
    context.view_layer.update()
    for walker in walkers:
        context.view_layer.objects.active = walker
        ops.ambulo_ik.apply()
    assert len({walker.data.name for walker in walkers}) == 1
    target(walkers[1], "RightHand").empty.location.z += 0.2
    led = target(walkers[0], "LeftHand").empty
    led.location = (0.05, 0.0, 0.0)
    led.parent, led.parent_type, led.parent_bone = walkers[2], "BONE", "Hips"
    led.matrix_parent_inverse.identity()
    target(walkers[0], "LeftHand").rotation_weight = 0.0
    target(walkers[2], "Hips").empty.location.y = 0.55
    for name in ("LeftHand", "RightHand", "LeftFoot", "RightFoot", "Head"):
        target(walkers[2], name).position_weight = 0.0
        target(walkers[2], name).rotation_weight = 0.0
    for frame in FORTH_AND_BACK:
        set_frame(context.scene, frame)
        for walker in walkers:
            assert worst(walker) < NEAR, (frame, walker.name, gaps(walker))


def test_an_instance_shows_what_its_armature_shows(
    context, armature, tmp_path, walk_on_rig
):
    make_walker(context, armature, tmp_path, walk_on_rig)
    group = bpy.data.collections.new("characters")
    group.objects.link(armature)
    holder = bpy.data.objects.new("instance", None)
    holder.instance_type, holder.instance_collection = "COLLECTION", group
    holder.location.x = 3.0
    context.scene.collection.objects.link(holder)
    for frame in (2, 9, 9, 4):
        context.scene.frame_set(frame)
        assert worst(armature) < NEAR
        graph = context.evaluated_depsgraph_get()
        shown = [
            np.array([bone.matrix.translation for bone in found.object.pose.bones])
            for found in graph.object_instances
            if found.is_instance and found.object.original == armature
        ]
        assert shown
        for instance in shown:
            assert np.abs(instance - places(armature)).max() < 1e-6
