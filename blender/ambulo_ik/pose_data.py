"""Poses in memory: extracted from an armature or a file, saved as a motion, keyed as an action.

The files are the suite's motions (`.npz`): `ambulo ik extract` makes training data of a folder
of them, as of any clips.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import bpy
import numpy as np
from bpy.types import Action, Context, Object, PoseBone, Scene
from numpy.typing import NDArray

from ambulo.configs.errors import MotionError
from ambulo.ik.pose import Pose, pose_of
from ambulo.ik.rig import Rig
from ambulo.motion.formats.files import read_motion, write_motion
from ambulo.motion.motion import Motion

from .binding import Binding, pose_of_matrices, write_pose
from .channels import rotation_channel


@dataclass(frozen=True)
class PoseClip:
    """A motion on the joints of the rig, of any proportions."""

    motion: Motion
    """Its frames, in metres, the character facing +X at rest."""

    @property
    def text(self) -> str:
        """Description for the panel."""
        return f"{self.motion.name}: {len(self.motion)} poses"

    def poses_on(self, rig: Rig) -> Pose:
        """The poses for `rig`, with the root's path scaled to its size."""
        poses = pose_of(self.motion, rig)
        size = _length(rig.skeleton.offsets) / _length(self.motion.skeleton.offsets)
        return Pose(poses.root * size, poses.rotations)


def extract(
    context: Context, armature: Object, binding: Binding, step: int
) -> PoseClip:
    """The poses of `armature` over its action, or over the scene's frames without one.

    Args:
        context: Its scene is played; the frame is restored.
        armature: The armature, including its constraints and drivers.
        binding: Its constants.
        step: Every `step`-th frame is taken.
    """
    scene = context.scene
    animated = armature.animation_data
    action = None if animated is None else animated.action
    first, last = scene.frame_start, scene.frame_end
    if action is not None:
        first, last = (round(frame) for frame in action.frame_range)
    kept = scene.frame_current
    try:
        frames = range(first, last + 1, step)
        matrices = posed_frames(scene, binding.bones(armature), frames)
    finally:
        scene.frame_set(kept)
    poses = pose_of_matrices(binding, matrices)
    rate = scene.render.fps / scene.render.fps_base / step
    name = armature.name if action is None else action.name
    return PoseClip(poses.motion(binding.rig, rate, name))


def posed_frames(
    scene: Scene, bones: list[PoseBone], frames: range
) -> NDArray[np.float64]:
    """Play `frames`: matrices of `bones` in armature space. Shape (T, J, 4, 4)."""
    matrices = []
    for frame in frames:
        scene.frame_set(frame)
        matrices.append([np.array(bone.matrix) for bone in bones])
    return np.array(matrices, dtype=np.float64)


def key_poses(
    armature: Object, binding: Binding, poses: Pose, frames: Sequence[float], name: str
) -> Action:
    """A new action of `armature` with one key for each of `poses`; others are kept unused.

    Args:
        armature: Armature to key.
        binding: Its constants.
        poses: One for each frame.
        frames: The frame of each pose.
        name: Name of the action.
    """
    animated = armature.animation_data or armature.animation_data_create()
    if animated.action is not None:
        animated.action.use_fake_user = True  # it is kept when we replace it
    action = bpy.data.actions.new(name)
    animated.action = action
    bones = binding.bones(armature)
    for row, frame in enumerate(frames):
        write_pose(armature, binding, poses[row : row + 1])
        bones[0].keyframe_insert("location", frame=frame)
        for bone in bones:
            bone.keyframe_insert(rotation_channel(bone), frame=frame)
    return action


def save(path: Path, data: PoseClip) -> None:
    """Write `data` to `path` (.npz), atomically."""
    if path.suffix.lower() != ".npz":
        raise MotionError(f"{path.name}: the name must end in .npz")
    write_motion(path, data.motion)


def load(path: Path, rig: Rig) -> PoseClip:
    """The data of `path`: from `save`, or any clip, retargeted to `rig`."""
    from ambulo.motion.retargeting.retarget import retarget

    motion = read_motion(path, drop_tpose=True)
    if not motion.skeleton.same_tree(rig.skeleton):
        motion = retarget(motion, rig.skeleton).motion
    return PoseClip(motion.replace(name=path.stem))


def _length(offsets: NDArray[np.float64]) -> float:
    return float(np.linalg.norm(offsets[1:], axis=1).sum())
