"""Operators that take poses from armatures, save them, load them and key them."""

from pathlib import Path

import bpy
import numpy as np
from bpy.props import StringProperty
from bpy_extras.io_utils import ExportHelper, ImportHelper

from ambulo.configs.errors import MotionError

from .binding import BindingError, pose_of_matrices
from .keying import key_poses
from .operators_common import chosen_armature, reported
from .pose_data import PoseClip, extract, load, save
from .session import SESSION, bound_to, paused, rig


def _data() -> PoseClip:
    if SESSION.data is None:
        raise MotionError("no poses in memory: extract or load some first")
    return SESSION.data


class AMBULO_OT_extract_data(bpy.types.Operator):
    """Take the poses of the active armature over its action into memory"""

    bl_idname = "ambulo_ik.extract_data"
    bl_label = "Extract Data"

    @reported
    def execute(self, context: bpy.types.Context) -> set[str]:
        """Play the frames and read the bones."""
        armature = chosen_armature(context)
        step = context.scene.ambulo_ik.frame_step
        with paused():
            binding = bound_to(armature).binding
            SESSION.data = extract(context, armature, binding, step)
        self.report({"INFO"}, SESSION.data.text)
        return {"FINISHED"}


class AMBULO_OT_save_data(bpy.types.Operator, ExportHelper):
    """Save the poses in memory as a motion file"""

    bl_idname = "ambulo_ik.save_data"
    bl_label = "Save to Disk"

    filename_ext = ".npz"
    filter_glob: StringProperty(default="*.npz", options={"HIDDEN"})

    @reported
    def execute(self, context: bpy.types.Context) -> set[str]:
        """Write the file, whole or not at all."""
        save(Path(self.filepath), _data())
        self.report({"INFO"}, f"saved {self.filepath}")
        return {"FINISHED"}


class AMBULO_OT_load_data(bpy.types.Operator, ImportHelper):
    """Load saved poses, or a clip (BVH, AMC), which is retargeted to the rig"""

    bl_idname = "ambulo_ik.load_data"
    bl_label = "Load Saved Data"

    filter_glob: StringProperty(default="*.npz;*.bvh;*.amc", options={"HIDDEN"})

    @reported
    def execute(self, context: bpy.types.Context) -> set[str]:
        """Read the file into memory."""
        SESSION.data = load(Path(self.filepath), rig())
        self.report({"INFO"}, SESSION.data.text)
        return {"FINISHED"}


class AMBULO_OT_key_data(bpy.types.Operator):
    """Key the poses in memory onto the active armature as a new action"""

    bl_idname = "ambulo_ik.key_data"
    bl_label = "Data to Action"
    bl_options = {"REGISTER", "UNDO"}

    @reported
    def execute(self, context: bpy.types.Context) -> set[str]:
        """Make the action, from frame 1 at the scene's rate."""
        armature, data = chosen_armature(context), _data()
        render = context.scene.render
        with paused():
            binding = bound_to(armature).binding
            poses = data.poses_on(binding.rig)
            speed = render.fps / render.fps_base / data.motion.fps
            frames = (1.0 + speed * np.arange(len(poses))).tolist()
            key_poses(armature, binding, poses, frames, data.motion.name)
            context.scene.frame_set(context.scene.frame_current)
        return {"FINISHED"}


class AMBULO_OT_bake(bpy.types.Operator):
    """Key what the targets make of the armature in every frame of the scene, then let go"""

    bl_idname = "ambulo_ik.bake"
    bl_label = "Bake to Action"
    bl_options = {"REGISTER", "UNDO"}

    @reported
    def execute(self, context: bpy.types.Context) -> set[str]:
        """Play the scene with the solver on, then key the poses."""
        armature, scene = chosen_armature(context), context.scene
        if not armature.ambulo_ik.live:
            raise BindingError(f"{armature.name} follows no targets: apply first")
        binding = bound_to(armature).binding
        kept = scene.frame_current
        frames = list(range(scene.frame_start, scene.frame_end + 1))
        bones, matrices = binding.bones(armature), []
        for frame in frames:
            scene.frame_set(frame)
            matrices.append([np.array(bone.matrix) for bone in bones])
        poses = pose_of_matrices(binding, np.array(matrices, dtype=np.float64))
        with paused():
            armature.ambulo_ik.live = False
            key_poses(armature, binding, poses, frames, f"{armature.name} baked")
            scene.frame_set(kept)
        return {"FINISHED"}


CLASSES = (
    AMBULO_OT_extract_data,
    AMBULO_OT_save_data,
    AMBULO_OT_load_data,
    AMBULO_OT_key_data,
    AMBULO_OT_bake,
)
