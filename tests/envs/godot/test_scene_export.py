"""`ambulo levels import` in the real engine: scenes that know nothing of it, and bad ones."""

from __future__ import annotations

import hashlib
import json
import math
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from ambulo.cli import main
from ambulo.configs.vr import NavigationConfig
from ambulo.envs.godot.locate import find_project
from ambulo.envs.vr.geometry.solid_kernels import nearby, support
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.levels.level_io import load_levels
from ambulo.envs.vr.levels.solids import Solids
from ambulo.envs.vr.task.build import make_batch

SCENES = Path(__file__).parent / "scenes"
Import = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def game(program: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of a project that was never opened in an editor."""
    return Path(shutil.copytree(SCENES, tmp_path_factory.mktemp("own") / "game"))


@pytest.fixture
def run(game: Path, capsys: pytest.CaptureFixture[str]) -> Import:
    """Imports a scene of the game: exit code, standard output and errors."""

    def start(scene: str, out: Path, *more: str) -> tuple[int, str, str]:
        named = ["--project", str(game), "--out", str(out), *more]
        code = main(["levels", "import", scene, *named])
        return code, *capsys.readouterr()

    return start


@pytest.fixture
def physics(game: Path) -> Iterator[Callable[[str], None]]:
    """Chooses the project's physics engine for one test."""
    file = game / "project.godot"
    before = file.read_text()
    yield lambda name: file.write_text(before.replace("Jolt Physics", name)) and None
    file.write_text(before)


def floor_heights(level: Level, places: np.ndarray) -> np.ndarray:
    """Highest floor of the level at `places` (n, 2); -inf: none."""
    solids = Solids.of(level).arrays()
    count = sum(len(shapes) for shapes in solids[:3])
    near, seen = np.empty(count, np.int64), np.full(count, -1, np.int64)
    heights = np.empty(len(places))
    for k, (x, y) in enumerate(places):
        n = nearby(solids, x, y, 0.1, near, seen, k)
        heights[k], _ = support(solids, near, n, np.zeros((0, 9)), x, y, 1e9)
    return heights


def engine_heights(
    program: Path, game: Path, scene: str, places: np.ndarray, folder: Path
) -> list[list[float] | None]:
    """Height of the highest surface in the engine, and how upright it is."""
    asked, told = folder / "asked.json", folder / "told.json"
    asked.write_text(json.dumps([[-y, -x] for x, y in places.tolist()]))
    variables = {
        "PROBE_IN": str(asked),
        "PROBE_OUT": str(told),
        "PROBE_SCENE": f"res://{scene}.tscn",
    }
    subprocess.run(
        [
            program,
            "--headless",
            "--path",
            game,
            "--fixed-fps",
            "60",
            "-s",
            game / "probe.gd",
        ],
        env=os.environ | variables,
        check=True,
        capture_output=True,
        timeout=120,
    )
    return json.loads(told.read_text())


@pytest.mark.parametrize("engine", ["Jolt Physics", "GodotPhysics3D"])
@pytest.mark.parametrize("scene", ["courtyard", "hall", "valley"])
def test_floors_are_where_the_engine_has_them(
    run, program, game, physics, tmp_path, scene, engine
) -> None:
    physics(engine)
    code, said, errors = run(f"res://{scene}.tscn", tmp_path / "level.json")
    assert code == 0, errors
    assert "level.json" in said
    [level] = load_levels(tmp_path / "level.json")
    assert level.name == scene
    x0, y0, x1, y1 = level.bounds
    places = np.random.default_rng(3).uniform([x0, y0], [x1, y1], (1500, 2))
    ours = floor_heights(level, places)
    theirs = engine_heights(program, game, scene, places, tmp_path)
    steepest = math.cos(math.radians(44))
    compared, wrong = 0, []
    for place, mine, found in zip(places, ours, theirs, strict=True):
        if found is not None and found[1] < steepest:
            continue
        height = -math.inf if found is None else found[0]
        compared += 1
        if mine != height and not abs(mine - height) < 0.02:
            wrong.append((place, mine, found))
    assert compared > 1400
    # The edge of a floor is where either may look past it.
    assert len(wrong) <= 1, wrong


def test_levels_of_scenes_are_played_in_the_fast_world(run, tmp_path) -> None:
    levels = tmp_path / "levels"
    for scene in ("courtyard", "hall", "valley"):
        code, _, errors = run(f"res://{scene}.tscn", tmp_path / f"{scene}.json")
        assert code == 0, errors
        levels.mkdir(exist_ok=True)
        shutil.copy(tmp_path / f"{scene}.json", levels)
    config = NavigationConfig().override("environment", level_file=str(levels))
    batch = make_batch(config, 24)
    batch.reset(np.arange(24))
    rng = np.random.default_rng(0)
    for _ in range(60):
        observations, *_ = batch.step(rng.uniform(-1, 1, (24, 3)))
    assert np.isfinite(observations).all()
    assert {batch.bank.levels[s.slot].name for s in batch.starts} == {
        "courtyard", "hall", "valley",
    }  # fmt: skip


def test_courtyard(run, tmp_path) -> None:
    code, _, errors = run("res://courtyard.tscn", tmp_path / "a.json")
    assert code == 0, errors
    [level] = load_levels(tmp_path / "a.json")
    # The floor is CSG, and so a mesh; the steps are scaled and turned by 90 degrees.
    assert len(level.meshes) == 5
    assert len(level.cylinders) == 1
    np.testing.assert_allclose(level.cylinders[0, 2:], [0.36, 3.0, 0.0], atol=1e-6)
    np.testing.assert_allclose(level.boxes[:, 6], 0.0, atol=1e-6)
    np.testing.assert_allclose(level.boxes[0, 3:6], [1.0, 0.6, 0.1], atol=1e-6)
    # Start: 1 m above the floor, looks along -X of the scene, our +Y.
    assert level.start is not None
    assert level.goal is not None
    np.testing.assert_allclose(level.start, [-2.5, -9.5, math.pi / 2], atol=1e-5)
    np.testing.assert_allclose(level.goal, [7.0, 4.0], atol=1e-5)
    assert level.start_height == level.goal_height == 0.0
    report = json.loads((tmp_path / "a.json.report.json").read_text())
    assert report["not_carried"] == []
    bare = {row["path"]: row["reason"] for row in report["without_collision"]}
    assert bare == {
        "Courtyard/Decoration": "use_collision is off",
        "Courtyard/Steps/Gone": "disabled",
    }


def test_what_is_not_carried_is_listed_by_path(run, tmp_path) -> None:
    code, said, errors = run("res://valley.tscn", tmp_path / "a.json")
    assert code == 0, errors
    for line in (
        "not carried: Valley/Barrel (RigidBody3D): a body that physics moves",
        "not carried: Valley/Hero (CharacterBody3D): a body that scripts move",
        "not carried: Valley/Trigger (Area3D): an area, which obstructs nobody",
        "not carried: Valley/Ghost/Shape (box): on collision layers 3 only",
        "approximated: Valley/Post/Shape (capsule): an upright capsule: carried as a",
        "note: Valley/Lift (AnimatableBody3D): may move in the game",
    ):
        assert f"ambulo: {line}" in errors
    assert "4 not carried" in said
    report = json.loads((tmp_path / "a.json.report.json").read_text())
    assert report["without_collision"] == [
        {
            "path": "Valley/Stray",
            "class": "CollisionShape3D",
            "reason": "a shape whose parent is no body",
        }
    ]
    _, _, errors = run("res://valley.tscn", tmp_path / "a.json", "--obstacle-mask", "5")
    assert "Ghost" not in errors


def test_the_project_stays_as_it_is(run, game, tmp_path) -> None:
    def contents() -> dict[str, str]:
        return {
            str(file): hashlib.sha256(file.read_bytes()).hexdigest()
            for file in sorted(game.rglob("*"))
            if file.is_file() and ".godot" not in file.parts and file.suffix != ".uid"
        }

    before = contents()
    assert run(str(game / "hall.tscn"), tmp_path / "a.json")[0] == 0
    assert contents() == before


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
def test_bad_scenes_are_one_line_that_names_the_node(run, game, tmp_path, name) -> None:
    for scene, (text, _) in BAD.items():
        (game / f"{scene}.tscn").write_text(text.format(script=""))
    said = refused(run(f"res://{name}.tscn", tmp_path / "a.json"), tmp_path / "a.json")
    assert BAD[name][1] in said
    assert f"{name}.tscn: " in said


@pytest.mark.parametrize("name", FAILING)
def test_scripts_that_fail_are_named(run, game, tmp_path, name) -> None:
    script, rule = FAILING[name]
    (game / f"{name}.gd").write_text(f"extends Node\n{script}")
    used = f'[ext_resource type="Script" path="res://{name}.gd" id="1"]\n'
    brain = '[node name="Brain" type="Node" parent="."]\nscript = ExtResource("1")\n'
    (game / f"{name}.tscn").write_text(HEAD.format(script=used) + FLOOR + brain)
    try:
        result = run(f"res://{name}.tscn", tmp_path / "a.json", "--timeout", "5")
        assert rule in refused(result, tmp_path / "a.json")
        if name == "fails":
            more = (tmp_path / "a.json", "--ignore-script-errors")
            assert run(f"res://{name}.tscn", *more)[0] == 0
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
def test_wrong_names(run, tmp_path, scene, rule) -> None:
    assert rule in refused(run(scene, tmp_path / "a.json"), tmp_path / "a.json")


def test_without_a_project(tmp_path, capsys, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy(SCENES / "hall.tscn", tmp_path)
    assert main(["levels", "import", "hall.tscn", "--out", "a.json"]) == 2
    assert "no project.godot in" in capsys.readouterr().err


PRESS = """@tool
extends EditorPlugin
var _frames := 0


func _process(_delta: float) -> void:
	_frames += 1
	if EditorInterface.get_edited_scene_root() == null:
		if _frames == 5:
			EditorInterface.open_scene_from_path(OS.get_environment("PRESS_SCENE"))
			_frames = 6
	elif _frames > 40:
		var base := EditorInterface.get_base_control()
		(base.find_child("AmbuloExport", true, false) as Button).pressed.emit()
		get_tree().quit()
"""


def test_the_editors_button(program, game, tmp_path, capsys) -> None:
    folder = Path(shutil.copytree(SCENES, tmp_path / "game"))
    shutil.copytree(find_project() / "addons", folder / "addons")
    (folder / "addons" / "press").mkdir()
    (folder / "addons" / "press" / "plugin.gd").write_text(PRESS)
    (folder / "addons" / "press" / "plugin.cfg").write_text(
        '[plugin]\nname="Press"\ndescription=""\nauthor=""\nversion=""\nscript="plugin.gd"\n'
    )
    plugins = ", ".join(
        f'"res://addons/{n}/plugin.cfg"' for n in ("ambulo_rl", "press")
    )
    with (folder / "project.godot").open("a") as stream:
        stream.write(f"\n[editor_plugins]\n\nenabled=PackedStringArray({plugins})\n")
    arguments = [str(program), "--headless", "--path", str(folder)]
    subprocess.run(
        [*arguments, "--import"], check=True, capture_output=True, timeout=300
    )
    done = subprocess.run(
        [*arguments, "--editor", "--quit-after", "3000"],
        env=os.environ | {"PRESS_SCENE": "res://hall.tscn"},
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
    )
    raw = folder / "hall.ambulo_scene.json"
    assert raw.is_file(), done.stdout[-2000:] + done.stderr[-2000:]
    assert "Wrote 68 collision shapes to res://hall.ambulo_scene.json" in done.stdout
    assert f'ambulo levels import "{raw}" --out hall.json' in done.stdout
    # The button's file and the scene itself, in a project with the add-on, make one level.
    out = tmp_path / "from_file.json"
    assert main(["levels", "import", str(raw), "--out", str(out)]) == 0
    again = tmp_path / "from_scene.json"
    assert (
        main(["levels", "import", str(folder / "hall.tscn"), "--out", str(again)]) == 0
    )
    assert out.read_text() == again.read_text()
    capsys.readouterr()
