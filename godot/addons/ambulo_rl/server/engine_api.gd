class_name AmbuloEngineApi
extends RefCounted
## The endpoints about the engine itself: health, status, performance, scenes, a screenshot.

const API_VERSION := 1
const WHITELIST := "res://config/scene_whitelist.json"

## Fills the "server" part of status and performance: `func() -> Dictionary`.
var server_numbers: Callable
## The engine must draw a frame before it serves on (a scene is being changed).
var needs_frame := false

var _tree: SceneTree
var _started := Time.get_ticks_msec()
var _loading := ""


## The endpoints of the engine that runs `tree`.
func _init(tree: SceneTree) -> void:
	_tree = tree


## Put the endpoints on `router`.
func register(router: AmbuloRouter) -> void:
	router.add("GET", "/health", _health)
	router.add("GET", "/status", _status)
	router.add("GET", "/performance", _performance)
	router.add("GET", "/scene", _scene)
	router.add("POST", "/scene", _change_scene)
	router.add("GET", "/scenes", _scenes)
	router.add("POST", "/scene/reload", _reload_scene)
	router.add("GET", "/debug/screenshot", _screenshot)


## What engine this is.
static func about() -> Dictionary:
	return {
		"name": "Godot",
		"version": Engine.get_version_info()["string"],
		"physics": ProjectSettings.get_setting("physics/3d/physics_engine"),
		"physics_ticks_per_second": Engine.physics_ticks_per_second,
	}


func _health(_request: AmbuloRequest) -> AmbuloReply:
	return AmbuloReply.json({"status": "ok", "api_version": API_VERSION})


func _status(_request: AmbuloRequest) -> AmbuloReply:
	return (
		AmbuloReply
		. json(
			{
				"status": "ok",
				"api_version": API_VERSION,
				"engine": about(),
				"pid": OS.get_process_id(),
				"uptime": (Time.get_ticks_msec() - _started) / 1000.0,
				"headless": _is_headless(),
				"scene": _scene_data(),
				"server": server_numbers.call(),
			}
		)
	)


func _performance(_request: AmbuloRequest) -> AmbuloReply:
	return (
		AmbuloReply
		. json(
			{
				"timestamp": Time.get_unix_time_from_system(),
				"memory":
				{
					"static_memory_usage": int(Performance.get_monitor(Performance.MEMORY_STATIC)),
					"static_memory_peak":
					int(Performance.get_monitor(Performance.MEMORY_STATIC_MAX)),
					"video_memory_usage":
					int(Performance.get_monitor(Performance.RENDER_VIDEO_MEM_USED)),
				},
				"engine":
				{
					"fps": Engine.get_frames_per_second(),
					"process_time": Performance.get_monitor(Performance.TIME_PROCESS),
					"physics_process_time":
					Performance.get_monitor(Performance.TIME_PHYSICS_PROCESS),
					"process_frames": Engine.get_process_frames(),
					"physics_frames": Engine.get_physics_frames(),
					"objects": int(Performance.get_monitor(Performance.OBJECT_COUNT)),
					"nodes": int(Performance.get_monitor(Performance.OBJECT_NODE_COUNT)),
					"orphan_nodes":
					int(Performance.get_monitor(Performance.OBJECT_ORPHAN_NODE_COUNT)),
					"resources": int(Performance.get_monitor(Performance.OBJECT_RESOURCE_COUNT)),
					"draw_calls":
					int(Performance.get_monitor(Performance.RENDER_TOTAL_DRAW_CALLS_IN_FRAME)),
					"active_physics_bodies":
					int(Performance.get_monitor(Performance.PHYSICS_3D_ACTIVE_OBJECTS)),
				},
				"server": server_numbers.call(),
			}
		)
	)


func _scene(_request: AmbuloRequest) -> AmbuloReply:
	return AmbuloReply.json(_scene_data())


func _scenes(_request: AmbuloRequest) -> AmbuloReply:
	return AmbuloReply.json({"scenes": Array(_whitelist()), "current": _scene_data()})


func _change_scene(request: AmbuloRequest) -> AmbuloReply:
	var fields := AmbuloFields.new()
	var data := fields.table(
		request.json_object(fields), "body", "", ["scene_path"], ["scene_path"]
	)
	var value: Variant = data.get("scene_path")
	if fields.refusal == null and value is not String:
		fields.fail("scene_path", "expected text, got %s" % AmbuloChecks.shown(value))
	if fields.refusal != null:
		return fields.refusal
	var path: String = value
	# Exact comparison with the list: whatever else the text may name is never opened.
	if path not in _whitelist():
		var rule := "not in config/scene_whitelist.json"
		if not FileAccess.file_exists(WHITELIST):
			rule = 'no scene may be opened: create %s: {"scenes": ["res://..."]}' % WHITELIST
		return AmbuloReply.fail(403, "not_whitelisted", rule, "scene_path")
	if not ResourceLoader.exists(path, "PackedScene"):
		return AmbuloReply.fail(404, "scene_missing", "no such scene file", "scene_path")
	if _tree.change_scene_to_file(path) != OK:
		return AmbuloReply.fail(500, "scene_broken", "the scene cannot be loaded", "scene_path")
	_loading = path
	needs_frame = true
	return AmbuloReply.json({"status": "loading", "scene": path})


func _reload_scene(_request: AmbuloRequest) -> AmbuloReply:
	if _tree.current_scene == null:
		return AmbuloReply.fail(409, "no_scene", "no scene is loaded")
	var path := _tree.current_scene.scene_file_path
	if _tree.reload_current_scene() != OK:
		return AmbuloReply.fail(500, "scene_broken", "the scene cannot be loaded")
	_loading = path
	needs_frame = true
	return AmbuloReply.json({"status": "loading", "scene": path})


func _screenshot(_request: AmbuloRequest) -> AmbuloReply:
	if _is_headless():
		return AmbuloReply.fail(
			501, "headless", "an engine started with --headless draws nothing; start it without"
		)
	var picture := _tree.root.get_texture().get_image()
	if picture == null or picture.is_empty():
		return AmbuloReply.fail(503, "no_frame", "nothing has been drawn yet; ask again")
	return AmbuloReply.raw(picture.save_png_to_buffer(), "image/png")


func _scene_data() -> Dictionary:
	var scene := _tree.current_scene
	if scene == null:
		return {
			"scene_name": null,
			"scene_path": null if _loading == "" else _loading,
			"status": "none" if _loading == "" else "loading",
		}
	_loading = ""
	return {
		"scene_name": str(scene.name),
		"scene_path": scene.scene_file_path,
		"status": "loaded",
	}


# A missing or damaged list allows nothing.
func _whitelist() -> PackedStringArray:
	var paths := PackedStringArray()
	var reader := JSON.new()
	if not FileAccess.file_exists(WHITELIST):
		return paths
	if reader.parse(FileAccess.get_file_as_string(WHITELIST)) != OK:
		push_error("%s: %s" % [WHITELIST, reader.get_error_message()])
		return paths
	var data: Variant = reader.data
	if data is Dictionary and data.get("scenes") is Array:
		for path: Variant in data["scenes"]:
			paths.append(str(path))
	return paths


static func _is_headless() -> bool:
	return DisplayServer.get_name() == "headless"
