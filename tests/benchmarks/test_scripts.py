"""Every script of benchmarks/ and tools/ runs, at its smallest size."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import imageio.v3 as iio
import numpy as np
import pytest
from fixtures.own_bodies import humanoid_xml

from ambulo.configs.errors import RenderError
from ambulo.envs.offscreen import gl_backend

ROOT = Path(__file__).parents[2]
BENCHMARKS = sorted((ROOT / "benchmarks").glob("[!_]*.py"))
TOOLS = sorted((ROOT / "tools").glob("*.py"))

GODOT = {"godot_parity", "godot_soak", "godot_speed", "godot_beside_mujoco",
         "godot_character", "godot_navigator", "scene_import"}  # fmt: skip
"""Scripts that start the Godot engine."""
MOCAP = {
    "ik_accuracy", "ik_latency", "ik_workers", "motion_files", "motion_retarget",
    "motion_streaming", "rig_server", "cmu_activities",
    "make_healthy_walk", "track_body",
}  # fmt: skip
"""Scripts that need captured motion."""
EXTRAS = {"page_load": "playwright", "viewer": "viser", "watch_cost": "viser"}
"""Scripts that need a package that the developers' set-up does not have."""
DRAWING = {"make_films"}
"""Scripts that need OpenGL."""
SKIPPED = dict.fromkeys(
    ("godot_beside_mujoco", "godot_character"),
    "needs an engine with OpenGL; docs/godot.md says how",
)

Arguments = Callable[[Path, Path], list[object]]


def walk_clip(data: Path) -> Path:
    return data / "asfamc" / "02" / "02_01.amc"


def two_runs(folder: Path) -> str:
    """Run folders as trainings write them, with the columns that are compared."""
    names = []
    for seed in range(2):
        run = folder / f"run_{seed}"
        run.mkdir()
        rows = [f"{100 * i},{6 * i},{i},0.5" for i in (1, 2, 3)]
        head = "timesteps,seconds,rollout/ep_len_mean,reward/speed"
        (run / "metrics.csv").write_text("\n".join([head, *rows]) + "\n")
        scores = [{"timesteps": t, "survival_rate": 0.5} for t in (100, 300)]
        (run / "evaluations.json").write_text(json.dumps(scores))
        names.append(str(run))
    return f"no prior={names[0]},{names[1]}"


def films(folder: Path) -> Path:
    for name in ("vr", "walk", "muscle"):
        iio.imwrite(folder / f"{name}.mp4", np.zeros((16, 64, 64, 3), np.uint8), fps=8)
    return folder


def humanoid(folder: Path) -> Path:
    file = folder / "walker.xml"
    file.write_text(humanoid_xml())
    return file


ARGUMENTS: dict[str, Arguments] = {
    "own_bodies": lambda data, out: ["--quick", humanoid(out)],
    "watch_cost": lambda data, out: ["--rounds", 1, "--seconds", 2],
    "locomotion_prior": lambda data, out: ["--quick", two_runs(out)],
    "muscle_solver": lambda data, out: [
        "--steps", 2, "--heldout", 4, "--control-steps", 2, "--repetitions", 1,
    ],
    "track_body": lambda data, out: [
        walk_clip(data), "--quick", "--agent", "walk_commands",
    ],
    "spd_stability": lambda data, out: ["--seconds", 0.02],
    "cmu_activities": lambda data, out: [
        data / "CMU-INDEX.md", "--out", out / "activities.json",
    ],
    "make_films": lambda data, out: ["Stand", "--seconds", 0.4, "--out", out],
    "make_healthy_walk": lambda data, out: [walk_clip(data), out / "walk.json"],
    "make_overview": lambda data, out: [
        "--films", films(out), "--out", out / "overview.gif",
    ],
}  # fmt: skip
"""Arguments of the scripts that need others than `--quick`."""


@pytest.mark.parametrize("script", [*BENCHMARKS, *TOOLS], ids=lambda path: path.stem)
def test_script_imports(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names that a script imports exist; seconds, where running all takes minutes."""
    if script.stem in EXTRAS:
        pytest.importorskip(EXTRAS[script.stem])
    spec = importlib.util.spec_from_file_location(f"imported_{script.stem}", script)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)  # dataclasses look it up
    spec.loader.exec_module(module)
    assert callable(module.main)


def run(script: Path, request: pytest.FixtureRequest, out: Path, *more: object) -> None:
    if script.stem in SKIPPED:
        pytest.skip(SKIPPED[script.stem])
    if script.stem in EXTRAS:
        pytest.importorskip(EXTRAS[script.stem])
    if script.stem in DRAWING:
        try:
            gl_backend()
        except RenderError as error:
            pytest.skip(str(error))
    if script.stem in GODOT:
        request.getfixturevalue("godot_program")
    environment, data = dict(os.environ), out
    if script.stem in MOCAP:
        data = request.getfixturevalue("cmu")
        environment["AMBULO_DATA"] = str(data.parent)
    arguments = ARGUMENTS.get(script.stem, lambda data, out: ["--quick"])(data, out)
    done = subprocess.run(
        [sys.executable, str(script), *map(str, arguments), *map(str, more)],
        cwd=out, env=environment, capture_output=True, text=True, timeout=900, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-4000:]}"


@pytest.mark.slow
@pytest.mark.parametrize("script", BENCHMARKS, ids=lambda path: path.stem)
def test_benchmark_runs(
    script: Path, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    run(script, request, tmp_path, "--json", tmp_path / "numbers.json")
    assert json.loads((tmp_path / "numbers.json").read_text())


@pytest.mark.slow
@pytest.mark.parametrize(
    "script", [t for t in TOOLS if t.stem != "link_types"], ids=lambda path: path.stem
)
def test_tool_runs(
    script: Path, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    # `make lint` runs link_types; here it would remove the links under the test's feet.
    run(script, request, tmp_path)
    assert any(tmp_path.iterdir())
