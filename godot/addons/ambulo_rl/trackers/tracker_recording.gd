class_name AmbuloTrackerRecording
extends RefCounted
## A recording of trackers, as written by `ambulo track --record` (docs/trackers_stream.md).
##
## A header and rows, one JSON value per line, of the conventions `openxr` and `ambulo`. Reading
## runs no code from the file.

## Longest line and most rows.
const MAX_LINE := 8192
const MAX_ROWS := 400000

## Time of each row, [s].
var times: PackedFloat64Array = []
## Whether poses are those of devices, in Godot's axes; otherwise of joints, in the contract's.
var devices := true
## Height of the ground, [m].
var ground := 0.0
## Given proportions: trunk, arms, legs; empty: none.
var ratios: PackedFloat64Array = []
## The first problem of the file; empty after [method load_from] returned true.
var error := ""

var _rows: Array[Array] = []
var _columns: PackedInt32Array = []


## Read the file at [param path]; false, with [member error] set, if it is refused.
func load_from(path: String) -> bool:
	var file := FileAccess.open(path, FileAccess.READ)
	if file == null:
		return _fail("%s: %s" % [path, AmbuloDataFile.open_problem(path)])
	var number := 0
	while not file.eof_reached():
		var line := file.get_line()
		number += 1
		if line == "" and file.eof_reached():
			break
		var problem := "a line above %d bytes" % MAX_LINE if line.length() > MAX_LINE else ""
		var json := JSON.new()
		if problem == "" and json.parse(line) != OK:
			problem = "no JSON"
		if problem == "":
			problem = _header(json.data) if number == 1 else _row(json.data)
		if problem != "":
			return _fail("%s: line %d: %s" % [path, number, problem])
	if times.is_empty():
		return _fail("%s: no rows" % path)
	return true


## Index of the row at [param seconds] after the first one; restarts at the end.
func row_at(seconds: float) -> int:
	var span := times[-1] - times[0]
	var time := times[0] + (fmod(seconds, span) if span > 0.0 else 0.0)
	return maxi(times.bsearch(time, false) - 1, 0)


## Pose of tracker [param row] in row [param index], in Godot's axes for devices, otherwise in the
## contract's; null if missing.
func pose(index: int, row: int) -> Variant:
	var column := _columns.find(row)
	if column < 0 or _rows[index][column] == null:
		return null
	var n: Array = _rows[index][column]
	var q := Quaternion(n[3], n[4], n[5], n[6]).normalized()
	return Transform3D(Basis(q), Vector3(n[0], n[1], n[2]))


func _header(data: Variant) -> String:
	if not data is Dictionary or data.get("format") != "ambulo-trackers":
		return "no recording of trackers"
	if data.get("version") != 1.0:
		return "of another version"
	var convention: Variant = data.get("convention")
	if convention != "openxr" and convention != "ambulo":
		return "convention must be openxr or ambulo: record it in one of these"
	devices = convention == "openxr"
	ground = _number(data.get("ground", 0.0))
	if not is_finite(ground):
		return "ground must be a number"
	var problem := _read_names(data.get("trackers"))
	return problem if problem != "" else _read_shape(data.get("shape"))


func _read_names(names: Variant) -> String:
	if not names is Array or names.is_empty():
		return "trackers must be a list of names"
	for name: Variant in names:
		var row := AmbuloTrackerDevices.NAMES.find(str(name))
		if row < 0 or _columns.has(row):
			return "unknown or repeated tracker %s" % str(name).left(40)
		_columns.append(row)
	return ""


func _read_shape(given: Variant) -> String:
	if given is Dictionary and given.has("stature"):
		var size := _number(given["stature"]) / AmbuloTrackerShape.STATURE
		ratios = [size, size, size]
	elif given is Dictionary:
		ratios = [_number(given.get("trunk")), _number(given.get("arm")), _number(given.get("leg"))]
	for ratio in ratios:
		if not (ratio >= AmbuloTrackerShape.SMALLEST and ratio <= AmbuloTrackerShape.LARGEST):
			return "shape of nobody"
	return ""


func _row(data: Variant) -> String:
	if data is Dictionary and data.has("crc32"):
		return ""
	if not data is Array or data.size() != _columns.size() + 1:
		return "expected a time and %d poses" % _columns.size()
	var time := _number(data[0])
	if not is_finite(time) or (not times.is_empty() and time <= times[-1]):
		return "times must grow"
	for pose: Variant in data.slice(1):
		if pose != null and not _is_pose(pose):
			return "a pose has 7 numbers"
	if times.size() >= MAX_ROWS:
		return "more than %d rows" % MAX_ROWS
	times.append(time)
	_rows.append(data.slice(1))
	return ""


func _is_pose(pose: Variant) -> bool:
	if not pose is Array or pose.size() != 7:
		return false
	for number: Variant in pose:
		if not absf(_number(number)) <= 1e6:
			return false
	return true


func _number(value: Variant) -> float:
	return float(value) if value is float or value is int else NAN


func _fail(reason: String) -> bool:
	error = reason
	return false
