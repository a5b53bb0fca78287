"""Measure a tick of the add-on inside Blender: one hand moved at random, 300 times.

.venv-blender/bin/python blender/measure.py
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import bpy
import numpy as np
from mathutils import Vector

from ambulo.ik.pose import start_pose

sys.path.insert(0, str(Path(__file__).resolve().parent))

import ambulo_ik
from ambulo_ik import live
from ambulo_ik.binding import write_pose
from ambulo_ik.empties import read_targets
from ambulo_ik.session import base_of, bound_to, paused, solve

TICKS = 300
REACH = 0.15
"""Largest displacement of the hand along each axis, [m]."""


def main() -> int:
    """Print medians and 99th percentiles, and the errors of the hand."""
    ambulo_ik.register()
    try:
        measure()
    finally:
        # Python functions left in Blender's handlers keep it from exiting.
        ambulo_ik.unregister()
    return 0


def measure() -> None:
    """The whole measurement, on the Ambulo rig in its starting pose, without a network."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.ops.ambulo_ik.add_rig()
    armature, view_layer = bpy.context.object, bpy.context.view_layer
    bound = bound_to(armature)
    write_pose(armature, bound.binding, start_pose(bound.binding.rig))
    view_layer.update()
    bpy.ops.ambulo_ik.apply()
    row = armature.ambulo_ik.targets["LeftHand"]
    home, rng = row.empty.location.copy(), np.random.default_rng(0)
    times: dict[str, list[float]] = {"tick": [], "of that solve": [], "update": []}
    gaps, reached = [], []
    for _ in range(TICKS):
        row.empty.location = home + Vector(rng.uniform(-REACH, REACH, 3))
        with paused():
            view_layer.update()
        start = time.perf_counter()
        live.tick(armature)
        times["tick"].append(time.perf_counter() - start)
        start = time.perf_counter()
        with paused():
            view_layer.update()
        times["update"].append(time.perf_counter() - start)
        bound = bound_to(armature)
        targets, base = read_targets(armature, bound.binding), base_of(armature, bound)
        start = time.perf_counter()
        solve(bound, targets, base)
        times["of that solve"].append(time.perf_counter() - start)
        hand = armature.matrix_world @ armature.pose.bones["LeftHand"].matrix
        away = hand.translation - row.empty.matrix_world.translation
        gaps.append(away.length)
        reached.append(row.reached)
    for name, seconds in times.items():
        median, worst = 1e6 * np.percentile(seconds, [50, 99])
        print(f"{name}: median {median:.0f} us, 99 % {worst:.0f} us")
    near = np.array(gaps)[np.array(reached)]
    print(
        f"reached {100.0 * len(near) / TICKS:.1f} % (the others lie beyond the arm), "
        f"largest gap of these {1000.0 * near.max():.2f} mm"
    )


if __name__ == "__main__":
    sys.exit(main())
