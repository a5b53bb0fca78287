"""Data saved in the .blend file: the targets of an armature and its settings.

No `from __future__ import annotations` here: Blender reads the annotations themselves.
"""

import bpy
from bpy.props import (
    BoolProperty,
    CollectionProperty,
    EnumProperty,
    FloatProperty,
    IntProperty,
    PointerProperty,
    StringProperty,
)

from ambulo.ik.rig import TARGETS


def _weight(name: str, what: str) -> FloatProperty:
    text = f"How much the {what} counts; 0 leaves it free"
    return FloatProperty(name=name, description=text, default=1.0, min=0.0, max=1.0)


class AmbuloTarget(bpy.types.PropertyGroup):
    """One target: an empty, its weight, and the error of the last solve."""

    empty: PointerProperty(
        name="Empty", type=bpy.types.Object, description="Object that the bone follows"
    )
    position_weight: _weight("Position", "place")
    rotation_weight: _weight("Rotation", "orientation")
    reached: BoolProperty(name="Reached")
    position_error: FloatProperty(name="Distance", unit="LENGTH", precision=4)
    rotation_error: FloatProperty(name="Angle", unit="ROTATION", precision=2)


class AmbuloArmature(bpy.types.PropertyGroup):
    """Properties of an armature object."""

    live: BoolProperty(name="Live", description="Follow the targets")
    tracking: BoolProperty(
        name="Trackers", description="The targets are trackers that move a whole body"
    )
    tracker_note: StringProperty(name="Trackers")
    targets: CollectionProperty(type=AmbuloTarget)
    free_joints: EnumProperty(
        name="Free joints",
        description="Where joints that no target leads have their pose from",
        items=(
            ("NETWORK", "Network", "From the network, as people move"),
            ("BASE", "Base pose", "From the action, or the pose when Apply began"),
        ),
    )
    problem: StringProperty(name="Problem")


class AmbuloReportLine(bpy.types.PropertyGroup):
    """One line of the last report; its `name` is the text."""

    state: EnumProperty(
        items=(("PASS", "Pass", ""), ("FAIL", "Fail", ""), ("INFO", "Info", ""))
    )


class AmbuloScene(bpy.types.PropertyGroup):
    """Properties of a scene."""

    weights: StringProperty(
        name="Weights",
        description="Network in use; empty: the solver without a network",
        subtype="FILE_PATH",
    )
    tracker_model: StringProperty(
        name="Model",
        description="Model file of a body tracker; empty: the one that came along",
        subtype="FILE_PATH",
    )
    frame_step: IntProperty(
        name="Every", description="Take every n-th frame", default=1, min=1, max=1000
    )
    report: CollectionProperty(type=AmbuloReportLine)


CLASSES = (AmbuloTarget, AmbuloArmature, AmbuloReportLine, AmbuloScene)


def register() -> None:
    """Register the classes and attach them to objects and scenes."""
    for cls in CLASSES:
        bpy.utils.register_class(cls)
    bpy.types.Object.ambulo_ik = PointerProperty(type=AmbuloArmature)
    bpy.types.Scene.ambulo_ik = PointerProperty(type=AmbuloScene)


def unregister() -> None:
    """Undo `register`."""
    del bpy.types.Scene.ambulo_ik
    del bpy.types.Object.ambulo_ik
    for cls in reversed(CLASSES):
        bpy.utils.unregister_class(cls)


def targets_of(armature: bpy.types.Object) -> list[AmbuloTarget]:
    """The six targets of `armature` in the order of TARGETS; created if missing."""
    rows = armature.ambulo_ik.targets
    if [row.name for row in rows] != list(TARGETS):
        rows.clear()
        for name in TARGETS:
            rows.add().name = name
    return list(rows)
