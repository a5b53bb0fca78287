"""Scenes that `ambulo levels import` refuses: one line that names the node and the rule."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ambulo.cli import main

SCENES = Path(__file__).parent / "scenes"
HEAD = """[gd_scene load_steps=5 format=3]
{script}[sub_resource type="BoxShape3D" id="floor"]
size = Vector3(12, 1, 12)
[sub_resource type="BoxShape3D" id="box"]
[node name="Main" type="Node3D"]
"""
FLOOR = """[node name="Floor" type="StaticBody3D" parent="."]
transform = Transform3D(1, 0, 0, 0, 1, 0, 0, 0, 1, 0, -0.5, 0)
[node name="Shape" type="CollisionShape3D" parent="Floor"]
shape = SubResource("floor")
"""
PLACE = "1, 0, 0, 0, 1, 0, 0, 0, 1, {}"


def body(name: str, transform: str, parent: str = ".") -> str:
    """A box of 1 m."""
    below = name if parent == "." else f"{parent}/{name}"
    return (
        f'[node name="{name}" type="StaticBody3D" parent="{parent}"]\n'
        f"transform = Transform3D({transform})\n"
        f'[node name="Shape" type="CollisionShape3D" parent="{below}"]\n'
        'shape = SubResource("box")\n'
    )


def marker(name: str, where: str) -> str:
    """A marker without a group."""
    return (
        f'[node name="{name}" type="Marker3D" parent="."]\n'
        f"transform = Transform3D({PLACE.format(where)})\n"
    )


def instance(name: str) -> str:
    """A scene that holds another."""
    return (
        "[gd_scene load_steps=2 format=3]\n"
        f'[ext_resource type="PackedScene" path="res://{name}.tscn" id="1"]\n'
        '[node name="Main" type="Node3D"]\n'
        '[node name="Part" parent="." instance=ExtResource("1")]\n'
    )


TURNED = "0.8, 0, 0.6, 0, 1, 0, -0.6, 0, 0.8, 0, 0, 0"
WIDE = "3, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0"
BAD: dict[str, tuple[str, str]] = {
    "no_floor": (
        HEAD + '[node name="Picture" type="MeshInstance3D" parent="."]\n',
        "no floor: no collision shape has a face to stand on (1 meshes are only seen)",
    ),
    "not_finite": (
        HEAD + FLOOR + body("Lost", PLACE.format("nan, 0, 0")),
        "node Main/Lost/Shape: its transform is not finite",
    ),
    "no_scale": (
        HEAD + FLOOR + body("Flat", "1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0"),
        "node Main/Flat/Shape: its scale is zero",
    ),
    "sheared": (
        HEAD
        + FLOOR
        + f'[node name="Wide" type="Node3D" parent="."]\ntransform = Transform3D({WIDE})\n'
        + body("Turned", TURNED, "Wide"),
        "node Main/Wide/Turned/Shape: it is sheared",
    ),
    "start_in_rock": (
        HEAD
        + FLOOR
        + body("Rock", PLACE.format("0, 0.5, 0"))
        + marker("AmbuloStart", "0, 0, 0"),
        "node Main/AmbuloStart: inside an obstacle",
    ),
    "goal_in_csg": (
        HEAD
        + FLOOR
        + '[node name="Hall" type="CSGBox3D" parent="."]\nuse_collision = true\n'
        + "size = Vector3(4, 6, 4)\n"
        + marker("AmbuloGoal", "0, 0, 0"),
        "node Main/AmbuloGoal: inside an obstacle",
    ),
    "infinite": (
        HEAD + FLOOR + body("Lost", PLACE.format("0, inf, 0")),
        "node Main/Lost/Shape: its transform is not finite",
    ),
    "goal_in_the_air": (
        HEAD + FLOOR + marker("AmbuloGoal2", "0, 9, 0"),
        "node Main/AmbuloGoal2: no floor within 3 m below it",
    ),
    "goal_outside": (
        HEAD + FLOOR + marker("AmbuloGoal", "9, 0, 0"),
        "node Main/AmbuloGoal: out of the level's bounds",
    ),
    "too_large": (
        HEAD + FLOOR + body("Moon", PLACE.format("3000, 0, 3000")),
        "put a box named AmbuloBounds around the area to be played",
    ),
    "in_itself": (instance("in_itself"), "cannot be loaded: res://in_itself.tscn:"),
    "there": (instance("back"), "cannot be loaded: res://back.tscn:"),
    "back": (instance("there"), "cannot be loaded: res://there.tscn:"),
    "incomplete": (instance("nowhere"), "cannot be loaded: Cannot open file"),
    "lost_node": (
        HEAD + FLOOR.replace('parent="Floor"', 'parent="Flo"'),
        "cannot be loaded: Parent path './Flo' for node 'Shape' has vanished",
    ),
    "no_tiles": (
        HEAD.format(
            script='[ext_resource type="MeshLibrary" path="res://no_tiles.tres" id="1"]\n'
        )
        + FLOOR
        + '[node name="Tiles" type="GridMap" parent="."]\n'
        'mesh_library = ExtResource("1")\n',
        "referenced non-existent resource at: res://no_tiles.tres",
    ),
    "no_scene": ("hello\n", "cannot be loaded: res://no_scene.tscn:1 - Parse Error"),
}
FAILING: dict[str, tuple[str, str]] = {
    "fails": (
        "func _ready() -> void:\n\tvar nothing: Node = null\n\tnothing.free()\n",
        "node Main/Brain: a script fails: ",
    ),
    "blocks": (
        "func _ready() -> void:\n\twhile true:\n\t\tpass\n",
        "node Main/Brain: its script is not ready within 5 s",
    ),
    "quits": (
        "func _ready() -> void:\n\tget_tree().quit()\n",
        "the scene ended the engine",
    ),
    "leaves": (
        "func _ready() -> void:\n\tget_parent().queue_free()\n",
        "its own scripts closed it",
    ),
    "pauses_and_fails": (
        "func _ready() -> void:\n\tget_tree().paused = true\n"
        "\tvar nothing: Node = null\n\tnothing.free()\n",
        "node Main/Brain: a script fails: ",
    ),
    "makes_a_million": (
        "func _ready() -> void:\n\tvar made := StaticBody3D.new()\n"
        '\tmade.name = "Many"\n\tvar shape := BoxShape3D.new()\n'
        "\tvar owner_id := made.create_shape_owner(made)\n"
        "\tfor k in 1_000_000:\n\t\tmade.shape_owner_add_shape(owner_id, shape)\n"
        "\tadd_child(made)\n",
        "node Main/Brain/Many: the scene has more than 100000 shapes",
    ),
    "is_wrong": ("func _ready( -> void:\n\tpass\n", "a script fails: Parse Error"),
}


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
    import_scene, game, tmp_path, name
) -> None:
    for scene, (text, _) in BAD.items():
        (game / f"{scene}.tscn").write_text(text.format(script=""))
    said = refused(
        import_scene(f"res://{name}.tscn", tmp_path / "a.json"), tmp_path / "a.json"
    )
    assert BAD[name][1] in said
    assert f"{name}.tscn: " in said


@pytest.mark.parametrize("name", FAILING)
def test_scripts_that_fail_are_named(import_scene, game, tmp_path, name) -> None:
    script, rule = FAILING[name]
    longest = "60" if name == "makes_a_million" else "5"
    (game / f"{name}.gd").write_text(f"extends Node\n{script}")
    used = f'[ext_resource type="Script" path="res://{name}.gd" id="1"]\n'
    brain = '[node name="Brain" type="Node" parent="."]\nscript = ExtResource("1")\n'
    (game / f"{name}.tscn").write_text(HEAD.format(script=used) + FLOOR + brain)
    try:
        result = import_scene(
            f"res://{name}.tscn", tmp_path / "a.json", "--timeout", longest
        )
        assert rule in refused(result, tmp_path / "a.json")
        if name == "fails":
            more = (tmp_path / "a.json", "--ignore-script-errors")
            assert import_scene(f"res://{name}.tscn", *more)[0] == 0
    finally:
        (game / f"{name}.gd").unlink()


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
