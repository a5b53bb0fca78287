"""The small commands: presets, schema, levels and export."""

from __future__ import annotations

import json
from pathlib import Path

import imageio.v2 as imageio
import pytest

from ambulo import cli
from ambulo.command_table import ALIASES, TRAIN
from ambulo.configs.presets import VR_PRESETS
from ambulo.configs.vr import NavigationConfig
from ambulo.envs.vr.families import generate
from ambulo.envs.vr.levels.level_io import level_data, level_schema, load_levels
from ambulo.envs.vr.task.observation import observation_layout


def test_presets_are_listed_and_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["presets"]) == 0
    lines = capsys.readouterr().out.splitlines()
    listed = [line.split()[0] for line in lines]
    assert [name for name in listed if name.startswith("vr/")] == [
        f"vr/{name}" for name in VR_PRESETS
    ]
    assert {"motion/shipped", "ik/published", "gait/fast"} < set(listed)
    assert cli.main(["presets", "quick_test"]) == 0
    assert capsys.readouterr().out == VR_PRESETS.load("quick_test").to_json()
    assert cli.main(["presets", "motion/quick_test"]) == 0
    assert json.loads(capsys.readouterr().out)["model"]["mode"] == "mlp"


def test_schema_is_the_layout(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["schema"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["observation"]["size"] == 48
    assert (
        data["observation"]["parts"] == observation_layout(NavigationConfig()).schema()
    )
    assert [part["name"] for part in data["action"]["parts"]] == [
        "strafe",
        "forward",
        "rotation",
    ]
    assert cli.main(["schema", "--set", "actions.mode=discrete"]) == 0
    assert json.loads(capsys.readouterr().out)["action"]["size"] == 7


def test_schema_of_level_files(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["levels", "schema"]) == 0
    assert json.loads(capsys.readouterr().out) == level_schema()


@pytest.mark.integration
def test_levels_are_generated_checked_and_drawn(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, picture = tmp_path / "levels", tmp_path / "map.png"
    arguments = ["levels", "generate", "--family", "pillars", "--seed", "4"]
    assert cli.main([*arguments, "--count", "2", "--out", str(folder)]) == 0
    names = [level.name for level in load_levels(folder)]
    assert names == ["pillars-4", "pillars-5"]
    dollars = level_data(generate("pillars", 4)) | {"name": "$ [/b] $e_^$"}
    (folder / "name.json").write_text(json.dumps(dollars), encoding="utf-8")
    assert cli.main([*arguments, "--out", str(tmp_path / "one.json")]) == 0
    assert cli.main([*arguments, "--out", str(tmp_path / "one.json")]) == 2
    assert "one.json: is there already; --force" in capsys.readouterr().err
    assert cli.main([*arguments, "--out", str(tmp_path / "one.json"), "--force"]) == 0
    [level] = load_levels(tmp_path / "one.json")
    assert level_data(level) == level_data(generate("pillars", 4))
    assert cli.main(["levels", "validate", str(folder)]) == 0
    assert cli.main(["levels", "draw", str(folder), "--out", str(picture)]) == 0
    assert picture.read_bytes().startswith(b"\x89PNG")
    capsys.readouterr()
    (folder / "bad.json").write_text('{"name": "x"}', encoding="utf-8")
    assert cli.main(["levels", "validate", str(folder)]) == 2
    captured = capsys.readouterr()
    assert captured.err.count("\n") == 1
    assert "bad.json: bounds: field required" in captured.err
    assert captured.out.count(": ok: ") == 3


def narrow_levels(folder: Path) -> Path:
    """A folder of a level with a gap of 0.6 m, one without a way, and a broken file."""
    folder.mkdir()
    for name, ends in (("door", (-0.25, 0.35)), ("sealed", (0.0, 0.0))):
        walls = [
            {"center": [0, (y0 + y1) / 2, 1.2], "half_size": [0.1, (y1 - y0) / 2, 1.2]}
            for y0, y1 in ((-3.0, ends[0]), (ends[1], 3.0))
        ]
        level = {
            "name": name,
            "bounds": [-4, -3, 4, 3],
            "boxes": walls,
            "start": {"position": [-2, 0]},
            "goal": [2, 0],
        }
        (folder / f"{name}.json").write_text(json.dumps(level), encoding="utf-8")
    (folder / "bad.json").write_text('{"name": "x"}', encoding="utf-8")
    return folder


@pytest.mark.integration
@pytest.mark.parametrize("body", ["human23", "twin"])
def test_levels_are_checked_for_a_body(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], body: str
) -> None:
    door = narrow_levels(tmp_path / "levels") / "door.json"
    assert cli.main(["levels", "validate", str(door)]) == 0
    capsys.readouterr()
    assert cli.main(["levels", "validate", str(door), "--body", body]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"ambulo: error: {door}: level 'door': the widest path")
    assert error.endswith(f"has a gap of 0.60 m; body = {body} needs 0.62 m\n")
    high = {"name": "h", "bounds": [0, 0, 9, 9], "heights": True}
    door.write_text(json.dumps(high), encoding="utf-8")
    assert cli.main(["levels", "validate", str(door), "--body", body]) == 2
    assert f"which body = {body} cannot climb" in capsys.readouterr().err


def test_levels_are_counted_and_pictures_have_endings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "doors.json"
    level = level_data(generate("doors", 0))
    file.write_text(json.dumps(level), encoding="utf-8")
    assert cli.main(["levels", "validate", str(file)]) == 0
    said = capsys.readouterr().out
    assert said.endswith(f", {len(level['movers'])} movers\n")
    assert " 0 " not in said
    assert (
        cli.main(["levels", "draw", str(file), "--out", str(tmp_path / "x.txt")]) == 2
    )
    assert "must end in .png, .svg or .pdf" in capsys.readouterr().err


def test_what_can_be_drawn_of_a_folder_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, picture = narrow_levels(tmp_path / "levels"), tmp_path / "map.png"
    assert cli.main(["levels", "draw", str(folder), "--out", str(picture)]) == 2
    said = capsys.readouterr()
    assert said.out == f"{picture}\n"
    assert [line.split(": ")[2] for line in said.err.splitlines()] == [
        str(folder / "bad.json"),
        str(folder / "sealed.json"),
    ]
    height, width = imageio.imread(picture).shape[:2]
    assert width == pytest.approx(2 * height, rel=0.01), "two maps in one row"
    (folder / "door.json").unlink()
    (folder / "sealed.json").unlink()
    picture.unlink()
    assert cli.main(["levels", "draw", str(folder), "--out", str(picture)]) == 2
    assert capsys.readouterr().out == ""
    assert not picture.exists()


def test_every_kind_of_training_has_a_command(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit):
        cli.main(["train", "--help"])
    listed = capsys.readouterr().out
    assert all(f"\n  {kind} " in listed for kind in TRAIN.rows)
    for kind in TRAIN.rows:
        assert cli.main(["train", kind, "--print-config"]) == 0
        assert json.loads(capsys.readouterr().out)["training"]["output"] == "runs"
    for alias, kind in ALIASES.items():
        assert cli.main([alias, "--seed", "7", "--print-config"]) == 0
        given = capsys.readouterr().out
        assert cli.main(["train", kind, "--seed", "7", "--print-config"]) == 0
        assert given == capsys.readouterr().out
    assert cli.main(["train", "--print-config"]) == 0  # without a kind: VR
    assert json.loads(capsys.readouterr().out)["environment"]["world"]
