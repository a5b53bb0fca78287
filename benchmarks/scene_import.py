"""Seconds of `ambulo levels import` by stage, for a scene of mixed shapes.

A scene of boxes, cylinders, convex rocks and CSG is written in the editor's own format,
imported by the command as a user would, and then stage by stage: start of Python and of
the engine, the scene itself, geometry, checks, and the file.

    python benchmarks/scene_import.py
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from _harness import run

from ambulo.envs.godot.locate import find_engine, import_project
from ambulo.envs.godot.scene_export import Scene, export_scene
from ambulo.envs.vr.levels.importing.convert import converted
from ambulo.envs.vr.levels.importing.raw import read_scene
from ambulo.envs.vr.levels.level_io import save_level

_PROJECT = """config_version=5

[application]

config/name="Many shapes"

[physics]

3d/physics_engine="Jolt Physics"
"""
_EMPTY = '[gd_scene format=3]\n\n[node name="Main" type="Node3D"]\n'
_HEAD = """[gd_scene format=3]

[sub_resource type="BoxShape3D" id="box"]
size = Vector3(0.6, 1, 0.4)

[sub_resource type="CylinderShape3D" id="cylinder"]
height = 1.2
radius = 0.2

[sub_resource type="ConvexPolygonShape3D" id="convex"]
points = PackedVector3Array({rock})

[sub_resource type="BoxShape3D" id="floor"]
size = Vector3({side}, 0.2, {side})

[node name="Main" type="Node3D"]

[node name="Floor" type="StaticBody3D" parent="."]
transform = Transform3D(1, 0, 0, 0, 1, 0, 0, 0, 1, 0, -0.1, 0)

[node name="Shape" type="CollisionShape3D" parent="Floor"]
shape = SubResource("floor")
"""
_KINDS = ("box", "cylinder", "convex", "csg")


def scene_text(shapes: int, csg: float, seed: int = 0) -> str:
    """A scene of `shapes` turned shapes besides its floor; `csg` is the fraction of CSG."""
    rng = np.random.default_rng(seed)
    side = 1.2 * np.sqrt(shapes) + 4.0
    rock = rng.normal(size=(16, 3))
    rock *= 0.4 / np.linalg.norm(rock, axis=1, keepdims=True)
    parts = [
        _HEAD.format(
            rock=", ".join(f"{x:.4g}" for x in rock.ravel()), side=f"{side:.4g}"
        )
    ]
    rest = (1.0 - csg) / 3.0
    kinds = rng.choice(_KINDS, shapes, p=[rest, rest, rest, csg])
    columns = int(np.ceil(np.sqrt(shapes)))
    for k, kind in enumerate(kinds):
        angle = rng.uniform(-np.pi, np.pi)
        c, s = np.cos(angle), np.sin(angle)
        x, z = (1.2 * (i - columns / 2) for i in divmod(k, columns))
        pose = (
            f"{c:.6g}, 0, {s:.6g}, 0, 1, 0, {-s:.6g}, 0, {c:.6g}, {x:.6g}, 0.5, {z:.6g}"
        )
        if kind == "csg":
            parts.append(
                f'[node name="N{k}" type="CSGBox3D" parent="."]\n'
                f"transform = Transform3D({pose})\n"
                "use_collision = true\nsize = Vector3(0.6, 1, 0.4)\n"
            )
            continue
        parts.append(
            f'[node name="N{k}" type="StaticBody3D" parent="."]\n'
            f"transform = Transform3D({pose})\n\n"
            f'[node name="Shape" type="CollisionShape3D" parent="N{k}"]\n'
            f'shape = SubResource("{kind}")\n'
        )
    return "\n".join(parts)


def clocks() -> tuple[float, float]:
    """Wall clock and CPU time of this process and of its children that have ended, [s]."""
    return time.perf_counter(), sum(os.times()[:4])


def stages(project: Path, scene: str, engine: Path) -> dict[str, tuple[float, float]]:
    """Wall and CPU seconds of each stage; this process has its modules loaded."""
    spent: dict[str, tuple[float, float]] = {}
    raw, out = project / "raw.json", project / "level.json"

    def clock(name: str, begin: tuple[float, float]) -> tuple[float, float]:
        now = clocks()
        spent[name] = now[0] - begin[0], now[1] - begin[1]
        return now

    at = clocks()
    subprocess.run(
        [engine, "--headless", "--path", project, "--quit", "res://empty.tscn"],
        check=True,
        capture_output=True,
    )
    at = clock("engine that opens nothing", at)
    export_scene(Scene(project, f"res://{scene}.tscn"), raw, engine=str(engine))
    at = clock("engine with the scene", at)
    found = read_scene(raw)
    at = clock("raw geometry read", at)
    level = converted(found, scene).level
    at = clock("converted and checked", at)
    save_level(level, out, compact=True)
    clock("level written", at)
    return spent


def command(project: Path, scene: str, engine: Path) -> tuple[float, float]:
    """Wall and CPU seconds of the whole command, as in a shell."""
    code = "import sys; from ambulo.cli import main; sys.exit(main())"
    words = [
        "levels", "import", f"res://{scene}.tscn", "--project", str(project),
        "--out", str(project / "whole.json"), "--force", "--godot-bin", str(engine),
    ]  # fmt: skip
    begin = clocks()
    done = subprocess.run(
        [sys.executable, "-c", code, *words],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    end = clocks()
    return end[0] - begin[0], end[1] - begin[1]


def measure(shapes: int = 5000, csg: float = 0.1, rounds: int = 3) -> dict[str, Any]:
    """Wall and CPU seconds of each stage of a scene of `shapes`, a part `csg` of them CSG."""
    engine = find_engine()
    with tempfile.TemporaryDirectory(prefix="scene_import_") as folder:
        project = Path(folder)
        (project / "project.godot").write_text(_PROJECT)
        (project / "empty.tscn").write_text(_EMPTY)
        (project / "many.tscn").write_text(scene_text(shapes, csg))
        import_project(engine, project)
        whole = [command(project, "many", engine) for _ in range(rounds)]
        parts = [stages(project, "many", engine) for _ in range(rounds)]
    every = {n: [part[n] for part in parts] for n in parts[0]} | {"command": whole}
    rows = {
        name: dict(
            zip(("wall_s", "cpu_s"), np.min(times, axis=0).tolist(), strict=True)
        )
        for name, times in every.items()
    }
    return {"rows": rows}


if __name__ == "__main__":
    run(measure, {"shapes": 40, "rounds": 1}, [("rows.command.wall_s", "<=", 5.0)])
