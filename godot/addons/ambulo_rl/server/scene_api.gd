class_name AmbuloSceneApi
extends RefCounted
## The endpoints about playing in a scene of the game: enter it, its markers, its floors.

## Columns of one request for floors at most.
const MOST_COLUMNS := 200_000

## The open scene that the agents are in; "": they are in levels.
var path := ""
## Whether the scene moves by itself, so that it needs a frame for each decision.
var moves := false
## Its markers and box; null: none.
var survey: AmbuloSceneSurvey

var _tree: SceneTree
var _rl: AmbuloRlApi


## The endpoints for the world of [param rl] and the scenes of [param tree].
func _init(tree: SceneTree, rl: AmbuloRlApi) -> void:
	_tree = tree
	_rl = rl


## Put the endpoints on `router`.
func register(router: AmbuloRouter) -> void:
	router.add("GET", "/rl/scene", _describe)
	router.add("POST", "/rl/scene", _enter)
	router.add("POST", "/rl/floor", _floor, true)


## Puts the agents into the open scene.
func enter_open_scene() -> void:
	var scene := _tree.current_scene
	path = scene.scene_file_path
	survey = AmbuloSceneSurvey.new(scene)
	moves = survey.moves
	_rl.use_scene(_tree.root.find_world_3d().space)
	_rl.world.scene().floor_stands_still = not moves


func _describe(_request: AmbuloRequest) -> AmbuloReply:
	return _described()


func _enter(request: AmbuloRequest) -> AmbuloReply:
	var fields := AmbuloFields.new()
	var data := fields.table(
		request.json_object(fields), "body", "", ["scene_path"], ["scene_path"]
	)
	var wanted: Variant = data.get("scene_path")
	if fields.refusal == null and wanted != null and wanted is not String:
		fields.fail("scene_path", "expected text or null, got %s" % AmbuloChecks.shown(wanted))
	if fields.refusal != null:
		return fields.refusal
	if wanted == null:
		path = ""
		moves = false
		survey = null
		_rl.use_scene(RID())
		return _described()
	var scene := _tree.current_scene
	if scene == null or scene.scene_file_path != wanted:
		var open := "no scene" if scene == null else scene.scene_file_path
		return AmbuloReply.fail(409, "not_open", "%s is open: open it first" % open, "scene_path")
	enter_open_scene()
	return _described()


func _described() -> AmbuloReply:
	if survey == null:
		return AmbuloReply.json({"scene_path": null})
	if not survey.is_alive():
		return AmbuloReply.fail(409, "bad_scene", "the scene is closed")
	var problem := survey.problem
	if problem == "" and survey.colliders == 0:
		problem = "it has no colliders: give its floor a StaticBody3D (or CSG use_collision)"
	elif problem == "" and survey.box.size == Vector3.ZERO:
		problem = (
			"all of its colliders are endless: add a CSGBox3D or MeshInstance3D named %s"
			% AmbuloSceneSurvey.BOUNDS
		)
	var data := {
		"scene_path": path,
		"moves": survey.moves,
		"colliders": survey.colliders,
		"box": _box(),
		"anchors": _points(survey.anchors),
	}
	for group in AmbuloSceneSurvey.KINDS:
		var found: Array = []
		if problem == "":
			problem = _read_markers(group, found)
		data[group.trim_prefix("ambulo_") + "s"] = found
	if problem != "":
		return AmbuloReply.fail(409, "bad_scene", "scene %s: %s" % [path, problem])
	return AmbuloReply.json(data)


# The markers of `group` on their floors go to `found`; returns the rule that one breaks.
func _read_markers(group: String, found: Array) -> String:
	var floor_of := AmbuloSceneFloor.new(_rl.world.scene(), survey.moving_bodies)
	for node: Node3D in survey.markers[group]:
		if not is_instance_valid(node):
			continue
		var at := AmbuloAxes.from_godot(node.global_position)
		var problems := PackedStringArray()
		var z := floor_of.below(at[0], at[1], at[2], problems)
		if not problems.is_empty():
			return "node %s: %s" % [survey.path_of(node), problems[0]]
		(
			found
			. append(
				{
					"node": survey.path_of(node),
					"position": [at[0], at[1], z],
					"yaw": AmbuloAxes.yaw_of(node.global_basis),
				}
			)
		)
	return ""


func _box() -> Array[float]:
	var low := survey.box.position
	var high := survey.box.end
	return [-high.z, -high.x, low.y, -low.z, -low.x, high.y]


static func _points(points: PackedVector3Array) -> Array[PackedFloat64Array]:
	var rows: Array[PackedFloat64Array] = []
	for point in points:
		rows.append(AmbuloAxes.from_godot(point))
	return rows


func _floor(request: AmbuloRequest) -> AmbuloReply:
	var fields := AmbuloFields.new()
	var keys: PackedStringArray = ["origin", "size", "first", "last", "heights"]
	var data := fields.table(request.json_object(fields), "body", "", keys, keys)
	var origin := fields.numbers(data.get("origin"), "origin", 2, AmbuloFields.MAX_NUMBER)
	var size := fields.number(data.get("size"), "size", 0.02, 10.0)
	var first := fields.wholes(data.get("first"), "first", 0, 1 << 20, 2)
	var last := fields.wholes(data.get("last"), "last", 0, 1 << 20, 2)
	var heights := fields.numbers(data.get("heights"), "heights", 2, AmbuloFields.MAX_NUMBER)
	if fields.refusal == null and survey == null:
		fields.refuse(409, "no_scene", "the agents are in no scene: POST /rl/scene")
	if fields.refusal == null:
		var columns := maxi(last[0] - first[0] + 1, 0) * maxi(last[1] - first[1] + 1, 0)
		if columns > MOST_COLUMNS:
			fields.fail("last", "%d columns, at most %d" % [columns, MOST_COLUMNS])
	if fields.refusal != null:
		return fields.refusal
	var rows := AmbuloSceneFloor.new(_rl.world.scene(), survey.moving_bodies).scan(
		origin[0],
		origin[1],
		size,
		Vector2i(first[0], first[1]),
		Vector2i(last[0], last[1]),
		heights[0],
		heights[1]
	)
	var width := AmbuloSceneFloor.WIDTH
	var count := floori(rows.size() / float(width))
	if request.head.binary_reply:
		return AmbuloReply.raw(
			AmbuloWire.rows(count, width, _rl.decisions, rows), AmbuloWire.MEDIA_TYPE
		)
	var floors: Array[PackedFloat64Array] = []
	for k in range(0, rows.size(), width):
		floors.append(rows.slice(k, k + width))
	return AmbuloReply.json({"floors": floors})
