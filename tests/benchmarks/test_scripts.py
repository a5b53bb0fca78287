"""Every script of benchmarks/ proves a claim of the docs and runs; those of tools/ run."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import imageio.v3 as iio
import numpy as np
import pytest
from fixtures.motion import cmu  # noqa: F401
from fixtures.own_bodies import humanoid_xml

ROOT = Path(__file__).parents[2]
BENCHMARKS = sorted((ROOT / "benchmarks").glob("[!_]*.py"))
TOOLS = sorted((ROOT / "tools").glob("*.py"))

GODOT = {"world_parity", "soak", "godot_speed", "godot_agents", "godot_character",
         "godot_navigator", "scene_import"}  # fmt: skip
"""Scripts that start the Godot engine."""
MOCAP = {
    "ik_accuracy", "ik_latency", "motion_files", "motion_retarget",
    "motion_streaming", "rig_server", "cmu_activities",
    "make_healthy_walk", "track_body",
}  # fmt: skip
"""Scripts that need captured motion."""
EXTRAS = {"viewer": "viser"}
"""Scripts that need a package that the developers' set-up does not have."""
DRAWING = {"make_films"}
"""Scripts that need OpenGL."""
SKIPPED = dict.fromkeys(
    ("godot_character",),
    "needs an engine with OpenGL; docs/godot.md says how",
)

Arguments = Callable[[Path, Path], list[object]]


def walk_clip(data: Path) -> Path:
    return data / "asfamc" / "02" / "02_01.amc"


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
    "track_body": lambda data, out: [
        walk_clip(data), "--quick", "--agent", "walk_commands",
    ],
    "cmu_activities": lambda data, out: [
        data / "CMU-INDEX.md", "--out", out / "activities.json",
    ],
    "make_films": lambda data, out: ["Stand", "--seconds", 0.4, "--out", out],
    "make_ik_films": lambda data, out: ["crouch", "--out", out],
    "make_healthy_walk": lambda data, out: [walk_clip(data), out / "walk.json"],
    "make_overview": lambda data, out: [
        "--films", films(out), "--out", out / "overview.gif",
    ],
}  # fmt: skip
"""Arguments of the scripts that need others than `--quick`."""


def named_scripts() -> dict[str, list[str]]:
    """Benchmarks that pages name, and the pages."""
    found: dict[str, list[str]] = {}
    for page in [*(ROOT / "docs").glob("*.md"), *(ROOT / "models").glob("*/README.md")]:
        for name in re.findall(r"benchmarks/(\w+)\.py", page.read_text("utf-8")):
            found.setdefault(name, []).append(str(page.relative_to(ROOT)))
    return found


def test_every_benchmark_proves_a_claim_and_every_claim_has_its_script() -> None:
    assert sorted(named_scripts()) == [script.stem for script in BENCHMARKS]


def module_of(script: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module of a script, which may import its neighbours."""
    monkeypatch.syspath_prepend(str(script.parent))
    name = f"imported_{script.stem}"
    spec = importlib.util.spec_from_file_location(name, script)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, name, module)  # dataclasses look it up
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("script", [*BENCHMARKS, *TOOLS], ids=lambda path: path.stem)
def test_script_imports(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names that a script imports exist; seconds, where running all takes minutes."""
    if script.stem in EXTRAS:
        pytest.importorskip(EXTRAS[script.stem])
    module = module_of(script, monkeypatch)
    assert module.__doc__
    if script in TOOLS:
        assert callable(module.main)
        return
    assert f"python benchmarks/{script.name}" in module.__doc__
    harness = module_of(script.parent / "_harness.py", monkeypatch)
    parser = harness.options_of(module.measure, module.__doc__)
    assert {"--json", "--quick"} < set(parser._option_string_actions)


def test_a_missed_target_is_counted(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    judge = module_of(ROOT / "benchmarks" / "_harness.py", monkeypatch).judge
    rows = {"a": {"ms": 1.0}, "b": {"ms": 3.0}, "c": {"ms": float("nan")}}
    assert judge({"rows": rows}, [("rows.a.ms", "<=", 2.0)]) == 0
    assert judge({"rows": rows}, [("rows.*.ms", "<=", 2.0)]) == 2
    assert judge({"rows": rows}, [("rows.*.ms", ">=", 3.0)]) == 2
    assert judge({"rows": rows}, [("rows.*.gone", "<=", 2.0)]) == 3
    assert "MISSED rows, b, ms: 3 (<= 2)" in capsys.readouterr().out


def run(script: Path, request: pytest.FixtureRequest, out: Path, *more: object) -> None:
    if script.stem in SKIPPED:
        pytest.skip(SKIPPED[script.stem])
    if script.stem in EXTRAS:
        pytest.importorskip(EXTRAS[script.stem])
    if script.stem in DRAWING:
        request.getfixturevalue("gl")
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
