"""`ambulo levels import` in the real engine: scenes that know nothing of it."""

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
from fixtures.godot_projects import game_with_add_on, mark_imported

from ambulo.cli import main
from ambulo.configs.vr import NavigationConfig
from ambulo.envs.vr.geometry.contact_kernels import support
from ambulo.envs.vr.geometry.solid_kernels import local_shapes, nearby
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.levels.level_io import load_levels
from ambulo.envs.vr.levels.solids import Solids
from ambulo.envs.vr.task.build import make_batch


@pytest.fixture
def physics(game: Path) -> Iterator[Callable[[str], None]]:
    """Chooses the project's physics engine for one test."""
    file = game / "project.godot"
    before = file.read_text()

    def choose(name: str) -> None:
        file.write_text(before.replace("Jolt Physics", name))
        mark_imported(game)

    yield choose
    file.write_text(before)
    mark_imported(game)


def floor_heights(level: Level, places: np.ndarray) -> np.ndarray:
    """Highest floor of the level at `places` (n, 2); -inf: none."""
    solids = Solids.of(level).arrays()
    count = sum(len(shapes) for shapes in solids[:3])
    near, seen = np.empty(count, np.int64), np.full(count, -1, np.int64)
    heights = np.empty(len(places))
    for k, (x, y) in enumerate(places):
        n = nearby(solids, x, y, 0.1, near, seen, k)
        shapes = local_shapes(solids, near, n, np.zeros((0, 9)))
        heights[k], _ = support(shapes, x, y, 1e9)
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
@pytest.mark.parametrize(
    "scene", ["courtyard", "hall", "valley", "cloister", "library", "gorge"]
)
def test_floors_are_where_the_engine_has_them(
    import_scene, program, game, physics, tmp_path, scene, engine
) -> None:
    physics(engine)
    code, said, errors = import_scene(f"res://{scene}.tscn", tmp_path / "level.json")
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
    assert compared > 1300
    # The edge of a floor is where either may look past it.
    assert len(wrong) <= 1, wrong


def test_levels_of_scenes_are_played_in_the_fast_world(import_scene, tmp_path) -> None:
    levels = tmp_path / "levels"
    for scene in ("courtyard", "hall", "valley"):
        code, _, errors = import_scene(
            f"res://{scene}.tscn", tmp_path / f"{scene}.json"
        )
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


def test_courtyard(import_scene, tmp_path) -> None:
    code, _, errors = import_scene("res://courtyard.tscn", tmp_path / "a.json")
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


def test_what_is_not_carried_is_listed_by_path(import_scene, tmp_path) -> None:
    code, said, errors = import_scene("res://valley.tscn", tmp_path / "a.json")
    assert code == 0, errors
    for line in (
        "not carried: Valley/Barrel (RigidBody3D): a body that physics moves",
        "not carried: Valley/Hero (CharacterBody3D): a body that scripts move",
        "not carried: Valley/Trigger (Area3D): an area, which obstructs nobody",
        "not carried: Valley/Ghost/Shape (box): on collision layers 3 only",
        "approximated: Valley/Post/Shape (capsule): an upright capsule: carried as a",
        "not carried: Valley/Lift (AnimatableBody3D): moves: left out, so that ways "
        "through doors exist",
    ):
        assert f"ambulo: {line}" in errors
    assert "5 not carried" in said
    report = json.loads((tmp_path / "a.json.report.json").read_text())
    assert report["without_collision"] == [
        {
            "path": "Valley/Stray",
            "class": "CollisionShape3D",
            "reason": "a shape whose parent is no body",
        }
    ]
    _, _, errors = import_scene(
        "res://valley.tscn", tmp_path / "a.json", "--obstacle-mask", "5"
    )
    assert "Ghost" not in errors


def test_the_project_stays_as_it_is(import_scene, game, tmp_path) -> None:
    def contents() -> dict[str, str]:
        return {
            str(file): hashlib.sha256(file.read_bytes()).hexdigest()
            for file in sorted(game.rglob("*"))
            if file.is_file() and ".godot" not in file.parts and file.suffix != ".uid"
        }

    before = contents()
    assert import_scene(str(game / "hall.tscn"), tmp_path / "a.json")[0] == 0
    assert contents() == before


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


def test_the_editors_button(program, tmp_path_factory, tmp_path, capsys) -> None:
    folder = game_with_add_on(program, tmp_path_factory)
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
    mark_imported(folder)  # by the editor, with the plug-in
    # The button's file and the scene itself, in a project with the add-on, make one level.
    out = tmp_path / "from_file.json"
    assert main(["levels", "import", str(raw), "--out", str(out)]) == 0
    again = tmp_path / "from_scene.json"
    assert (
        main(["levels", "import", str(folder / "hall.tscn"), "--out", str(again)]) == 0
    )
    assert out.read_text() == again.read_text()
    capsys.readouterr()
