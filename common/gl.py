"""Import of MuJoCo without OpenGL: a broken MUJOCO_GL only disables pictures."""

from __future__ import annotations

import importlib
import os
import sys

VARIABLE = "MUJOCO_GL"


def import_mujoco() -> None:
    """Import MuJoCo; if MUJOCO_GL names a broken back end, warn and import without OpenGL.

    MuJoCo loads the back end that MUJOCO_GL names when it is imported, and an unknown or
    missing one makes the whole import fail.
    """
    asked = os.environ.get(VARIABLE)
    if not asked or "mujoco" in sys.modules:
        return
    try:
        importlib.import_module("mujoco")
    except Exception as error:  # any error of the OpenGL binding
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        os.environ[VARIABLE] = "disable"
        importlib.import_module("mujoco")
        print(
            f"ambulo: warning: {VARIABLE}={asked} cannot be used ({reason}); "
            "continuing without OpenGL",
            file=sys.stderr,
        )
