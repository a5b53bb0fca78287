"""Operators that choose the network, and those that test it and the kinematics."""

from collections.abc import Sequence

import bpy
from bpy.props import BoolProperty, StringProperty
from bpy.types import Context, Event, Object, Scene
from bpy_extras.io_utils import ImportHelper

from ambulo.configs.errors import ModelFileError

from .fk_checks import Check, validate_fk
from .operators_common import AmbuloOperator, ArmatureOperator
from .session import SESSION, Bound, use_network
from .solver_checks import check_solver

REPORT = "Ambulo IK report"
"""Name of the text that holds the last report."""
SHIPPED = "ik_net"
"""The network that comes with the extension, if one was there when it was built."""


class AMBULO_OT_load_weights(AmbuloOperator, ImportHelper):
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

    def invoke(self, context: Context, event: Event) -> set[str]:
        """Ask for a file, unless it is the network that ships."""
        if self.shipped:
            return self.execute(context)
        return super().invoke(context, event)

    def run(self, context: Context) -> str:
        """Use the network from now on."""
        chosen = SHIPPED if self.shipped else self.filepath
        if not chosen:
            raise ModelFileError("choose a network's .safetensors file")
        use_network(chosen)
        context.scene.ambulo_ik.weights = chosen
        return f"using {chosen}"


class AMBULO_OT_reset_weights(AmbuloOperator):
    """Go back to the solver without a network"""

    bl_idname = "ambulo_ik.reset_weights"
    bl_label = "Reset Weights"

    def run(self, context: Context) -> None:
        """Forget the network."""
        use_network("")
        context.scene.ambulo_ik.weights = ""


class CheckOperator(ArmatureOperator):
    """Base of operators that check the active armature and show a report."""

    def run_on(self, context: Context, armature: Object, bound: Bound) -> str | None:
        """Fill the report; a failed check is a warning."""
        checks = self.checks(context, armature, bound)
        if show_report(context.scene, self.bl_label, checks):
            return f"{self.bl_label}: all passed"
        failed = next(check for check in checks if check.passed is False)
        text = f"{self.bl_label}: {failed.name} failed: {failed.text}"
        self.report({"WARNING"}, text)
        return None

    def checks(self, context: Context, armature: Object, bound: Bound) -> list[Check]:
        """Return the checks of `armature`."""
        raise NotImplementedError


class AMBULO_OT_run_tests(CheckOperator):
    """Solve for the poses in memory (or for varied starting poses) and report errors"""

    bl_idname = "ambulo_ik.run_tests"
    bl_label = "Run Tests"

    def checks(self, context: Context, armature: Object, bound: Bound) -> list[Check]:
        """Return the checks of solver and network."""
        data, rig = SESSION.data, bound.binding.rig
        return check_solver(bound, None if data is None else data.poses_on(rig))


class AMBULO_OT_validate_fk(CheckOperator):
    """Compare Blender's bones with our kinematics: rest, identity, 200 random poses"""

    bl_idname = "ambulo_ik.validate_fk"
    bl_label = "Validate FK Pipeline"

    def checks(self, context: Context, armature: Object, bound: Bound) -> list[Check]:
        """Return the checks of kinematics."""
        return validate_fk(context, armature, bound.binding)


def show_report(scene: Scene, title: str, checks: Sequence[Check]) -> bool:
    """Put `checks` into the panel and into a text; whether all of them passed."""
    lines = scene.ambulo_ik.report
    lines.clear()
    for check in checks:
        line = lines.add()
        line.name = f"{check.name}: {check.text}"
        line.state = "INFO" if check.passed is None else _word(check.passed)
    passed = all(check.passed is not False for check in checks)
    text = bpy.data.texts.get(REPORT) or bpy.data.texts.new(REPORT)
    text.clear()
    text.write(f"{title}: {_word(passed)}\n")
    for line in lines:
        text.write(f"{line.state}  {line.name}\n")
    return passed


def _word(passed: bool) -> str:
    return "PASS" if passed else "FAIL"


CLASSES = (
    AMBULO_OT_load_weights,
    AMBULO_OT_reset_weights,
    AMBULO_OT_run_tests,
    AMBULO_OT_validate_fk,
)
