"""Scenes that `ambulo levels import` refuses: one line that names the node and the rule."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from fixtures.refused_scenes import BAD

from ambulo.cli import main

SCENES = Path(__file__).parent / "scenes"


def refused(result: tuple[int, str, str], out: Path) -> str:
    """The one line of errors of an import that failed."""
    code, _, errors = result
    assert code == 2, errors
    assert not out.exists()
    assert errors.startswith("ambulo: error: ")
    assert errors.count("\n") == 1
    return errors


@pytest.mark.parametrize("name", BAD)
def test_bad_scenes_are_one_line_that_names_the_node(
    import_scene, tmp_path, name
) -> None:
    scene, out = f"res://{name}.tscn", tmp_path / "a.json"
    longest = "5" if name == "blocks" else "60"
    said = refused(import_scene(scene, out, "--timeout", longest), out)
    assert BAD[name] in said
    assert f"{name}.tscn: " in said
    if name == "fails":
        assert import_scene(scene, out, "--ignore-script-errors")[0] == 0


@pytest.mark.parametrize(
    ("scene", "rule"),
    [
        ("res://nowhere.tscn", "no such scene in"),
        ("res://../probe.tscn", "out of the project"),
        ("res://tiles.tres", "no scene (a file that ends in .tscn"),
    ],
)
def test_wrong_names(import_scene, tmp_path, scene, rule) -> None:
    assert rule in refused(
        import_scene(scene, tmp_path / "a.json"), tmp_path / "a.json"
    )


def test_without_a_project(tmp_path, capsys, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy(SCENES / "hall.tscn", tmp_path)
    assert main(["levels", "import", "hall.tscn", "--out", "a.json"]) == 2
    assert "no project.godot in" in capsys.readouterr().err
