"""Operators that make the rig and put its targets down."""

from bpy.types import Context, Object

from .binding import BindingError
from .empties import add_empties, move_to_bone
from .operators_common import UNDO, AmbuloOperator, ArmatureOperator, chosen_armature
from .properties import targets_of
from .rig_builder import add_armature
from .session import Bound, keep_base, rig


class AMBULO_OT_add_rig(AmbuloOperator):
    """Add the 23-bone Ambulo rig as an armature"""

    bl_idname = "ambulo_ik.add_rig"
    bl_label = "Add Ambulo Rig"
    bl_options = UNDO

    def run(self, context: Context) -> None:
        """Build the armature at the 3D cursor."""
        made = add_armature(context, rig().skeleton)
        made.location = context.scene.cursor.location
        context.view_layer.update()


class AMBULO_OT_apply(ArmatureOperator):
    """Let the armature follow its targets; empties are added for targets that have none"""

    bl_idname = "ambulo_ik.apply"
    bl_label = "Apply to Armature"
    bl_options = UNDO

    def run_on(self, context: Context, armature: Object, bound: Bound) -> None:
        """Take the present pose as the base, make targets, and solve at once."""
        from .live import tick

        keep_base(armature, bound)
        bound.seen = ()
        add_empties(context, armature, bound.binding)
        armature.ambulo_ik.tracking = False
        armature.ambulo_ik.live = True
        tick(armature)
        context.view_layer.update()
        if armature.ambulo_ik.problem:
            raise BindingError(armature.ambulo_ik.problem)


class AMBULO_OT_stop(AmbuloOperator):
    """Let the armature go: it keeps its pose, and the targets stay where they are"""

    bl_idname = "ambulo_ik.stop"
    bl_label = "Stop Following"
    bl_options = UNDO

    def run(self, context: Context) -> None:
        """Switch the armature's solving off."""
        chosen_armature(context).ambulo_ik.live = False


class AMBULO_OT_targets_to_bones(ArmatureOperator):
    """Put every target where its bone is now, and take this pose as the base"""

    bl_idname = "ambulo_ik.targets_to_bones"
    bl_label = "Targets to Bones"
    bl_options = UNDO

    def run_on(self, context: Context, armature: Object, bound: Bound) -> None:
        """Move the empties to the bones."""
        keep_base(armature, bound)
        for row, target in enumerate(targets_of(armature)):
            if target.empty is not None:
                move_to_bone(armature, bound.binding, row, target.empty)
        context.view_layer.update()


CLASSES = (
    AMBULO_OT_add_rig,
    AMBULO_OT_apply,
    AMBULO_OT_stop,
    AMBULO_OT_targets_to_bones,
)
