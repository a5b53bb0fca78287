@tool
extends MenuButton
## The 3D editor's menu "Play-test": shows or hides the report of a play-test over the open scene;
## runs `ambulo playtest` as the project setting configures it.

enum { SHOW, RUN, FIRST_MAP }

const TITLE_SHOW := "Show play-test"
const TITLE_RUN := "Run play-test"
## File name suffix of the reports, which are beside their scenes.
const ENDING := ".ambulo_playtest.json"
## Project setting: program and leading arguments of the command line, for example `ambulo`.
const PROGRAM := "ambulo/playtest/command"
## Project setting: additional arguments.
const ARGUMENTS := "ambulo/playtest/arguments"
## Heat maps in order of preference, if they have cells.
const PREFERRED: Array[String] = ["stuck", "collisions", "presence"]

var _dialog := AcceptDialog.new()
var _watch := Timer.new()
var _overlay: AmbuloPlaytestOverlay
var _process := -1
var _running := ""
var _command := ""
var _names: PackedStringArray = []


func _init() -> void:
	name = "AmbuloPlaytestMenu"
	text = "Play-test"
	tooltip_text = "Where agents of `ambulo playtest` got stuck, and what they cannot reach"
	_dialog.title = "Play-test"
	add_child(_dialog)
	_watch.timeout.connect(_look_at_process)
	add_child(_watch)
	get_popup().id_pressed.connect(_chosen)
	about_to_popup.connect(_fill)


func _exit_tree() -> void:
	_take_away()
	if _process > 0:
		OS.kill(_process)
		_process = -1


## Show or hide the play-test of the open scene.
func toggle() -> void:
	if is_instance_valid(_overlay):
		_take_away()
	else:
		_tell(show_over(EditorInterface.get_edited_scene_root()))


## Draw the report of [param scene] over it; returns a message for the user, or "".
func show_over(scene: Node) -> String:
	_take_away()
	if scene == null:
		return "No scene is open."
	if scene.scene_file_path.is_empty():
		return "Save the scene first: its report lies beside it."
	var path := report_path(scene.scene_file_path)
	if not FileAccess.file_exists(path):
		return "There is no play-test of this scene yet. Make one by\n" + command_text(scene)
	var report := AmbuloPlaytestReport.read(path, scene.scene_file_path)
	if not report.problem.is_empty():
		return report.problem
	_overlay = AmbuloPlaytestOverlay.of(report)
	_names = _overlay.map_names()
	for map_name: String in PREFERRED:
		if map_name in _names:
			_overlay.show_map(map_name)
			break
	scene.add_child(_overlay, false, INTERNAL_MODE_BACK)  # without an owner: never saved
	var result := "passed" if report.passed else "failed"
	for text in report.warnings:
		print("%s: warning: %s" % [path, text])
	print("%s: %s, %d problems and notes" % [path, result, report.problem_count])
	return ""


## Start a play-test of the open scene, or show its command.
func run() -> void:
	_tell(run_on(EditorInterface.get_edited_scene_root()))


## Start a play-test of [param scene]; returns a message for the user, or "".
func run_on(scene: Node) -> String:
	if scene == null:
		return "No scene is open."
	if scene.scene_file_path.is_empty():
		return "Save the scene first."
	if _process > 0:
		return "A play-test is running."
	var words := _setting(PROGRAM).split(" ", false)
	if words.is_empty():
		return (
			"Run\n%s\nand choose '%s'. With the project setting %s the editor runs it."
			% [command_text(scene), TITLE_SHOW, PROGRAM]
		)
	var arguments := words.slice(1) + command(scene.scene_file_path)
	_process = OS.create_process(words[0], arguments)
	if _process <= 0:
		return "%s cannot be started: see the project setting %s" % [words[0], PROGRAM]
	_running = scene.scene_file_path
	_command = command_text(scene)
	_watch.start(0.5)
	print("%s %s" % [words[0], " ".join(arguments)])
	return ""


## Path of the report of the scene at [param path].
static func report_path(path: String) -> String:
	return path.get_basename() + ENDING


## Arguments of `ambulo` that play-test the scene at [param path].
static func command(path: String) -> PackedStringArray:
	var words: PackedStringArray = ["playtest", path, "--godot-project"]
	words.append(ProjectSettings.globalize_path("res://").trim_suffix("/"))
	words.append_array(["--json", ProjectSettings.globalize_path(report_path(path)), "--force"])
	var folder := "ambulo_playtests/%s" % path.get_file().get_basename()
	words.append_array(["--out", OS.get_user_data_dir().path_join(folder)])
	words.append_array(_setting(ARGUMENTS).split(" ", false))
	return words


## The command that play-tests [param scene], quoted for a shell.
static func command_text(scene: Node) -> String:
	var words := PackedStringArray(["ambulo"])
	for word in command(scene.scene_file_path):
		words.append('"%s"' % word if " " in word else word)
	return " ".join(words)


static func _setting(key: String) -> String:
	return str(ProjectSettings.get_setting(key, ""))


func _fill() -> void:
	var popup := get_popup()
	popup.clear()
	var drawn := is_instance_valid(_overlay)
	popup.add_check_item(TITLE_SHOW, SHOW)
	popup.set_item_checked(0, drawn)
	popup.add_item(TITLE_RUN, RUN)
	if not drawn:
		return
	popup.add_separator()
	for k in _names.size():
		popup.add_radio_check_item(_names[k].capitalize(), FIRST_MAP + k)
		popup.set_item_checked(popup.item_count - 1, _names[k] == _overlay.shown_map)


func _chosen(id: int) -> void:
	if id == SHOW:
		toggle()
	elif id == RUN:
		run()
	elif is_instance_valid(_overlay):
		_overlay.show_map(_names[id - FIRST_MAP])


func _look_at_process() -> void:
	if OS.is_process_running(_process):
		return
	_watch.stop()
	var code := OS.get_process_exit_code(_process)
	_process = -1
	if code != 0 and code != 1:  # 1: it found problems
		_tell("The play-test failed (exit code %d): to see why, run\n%s" % [code, _command])
		return
	var scene := EditorInterface.get_edited_scene_root()
	if scene != null and scene.scene_file_path == _running:
		_tell(show_over(scene))


func _take_away() -> void:
	if is_instance_valid(_overlay):
		_overlay.queue_free()
	_overlay = null


func _tell(message: String) -> void:
	if message.is_empty():
		return
	_dialog.dialog_text = message
	print(message)
	if DisplayServer.get_name() != "headless":
		_dialog.popup_centered()
