"""Base classes of operators: error reporting, and the active armature."""

from __future__ import annotations

from bpy.types import Context, Object, Operator

from ambulo.configs.errors import AmbuloError

from .binding import BindingError
from .session import Bound, bound_to, paused

UNDO = {"REGISTER", "UNDO"}
"""`bl_options` of operators that change the scene."""


class AmbuloOperator(Operator):
    """Base of all operators: an expected error becomes one line in the status bar."""

    def execute(self, context: Context) -> set[str]:
        """Call `run`, and report its error or the text that it returns."""
        try:
            text = self.run(context)
        except (AmbuloError, OSError) as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        if text:
            self.report({"INFO"}, text)
        return {"FINISHED"}

    def run(self, context: Context) -> str | None:
        """Do the work; return the text to report, if any."""
        raise NotImplementedError


class ArmatureOperator(AmbuloOperator):
    """Base of operators on the active armature, bound, while its solver is paused."""

    def run(self, context: Context) -> str | None:
        """Call `run_on` with the active armature and its binding."""
        armature = chosen_armature(context)
        context.view_layer.update()
        with paused():
            return self.run_on(context, armature, bound_to(armature))

    def run_on(self, context: Context, armature: Object, bound: Bound) -> str | None:
        """Do the work on `armature`; return the text to report, if any."""
        raise NotImplementedError


def chosen_armature(context: Context) -> Object:
    """The active armature, or the one whose target is active.

    Raises:
        BindingError: If it is neither.
    """
    active = context.object
    if active is not None and active.type == "ARMATURE":
        return active
    for other in context.scene.objects:
        if other.type == "ARMATURE" and any(
            active is not None and row.empty == active
            for row in other.ambulo_ik.targets
        ):
            return other
    raise BindingError("select an armature, or one of its targets, first")
