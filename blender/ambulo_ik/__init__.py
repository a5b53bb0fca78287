"""Ambulo IK for Blender: full-body poses from a few targets, on any 23-bone armature.

The front of the add-on: it registers classes and handlers. The mathematics is the
`ambulo` package, which comes along as a wheel (see `blender_manifest.toml`).
"""

from __future__ import annotations

import bpy

from . import (
    compile_ahead,
    live,
    operators_data,
    operators_network,
    operators_rig,
    operators_trackers,
    panel,
    properties,
)

_WITH_CLASSES = (
    operators_rig,
    operators_data,
    operators_network,
    operators_trackers,
    panel,
)


def register() -> None:
    """Register all classes and handlers."""
    properties.register()
    for module in _WITH_CLASSES:
        for cls in module.CLASSES:
            bpy.utils.register_class(cls)
    live.register()
    if not bpy.app.background:
        compile_ahead.start()


def unregister() -> None:
    """Undo `register`, in reverse."""
    live.unregister()
    for module in reversed(_WITH_CLASSES):
        for cls in reversed(module.CLASSES):
            bpy.utils.unregister_class(cls)
    properties.unregister()
