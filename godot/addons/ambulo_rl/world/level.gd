class_name AmbuloLevel
extends RefCounted
## A level: floor, holes, box and cylinder obstacles, start and goal (contract's axes), and in
## levels with [member heights] ramps, stairs, terrains and meshes (docs/vr_world.md, "Shapes and
## floor").
##
## The rules and the names in error messages are those of the trainer's level files. Whether a walk
## from start to goal exists is not checked here.

## Largest number in a level, [m] or [rad].
const MAX_COORDINATE := 1e6
## Most boxes, cylinders and holes together.
const MAX_OBSTACLES := 100_000
## Largest floor, [m^2].
const MAX_AREA := 1e6
## Longest side of a floor, [m].
const MAX_SIDE := 1e4
## Largest sum of the floor under each obstacle, overlaps counted, [m^2].
const MAX_COVER := 1e7
## Keys accepted by [method from_dict].
const KEYS: PackedStringArray = [
	"$schema",
	"name",
	"bounds",
	"holes",
	"boxes",
	"cylinders",
	"start",
	"goal",
	"goal_distance",
	"family",
	"heights",
	"ground",
	"ramps",
	"stairs",
	"heightfields",
	"meshes",
	"starts",
	"goals",
	"waypoints",
	"movers",
	"people",
]
## Message for levels with moving obstacles.
const _MOVES := "nothing moves by itself in Godot's level world: use the compiled world"
## Numbers of a cylinder in [member cylinders].
const DRUM := 5

## Unique within a set.
var name := ""
## Level family, as used in tables.
var family := "custom"
## Floor rectangle x0, y0, x1, y1, [m].
var bounds: PackedFloat64Array = [0.0, 0.0, 0.0, 0.0]
## Holes x0, y0, x1, y1, four numbers each, [m].
var holes: PackedFloat64Array = []
## Boxes: centre x, y, z, half sizes a, b, c, yaw; seven numbers each.
var boxes: PackedFloat64Array = []
## Cylinders: centre x, y, radius, height, height of the base; five numbers each.
var cylinders: PackedFloat64Array = []
## Fixed start x, y, yaw; empty: sampled.
var start: PackedFloat64Array = []
## Fixed goal x, y; empty: sampled.
var goal: PackedFloat64Array = []
## Range (min, max) of the straight distance of sampled places; empty: the default.
var goal_distance: PackedFloat64Array = []
## Whether shapes have their own heights; otherwise they are walls and the floor is at z = 0.
var heights := false
## Whether there is a floor at z = 0 in the bounds; otherwise bodies stand only on shapes.
var ground := true
## Ramps, eight numbers each, see [constant AmbuloLevelSurfaces.RAMP].
var ramps: PackedFloat64Array = []
## Flights of stairs, nine numbers each, see [constant AmbuloLevelSurfaces.STAIR].
var stairs: PackedFloat64Array = []
## Terrains.
var heightfields: Array[AmbuloLevelSurfaces.HeightField] = []
## Triangle meshes, both obstacles and floors.
var meshes: Array[AmbuloLevelSurfaces.FaceMesh] = []
## Height of the floor at the designed start and goal, [m].
var start_height := 0.0
var goal_height := 0.0
## Starts x, y, z, yaw to sample from: four numbers each.
var starts: PackedFloat64Array = []
## Goals x, y, z to sample from, or the waypoints of a patrol in order: three numbers each.
var goals: PackedFloat64Array = []
var waypoints: PackedFloat64Array = []


## A checked level from JSON data. On a broken rule it returns null and appends one line
## "key: rule" to [param errors].
static func from_dict(data: Variant, errors: PackedStringArray) -> AmbuloLevel:
	var checks := AmbuloChecks.new()
	var level := AmbuloLevel.new()
	level._parse(checks, data)
	if checks.problem.is_empty():
		AmbuloLevelRules.check(level, checks)
	if not checks.problem.is_empty():
		errors.append(checks.problem)
		return null
	return level


## The level in JSON text; see [method from_dict].
static func from_json(text: String, errors: PackedStringArray) -> AmbuloLevel:
	var reader := JSON.new()
	if reader.parse(text) != OK:
		errors.append(
			"level: not JSON: line %d: %s" % [reader.get_error_line(), reader.get_error_message()]
		)
		return null
	return from_dict(reader.data, errors)


## The levels of the file or folder [param path], in the order of the file names. Each refused file,
## and a missing one, appends a line to [param errors].
static func read_files(path: String, errors: PackedStringArray) -> Array[AmbuloLevel]:
	var files: PackedStringArray = []
	if FileAccess.file_exists(path):
		files.append(path)
	elif DirAccess.dir_exists_absolute(path):
		for name in DirAccess.get_files_at(path):
			if name.get_extension() == "json":
				files.append(path.path_join(name))
	files.sort()
	if files.is_empty():
		errors.append("no *.json level file there: %s" % path)
	var levels: Array[AmbuloLevel] = []
	for file in files:
		var problems: PackedStringArray = []
		var level := from_json(FileAccess.get_file_as_string(file), problems)
		if level != null:
			levels.append(level)
		else:
			errors.append("%s: %s" % [file, problems[0]])
	return levels


## The level as plain JSON data.
func to_dict() -> Dictionary:
	var box_rows: Array[Dictionary] = []
	for k in range(0, boxes.size(), 7):
		(
			box_rows
			. append(
				{
					"center": Array(boxes.slice(k, k + 3)),
					"half_size": Array(boxes.slice(k + 3, k + 6)),
					"yaw": boxes[k + 6],
				}
			)
		)
	var drums: Array[Dictionary] = []
	for k in range(0, cylinders.size(), DRUM):
		(
			drums
			. append(
				{
					"center":
					AmbuloLevelSurfaces.raised(cylinders[k], cylinders[k + 1], cylinders[k + 4]),
					"radius": cylinders[k + 2],
					"height": cylinders[k + 3],
				}
			)
		)
	var hole_rows: Array[Array] = []
	for k in range(0, holes.size(), 4):
		hole_rows.append(Array(holes.slice(k, k + 4)))
	var pose: Variant = null
	if not start.is_empty():
		var place := AmbuloLevelSurfaces.raised(start[0], start[1], start_height)
		pose = {"position": place, "yaw": start[2]}
	var target: Variant = null
	if not goal.is_empty():
		target = AmbuloLevelSurfaces.raised(goal[0], goal[1], goal_height)
	var data := {
		"name": name,
		"family": family,
		"bounds": Array(bounds),
		"holes": hole_rows,
		"boxes": box_rows,
		"cylinders": drums,
		"start": pose,
		"goal": target,
		"goal_distance": null if goal_distance.is_empty() else Array(goal_distance),
	}
	AmbuloLevelSurfaces.write(self, data)
	return data


## Whether there is floor at (x, y): in the bounds, and strictly inside no hole.
func has_floor(x: float, y: float) -> bool:
	return has_in_bounds(x, y) and hole_at(x, y) < 0


## Whether the floor certainly covers the circle of [param radius] around (x, y).
func has_floor_around(x: float, y: float, radius: float) -> bool:
	var b := bounds
	if x - radius < b[0] or y - radius < b[1] or x + radius > b[2] or y + radius > b[3]:
		return false
	for k in range(0, holes.size(), 4):
		if x > holes[k] - radius and x < holes[k + 2] + radius:
			if y > holes[k + 1] - radius and y < holes[k + 3] + radius:
				return false
	return true


## Whether (x, y) is in the floor rectangle, its border included.
func has_in_bounds(x: float, y: float) -> bool:
	return x >= bounds[0] and y >= bounds[1] and x <= bounds[2] and y <= bounds[3]


## Index of a hole with (x, y) strictly inside; -1: none.
func hole_at(x: float, y: float) -> int:
	for k in range(0, holes.size(), 4):
		if holes[k] < x and x < holes[k + 2] and holes[k + 1] < y and y < holes[k + 3]:
			return floori(k / 4.0)
	return -1


## Whether the box whose numbers begin at [param k] of [member boxes] obstructs.
func box_obstructs(k: int) -> bool:
	return (
		boxes[k + 2] - boxes[k + 5] < AmbuloContract.BODY_HEIGHT
		and boxes[k + 2] + boxes[k + 5] > AmbuloContract.STEP_HEIGHT
	)


## Whether the cylinder whose numbers begin at [param k] of [member cylinders] obstructs.
func cylinder_obstructs(k: int) -> bool:
	return (
		cylinders[k + 4] < AmbuloContract.BODY_HEIGHT
		and cylinders[k + 3] + cylinders[k + 4] > AmbuloContract.STEP_HEIGHT
	)


func _parse(checks: AmbuloChecks, data: Variant) -> void:
	var table := checks.table(data, "level", "", KEYS, ["name", "bounds"])
	if not checks.problem.is_empty():
		return
	bounds = checks.numbers(table["bounds"], "bounds", 4, MAX_COORDINATE)
	var hole_rows := checks.list(table, "holes")
	var box_rows := checks.list(table, "boxes")
	var drums := checks.list(table, "cylinders")
	var total := hole_rows.size() + box_rows.size() + drums.size()
	if total > MAX_OBSTACLES:
		var rule := "%d obstacles and holes, at most %d allowed" % [total, MAX_OBSTACLES]
		checks.fail("boxes", rule)
		return
	for k in hole_rows.size():
		holes.append_array(checks.numbers(hole_rows[k], "holes[%d]" % k, 4, MAX_COORDINATE))
	for k in box_rows.size():
		_parse_box(checks, box_rows[k], "boxes[%d]" % k)
	for k in drums.size():
		_parse_cylinder(checks, drums[k], "cylinders[%d]" % k)
	if table.get("goal_distance") != null:
		goal_distance = checks.numbers(table["goal_distance"], "goal_distance", 2, MAX_COORDINATE)
	if table.get("start") != null:
		var pose := AmbuloLevelSurfaces.pose(checks, table["start"], "start")
		start = [pose[0], pose[1], pose[3]]
		start_height = pose[2]
	if table.get("goal") != null:
		var place := AmbuloLevelSurfaces.point(checks, table["goal"], "goal")
		goal = place.slice(0, 2)
		goal_height = place[2]
	name = checks.text(table["name"], "name")
	family = checks.text(table.get("family", "custom"), "family")
	AmbuloLevelSurfaces.read(self, checks, table)
	if not checks.list(table, "movers").is_empty():
		checks.fail("movers", _MOVES)
	if not _is_empty_crowd(table.get("people")):
		checks.fail("people", _MOVES)


# Whether the value is an empty list of people.
func _is_empty_crowd(people: Variant) -> bool:
	if people is not Dictionary:
		return people == null
	var crowd: Dictionary = people
	var walkers: Variant = crowd.get("walkers", [])
	return crowd.get("count", 0) == 0 and walkers is Array and (walkers as Array).is_empty()


func _parse_box(checks: AmbuloChecks, data: Variant, key: String) -> void:
	var keys: PackedStringArray = ["center", "half_size", "yaw"]
	var table := checks.table(data, key, key + ".", keys, ["center", "half_size"])
	boxes.append_array(checks.numbers(table.get("center"), key + ".center", 3, MAX_COORDINATE))
	boxes.append_array(
		checks.numbers(table.get("half_size"), key + ".half_size", 3, MAX_COORDINATE)
	)
	boxes.append(
		checks.number(table.get("yaw", 0.0), key + ".yaw", -MAX_COORDINATE, MAX_COORDINATE)
	)


func _parse_cylinder(checks: AmbuloChecks, data: Variant, key: String) -> void:
	var keys: PackedStringArray = ["center", "radius", "height"]
	var table := checks.table(data, key, key + ".", keys, keys)
	var center := AmbuloLevelSurfaces.point(checks, table.get("center"), key + ".center")
	cylinders.append_array([center[0], center[1]])
	for size: String in ["radius", "height"]:
		var value: Variant = table.get(size)
		cylinders.append(checks.number(value, key + "." + size, -MAX_COORDINATE, MAX_COORDINATE))
	cylinders.append(center[2])
