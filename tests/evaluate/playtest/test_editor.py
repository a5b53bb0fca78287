"""The menu "Play-test" of the Godot editor, in the real editor without a window."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from fixtures.godot_projects import FLAT, game_with_add_on

pytestmark = pytest.mark.slow
PRESS = """@tool
extends EditorPlugin
var _frames := 0
var _stage := 0


func _process(_delta: float) -> void:
	if OS.get_environment("PRESS").is_empty():
		return
	_frames += 1
	var scene := EditorInterface.get_edited_scene_root()
	if scene == null:
		if _frames == 5:
			EditorInterface.open_scene_from_path("res://flat.tscn")
		return
	if _frames < 40:
		return
	var base := EditorInterface.get_base_control()
	var menu := base.find_child("AmbuloPlaytestMenu", true, false)
	var popup: PopupMenu = menu.get_popup()
	var drawn := scene.get_node_or_null("AmbuloPlaytest")
	if _stage == 0:
		popup.id_pressed.emit(0)
		print("SAID drawn without a report: ", scene.get_node_or_null("AmbuloPlaytest") != null)
		popup.id_pressed.emit(1)
		_stage = 1
	elif _stage == 1 and drawn != null:
		menu.about_to_popup.emit()
		print("SAID items: ", popup.item_count, " checked ", popup.is_item_checked(0))
		var marker := drawn.find_child("Problem_sealed_A", false, false) as Node3D
		print("SAID marker: ", marker.global_position)
		print("SAID owner: ", drawn.owner)
		EditorInterface.mark_scene_as_unsaved()
		print("SAID saved: ", EditorInterface.save_scene())
		popup.id_pressed.emit(0)
		_stage = 2
	elif _stage == 2 and drawn == null:
		print("SAID taken away")
		FileAccess.open("res://flat.ambulo_playtest.json", FileAccess.WRITE).store_string("[]")
		popup.id_pressed.emit(0)
		drawn = scene.get_node_or_null("AmbuloPlaytest")
		print("SAID drawn from a bad report: ", drawn != null)
		get_tree().quit()
"""


@pytest.fixture(scope="module")
def said(
    godot_program: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, str]:
    """The project, and what the editor printed while a plug-in pressed its menu."""
    folder = game_with_add_on(godot_program, tmp_path_factory)
    press = folder / "addons" / "press"
    press.mkdir()
    (press / "plugin.gd").write_text(PRESS)
    (press / "plugin.cfg").write_text(
        '[plugin]\nname="Press"\ndescription=""\nauthor=""\nversion=""\nscript="plugin.gd"\n'
    )
    plugins = ", ".join(
        f'"res://addons/{name}/plugin.cfg"' for name in ("ambulo_rl", "press")
    )
    command = str(Path(sys.executable).with_name("ambulo"))
    with (folder / "project.godot").open("a") as stream:
        stream.write(f"\n[editor_plugins]\n\nenabled=PackedStringArray({plugins})\n")
        stream.write(
            f'\n[ambulo]\n\nplaytest/command="{command}"\n'
            'playtest/arguments="--agent oracle --agents 6"\n'
        )
    start = [str(godot_program), "--headless", "--path", str(folder)]
    home = tmp_path_factory.mktemp("data")
    done = subprocess.run(
        [*start, "--editor", "--quit-after", "100000"],
        env=os.environ | {"XDG_DATA_HOME": str(home), "PRESS": "1"},
        check=False,
        capture_output=True,
        text=True,
        timeout=500,
    )
    return folder, done.stdout + done.stderr


def test_a_scene_without_a_report_gets_the_command_and_one_with_a_report_the_overlay(
    said,
):
    _, text = said
    advice = (
        "There is no play-test of this scene yet. Make one by\nambulo playtest res://"
    )
    assert advice in text
    assert "SAID drawn without a report: false" in text
    assert "SAID items: " in text, text[-3000:]
    assert "checked true" in text
    assert "flat.ambulo_playtest.json: failed, 2 problems and notes" in text


def test_markers_are_in_the_frame_of_the_scene_and_the_report_is_beside_it(said):
    folder, text = said
    line = next(row for row in text.splitlines() if row.startswith("SAID marker: "))
    x, y, z = (float(v) for v in line.split("(")[1].rstrip(")").split(", "))
    assert (x, y, z) == pytest.approx((-6.5, 0.0, -8.4), abs=0.4)
    assert (folder / "flat.ambulo_playtest.json").read_text() == "[]"


def test_the_overlay_is_not_saved_and_the_same_entry_takes_it_away(said):
    folder, text = said
    assert "SAID owner: <Object#null>" in text
    assert "SAID saved: 0" in text
    scene = (folder / "flat.tscn").read_text()
    assert "AmbuloPlaytest" not in scene
    assert scene.count("[node ") == FLAT.read_text().count("[node ")
    assert "SAID taken away" in text


def test_a_bad_report_is_one_message(said):
    _, text = said
    message = "res://flat.ambulo_playtest.json: format: is no report of a play-test"
    assert text.splitlines().count(message) == 1
    assert "SAID drawn from a bad report: false" in text
    assert "SCRIPT ERROR" not in text
