"""Armatures and poses: our numbers in Blender's bones, and back."""

from __future__ import annotations

import math

import numpy as np
import pytest

bpy = pytest.importorskip(
    "bpy", reason="no Blender here (the bpy wheel): run `make test-blender`"
)
mathutils = pytest.importorskip("mathutils")

from ambulo_ik import binding, fk_checks

from ambulo.ik.pose import Pose, fk, start_pose
from ambulo.ik.rig import load_rig
from ambulo.motion.rotations import quat_angle


def largest(a, b):
    return float(np.abs(np.asarray(a) - np.asarray(b)).max())


def test_rig_stands_the_blender_way(armature):
    bones = armature.data.bones
    assert len(bones) == 23
    # Facing -Y: its left is at +X, its toes are before its ankles.
    assert bones["LeftThigh"].head_local.x == pytest.approx(0.0864, abs=1e-6)
    assert bones["LeftToeBase"].head_local.y < bones["LeftFoot"].head_local.y - 0.1
    assert bones["Hips"].head_local.z == pytest.approx(0.984397, abs=1e-6)
    # Local Y along the bone, Z forwards (-Y).
    spine = bones["Spine"].matrix_local.to_3x3()
    assert largest(spine.col[1], (0, 0, 1)) < 1e-6
    assert largest(spine.col[2], (0, -1, 0)) < 1e-6
    assert all(bone.rotation_mode == "QUATERNION" for bone in armature.pose.bones)


def test_own_rig_is_bound_without_change(armature):
    rig = load_rig("ik23")
    bound = binding.bind(armature, rig)
    assert largest(bound.rig.skeleton.offsets, rig.skeleton.offsets) < 1e-6
    assert quat_angle(bound.axes, np.array([1.0, 0, 0, 0])).max() < 1e-6
    # From -Y to +X is a quarter turn to the left.
    assert largest(bound.turn, [math.sqrt(0.5), 0, 0, math.sqrt(0.5)]) < 1e-9


def test_hand_computed_pose(context, armature):
    rig = load_rig("ik23")
    bound = binding.bind(armature, rig)
    rotations = np.tile([1.0, 0, 0, 0], (1, 23, 1))
    # The left elbow bent by a right angle about its local X.
    elbow = rig.skeleton.index("LeftForeArm")
    rotations[0, elbow] = [math.sqrt(0.5), math.sqrt(0.5), 0.0, 0.0]
    binding.write_pose(armature, bound, Pose([[1.0, 2.0, 0.984397]], rotations))
    context.view_layer.update()
    bones = armature.pose.bones
    # 1 m forwards is -Y, 2 m to the left is +X.
    assert largest(bones["Hips"].matrix.translation, (2.0, -1.0, 0.984397)) < 1e-6
    # Positive about X flexes: the hand comes 0.2555 m before the elbow.
    step = (
        bones["LeftHand"].matrix.translation - bones["LeftForeArm"].matrix.translation
    )
    assert largest(step, (0.0, -0.2555, 0.0)) < 1e-5


def test_random_poses_come_back(context, armature):
    bound = binding.bind(armature, load_rig("ik23"))
    poses = fk_checks.random_poses(20, 23, seed=1)
    matrices = fk_checks.posed_matrices(context, armature, bound, poses)
    back = binding.pose_of_matrices(bound, matrices)
    assert largest(back.root, poses.root) < 1e-5
    assert quat_angle(back.rotations, poses.rotations).max() < 1e-5


@pytest.mark.parametrize("mode", ["XYZ", "ZXY", "AXIS_ANGLE", "QUATERNION"])
def test_pose_is_written_where_the_mode_reads(context, armature, mode):
    bound = binding.bind(armature, load_rig("ik23"))
    for bone in armature.pose.bones:
        bone.rotation_mode = mode
    pose = fk_checks.random_poses(1, 23, seed=2)
    binding.write_pose(armature, bound, pose)
    context.view_layer.update()
    back = binding.read_pose(armature, bound)
    assert quat_angle(back.rotations, pose.rotations).max() < 1e-4


def changed_armature(context, armature, *, turn=0.0, scale=1.0, a_pose=0.0, roll=0.0):
    """The rig as another artist would have built it."""
    bpy.ops.object.mode_set(mode="EDIT")
    bones = armature.data.edit_bones
    for side, sign in (("Left", 1.0), ("Right", -1.0)):
        about = bones[f"{side}Arm"].head.copy()
        lower = mathutils.Matrix.Translation(about) @ (
            mathutils.Matrix.Rotation(sign * a_pose, 4, "Y")
            @ mathutils.Matrix.Translation(-about)
        )
        for name in ("Arm", "ForeArm", "Hand"):
            bones[f"{side}{name}"].transform(lower)
    whole = mathutils.Matrix.Rotation(turn, 4, "Z") @ mathutils.Matrix.Scale(scale, 4)
    for bone in bones:
        bone.transform(whole)
        bone.roll += roll
    bpy.ops.object.mode_set(mode="OBJECT")
    armature.scale = (1.0 / scale,) * 3
    context.view_layer.update()


def test_other_rest_pose_scale_and_facing(context, armature):
    rig = load_rig("ik23")
    changed_armature(
        context, armature, turn=math.pi / 2, scale=100.0, a_pose=0.8, roll=0.3
    )
    bound = binding.bind(armature, rig)
    # Centimetres under a scale of 0.01, in an A pose, facing +X: still our T pose in metres.
    assert bound.scale == pytest.approx(0.01)
    assert largest(bound.turn, [1, 0, 0, 0]) < 1e-9
    assert largest(bound.rig.skeleton.offsets, rig.skeleton.offsets) < 1e-5
    still = Pose(rig.skeleton.offsets[:1], np.tile([1.0, 0, 0, 0], (1, 23, 1)))
    binding.write_pose(armature, bound, still)
    context.view_layer.update()
    hand = armature.matrix_world @ armature.pose.bones["LeftHand"].matrix.translation
    wanted = fk(rig, still)[0][0, rig.skeleton.index("LeftHand")]
    assert largest(hand, wanted) < 1e-4
    assert all(
        check.passed for check in fk_checks.validate_fk(context, armature, bound)
    )


def test_bones_above_the_hips_are_respected(context, armature):
    bpy.ops.object.mode_set(mode="EDIT")
    bones = armature.data.edit_bones
    root = bones.new("Root")
    root.head, root.tail = (0.0, 0.0, 0.0), (0.0, 0.3, 0.0)
    bones["Hips"].parent = root
    bpy.ops.object.mode_set(mode="OBJECT")
    rig = load_rig("ik23")
    bound = binding.bind(armature, rig)
    above = armature.pose.bones["Root"]
    above.rotation_mode = "XYZ"
    above.location, above.rotation_euler = (0.3, 0.1, 0.2), (0.2, 0.1, 0.9)
    context.view_layer.update()
    pose = start_pose(rig, ground=[[0.5, 0.2]], yaw=[0.4])
    binding.write_pose(armature, bound, pose)
    context.view_layer.update()
    back = binding.read_pose(armature, bound)
    assert largest(back.root, pose.root) < 1e-5
    assert quat_angle(back.rotations, pose.rotations).max() < 1e-4


def test_quaternions_do_not_change_their_sign(context, armature):
    bound = binding.bind(armature, load_rig("ik23"))
    pose = start_pose(bound.rig)
    binding.write_pose(armature, bound, pose)
    first = [tuple(bone.rotation_quaternion) for bone in bound.bones(armature)]
    binding.write_pose(armature, bound, Pose(pose.root, -pose.rotations))
    second = [tuple(bone.rotation_quaternion) for bone in bound.bones(armature)]
    assert largest(first, second) < 1e-6


def edited(change):
    bpy.ops.object.mode_set(mode="EDIT")
    change(bpy.context.object.data.edit_bones)
    bpy.ops.object.mode_set(mode="OBJECT")


def rename(bones):
    bones["LeftShin"].name = "LeftShinn"


def rehang(bones):
    bones["LeftHand"].parent = bones["Head"]


def stiffen(bones):
    bones["Head"].use_inherit_rotation = False


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (rename, "has no bone 'LeftShin' (did you mean 'LeftShinn'?)"),
        (rehang, "'LeftHand' must hang on 'LeftForeArm', not on 'Head'"),
        (stiffen, "'Head' must inherit the rotation"),
    ],
)
def test_armatures_that_cannot_be_bound(armature, change, text):
    edited(change)
    with pytest.raises(binding.BindingError) as error:
        binding.bind(armature, load_rig("ik23"))
    assert text in str(error.value)


def test_uneven_scale_is_refused(context, armature):
    armature.scale = (1.0, 1.0, 2.0)
    context.view_layer.update()
    with pytest.raises(binding.BindingError, match="apply the scale"):
        binding.bind(armature, load_rig("ik23"))
