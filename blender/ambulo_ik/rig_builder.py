"""The Ambulo rig as a Blender armature, built from the suite's skeleton.

Blender characters face -Y with their left at +X; ours face +X with their left at +Y. The
armature follows Blender's convention: everything is rotated by -90 degrees about Z here (and
back in `binding`, which measures the heading of any armature).
"""

from __future__ import annotations

import math

import bpy
import numpy as np
from bpy.types import Context, EditBone, Object
from mathutils import Matrix, Vector
from numpy.typing import NDArray

from ambulo.motion.kinematics import rest_kinematics
from ambulo.motion.rotations import quat_to_matrix
from ambulo.motion.skeleton import Skeleton

FACING = -math.pi / 2.0
"""Heading of the built character, about Z from +X, [rad]: along -Y."""

LEAF = 0.4
"""Length of a bone without a child or a tip, over that of its parent."""

SHORTEST = 0.01
"""Shortest built bone, [m]; Blender drops bones of zero length."""


def add_armature(
    context: Context, skeleton: Skeleton, name: str = "Ambulo Rig"
) -> Object:
    """A new, active armature object with the joints of `skeleton`.

    Bones lie along the local Y of the joints, their rolls give the same Z; rotation modes
    are quaternions.
    """
    armature = bpy.data.armatures.new(name)
    made = bpy.data.objects.new(name, armature)
    context.collection.objects.link(made)
    if context.object is not None and context.object.mode != "OBJECT":
        bpy.ops.object.mode_set(mode="OBJECT")
    for other in context.selected_objects:
        other.select_set(False)
    made.select_set(True)
    context.view_layer.objects.active = made
    heads, axes = rest_frames(skeleton)
    lengths = bone_lengths(skeleton)
    bpy.ops.object.mode_set(mode="EDIT")
    try:
        bones: list[EditBone] = []
        for joint, parent in enumerate(skeleton.parents):
            bone = armature.edit_bones.new(skeleton.joints[joint])
            bone.head = Vector(heads[joint])
            bone.tail = Vector(heads[joint] + lengths[joint] * axes[joint][:, 1])
            bone.align_roll(Vector(axes[joint][:, 2]))
            bone.use_connect = False
            if parent >= 0:
                bone.parent = bones[parent]
            bones.append(bone)
    finally:
        bpy.ops.object.mode_set(mode="OBJECT")
    for pose_bone in made.pose.bones:
        pose_bone.rotation_mode = "QUATERNION"
    armature.display_type = "OCTAHEDRAL"
    made.show_in_front = True
    context.view_layer.update()
    return made


def rest_frames(skeleton: Skeleton) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Heads (J, 3), [m], and axes (J, 3, 3) at rest in the space of the armature."""
    positions, turns = rest_kinematics(skeleton)
    turn = np.array(Matrix.Rotation(FACING, 3, "Z"), dtype=np.float64)
    return positions @ turn.T, turn @ quat_to_matrix(turns)


def bone_lengths(skeleton: Skeleton) -> NDArray[np.float64]:
    """Drawn length of each bone, [m]: to its child along Y, else to its tip. Shape (J,)."""
    lengths = np.zeros(len(skeleton))
    for joint, parent in enumerate(skeleton.parents):
        ahead = [skeleton.offsets[child] for child in skeleton.children(joint)]
        ahead += [
            tip
            for at, tip in zip(skeleton.tip_parents, skeleton.tips, strict=True)
            if at == joint and not skeleton.children(joint)
        ]
        along = max((float(offset[1]) for offset in ahead), default=0.0)
        if along < SHORTEST and parent >= 0:
            along = LEAF * lengths[parent]
        lengths[joint] = max(along, SHORTEST)
    return lengths
