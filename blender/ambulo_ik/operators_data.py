"""Operators that take poses from armatures, save them, load them and key them."""

from pathlib import Path

import numpy as np
from bpy.props import StringProperty
from bpy.types import Context, Object
from bpy_extras.io_utils import ExportHelper, ImportHelper

from ambulo.configs.errors import MotionError

from .binding import BindingError, pose_of_matrices
from .operators_common import UNDO, AmbuloOperator, ArmatureOperator, chosen_armature
from .pose_data import PoseClip, extract, key_poses, load, posed_frames, save
from .session import SESSION, Bound, bound_to, paused, rig


def _data() -> PoseClip:
    if SESSION.data is None:
        raise MotionError("no poses in memory: extract or load some first")
    return SESSION.data


class AMBULO_OT_extract_data(ArmatureOperator):
    """Take the poses of the active armature over its action into memory"""

    bl_idname = "ambulo_ik.extract_data"
    bl_label = "Extract Data"

    def run_on(self, context: Context, armature: Object, bound: Bound) -> str:
        """Play the frames and read the bones."""
        step = context.scene.ambulo_ik.frame_step
        SESSION.data = extract(context, armature, bound.binding, step)
        return SESSION.data.text


class AMBULO_OT_save_data(AmbuloOperator, ExportHelper):
    """Save the poses in memory as a motion file"""

    bl_idname = "ambulo_ik.save_data"
    bl_label = "Save to Disk"

    filename_ext = ".npz"
    filter_glob: StringProperty(default="*.npz", options={"HIDDEN"})

    def run(self, context: Context) -> str:
        """Write the file atomically."""
        save(Path(self.filepath), _data())
        return f"saved {self.filepath}"


class AMBULO_OT_load_data(AmbuloOperator, ImportHelper):
    """Load saved poses, or a clip (BVH, AMC), which is retargeted to the rig"""

    bl_idname = "ambulo_ik.load_data"
    bl_label = "Load Saved Data"

    filter_glob: StringProperty(default="*.npz;*.bvh;*.amc", options={"HIDDEN"})

    def run(self, context: Context) -> str:
        """Read the file into memory."""
        SESSION.data = load(Path(self.filepath), rig())
        return SESSION.data.text


class AMBULO_OT_key_data(ArmatureOperator):
    """Key the poses in memory onto the active armature as a new action"""

    bl_idname = "ambulo_ik.key_data"
    bl_label = "Data to Action"
    bl_options = UNDO

    def run_on(self, context: Context, armature: Object, bound: Bound) -> None:
        """Make the action, from frame 1 at the scene's rate."""
        data, scene = _data(), context.scene
        poses = data.poses_on(bound.binding.rig)
        speed = scene.render.fps / scene.render.fps_base / data.motion.fps
        frames = (1.0 + speed * np.arange(len(poses))).tolist()
        key_poses(armature, bound.binding, poses, frames, data.motion.name)
        scene.frame_set(scene.frame_current)


class AMBULO_OT_bake(AmbuloOperator):
    """Key the armature's pose from the targets in every frame of the scene, then release it"""

    bl_idname = "ambulo_ik.bake"
    bl_label = "Bake to Action"
    bl_options = UNDO

    def run(self, context: Context) -> None:
        """Play the scene with the solver on, then key the poses."""
        armature, scene = chosen_armature(context), context.scene
        if not armature.ambulo_ik.live:
            raise BindingError(f"{armature.name} follows no targets: apply first")
        binding = bound_to(armature).binding
        frames = range(scene.frame_start, scene.frame_end + 1)
        kept = scene.frame_current
        matrices = posed_frames(scene, binding.bones(armature), frames)
        with paused():
            armature.ambulo_ik.live = False
            poses = pose_of_matrices(binding, matrices)
            key_poses(armature, binding, poses, frames, f"{armature.name} baked")
            scene.frame_set(kept)


CLASSES = (
    AMBULO_OT_extract_data,
    AMBULO_OT_save_data,
    AMBULO_OT_load_data,
    AMBULO_OT_key_data,
    AMBULO_OT_bake,
)
