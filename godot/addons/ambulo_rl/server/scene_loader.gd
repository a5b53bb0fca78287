class_name AmbuloSceneLoader
extends RefCounted
## Opens a scene to be served, and finds out whether it can be: it must load, hold no transform
## that the physics cannot use, and its scripts must not fail while it starts.

## Frames in which the scene starts: scripts, colliders and navigation maps are there after them.
const FRAMES := 4

const ErrorLog := preload("../error_log.gd")
const _JOLT := "Jolt Physics"
const _FOREIGN_SCENES: PackedStringArray = ["blend", "glb", "gltf", "fbx", "dae"]

# Keeps what takes the place of scenes that cannot be read.
static var _left_out: Array[PackedScene] = []

## What is wrong with the scene, in one line; "": nothing so far.
var problem := ""

var _tree: SceneTree
var _path := ""
var _scene: Node
var _log := ErrorLog.new()
var _frames := 0
var _looked: Dictionary[String, bool] = {}
var _forgives := false


## Opens [param path] in place of the open scene. One that [param forgives] opens whatever the
## engine can: the physics may be any, files may be missing, and scripts may fail.
func _init(tree: SceneTree, path: String, forgives := false) -> void:
	_tree = tree
	_path = path
	_forgives = forgives
	OS.add_logger(_log)
	_open()
	if problem != "":
		OS.remove_logger(_log)


## Whether the scene has started, or cannot; to be asked once a frame.
func is_settled() -> bool:
	if problem != "":
		return true
	_frames += 1
	if _frames < FRAMES and (_log.script_error == "" or _forgives):
		return false
	OS.remove_logger(_log)
	if not is_instance_valid(_scene) or _tree.current_scene != _scene:
		_fail("its own scripts closed it")
	elif _log.script_error != "" and not _forgives:
		_fail_by_script()
	_tree.paused = false  # by its scripts; nobody would go on
	return true


func _open() -> void:
	var physics: String = ProjectSettings.get_setting("physics/3d/physics_engine")
	if physics != _JOLT and not _forgives:
		_fail(
			(
				"the project's physics is %s: set Project Settings > Physics > 3D > Physics Engine to %s"
				% [physics, _JOLT]
			)
		)
		return
	if not _path.begins_with("res://"):
		_fail("must begin with res://")
		return
	if not ResourceLoader.exists(_path, "PackedScene"):
		_fail("no such scene in this project")
		return
	var circle := _circle_of(_path, [])
	var missing := "" if circle != "" or _forgives else _missing_of(_path)
	if circle != "" or missing != "":
		_fail("it holds itself: %s" % circle if circle != "" else "cannot be loaded: %s" % missing)
		return
	if _forgives:
		ResourceLoader.set_abort_on_missing_resources(false)
		_leave_out_unreadable(_path)
	var packed: PackedScene = load(_path) as PackedScene
	var scene: Node = null
	if packed != null and packed.can_instantiate():
		scene = packed.instantiate()
	if scene == null:
		_fail("cannot be loaded: %s" % (_log.engine_errors[0] if _log.engine_errors else ""))
		return
	var survey: AmbuloSceneSurvey = null if _forgives else AmbuloSceneSurvey.new(scene, false)
	if survey != null and (_log.lost_node != "" or survey.problem != ""):
		var lost := "cannot be loaded: %s" % _log.lost_node
		_fail(survey.problem if _log.lost_node == "" else lost)
		scene.free()
		return
	if _tree.current_scene != null:
		_tree.current_scene.free()
	_scene = scene
	_tree.root.add_child(scene)
	_tree.current_scene = scene


# A file that the scene, or what it is made of, needs and that is not there; "": none. The engine
# goes on without it.
static func _missing_of(scene_path: String) -> String:
	for need in _needs_of(scene_path):
		var file := need[1]
		var is_there := ResourceLoader.exists(file) or FileAccess.file_exists(file)
		if not is_there and not ResourceLoader.exists(need[2]):
			return "%s needs %s, which does not exist" % [need[0], file]
	return ""


# What a scene and what it is made of need: each file after the one that needs it, and before its
# UID, if it has one.
static func _needs_of(scene_path: String) -> Array[PackedStringArray]:
	var result: Array[PackedStringArray] = []
	var left: Array[String] = [scene_path]
	var looked: Dictionary[String, bool] = {scene_path: true}
	while not left.is_empty():
		var path: String = left.pop_back()
		for entry in ResourceLoader.get_dependencies(path):
			var file := entry.get_slice("::", entry.get_slice_count("::") - 1)
			if looked.has(file):
				continue
			looked[file] = true
			result.append(PackedStringArray([path, file, entry.get_slice("::", 0)]))
			if file.get_extension() in ["tscn", "scn", "tres", "res"]:
				left.append(file)
	return result


# Scenes in files that the engine cannot read, such as .blend where Blender is not installed, are
# empty: without that, what holds them cannot be opened.
static func _leave_out_unreadable(scene_path: String) -> void:
	for need in _needs_of(scene_path):
		var file := need[1]
		var type := file.get_extension().to_lower()
		var is_native := type in ["tscn", "scn"]
		if not is_native and type not in _FOREIGN_SCENES:
			continue
		if ResourceLoader.exists(file) and (is_native or load(file) != null):
			continue
		if ResourceLoader.exists(need[2]):
			continue
		var root := Node3D.new()
		root.name = file.get_file().get_basename()
		var empty := PackedScene.new()
		empty.pack(root)
		root.free()
		empty.take_over_path(file)
		_left_out.append(empty)
		push_warning("%s cannot be read: it is left out" % file)


# The way on which a scene comes back to itself, like "res://a.tscn > res://b.tscn"; "": none.
func _circle_of(path: String, above: PackedStringArray) -> String:
	if path in above:
		above.append(path)
		return " > ".join(above)
	if _looked.has(path):
		return ""
	_looked[path] = true
	above.append(path)
	for entry in ResourceLoader.get_dependencies(path):
		var file := entry.get_slice("::", entry.get_slice_count("::") - 1)
		if file.get_extension() in ["tscn", "scn"]:
			var found := _circle_of(file, above.duplicate())
			if found != "":
				return found
	return ""


func _fail_by_script() -> void:
	var node := AmbuloSceneSurvey.new(_scene, false).node_with(_log.script_path)
	var who := "a script fails" if node == "" else "node %s: its script fails" % node
	_fail("%s: %s:%d: %s" % [who, _log.script_path, _log.script_line, _log.script_error])


func _fail(rule: String) -> void:
	problem = "scene %s: %s" % [_path, rule]
