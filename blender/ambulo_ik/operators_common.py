"""Common code of operators: error reporting, and the chosen armature."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import bpy

from ambulo.configs.errors import AmbuloError

from .binding import BindingError

Execute = Callable[[Any, bpy.types.Context], set[str]]


def reported(execute: Execute) -> Execute:
    """An `execute` whose expected errors become one line in Blender's status bar."""

    @wraps(execute)
    def run(self: Any, context: bpy.types.Context) -> set[str]:
        try:
            return execute(self, context)
        except (AmbuloError, OSError) as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}

    return run


def chosen_armature(context: bpy.types.Context) -> bpy.types.Object:
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
