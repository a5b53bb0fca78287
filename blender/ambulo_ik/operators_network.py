"""Operators that choose the network, and those that test it and the kinematics."""

import bpy
from bpy.props import BoolProperty, StringProperty
from bpy_extras.io_utils import ImportHelper

from ambulo.configs.errors import ModelFileError

from .fk_checks import Check, validate_fk
from .operators_common import chosen_armature, reported
from .reports import show_report
from .session import SESSION, bound_to, paused, use_network
from .solver_checks import check_solver

SHIPPED = "ik_net"
"""The network that comes with the extension, if one was there when it was built."""


class AMBULO_OT_load_weights(bpy.types.Operator, ImportHelper):
    """Load a trained network: choose its .safetensors file, beside which its .json lies"""

    bl_idname = "ambulo_ik.load_weights"
    bl_label = "Load Weights"

    filename_ext = ".safetensors"
    filter_glob: StringProperty(default="*.safetensors", options={"HIDDEN"})
    shipped: BoolProperty(
        name="Shipped",
        description="Take the network that comes with the extension",
        options={"HIDDEN", "SKIP_SAVE"},
    )

    def invoke(self, context: bpy.types.Context, event: bpy.types.Event) -> set[str]:
        """Ask for a file, unless it is the network that ships."""
        if self.shipped:
            return self.execute(context)
        return super().invoke(context, event)

    @reported
    def execute(self, context: bpy.types.Context) -> set[str]:
        """Use the network from now on."""
        chosen = SHIPPED if self.shipped else self.filepath
        if not chosen:
            raise ModelFileError("choose a network's .safetensors file")
        use_network(chosen)
        context.scene.ambulo_ik.weights = chosen
        self.report({"INFO"}, f"using {chosen}")
        return {"FINISHED"}


class AMBULO_OT_reset_weights(bpy.types.Operator):
    """Go back to the solver without a network"""

    bl_idname = "ambulo_ik.reset_weights"
    bl_label = "Reset Weights"

    @reported
    def execute(self, context: bpy.types.Context) -> set[str]:
        """Forget the network."""
        use_network("")
        context.scene.ambulo_ik.weights = ""
        return {"FINISHED"}


class AMBULO_OT_run_tests(bpy.types.Operator):
    """Solve for the poses in memory (or for varied starting poses) and report errors"""

    bl_idname = "ambulo_ik.run_tests"
    bl_label = "Run Tests"

    @reported
    def execute(self, context: bpy.types.Context) -> set[str]:
        """Fill the report; a failed check is a warning."""
        bound = bound_to(chosen_armature(context))
        poses = (
            None if SESSION.data is None else SESSION.data.poses_on(bound.binding.rig)
        )
        return _shown(self, context, "Run Tests", check_solver(bound, poses))


class AMBULO_OT_validate_fk(bpy.types.Operator):
    """Compare Blender's bones with our kinematics: rest, identity, 200 random poses"""

    bl_idname = "ambulo_ik.validate_fk"
    bl_label = "Validate FK Pipeline"

    @reported
    def execute(self, context: bpy.types.Context) -> set[str]:
        """Fill the report; a failed check is a warning."""
        armature = chosen_armature(context)
        with paused():
            checks = validate_fk(context, armature, bound_to(armature).binding)
        return _shown(self, context, "Validate FK Pipeline", checks)


def _shown(
    operator: bpy.types.Operator,
    context: bpy.types.Context,
    title: str,
    checks: list[Check],
) -> set[str]:
    if show_report(context.scene, title, checks):
        operator.report({"INFO"}, f"{title}: all passed")
        return {"FINISHED"}
    failed = next(check for check in checks if check.passed is False)
    operator.report({"WARNING"}, f"{title}: {failed.name} failed: {failed.text}")
    return {"FINISHED"}


CLASSES = (
    AMBULO_OT_load_weights,
    AMBULO_OT_reset_weights,
    AMBULO_OT_run_tests,
    AMBULO_OT_validate_fk,
)
