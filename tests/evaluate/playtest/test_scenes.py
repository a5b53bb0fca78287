"""`ambulo playtest` of scenes of Godot projects, in the real engine."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from fixtures.godot_projects import mark_imported, plain_game

from ambulo.cli import main
from ambulo.evaluate.playtest.flags import PlaytestFlags, is_scene
from ambulo.evaluate.playtest.scenes import read_level


@pytest.fixture(scope="module")
def game(godot_program: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project that was never opened: a flat with a bath and a balcony, and more."""
    return plain_game(godot_program, tmp_path_factory)


@pytest.fixture(scope="module")
def report(game: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a play-test of the scene."""
    out = tmp_path_factory.mktemp("report") / "out"
    code = main(
        ["playtest", "res://flat.tscn", "--godot-project", str(game), "--agent", "oracle",
         "--agents", "20", "--out", str(out)]
    )  # fmt: skip
    assert code == 1
    return out


def test_problems_are_named_by_nodes(report):
    [level] = json.loads((report / "playtest.json").read_text())["levels"]
    assert level["name"] == "flat"
    assert level["scene"]["path"] == "res://flat.tscn"
    bath, balcony = level["problems"]
    assert (bath["kind"], balcony["kind"]) == ("sealed", "sealed")
    assert bath["node"] in ("Flat/Walls/BathSouth/Shape", "Flat/Walls/BathSouth2/Shape")
    assert bath["floor_node"] == "Flat/Floor/Shape"
    assert balcony["floor_node"] == "Flat/Balcony/Shape"
    assert "on Flat/Balcony/Shape" in balcony["text"]
    [area, _] = level["areas"]
    assert area["opening_m"] == pytest.approx(0.4, abs=0.06)
    assert area["opening_position"] == pytest.approx([7.7, 5.05, 0.0], abs=0.3)
    assert level["metrics"]["success_rate"]["value"] == 1


def test_what_the_level_could_not_carry_is_listed(report):
    [level] = json.loads((report / "playtest.json").read_text())["levels"]
    [ball] = level["scene"]["not_carried"]
    assert (ball["path"], ball["class"]) == ("Flat/Ball", "RigidBody3D")
    page = (report / "report.html").read_text()
    assert "What is not as in the scene" in page
    assert "Flat/Ball" in page


def test_a_scene_is_compared_with_a_version_of_it(game, tmp_path):
    text = (game / "flat.tscn").read_text()
    wider = text.replace("-5.05, 1.5, -8.9)", "-5.05, 1.5, -9.4)")  # a door of 0.9 m
    assert wider != text
    (game / "wider.tscn").write_text(wider)
    mark_imported(game)
    code = main(
        ["playtest", str(game / "wider.tscn"), "--compare", str(game / "flat.tscn"),
         "--agent", "oracle", "--agents", "10", "--max-sealed", "1", "--out",
         str(tmp_path / "out")]
    )  # fmt: skip
    assert code == 0
    [comparison] = json.loads((tmp_path / "out" / "playtest.json").read_text())[
        "comparisons"
    ]
    assert comparison["common_journeys"] >= 5
    assert (comparison["level"], comparison["other"]) == ("wider", "flat")
    facts = {fact["name"]: fact for fact in comparison["facts"]}
    assert (facts["sealed_areas"]["ours"], facts["sealed_areas"]["other"]) == (1, 2)


def test_the_nodes_beside_and_below_a_place(game):
    named = str(game / "flat.tscn")
    level, scene = read_level(named, PlaytestFlags(levels=named))
    assert level.heights
    walls = scene.nodes_at(np.array([5.0, 0.5, 0.0]))
    assert walls == ("Flat/Walls/South/Shape", "Flat/Floor/Shape")
    assert scene.nodes_at(np.array([5.0, 4.0, 0.0])) == ("", "Flat/Floor/Shape")
    below = scene.nodes_at(np.array([1.5, 1.2, 0.0]))  # the balcony is overhead
    assert below[1] == "Flat/Floor/Shape"
    assert scene.nodes_at(np.array([1.5, 1.2, 2.0]))[1] == "Flat/Balcony/Shape"


def test_a_goal_that_cannot_be_reached_fails_the_scene_with_a_report(game, tmp_path):
    text = (game / "flat.tscn").read_text()
    for name, at in (("AmbuloStart", "-4, 0.1, -5"), ("AmbuloGoal", "-1.2, 2.2, -1.5")):
        text += f'[node name="{name}" type="Marker3D" parent="."]\n'
        text += f"transform = Transform3D(1, 0, 0, 0, 1, 0, 0, 0, 1, {at})\n"
    (game / "marked.tscn").write_text(text)
    mark_imported(game)
    out = tmp_path / "out"
    code = main(
        ["playtest", str(game / "marked.tscn"), "--agent", "oracle", "--agents", "4",
         "--out", str(out)]
    )  # fmt: skip
    assert code == 1
    [level] = json.loads((out / "playtest.json").read_text())["levels"]
    assert any("'goal'" in problem["text"] for problem in level["problems"])
    assert (out / "report.html").is_file()


def test_which_names_are_scenes():
    assert is_scene("res://a/b.tscn")
    assert is_scene("my/Hall.TSCN")
    assert is_scene("hall.ambulo_scene.json")
    assert not is_scene("hall.json")
    assert not is_scene("levels/")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["res://none.tscn"], "res://none.tscn: no such scene"),
        (["res://flat.txt"], "res://flat.txt: no such scene"),
        (
            ["res://flat.tscn", "--obstacle-mask", "0"],
            "--obstacle-mask 0: must be 1 to",
        ),
        (["res://flat.tscn", "--obstacle-mask", "8"], "no floor"),
        (
            ["res://flat.tscn", "--godot-project", "nowhere"],
            "--godot-project = 'nowhere'",
        ),
    ],
)
def test_bad_scenes_are_one_line_and_leave_nothing(
    game, arguments, message, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(game)
    before = {path.name for path in game.iterdir()}
    assert main(["playtest", *arguments, "--agent", "oracle", "--agents", "2"]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert message in error
    assert {path.name for path in game.iterdir()} - before <= {".godot"}
