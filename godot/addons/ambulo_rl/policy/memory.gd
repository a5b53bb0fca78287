class_name AmbuloMemory
extends RefCounted
## What one player remembers of its observations, and the features made of it.
##
## "visits" counts the decisions spent in each 1 m cell. "map" also remembers, in 0.25 m
## cells, what the rays showed to be free or blocked. Grids wrap around after 64 m. "plan"
## adds the path that an [AmbuloGridPlanner] finds; "path" has that path and the obstacles near
## by, without the map. The frame is the caller's, as long as it stays the same.

## Cells along a side of the fine grid, 0.25 m each.
const GRID := 256
## Cells along a side of the coarse grid, 1 m each.
const EXTENT := 64
## Kinds of memory.
const KINDS: PackedStringArray = ["none", "visits", "map", "plan", "path"]

const _MAPPED: PackedStringArray = ["map", "plan"]
const _PLANNED: PackedStringArray = ["plan", "path"]
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
const _NEAR_SECTORS := 16
const _NEAR_RANGE := 2.0
const _MAP := 3 * _MAP_DIRECTIONS + 2 * _SECTOR_CELLS

# Codes in the fine grid, chosen so that a sum of at most twelve cells tells how many are
# unknown (low four bits) and how many are blocked (the rest).
const _FREE := 0
const _UNKNOWN := 1
const _BLOCKED := 16

# Sample points of the sectors in the head frame, in fine cells, sector by sector.
static var _spots_x: PackedFloat64Array = []
static var _spots_y: PackedFloat64Array = []
static var _spots_in: PackedInt32Array = []

## One of [constant KINDS].
var kind: String
## Features that [method update] writes.
var size: int

var _counts := PackedInt32Array()
var _logs := PackedFloat64Array()
var _cells := PackedByteArray()
var _best := INF
var _stale := 0
var _planner: AmbuloGridPlanner


## An empty memory of [param memory_kind]; for the others see [AmbuloGridPlanner].
func _init(memory_kind: String, plan_margin := 1.0, plan_walls := 1.0, plan_reach := 2.5) -> void:
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
		_planner = AmbuloGridPlanner.new(plan_margin, plan_walls, plan_reach)
	reset()


## Name and number of the features that a kind of memory adds to the observation.
static func fields(memory_kind: String) -> Dictionary:
	var rows := {}
	if memory_kind != "none":
		rows["visits"] = _VISITS
	if memory_kind in _MAPPED:
		rows["map_blocked"] = _MAP_DIRECTIONS
		rows["map_known"] = _MAP_DIRECTIONS
		rows["map_visited"] = _MAP_DIRECTIONS
		rows["sector_blocked"] = _SECTOR_CELLS
		rows["sector_unknown"] = _SECTOR_CELLS
	if memory_kind == "path":
		rows["near"] = _NEAR_SECTORS
	if memory_kind in _PLANNED:
		rows["plan_points"] = AmbuloGridPlanner.NUMBERS
		rows["plan_length"] = 1
		rows["plan_found"] = 1
	return rows


## Forget everything.
func reset() -> void:
	_best = INF
	_stale = 0
	_counts.fill(0)
	_logs.fill(0.0)
	_cells.fill(_UNKNOWN)
	if _planner != null:
		_planner.reset()


## Remember one decision and write its features into [param out] from [param at] on.
##
## [param pose] is x, y [m] and yaw [rad] in any fixed frame. The ray readings [m] are the
## [param num_rays] ones of the state row [param row]; ray 0 points along [param ray_angle]
## in that frame, and [param ray_length] is what a ray reads that hits nothing.
## [param goal] is x and y of the goal in that frame and [param distance] the straight
## distance to it, [m].
func update(
	pose: PackedFloat64Array,
	row: PackedFloat64Array,
	num_rays: int,
	ray_angle: float,
	ray_length: float,
	goal: PackedFloat64Array,
	distance: float,
	out: PackedFloat32Array,
	at: int
) -> void:
	if kind == "none":
		return
	var x := pose[0]
	var y := pose[1]
	var yaw := pose[2]
	_visit(x, y, distance)
	_write_visits(x, y, yaw, out, at)
	if kind in _MAPPED:
		var x4 := x * _CELLS_PER_METRE
		var y4 := y * _CELLS_PER_METRE
		_map_rays(x4, y4, row, num_rays, ray_angle, ray_length)
		_cells[(floori(y4) & 255) << 8 | floori(x4) & 255] = _FREE
		_write_directions(x4, y4, yaw, out, at + _VISITS)
		_write_sectors(x4, y4, yaw, out, at + _VISITS + 3 * _MAP_DIRECTIONS)
	if _planner != null:
		_planner.update(pose, row, num_rays, ray_angle, ray_length, goal)
		var first := at + _VISITS + (_MAP if kind in _MAPPED else 0)
		if kind == "path":
			var near := _planner.nearest(pose, _NEAR_SECTORS, _NEAR_RANGE)
			for i in _NEAR_SECTORS:
				out[first + i] = near[i] / _NEAR_RANGE
			first += _NEAR_SECTORS
		_write_plan(x, y, yaw, out, first)


## Decisions spent in each coarse cell, row by row; for tests and pictures.
func visit_counts() -> PackedInt32Array:
	return _counts.duplicate()


## What is remembered of each fine cell, row by row: 0 unknown, 1 free, 2 blocked.
func cell_states() -> PackedByteArray:
	var out := _cells.duplicate()
	for i in out.size():
		var code := out[i]
		out[i] = 2 if code == _BLOCKED else 1 - code
	return out


## The planner of a memory "plan" or "path", for tests and pictures; null for the others.
func planner() -> AmbuloGridPlanner:
	return _planner


## Decisions since the distance to the goal was last at its best.
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
	out[at] = 0.2 * logs[(floori(y) & 63) << 6 | floori(x) & 63]
	out[at + 1] = minf(0.01 * _stale, 3.0)


## Free cells up to each reading, a blocked one behind it.
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


## First obstacle, known floor and visits along each direction.
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


## Shares of blocked and unknown cells in each sector.
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


## The planned path: its points in the head frame, its length, and whether there is one.
func _write_plan(x: float, y: float, yaw: float, out: PackedFloat32Array, first: int) -> void:
	var cos_yaw := cos(yaw)
	var sin_yaw := sin(yaw)
	var points := _planner.points
	for i in range(0, AmbuloGridPlanner.NUMBERS, 2):
		var dx := points[i] - x
		var dy := points[i + 1] - y
		out[first + i] = 0.2 * (cos_yaw * dx + sin_yaw * dy)
		out[first + i + 1] = 0.2 * (cos_yaw * dy - sin_yaw * dx)
	out[first + AmbuloGridPlanner.NUMBERS] = 0.05 * _planner.length
	out[first + AmbuloGridPlanner.NUMBERS + 1] = 1.0 if _planner.found else 0.0


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
