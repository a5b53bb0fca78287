"""`ambulo doctor` on this machine, and on one where things are missing."""

from __future__ import annotations

import json
import sys
from importlib import metadata
from pathlib import Path

import pytest

import ambulo
from ambulo import cli
from ambulo.commands import doctor
from ambulo.commands.machine import engines, packages
from ambulo.common.extras import PURPOSES
from ambulo.common.run_folder import installed_version

INSTALLED = installed_version("ambulo") is not None


@pytest.fixture(scope="module")
def diagnosis() -> doctor.Diagnosis:
    """The state of this machine."""
    return doctor.diagnose()


def test_json_holds_versions_engines_and_caches(
    diagnosis: doctor.Diagnosis,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(doctor, "diagnose", lambda: diagnosis)
    assert cli.main(["doctor", "--json"]) == (0 if INSTALLED else doctor.BROKEN)
    data = json.loads(capsys.readouterr().out)
    assert data["ambulo"]["version"] == ambulo.__version__
    assert data["python"]["executable"] == sys.executable
    assert [extra["name"] for extra in data["extras"]] == list(PURPOSES)
    assert [engine["name"] for engine in data["engines"]] == [
        "System", "Godot", "Blender", "Node.js", "Ray", "OpenGL", "GPU",
    ]  # fmt: skip
    for package in data["required"]:
        assert package["version"] == metadata.version(package["name"])
    assert all(cache["bytes"] >= 0 for cache in data["caches"])


def test_text_names_every_part(
    diagnosis: doctor.Diagnosis,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(doctor, "diagnose", lambda: diagnosis)
    cli.main(["doctor"])
    text = capsys.readouterr().out
    for word in ("Packages", "Engines and devices", "Models", "Caches", "Godot", "GPU"):
        assert word in text


def test_faults_say_what_they_are_for() -> None:
    rows = packages.required_packages(
        ["numpy>=900", "ray>=2", "no-such-thing>=1; extra == 'tune'"]
    )
    found = doctor.Diagnosis(
        required=tuple(row for row in rows if row.extra is None),
        extras=tuple(packages.extras(rows)),
        engines=(engines.Engine("Godot", False, "no engine", "playing"),),
        caches=(), models=(), missing_models=("track",), installed=True,
    )  # fmt: skip
    text = "\n".join(doctor.report(found))
    assert not found.healthy
    assert f"numpy (version {metadata.version('numpy')}, needs >=900)" in text
    assert "no-such-thing (not installed)" in text
    assert PURPOSES["tune"] in text
    assert "pip install 'ambulo[tune]'" in text
    assert "needed for: playing" in text
    assert "ambulo-models" in text


def test_a_folder_that_is_not_installed_is_not_healthy(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(packages, "DISTRIBUTION", "ambulo-that-is-not-installed")
    monkeypatch.setattr(doctor, "engines", lambda: [])
    assert cli.main(["doctor"]) == doctor.BROKEN
    assert "pip install -e ." in capsys.readouterr().out


def test_engines_are_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "blender"
    program.write_text("#!/bin/sh\necho Blender 4.2.3 LTS\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert engines.blender().detail == f"Blender 4.2.3 LTS at {program}"
    monkeypatch.setenv("GODOT_BIN", str(program))
    refused = engines.godot()
    assert not refused.found
    assert "Blender 4.2.3" in refused.detail
    assert not engines.gpu().found
    assert engines.node().detail == "no program node"
    monkeypatch.setattr("platform.system", lambda: "Windows")
    assert not engines.system().found
    monkeypatch.setattr("platform.system", lambda: "Linux")
    assert engines.system().found
    monkeypatch.setenv("MUJOCO_GL", "disable")
    assert "MUJOCO_GL" in engines.opengl().detail
