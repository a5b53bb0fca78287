"""Poses as keyframes: an action that holds a pose of every frame."""

from __future__ import annotations

from collections.abc import Sequence

import bpy
from bpy.types import Action, Object

from ambulo.ik.pose import Pose

from .binding import Binding, write_pose
from .channels import rotation_channel


def key_poses(
    armature: Object, binding: Binding, poses: Pose, frames: Sequence[float], name: str
) -> Action:
    """A new action of `armature` with one key for each of `poses`; others are kept unused.

    Args:
        armature: Whose bones are keyed.
        binding: Its constants.
        poses: As many as frames.
        frames: The frame of each pose.
        name: Of the action.
    """
    animated = armature.animation_data or armature.animation_data_create()
    if animated.action is not None:
        animated.action.use_fake_user = True  # it is not thrown away when we replace it
    action = bpy.data.actions.new(name)
    animated.action = action
    bones = binding.bones(armature)
    for row, frame in enumerate(frames):
        write_pose(armature, binding, poses[row : row + 1])
        bones[0].keyframe_insert("location", frame=frame)
        for bone in bones:
            bone.keyframe_insert(rotation_channel(bone), frame=frame)
    return action
