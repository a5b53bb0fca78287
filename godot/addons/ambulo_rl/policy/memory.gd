class_name AmbuloMemory
extends RefCounted
## Memory of one player's observations, and its features.
##
## "visits" counts the decisions spent in each 1 m cell. "map" also remembers, in 0.25 m cells, what
## the rays showed to be free or blocked. Grids wrap around after 64 m. "navigator" adds the
## features of an [AmbuloNavigator]: the path ahead, the reason for waiting, moving objects and
## nearby obstacles. "plan" and "path" are its features for policies of earlier versions.

## Cells along a side of the fine grid, 0.25 m each.
const GRID := 256
## Cells along a side of the coarse grid, 1 m each.
const EXTENT := 64
## Kinds of memory.
const KINDS: PackedStringArray = ["none", "visits", "map", "plan", "path", "navigator"]

const _MAPPED: PackedStringArray = ["map", "plan"]
const _PLANNED: PackedStringArray = ["plan", "path", "navigator"]
const _STAY := 2
const _CELLS_PER_METRE := 4
const _STEP := 1.0 / _CELLS_PER_METRE
const _VISIT_DIRECTIONS := 8
const _VISIT_RINGS := 4
const _VISITS := _VISIT_DIRECTIONS * _VISIT_RINGS + 2
const _MAP_DIRECTIONS := 24
const _MAP_RANGE := 10.0
const _MAP_STEPS := 40
const _SECTORS := 16
const _SECTOR_EDGES: PackedFloat64Array = [0.5, 1.25, 2.25, 3.5, 5.5, 8.5]
const _SPOTS_RADIAL: PackedInt32Array = [1, 2, 2, 3, 4]
const _SPOTS_ANGULAR: PackedInt32Array = [2, 2, 3, 3, 3]
const _SECTOR_CELLS := 80
const _MOST_VISITS := 65535
# Distances along the path of the points of "plan" and "path", [m].
const _AHEAD: PackedFloat64Array = [2.0, 4.0]
const _PLAN := 6
const _MAP := 3 * _MAP_DIRECTIONS + 2 * _SECTOR_CELLS

# Codes in the fine grid, chosen so that a sum of at most twelve cells encodes the number of unknown
# cells (low four bits) and of blocked cells (the rest).
const _FREE := 0
const _UNKNOWN := 1
const _BLOCKED := 16

# Sample points of the sectors in the head frame, in fine cells, sector by sector.
static var _spots_x: PackedFloat64Array = []
static var _spots_y: PackedFloat64Array = []
static var _spots_in: PackedInt32Array = []

## One of [constant KINDS].
var kind: String
## Number of features written by [method update].
var size: int

var _counts := PackedInt32Array()
var _logs := PackedFloat64Array()
var _cells := PackedByteArray()
var _best := INF
var _stale := 0
var _navigator: AmbuloNavigator


## An empty memory of [param memory_kind]; waypoints lie at most [param reach] [m] along the path.
func _init(memory_kind: String, reach := 10.0) -> void:
	assert(memory_kind in KINDS, "no such kind of memory")
	kind = memory_kind
	for numbers: int in fields(kind).values():
		size += numbers
	if kind != "none":
		_counts.resize(EXTENT * EXTENT)
		_logs.resize(EXTENT * EXTENT)
	if kind in _MAPPED:
		_cells.resize(GRID * GRID)
		if _spots_in.is_empty():
			_make_spots()
	if kind in _PLANNED:
		_navigator = AmbuloNavigator.new()
		_navigator.plan.reach = int(reach * AmbuloColumns.PER_METRE)
	reset()


## Names and sizes of the features that a kind of memory adds to the observation.
static func fields(memory_kind: String) -> Dictionary:
	var rows := {}
	if memory_kind == "navigator":
		rows["stay"] = _STAY
	elif memory_kind != "none":
		rows["visits"] = _VISITS
	if memory_kind in _MAPPED:
		rows["map_blocked"] = _MAP_DIRECTIONS
		rows["map_known"] = _MAP_DIRECTIONS
		rows["map_visited"] = _MAP_DIRECTIONS
		rows["sector_blocked"] = _SECTOR_CELLS
		rows["sector_unknown"] = _SECTOR_CELLS
	if memory_kind in ["path", "navigator"]:
		rows["near"] = AmbuloNavigatorFeatures.SECTORS
	if memory_kind == "navigator":
		rows.merge(AmbuloNavigatorFeatures.ROUTE)
	elif memory_kind in _PLANNED:
		rows["plan_points"] = _PLAN
		rows["plan_length"] = 1
		rows["plan_found"] = 1
	return rows


## Clear the memory.
func reset() -> void:
	_best = INF
	_stale = 0
	_counts.fill(0)
	_logs.fill(0.0)
	_cells.fill(_UNKNOWN)
	if _navigator != null:
		_navigator.reset()


## Record one decision and write its features into [param out] from index [param at].
##
## [param row] is the state row in an [AmbuloWorld] with the settings [param spec], or its front up
## to the sensor readings, [param goal] (x, y, z) the goal on its floor, [param start] x, y [m] and
## yaw [rad] at the start of the episode: the frame of "visits" and "map".
func update(
	row: PackedFloat64Array,
	goal: PackedFloat64Array,
	start: PackedFloat64Array,
	spec: AmbuloSpec,
	out: PackedFloat32Array,
	at: int
) -> void:
	if kind == "none":
		return
	var dx := row[0] - start[0]
	var dy := row[1] - start[1]
	var x := cos(start[2]) * dx + sin(start[2]) * dy
	var y := cos(start[2]) * dy - sin(start[2]) * dx
	var yaw := row[AmbuloWorld.YAW] - start[2]
	_visit(x, y, sqrt((goal[0] - row[0]) ** 2 + (goal[1] - row[1]) ** 2))
	if kind == "navigator":
		_write_stay(x, y, out, at)
		at += _STAY
	else:
		_write_visits(x, y, yaw, out, at)
		at += _VISITS
	if kind in _MAPPED:
		var x4 := x * _CELLS_PER_METRE
		var y4 := y * _CELLS_PER_METRE
		var ray_angle := yaw if spec.rays_in_head_frame else -start[2]
		_map_rays(x4, y4, row, spec.num_rays, ray_angle, spec.ray_length)
		_cells[(floori(y4) & 255) << 8 | floori(x4) & 255] = _FREE
		_write_directions(x4, y4, yaw, out, at)
		_write_sectors(x4, y4, yaw, out, at + 3 * _MAP_DIRECTIONS)
		at += _MAP
	if _navigator == null:
		return
	_navigator.update(row, goal, spec)
	yaw = row[AmbuloWorld.YAW]
	if kind in ["path", "navigator"]:
		AmbuloNavigatorFeatures.write_near(_navigator, yaw, out, at)
		at += AmbuloNavigatorFeatures.SECTORS
	if kind == "navigator":
		AmbuloNavigatorFeatures.write_route(_navigator, yaw, out, at)
	else:
		_write_plan(yaw, out, at)
	_navigator.set_off()


## Decisions spent in each coarse cell, row by row; for tests and figures.
func visit_counts() -> PackedInt32Array:
	return _counts.duplicate()


## State of each fine cell, row by row: 0 unknown, 1 free, 2 blocked.
func cell_states() -> PackedByteArray:
	var out := _cells.duplicate()
	for i in out.size():
		var code := out[i]
		out[i] = 2 if code == _BLOCKED else 1 - code
	return out


## The navigator of a memory that has one, for tests and figures; null for the others.
func navigator() -> AmbuloNavigator:
	return _navigator


## Decisions since the distance to the goal was smallest.
func stale_decisions() -> int:
	return _stale


func _visit(x: float, y: float, distance: float) -> void:
	var cell := (floori(y) & 63) << 6 | floori(x) & 63
	var count := mini(_counts[cell] + 1, _MOST_VISITS)
	_counts[cell] = count
	_logs[cell] = log(1.0 + count)
	if distance < _best - 0.1:
		_best = distance
		_stale = 0
	else:
		_stale += 1


func _write_visits(x: float, y: float, yaw: float, out: PackedFloat32Array, first: int) -> void:
	var logs := _logs
	var at := first
	for direction in _VISIT_DIRECTIONS:
		var angle := yaw + TAU * direction / _VISIT_DIRECTIONS
		var cos_angle := cos(angle)
		var sin_angle := sin(angle)
		for ring in range(1, _VISIT_RINGS + 1):
			var column := floori(x + cos_angle * ring) & 63
			out[at] = 0.2 * logs[(floori(y + sin_angle * ring) & 63) << 6 | column]
			at += 1
	_write_stay(x, y, out, at)


## Writes the decisions spent in this cell, and those since the distance to the goal was smallest.
func _write_stay(x: float, y: float, out: PackedFloat32Array, at: int) -> void:
	out[at] = 0.2 * _logs[(floori(y) & 63) << 6 | floori(x) & 63]
	out[at + 1] = minf(0.01 * _stale, 3.0)


## Marks cells free up to each reading, and one blocked behind it.
func _map_rays(
	x4: float,
	y4: float,
	row: PackedFloat64Array,
	num_rays: int,
	ray_angle: float,
	ray_length: float
) -> void:
	var cells := _cells
	for ray in num_rays:
		var angle := ray_angle + TAU * ray / num_rays
		var cos_angle := cos(angle)
		var sin_angle := sin(angle)
		var reading := row[AmbuloWorld.RAYS + ray]
		for k in ceili((reading - 0.5 * _STEP) * _CELLS_PER_METRE):
			var cell := (floori(y4 + sin_angle * k) & 255) << 8 | floori(x4 + cos_angle * k) & 255
			if cells[cell] == _UNKNOWN:
				cells[cell] = _FREE
		if reading < ray_length - 1e-6:
			var reach := (reading + 0.02) * _CELLS_PER_METRE
			var column := floori(x4 + cos_angle * reach) & 255
			cells[(floori(y4 + sin_angle * reach) & 255) << 8 | column] = _BLOCKED


## Writes the first obstacle, known floor and visits along each direction.
func _write_directions(
	x4: float, y4: float, yaw: float, out: PackedFloat32Array, first: int
) -> void:
	var cells := _cells
	var logs := _logs
	for direction in _MAP_DIRECTIONS:
		var angle := yaw + TAU * direction / _MAP_DIRECTIONS
		var cos_angle := cos(angle)
		var sin_angle := sin(angle)
		var walked := 0.0
		var unknown := 0
		var steps := 1
		while steps < _MAP_STEPS:
			var column := floori(x4 + cos_angle * steps) & 255
			var line := floori(y4 + sin_angle * steps) & 255
			var code := cells[line << 8 | column]
			if code == _BLOCKED:
				break
			unknown += code
			walked += logs[line >> 2 << 6 | column >> 2]
			steps += 1
		var at := first + direction
		out[at] = steps * _STEP / _MAP_RANGE
		out[at + _MAP_DIRECTIONS] = (steps - 1 - unknown) * _STEP / _MAP_RANGE
		out[at + 2 * _MAP_DIRECTIONS] = 0.2 * walked * _STEP


## Writes the fractions of blocked and unknown cells in each sector.
func _write_sectors(x4: float, y4: float, yaw: float, out: PackedFloat32Array, first: int) -> void:
	var cells := _cells
	var spots_x := _spots_x
	var spots_y := _spots_y
	var cos_yaw := cos(yaw)
	var sin_yaw := sin(yaw)
	var spot := 0
	for sector in _SECTOR_CELLS:
		var count := _spots_in[sector]
		var sum := 0
		for i in count:
			var sx := spots_x[spot]
			var sy := spots_y[spot]
			spot += 1
			sum += cells[(
				(floori(y4 + sin_yaw * sx + cos_yaw * sy) & 255) << 8
				| floori(x4 + cos_yaw * sx - sin_yaw * sy) & 255
			)]
		out[first + sector] = float(sum >> 4) / count
		out[first + _SECTOR_CELLS + sector] = float(sum & 15) / count


## Writes the planned path: its points in the head frame, its length, and whether it exists.
func _write_plan(yaw: float, out: PackedFloat32Array, first: int) -> void:
	var cos_yaw := cos(yaw)
	var sin_yaw := sin(yaw)
	var plan := _navigator.plan
	var x := _navigator.sensed.x
	var y := _navigator.sensed.y
	var ahead := plan.points_ahead(x, y, _AHEAD)
	var points := AmbuloNavigatorFeatures.waypoint(_navigator)
	points.append_array([ahead[0], ahead[1], ahead[3], ahead[4]])
	for i in range(0, _PLAN, 2):
		var dx := points[i] - x
		var dy := points[i + 1] - y
		out[first + i] = 0.2 * (cos_yaw * dx + sin_yaw * dy)
		out[first + i + 1] = 0.2 * (cos_yaw * dy - sin_yaw * dx)
	out[first + _PLAN] = 0.05 * ahead[-1]
	out[first + _PLAN + 1] = 1.0 if plan.found else 0.0


static func _make_spots() -> void:
	var width := TAU / _SECTORS
	for direction in _SECTORS:
		for ring in _SPOTS_RADIAL.size():
			var radial := _SPOTS_RADIAL[ring]
			var angular := _SPOTS_ANGULAR[ring]
			var inner := _SECTOR_EDGES[ring]
			var depth := _SECTOR_EDGES[ring + 1] - inner
			for i in radial:
				var distance := inner + depth * (i + 0.5) / radial
				for j in angular:
					var angle := width * (direction - 0.5 + (j + 0.5) / angular)
					_spots_x.append(distance * cos(angle) * _CELLS_PER_METRE)
					_spots_y.append(distance * sin(angle) * _CELLS_PER_METRE)
			_spots_in.append(radial * angular)
