class_name AmbuloLevelSurfaces
extends RefCounted
## Keys of level files that only levels with heights or several places have: ramps, stairs,
## terrains, meshes, lists of starts, goals and waypoints.

## Keys read by [method read].
const KEYS: PackedStringArray = [
	"heights",
	"ground",
	"ramps",
	"stairs",
	"heightfields",
	"meshes",
	"starts",
	"goals",
	"waypoints",
]
## Numbers of a ramp: middle of the lower edge x, y, z, of the upper edge x, y, z, width,
## thickness (0: solid), [m].
const RAMP := 8
## Numbers of a flight of stairs: those of a ramp, and the number of steps.
const STAIR := 9
## Most triangles of all meshes and terrains of a level together.
const MAX_TRIANGLES := 1_000_000
## Most starts, goals or waypoints of a level.
const MAX_PLACES := 10_000
## Most steps of one flight of stairs.
const MAX_STEPS := 1000


class HeightField:
	extends RefCounted
	## A terrain: heights at the points of a square grid, two triangles per cell.

	## x, y and base height of the first point, [m].
	var origin: PackedFloat64Array = [0.0, 0.0, 0.0]
	## Distance of neighbouring points, [m].
	var cell := 1.0
	## Points along x.
	var columns := 0
	## Heights above the origin, row by row along x, [m].
	var heights: PackedFloat64Array = []

	## Points along y.
	func rows() -> int:
		return floori(heights.size() / float(columns))


class FaceMesh:
	extends RefCounted
	## Triangles, counter-clockwise seen from outside.

	## x, y, z of each point, [m].
	var vertices: PackedFloat64Array = []
	## Indices of the three corners of each triangle.
	var triangles: PackedInt32Array = []


## Reads the values of [constant KEYS] in [param table] into [param level].
static func read(level: AmbuloLevel, checks: AmbuloChecks, table: Dictionary) -> void:
	var flights := checks.list(table, "ramps")
	for k in flights.size():
		level.ramps.append_array(_ramp(checks, flights[k], "ramps[%d]" % k, false))
	flights = checks.list(table, "stairs")
	for k in flights.size():
		level.stairs.append_array(_ramp(checks, flights[k], "stairs[%d]" % k, true))
	var fields := checks.list(table, "heightfields")
	for k in fields.size():
		level.heightfields.append(_field(checks, fields[k], "heightfields[%d]" % k))
	var meshes := checks.list(table, "meshes")
	for k in meshes.size():
		level.meshes.append(_mesh(checks, meshes[k], "meshes[%d]" % k))
	var places := _places(checks, table, "starts")
	for k in places.size():
		level.starts.append_array(pose(checks, places[k], "starts[%d]" % k))
	level.heights = checks.flag(table.get("heights", false), "heights")
	level.ground = checks.flag(table.get("ground", true), "ground")
	places = _places(checks, table, "goals")
	for k in places.size():
		level.goals.append_array(point(checks, places[k], "goals[%d]" % k))
	places = _places(checks, table, "waypoints")
	for k in places.size():
		level.waypoints.append_array(point(checks, places[k], "waypoints[%d]" % k))


## Writes those of [constant KEYS] that [param level] uses into [param data].
static func write(level: AmbuloLevel, data: Dictionary) -> void:
	if level.heights:
		data["heights"] = true
	if not level.ground:
		data["ground"] = false
	var lists: Dictionary[String, Array] = {
		"ramps": _ramp_rows(level.ramps, RAMP),
		"stairs": _ramp_rows(level.stairs, STAIR),
		"heightfields": level.heightfields.map(_field_data),
		"meshes": level.meshes.map(_mesh_data),
		"starts": _rows(level.starts, 4).map(_pose_data),
		"goals": _rows(level.goals, 3),
		"waypoints": _rows(level.waypoints, 3),
	}
	for key in lists:
		if not lists[key].is_empty():
			data[key] = lists[key]


## x, y, z of two or three numbers; z is 0 without a third.
static func point(checks: AmbuloChecks, value: Variant, key: String) -> PackedFloat64Array:
	var count := (value as Array).size() if value is Array else 0
	if count != 2 and count != 3:
		checks.fail(key, "expected 2 or 3 numbers, got %s" % AmbuloChecks.shown(value))
		return [0.0, 0.0, 0.0]
	var found := checks.numbers(value, key, count, AmbuloLevel.MAX_COORDINATE)
	if count == 2:
		found.append(0.0)
	return found


## x, y, z, yaw of a start.
static func pose(checks: AmbuloChecks, data: Variant, key: String) -> PackedFloat64Array:
	var table := checks.table(data, key, key + ".", ["position", "yaw"], ["position"])
	var found := point(checks, table.get("position"), key + ".position")
	var most := AmbuloLevel.MAX_COORDINATE
	found.append(checks.number(table.get("yaw", 0.0), key + ".yaw", -most, most))
	return found


## A place in the format of level files: without its height if that is 0.
static func raised(x: float, y: float, z: float) -> Array:
	return [x, y] if z == 0.0 else [x, y, z]


static func _ramp(
	checks: AmbuloChecks, data: Variant, key: String, steps: bool
) -> PackedFloat64Array:
	var allowed: PackedStringArray = ["from", "to", "width", "thickness"]
	var required: PackedStringArray = ["from", "to", "width"]
	if steps:
		allowed.append("steps")
		required.append("steps")
	var most := AmbuloLevel.MAX_COORDINATE
	var table := checks.table(data, key, key + ".", allowed, required)
	var low := checks.numbers(table.get("from"), key + ".from", 3, most)
	var high := checks.numbers(table.get("to"), key + ".to", 3, most)
	var width := checks.number(table.get("width"), key + ".width", -most, most)
	var thick := 0.0
	if table.get("thickness") != null:
		thick = checks.number(table["thickness"], key + ".thickness", -most, most)
		if thick == 0.0:
			thick = -1.0
	if width <= 0.0 or thick < 0.0:
		checks.fail(key, "width and thickness must be > 0")
	if low[0] == high[0] and low[1] == high[1]:
		checks.fail(key, "from and to are one above the other")
	var row := high + low if low[2] > high[2] else low + high
	row.append_array([width, thick])
	if steps:
		var count := checks.number(table.get("steps"), key + ".steps", -most, most)
		if count < 1.0 or count > MAX_STEPS or count != roundf(count):
			checks.fail(key + ".steps", "expected a whole number from 1 to %d" % MAX_STEPS)
		if row[5] <= row[2]:
			checks.fail(key, "must rise")
		row.append(count)
	return row


static func _field(checks: AmbuloChecks, data: Variant, key: String) -> HeightField:
	var field := HeightField.new()
	var keys: PackedStringArray = ["origin", "cell", "heights"]
	var most := AmbuloLevel.MAX_COORDINATE
	var table := checks.table(data, key, key + ".", keys, keys)
	field.cell = checks.number(table.get("cell"), key + ".cell", -most, most)
	if field.cell <= 0.0:
		checks.fail(key + ".cell", "must be > 0")
	var rows := checks.list(table, "heights")
	field.columns = (rows[0] as Array).size() if not rows.is_empty() and rows[0] is Array else 0
	if rows.size() < 2 or field.columns < 2:
		checks.fail(key + ".heights", "expected at least 2 rows of 2 numbers")
	if 2 * rows.size() * field.columns > MAX_TRIANGLES:
		checks.fail(key + ".heights", "more than %d triangles" % MAX_TRIANGLES)
	for k in rows.size():
		if not checks.problem.is_empty():
			break
		var name := "%s.heights[%d]" % [key, k]
		field.heights.append_array(checks.numbers(rows[k], name, field.columns, most))
	field.origin = checks.numbers(table.get("origin"), key + ".origin", 3, most)
	return field


static func _mesh(checks: AmbuloChecks, data: Variant, key: String) -> FaceMesh:
	var mesh := FaceMesh.new()
	var keys: PackedStringArray = ["vertices", "triangles"]
	var table := checks.table(data, key, key + ".", keys, keys)
	var points := checks.list(table, "vertices")
	var faces := checks.list(table, "triangles")
	if faces.size() > MAX_TRIANGLES or points.size() > 3 * MAX_TRIANGLES:
		checks.fail(key + ".triangles", "more than %d" % MAX_TRIANGLES)
	var most := AmbuloLevel.MAX_COORDINATE
	for k in points.size():
		if not checks.problem.is_empty():
			return mesh
		var name := "%s.vertices[%d]" % [key, k]
		mesh.vertices.append_array(checks.numbers(points[k], name, 3, most))
	for k in faces.size():
		if not checks.problem.is_empty():
			return mesh
		var name := "%s.triangles[%d]" % [key, k]
		for corner in checks.numbers(faces[k], name, 3, most):
			if corner != roundf(corner) or corner < 0.0 or corner >= points.size():
				checks.fail(name, "expected numbers of vertices, 0 to %d" % (points.size() - 1))
			mesh.triangles.append(int(corner))
	return mesh


static func _places(checks: AmbuloChecks, table: Dictionary, key: String) -> Array:
	var places := checks.list(table, key)
	if places.size() > MAX_PLACES:
		checks.fail(key, "more than %d" % MAX_PLACES)
		return []
	return places


static func _rows(numbers: PackedFloat64Array, width: int) -> Array:
	var rows := []
	for k in range(0, numbers.size(), width):
		rows.append(Array(numbers.slice(k, k + width)))
	return rows


static func _ramp_rows(numbers: PackedFloat64Array, width: int) -> Array:
	var rows := []
	for row: Array in _rows(numbers, width):
		var data := {"from": row.slice(0, 3), "to": row.slice(3, 6), "width": row[6]}
		if row[7] != 0.0:
			data["thickness"] = row[7]
		if width == STAIR:
			data["steps"] = int(row[8])
		rows.append(data)
	return rows


static func _pose_data(row: Array) -> Dictionary:
	return {"position": row.slice(0, 3), "yaw": row[3]}


static func _field_data(field: HeightField) -> Dictionary:
	return {
		"origin": Array(field.origin),
		"cell": field.cell,
		"heights": _rows(field.heights, field.columns),
	}


static func _mesh_data(mesh: FaceMesh) -> Dictionary:
	var faces := []
	for k in range(0, mesh.triangles.size(), 3):
		faces.append(Array(mesh.triangles.slice(k, k + 3)))
	return {"vertices": _rows(mesh.vertices, 3), "triangles": faces}
