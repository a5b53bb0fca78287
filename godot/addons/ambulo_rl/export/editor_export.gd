@tool
extends Button
## The 3D editor's button "Export for Ambulo": writes the collision shapes of the open scene
## beside it, for `ambulo levels import`.

const SceneWalk := preload("scene_walk.gd")
const TITLE := "Export for Ambulo"
## Ending of the files.
const ENDING := ".ambulo_scene.json"
const _MOST_LINES := 12

var _dialog := AcceptDialog.new()


func _init() -> void:
	name = "AmbuloExport"
	text = TITLE
	flat = true
	tooltip_text = "Write the scene's collision shapes for `ambulo levels import`"
	_dialog.title = TITLE
	add_child(_dialog)
	pressed.connect(export_open_scene)


## Export the scene that is open in the editor, and show the result.
func export_open_scene() -> void:
	_dialog.dialog_text = export_scene(EditorInterface.get_edited_scene_root())
	print(_dialog.dialog_text)
	if DisplayServer.get_name() != "headless":
		_dialog.popup_centered()


## Write the raw geometry of [param scene]; returns a message for the user.
static func export_scene(scene: Node) -> String:
	if scene == null:
		return "No scene is open."
	if scene.scene_file_path == "":
		return "Save the scene first: the file is written beside it."
	var data := SceneWalk.new().collect(scene)
	var problem: Dictionary = data["problem"]
	if not problem.is_empty():
		return "Not exported. Node %s: %s." % [problem["path"], problem["rule"]]
	var path := scene.scene_file_path.get_basename() + ENDING
	var file := FileAccess.open(path, FileAccess.WRITE)
	if file == null:
		return "%s cannot be written: %s" % [path, error_string(FileAccess.get_open_error())]
	file.store_string(JSON.stringify(data, "", false, true))
	file.close()
	return _told(data, path)


static func _told(data: Dictionary, path: String) -> String:
	var items: Array = data["items"]
	var lines := PackedStringArray(
		[
			"Wrote %d collision shapes to %s. Make a level of them by" % [items.size(), path],
			(
				'ambulo levels import "%s" --out %s.json'
				% [
					ProjectSettings.globalize_path(path),
					path.get_file().trim_suffix(ENDING),
				]
			),
			(
				"What scripts make when the game runs is not in it: `ambulo levels import` of the"
				+ " scene itself has that too."
			),
		]
	)
	var left: Array = data["not_carried"]
	if not left.is_empty():
		lines.append("Not carried:")
	for row: Dictionary in left.slice(0, _MOST_LINES):
		lines.append("  %s: %s" % [row["path"], row["reason"]])
	if left.size() > _MOST_LINES:
		lines.append("  and %d more" % (left.size() - _MOST_LINES))
	return "\n".join(lines)
