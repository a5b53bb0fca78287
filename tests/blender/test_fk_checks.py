"""Validate FK Pipeline: what passes, and that it can fail."""

from __future__ import annotations

import numpy as np
import pytest

bpy = pytest.importorskip(
    "bpy", reason="no Blender here (the bpy wheel): run `make test-blender`"
)

from ambulo_ik import binding, fk_checks

from ambulo.ik.rig import load_rig


def test_the_pose_comes_back(context, armature):
    bone = armature.pose.bones["LeftArm"]
    bone.rotation_quaternion = (0.8, 0.6, 0.0, 0.0)
    armature.pose.bones["Hips"].location = (0.1, 0.2, 0.3)
    bound = binding.bind(armature, load_rig("ik23"))
    fk_checks.validate_fk(context, armature, bound)
    assert tuple(bone.rotation_quaternion) == pytest.approx((0.8, 0.6, 0.0, 0.0))
    assert tuple(armature.pose.bones["Hips"].location) == pytest.approx((0.1, 0.2, 0.3))


def test_a_bone_that_was_moved_after_binding_fails(context, armature):
    bound = binding.bind(armature, load_rig("ik23"))
    bpy.ops.object.mode_set(mode="EDIT")
    bone = armature.data.edit_bones["LeftHand"]
    bone.head.z, bone.tail.z = bone.head.z + 0.01, bone.tail.z + 0.01
    bpy.ops.object.mode_set(mode="OBJECT")
    checks = fk_checks.validate_fk(context, armature, bound)
    assert not checks[0].passed
    assert "LeftHand" in checks[0].text
    assert not checks[2].passed


def test_a_constraint_on_a_bone_fails(context, armature):
    bound = binding.bind(armature, load_rig("ik23"))
    limit = armature.pose.bones["Head"].constraints.new("LIMIT_ROTATION")
    limit.use_limit_x = limit.use_limit_y = limit.use_limit_z = True
    limit.owner_space = "LOCAL"
    checks = fk_checks.validate_fk(context, armature, bound)
    assert [bool(check.passed) for check in checks] == [True, True, False]


def test_expected_matrices_are_blenders(context, armature, walk_on_rig):
    from ambulo.ik.pose import pose_of

    armature.location = (1.0, 2.0, 3.0)  # armature space does not notice
    bound = binding.bind(armature, load_rig("ik23"))
    poses = pose_of(walk_on_rig, bound.rig)[:3]
    blender = fk_checks.posed_matrices(context, armature, bound, poses)
    ours = fk_checks.expected_matrices(bound, poses)
    assert np.abs(blender - ours).max() < 1e-5
