"""Operators that make the rig and put its targets down."""

import bpy

from .binding import BindingError
from .empties import add_empties, move_to_bone
from .operators_common import chosen_armature, reported
from .properties import targets_of
from .rig_builder import add_armature
from .session import bound_to, keep_base, paused, rig


class AMBULO_OT_add_rig(bpy.types.Operator):
    """Add the 23-bone Ambulo rig as an armature"""

    bl_idname = "ambulo_ik.add_rig"
    bl_label = "Add Ambulo Rig"
    bl_options = {"REGISTER", "UNDO"}

    @reported
    def execute(self, context: bpy.types.Context) -> set[str]:
        """Build the armature at the 3D cursor."""
        made = add_armature(context, rig().skeleton)
        made.location = context.scene.cursor.location
        context.view_layer.update()
        return {"FINISHED"}


class AMBULO_OT_apply(bpy.types.Operator):
    """Let the armature follow its targets; empties are added for targets that have none"""

    bl_idname = "ambulo_ik.apply"
    bl_label = "Apply to Armature"
    bl_options = {"REGISTER", "UNDO"}

    @reported
    def execute(self, context: bpy.types.Context) -> set[str]:
        """Take the present pose as the base, make targets, and solve at once."""
        from .live import tick

        armature = chosen_armature(context)
        context.view_layer.update()
        with paused():
            bound = bound_to(armature)
            keep_base(armature, bound)
            bound.seen = ()
            add_empties(context, armature, bound.binding)
            armature.ambulo_ik.live = True
            tick(armature)
            context.view_layer.update()
        if armature.ambulo_ik.problem:
            raise BindingError(armature.ambulo_ik.problem)
        return {"FINISHED"}


class AMBULO_OT_stop(bpy.types.Operator):
    """Let the armature go: it keeps its pose, and the targets stay where they are"""

    bl_idname = "ambulo_ik.stop"
    bl_label = "Stop Following"
    bl_options = {"REGISTER", "UNDO"}

    @reported
    def execute(self, context: bpy.types.Context) -> set[str]:
        """Switch the armature's solving off."""
        chosen_armature(context).ambulo_ik.live = False
        return {"FINISHED"}


class AMBULO_OT_targets_to_bones(bpy.types.Operator):
    """Put every target where its bone is now, and take this pose as the base"""

    bl_idname = "ambulo_ik.targets_to_bones"
    bl_label = "Targets to Bones"
    bl_options = {"REGISTER", "UNDO"}

    @reported
    def execute(self, context: bpy.types.Context) -> set[str]:
        """Move the empties to the bones."""
        armature = chosen_armature(context)
        context.view_layer.update()
        with paused():
            bound = bound_to(armature)
            keep_base(armature, bound)
            for row, target in enumerate(targets_of(armature)):
                if target.empty is not None:
                    move_to_bone(armature, bound.binding, row, target.empty)
            context.view_layer.update()
        return {"FINISHED"}


CLASSES = (
    AMBULO_OT_add_rig,
    AMBULO_OT_apply,
    AMBULO_OT_stop,
    AMBULO_OT_targets_to_bones,
)
