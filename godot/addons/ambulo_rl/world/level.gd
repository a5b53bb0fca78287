class_name AmbuloLevel
extends RefCounted
## A level: floor, holes, box and cylinder obstacles, start and goal (contract's axes).
##
## The rules and the names in error messages are those of the trainer's level files.
## Whether a walk from start to goal exists is not looked at here.

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
## Keys of [method from_dict].
const KEYS: PackedStringArray = [
	"name",
	"bounds",
	"holes",
	"boxes",
	"cylinders",
	"start",
	"goal",
	"goal_distance",
	"family",
]

## Unique within a set.
var name := ""
## Family for tables.
var family := "custom"
## Floor rectangle x0, y0, x1, y1, [m].
var bounds: PackedFloat64Array = [0.0, 0.0, 0.0, 0.0]
## Holes x0, y0, x1, y1, four numbers each, [m].
var holes: PackedFloat64Array = []
## Centre x, y, z, half sizes a, b, c, yaw: seven numbers a box.
var boxes: PackedFloat64Array = []
## Centre x, y, radius, height: four numbers a cylinder.
var cylinders: PackedFloat64Array = []
## Designed start x, y, yaw; empty: drawn.
var start: PackedFloat64Array = []
## Designed goal x, y; empty: drawn.
var goal: PackedFloat64Array = []
## Range of the straight distance of drawn places min, max; empty: the default.
var goal_distance: PackedFloat64Array = []


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
	for k in range(0, cylinders.size(), 4):
		(
			drums
			. append(
				{
					"center": Array(cylinders.slice(k, k + 2)),
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
		pose = {"position": [start[0], start[1]], "yaw": start[2]}
	return {
		"name": name,
		"family": family,
		"bounds": Array(bounds),
		"holes": hole_rows,
		"boxes": box_rows,
		"cylinders": drums,
		"start": pose,
		"goal": null if goal.is_empty() else Array(goal),
		"goal_distance": null if goal_distance.is_empty() else Array(goal_distance),
	}


## Whether there is floor at (x, y): in the bounds, and strictly inside no hole.
func has_floor(x: float, y: float) -> bool:
	return has_in_bounds(x, y) and hole_at(x, y) < 0


## Whether (x, y) is in the floor rectangle, its border included.
func has_in_bounds(x: float, y: float) -> bool:
	return x >= bounds[0] and y >= bounds[1] and x <= bounds[2] and y <= bounds[3]


## Number of a hole that has (x, y) strictly inside; -1: none.
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
	return cylinders[k + 3] > AmbuloContract.STEP_HEIGHT


## Distance from (x, y) to the nearest obstructing prism, 0 inside one, [m].
func clearance(x: float, y: float) -> float:
	var nearest := INF
	for k in range(0, boxes.size(), 7):
		if box_obstructs(k):
			nearest = minf(nearest, box_distance(k, x, y))
	for k in range(0, cylinders.size(), 4):
		if cylinder_obstructs(k):
			nearest = minf(nearest, cylinder_distance(k, x, y))
	return nearest


## Distance from (x, y) to the box whose numbers begin at [param k], 0 inside it, [m].
func box_distance(k: int, x: float, y: float) -> float:
	var dx := x - boxes[k]
	var dy := y - boxes[k + 1]
	var c := cos(boxes[k + 6])
	var s := sin(boxes[k + 6])
	var u := maxf(absf(c * dx + s * dy) - boxes[k + 3], 0.0)
	var v := maxf(absf(c * dy - s * dx) - boxes[k + 4], 0.0)
	return sqrt(u * u + v * v)


## Distance from (x, y) to the cylinder whose numbers begin at [param k], 0 inside it, [m].
func cylinder_distance(k: int, x: float, y: float) -> float:
	var dx := x - cylinders[k]
	var dy := y - cylinders[k + 1]
	return maxf(sqrt(dx * dx + dy * dy) - cylinders[k + 2], 0.0)


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
	if table.get("goal") != null:
		goal = checks.numbers(table["goal"], "goal", 2, MAX_COORDINATE)
	if table.get("goal_distance") != null:
		goal_distance = checks.numbers(table["goal_distance"], "goal_distance", 2, MAX_COORDINATE)
	name = checks.text(table["name"], "name")
	if table.get("start") != null:
		_parse_start(checks, table["start"])
	family = checks.text(table.get("family", "custom"), "family")


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
	cylinders.append_array(checks.numbers(table.get("center"), key + ".center", 2, MAX_COORDINATE))
	for size: String in ["radius", "height"]:
		var value: Variant = table.get(size)
		cylinders.append(checks.number(value, key + "." + size, -MAX_COORDINATE, MAX_COORDINATE))


func _parse_start(checks: AmbuloChecks, data: Variant) -> void:
	var table := checks.table(data, "start", "start.", ["position", "yaw"], ["position"])
	start = checks.numbers(table.get("position"), "start.position", 2, MAX_COORDINATE)
	start.append(checks.number(table.get("yaw", 0.0), "start.yaw", -MAX_COORDINATE, MAX_COORDINATE))
