"""The panel "Ambulo IK" in the sidebar of the 3D view."""

from __future__ import annotations

import math

from bpy.types import Context, Panel, UILayout

from .binding import BindingError
from .operators_common import chosen_armature
from .session import SESSION


class AMBULO_PT_ik(Panel):
    """Everything in one place, in the order of use"""

    bl_idname = "AMBULO_PT_ik"
    bl_label = "Ambulo IK"
    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = "Ambulo IK"

    def draw(self, context: Context) -> None:
        """Draw the buttons and the last report."""
        layout = self.layout
        layout.operator("ambulo_ik.add_rig", icon="OUTLINER_OB_ARMATURE")
        _draw_data(layout.box(), context)
        _draw_network(layout.box(), context)
        _draw_targets(layout.box(), context)
        _draw_trackers(layout.box(), context)
        _draw_report(layout, context)


def _draw_data(box: UILayout, context: Context) -> None:
    box.label(text="Data", icon="ACTION")
    row = box.row(align=True)
    row.operator("ambulo_ik.extract_data")
    row.prop(context.scene.ambulo_ik, "frame_step")
    row = box.row(align=True)
    row.operator("ambulo_ik.save_data", icon="FILE_TICK")
    row.operator("ambulo_ik.load_data", icon="FILE_FOLDER")
    box.operator("ambulo_ik.key_data", icon="KEYINGSET")
    box.label(text="nothing in memory" if SESSION.data is None else SESSION.data.text)


def _draw_network(box: UILayout, context: Context) -> None:
    box.label(text="Network", icon="NODETREE")
    row = box.row(align=True)
    row.operator("ambulo_ik.load_weights", icon="FILE_FOLDER")
    row.operator("ambulo_ik.load_weights", icon="PACKAGE", text="").shipped = True
    row.operator("ambulo_ik.reset_weights", icon="LOOP_BACK")
    weights = context.scene.ambulo_ik.weights
    used = weights if SESSION.network is not None else "none: the solver alone"
    box.label(text=f"in use: {used}")
    row = box.row(align=True)
    row.operator("ambulo_ik.run_tests", icon="CHECKMARK")
    row.operator("ambulo_ik.validate_fk", icon="ARMATURE_DATA")


def _draw_targets(box: UILayout, context: Context) -> None:
    box.label(text="Targets", icon="EMPTY_ARROWS")
    try:
        armature = chosen_armature(context)
    except BindingError as error:
        box.label(text=str(error), icon="INFO")
        return
    settings = armature.ambulo_ik
    row = box.row(align=True)
    solving = settings.live and not settings.tracking
    row.operator("ambulo_ik.apply", icon="CON_KINEMATIC", depress=solving)
    row.operator("ambulo_ik.stop", icon="PAUSE", text="")
    if SESSION.network is not None:
        box.prop(settings, "free_joints")
    box.operator("ambulo_ik.targets_to_bones", icon="SNAP_ON")
    box.operator("ambulo_ik.bake", icon="REC")
    if settings.problem:
        box.label(text=settings.problem, icon="ERROR")
    for target in settings.targets:
        line = box.row(align=True)
        line.label(text=target.name, icon="CHECKMARK" if target.reached else "CANCEL")
        line.prop(target, "position_weight", text="")
        line.prop(target, "rotation_weight", text="")
        if settings.live and not target.reached:
            box.label(
                text=f"{1000.0 * target.position_error:.0f} mm, "
                f"{math.degrees(target.rotation_error):.1f} deg away"
            )


def _draw_trackers(box: UILayout, context: Context) -> None:
    box.label(text="Trackers", icon="CON_TRACKTO")
    box.operator("ambulo_ik.play_trackers", icon="IMPORT")
    try:
        settings = chosen_armature(context).ambulo_ik
    except BindingError:
        return
    tracking = settings.live and settings.tracking
    box.operator("ambulo_ik.follow_trackers", icon="PLAY", depress=tracking)
    box.prop(context.scene.ambulo_ik, "tracker_model")
    if tracking and settings.tracker_note:
        box.label(text=settings.tracker_note, icon="INFO")


def _draw_report(layout: UILayout, context: Context) -> None:
    icons = {"PASS": "CHECKMARK", "FAIL": "ERROR", "INFO": "DOT"}
    for line in context.scene.ambulo_ik.report:
        layout.label(text=line.name, icon=icons[line.state])


CLASSES = (AMBULO_PT_ik,)
