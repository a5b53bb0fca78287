extends SceneTree
## Writes the raw geometry of a scene to a file, for `ambulo levels import`: `godot --headless
## --path PROJECT -s run_export.gd`, with the environment variables AMBULO_EXPORT_SCENE (res://...),
## AMBULO_EXPORT_FILE, AMBULO_EXPORT_FRAMES (physics frames that the scene runs first) and
## AMBULO_EXPORT_LENIENT (1: script errors are ignored).
##
## It prints "AMBULO_EXPORT starting PATH" before a node with a script gets ready, and
## "AMBULO_EXPORT problem TEXT" if there is no file.

const SceneWalk := preload("scene_walk.gd")
const ErrorLog := preload("../error_log.gd")
const SCENE_ENDINGS: Array[String] = [".tscn", ".scn", ".glb", ".gltf", ".blend", ".fbx"]

var _log := ErrorLog.new()
# Nodes with scripts, in the order of their `_ready` calls.
var _scripted: Array[Node] = []


func _initialize() -> void:
	_run.call_deferred()


func _run() -> void:
	var problem := await _export()
	if problem != "":
		print("AMBULO_EXPORT problem %s" % problem)
	quit(0 if problem == "" else 1)


func _export() -> String:
	OS.add_logger(_log)
	var scene := _loaded(OS.get_environment("AMBULO_EXPORT_SCENE"))
	if scene == null:
		return "cannot be loaded: %s" % _load_error("it is no scene")
	if _broken_part() != "":  # a scene in it is missing, or is part of itself; a node has no parent
		scene.free()
		return "cannot be loaded: %s" % _broken_part()
	_watch_start(scene)
	root.add_child(scene)
	current_scene = scene
	for k in maxi(OS.get_environment("AMBULO_EXPORT_FRAMES").to_int(), 1):
		paused = false
		await physics_frame
		if not is_instance_valid(scene) or not scene.is_inside_tree():
			return "its own scripts closed it %s" % _script_error()
	paused = false
	OS.remove_logger(_log)
	if _log.script_error != "" and OS.get_environment("AMBULO_EXPORT_LENIENT") != "1":
		return "%sa script fails: %s" % [_node_with(scene, _log.script_path), _script_error()]
	var data := SceneWalk.new().collect(scene)
	var file := FileAccess.open(OS.get_environment("AMBULO_EXPORT_FILE"), FileAccess.WRITE)
	if file == null:
		return "its geometry cannot be written: %s" % error_string(FileAccess.get_open_error())
	file.store_string(JSON.stringify(data, "", false, true))
	return ""


func _loaded(path: String) -> Node:
	var packed := ResourceLoader.load(path) as PackedScene
	if packed == null or not packed.can_instantiate():
		return null
	return packed.instantiate()


func _load_error(otherwise: String) -> String:
	if _log.script_error != "":
		return _script_error()
	return otherwise if _log.engine_errors.is_empty() else _log.engine_errors[0]


func _script_error() -> String:
	if _log.script_error == "":
		return ""
	return "%s (%s:%d)" % [_log.script_error, _log.script_path, _log.script_line]


func _broken_part() -> String:
	for text in _log.engine_errors:
		if "Parse Error" in text or SCENE_ENDINGS.any(func(ending: String): return ending in text):
			return text
	return _log.lost_node


func _watch_start(scene: Node) -> void:
	var left: Array[Node] = [scene]
	while not left.is_empty():  # the reverse: parents first, the last child before the first
		var node: Node = left.pop_back()
		if node.get_script() != null:
			_scripted.append(node)
			node.ready.connect(_say_next.bind(scene), CONNECT_ONE_SHOT)
		left.append_array(node.get_children())
	_say_next(scene)


func _say_next(scene: Node) -> void:
	if not _scripted.is_empty():
		var node: Node = _scripted.pop_back()
		if is_instance_valid(node):
			print("AMBULO_EXPORT starting %s" % SceneWalk.path_below(scene, node))


static func _node_with(scene: Node, path: String) -> String:
	var left: Array[Node] = [scene]
	while not left.is_empty():
		var node: Node = left.pop_back()
		var script: Script = node.get_script()
		if script != null and script.resource_path == path:
			return "node %s: " % SceneWalk.path_below(scene, node)
		left.append_array(node.get_children())
	return ""
