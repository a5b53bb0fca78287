"""The zip: it holds what it says, and Blender installs it from nothing."""

from __future__ import annotations

import ast
import importlib.util
import os
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

pytest.importorskip(
    "bpy", reason="no Blender here (the bpy wheel): run `make test-blender`"
)

ROOT = Path(__file__).resolve().parents[2]
EXTENSION = ROOT / "blender" / "ambulo_ik"


@pytest.fixture(scope="module")
def build():
    spec = importlib.util.spec_from_file_location(
        "blender_build", ROOT / "blender" / "build.py"
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_manifest_is_what_blender_asks_for():
    manifest = tomllib.loads((EXTENSION / "blender_manifest.toml").read_text("utf-8"))
    assert manifest["schema_version"] == "1.0.0"
    assert manifest["id"] == EXTENSION.name
    assert manifest["type"] == "add-on"
    assert manifest["blender_version_min"] == "4.2.0"
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert manifest["version"] == project["version"]
    assert len(manifest["tagline"]) <= 64


def test_wheel_has_only_what_blender_uses(build, tmp_path):
    with zipfile.ZipFile(build.own_wheel(tmp_path)) as wheel:
        names = wheel.namelist()
        record = wheel.read(next(n for n in names if n.endswith("/RECORD"))).decode()
    assert "ambulo/ik/solver/solver.py" in names
    assert "ambulo/configs/rigs/ik23.json" in names
    assert not any(name.startswith(("ambulo/train", "ambulo/envs")) for name in names)
    assert "ambulo/policies/agents/body_tracker.py" in names
    assert "ambulo/shipped/ik_trackers/ik_trackers.zip" in names
    assert sorted(line.split(",")[0] for line in record.splitlines()) == sorted(names)


def test_wheel_holds_whatever_its_modules_import(build, tmp_path):
    """All but what stands in functions, which Blender does not call."""
    with zipfile.ZipFile(build.own_wheel(tmp_path)) as wheel:
        names = set(wheel.namelist())
        sources = {
            name: wheel.read(name).decode() for name in names if name.endswith(".py")
        }
    for name, text in sources.items():
        if not name.startswith("ambulo/policies"):
            continue
        for node in ast.parse(text).body:
            if not isinstance(node, ast.ImportFrom) or node.level:
                continue
            module = str(node.module)
            if module.startswith("ambulo."):
                place = module.replace(".", "/")
                found = {f"{place}.py", f"{place}/__init__.py"} & names
                assert found, (name, module)
            else:
                assert module.split(".", maxsplit=1)[0] != "torch", name


def test_nothing_outside_is_imported():
    """Every import of the extension is Blender's, ours, NumPy or of a bundled wheel."""
    allowed = {"ambulo", "bpy", "bpy_extras", "mathutils", "numpy", "__future__"}
    for source in EXTENSION.glob("*.py"):
        for node in ast.walk(ast.parse(source.read_text("utf-8"))):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                names = [node.module or ""]
            for name in names:
                top = name.split(".")[0]
                assert top in allowed or top in sys.stdlib_module_names, (source, name)


@pytest.mark.slow
def test_compiling_ahead_fills_the_cache(tmp_path, monkeypatch):
    from ambulo_ik import compile_ahead

    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    process = compile_ahead.start()
    assert process is not None
    assert process.wait(timeout=900) == 0
    assert list(tmp_path.rglob("solve_batch.solve_batch-*.nbi"))


@pytest.mark.slow
def test_blender_installs_the_zip(build, tmp_path):
    """In a Blender that has none of our packages: its own site-packages are hidden."""
    package = build.build(build.this_platform(), tmp_path)
    with zipfile.ZipFile(package) as archive:
        manifest = tomllib.loads(archive.read("blender_manifest.toml").decode())
        assert set(manifest["wheels"]) <= {f"./{n}" for n in archive.namelist()}
        assert manifest["platforms"] == [build.this_platform()]
    bare = tmp_path / "bare"
    _bare_blender(bare)
    script = tmp_path / "install.py"
    script.write_text(SCRIPT, encoding="utf-8")
    resources = tmp_path / "resources"
    resources.mkdir()
    environment = {
        **os.environ,
        "PYTHONPATH": str(bare),
        "BLENDER_USER_RESOURCES": str(resources),
        "PYTHONNOUSERSITE": "1",
    }
    # -S: without the site-packages (and the editable install) of this environment.
    done = subprocess.run(
        [sys.executable, "-S", str(script), str(package)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert "ALL DONE" in done.stdout, done.stdout[-3000:] + done.stderr[-3000:]


def _bare_blender(folder: Path) -> None:
    """A folder with links to bpy and what it needs itself, and nothing else."""
    folder.mkdir()
    for name in (
        "bpy", "numpy", "numpy.libs", "requests", "certifi", "idna", "urllib3",
        "charset_normalizer", "zstandard", "cython", "Cython",
    ):  # fmt: skip
        for place in map(Path, sys.path):
            if place.name == "site-packages" and (place / name).exists():
                (folder / name).symlink_to(place / name)


SCRIPT = """
import os, sys
import bpy
package, resources = sys.argv[1], os.environ["BLENDER_USER_RESOURCES"]
for name in ("ambulo", "numba", "scipy", "pydantic", "safetensors"):
    try:
        __import__(name)
    except ImportError:
        continue
    raise SystemExit(f"{name} was there before")
bpy.ops.preferences.addon_enable(module="bl_pkg")
bpy.ops.extensions.package_install_files(
    filepath=package, repo="user_default", enable_on_install=True
)
import ambulo.ik.solver.solver, numba, safetensors, scipy
for module in (ambulo.ik.solver.solver, numba, safetensors, scipy):
    assert module.__file__.startswith(resources), module.__file__
assert "torch" not in sys.modules
bpy.ops.ambulo_ik.add_rig()
bpy.ops.ambulo_ik.validate_fk()
assert {line.state for line in bpy.context.scene.ambulo_ik.report} == {"PASS"}
bpy.ops.ambulo_ik.apply()
armature = bpy.context.object
row = armature.ambulo_ik.targets["LeftFoot"]
row.empty.location.z += 0.2
bpy.context.view_layer.update()
foot = armature.matrix_world @ armature.pose.bones["LeftFoot"].matrix
assert (foot.translation - row.empty.matrix_world.translation).length < 1e-3
recording = os.path.join(resources, "walk.trackers")
row = ", ".join(
    f"[{x}, {y}, {z}, 0, 0, 0, 1]"
    for x, y, z in ((0, 0, 1.6), (0.1, 0.3, 0.9), (0.1, -0.3, 0.9))
)
with open(recording, "w") as file:
    names = '["Head", "LeftHand", "RightHand"]'
    file.write('{"format": "ambulo-trackers", "version": 1, "convention": "ambulo", ')
    file.write(f'"trackers": {names}}}\n')
    file.writelines(f"[{k / 60}, {row}]\n" for k in range(60))
assert bpy.ops.ambulo_ik.play_trackers(filepath=recording) == {"FINISHED"}
assert armature.animation_data.action.frame_range[1] > 20
assert bpy.ops.ambulo_ik.follow_trackers() == {"FINISHED"}
bpy.context.scene.frame_set(3)
assert armature.ambulo_ik.problem == "", armature.ambulo_ik.problem
assert "torch" not in sys.modules
bpy.ops.preferences.addon_disable(module="bl_ext.user_default.ambulo_ik")
print("ALL DONE", flush=True)
os._exit(0)
"""
