class_name AmbuloPlaces
extends RefCounted
## Samples a start and a goal in a level or a scene that does not fix them.
##
## Both are on floors slightly wider than the body, which keeps [constant AmbuloSceneFloor.ROOM]
## from obstacles, and are connected by a walk: straight, or over cells whose middles keep that
## distance too.

## Spacing of the points on a walk, [m]. Between two free ones the body fits everywhere: what is
## BODY_RADIUS + ROOM away from both is more than BODY_RADIUS from the line.
const CELL := 0.25

const _TRIES := 400
const _POINTS := 20
# Most examined places: a limit of work, not time, so that a seed has the same result on all
# machines. All of them take about half a second.
const _MOST_WORK := 40_000
const _SIDES: Array[Vector2i] = [Vector2i.LEFT, Vector2i.RIGHT, Vector2i.UP, Vector2i.DOWN]
const _BLOCKED := 0

var _space: AmbuloSpace
var _floor: AmbuloSceneFloor
var _random: RandomNumberGenerator
# Starts x, y, yaw, z and goals x, y, z to choose from; empty: anywhere.
var _starts: PackedFloat64Array = []
var _goals: PackedFloat64Array = []
# Corners of the box in which places are sampled, [m].
var _low := Vector3.ZERO
var _high := Vector3.ZERO
var _work_left := _MOST_WORK
# Whether a search was aborted: a walk may exist although none was found.
var _gave_up := false
# Examined cells: the number of the search that found each free, or _BLOCKED.
var _seen: Dictionary[Vector3i, int] = {}
var _searches := 0


## Samples start x, y, yaw, z and goal x, y, z in [param level], except places that it fixes. The
## straight distance is in [param reach] (min, max) [m] unless the level has its own range. Empty,
## with a line appended to [param problems], if no such places were found.
static func in_level(
	level: AmbuloLevel,
	random: RandomNumberGenerator,
	reach: Vector2,
	problems: PackedStringArray = PackedStringArray()
) -> PackedFloat64Array:
	var space := AmbuloLevelSpace.new(level)
	var places := AmbuloPlaces.new(space, random)
	var start := level.start
	if not start.is_empty():
		places._starts = start + PackedFloat64Array([level.start_height])
	for k in range(0, level.starts.size() if start.is_empty() else 0, 4):
		var row := level.starts.slice(k, k + 4)
		places._starts.append_array([row[0], row[1], row[3], row[2]])
	places._goals = level.goals
	if not level.goal.is_empty():
		places._goals = [level.goal[0], level.goal[1], level.goal_height]
	var heights := space.floor_range()
	places._low = Vector3(level.bounds[0], level.bounds[1], heights.x - 0.1)
	places._high = Vector3(level.bounds[2], level.bounds[3], heights.y + 0.1)
	if not level.goal_distance.is_empty():
		reach = Vector2(level.goal_distance[0], level.goal_distance[1])
	return places._draw(reach, problems)


## As [method in_level], in the scene [param space] with the markers of [param survey]. Moving
## bodies are ignored.
static func in_scene(
	space: AmbuloSpace,
	survey: AmbuloSceneSurvey,
	random: RandomNumberGenerator,
	reach: Vector2,
	problems: PackedStringArray
) -> PackedFloat64Array:
	var places := AmbuloPlaces.new(space, random)
	# The engine's X and Z are the negative y and x.
	var one := AmbuloAxes.from_godot(survey.box.end)
	var other := AmbuloAxes.from_godot(survey.box.position)
	places._low = Vector3(one[0], one[1], other[2] - 0.1)
	places._high = Vector3(other[0], other[1], one[2] + 0.1)
	var excluded := space.excluded
	space.excluded = excluded + survey.moving_bodies
	var found := PackedFloat64Array()
	if places._read_markers(survey, problems):
		found = places._draw(reach, problems)
	space.excluded = excluded
	return found


func _init(space: AmbuloSpace, random: RandomNumberGenerator) -> void:
	_space = space
	_floor = AmbuloSceneFloor.new(space)
	_random = random


# Whether each marker of a start or goal is above a floor where the body fits.
func _read_markers(survey: AmbuloSceneSurvey, problems: PackedStringArray) -> bool:
	for group: String in ["ambulo_start", "ambulo_goal"]:
		for node: Node3D in survey.markers[group]:
			var at := AmbuloAxes.from_godot(node.global_position)
			var rules := PackedStringArray()
			var z := _floor.below(at[0], at[1], at[2], rules)
			if not rules.is_empty():
				problems.append("node %s: %s" % [survey.path_of(node), rules[0]])
				return false
			if group == "ambulo_goal":
				_goals.append_array([at[0], at[1], z])
			else:
				_starts.append_array([at[0], at[1], AmbuloAxes.yaw_of(node.global_basis), z])
	return true


func _draw(between: Vector2, problems: PackedStringArray) -> PackedFloat64Array:
	if not _starts.is_empty() and not _goals.is_empty():
		return _one_of(_starts, 4) + _one_of(_goals, 3)
	var radius := _space.body_radius
	_space.body_radius = radius + AmbuloSceneFloor.ROOM
	var found := _draw_open(between)
	_space.body_radius = radius
	if found.is_empty() and _gave_up:
		problems.append("gave up looking for a free start and goal")
	elif found.is_empty():
		problems.append("found no free start and goal that a walk leads between")
	return found


func _draw_open(between: Vector2) -> PackedFloat64Array:
	for _attempt in _TRIES:
		var goal := _one_of(_goals, 3)
		var start := _one_of(_starts, 4)
		if goal.is_empty():
			goal = _free_place(start, between)
			if goal.is_empty():
				continue
		if start.is_empty():
			var place := _free_place(goal, between)
			if place.is_empty():
				continue
			start = [place[0], place[1], _random.randf_range(-PI, PI), place[2]]
		var from := Vector3(start[0], start[1], start[3])
		var to := Vector3(goal[0], goal[1], goal[2])
		if _is_straight(from, to) or _is_walk(from, to):
			return start + goal
		if _work_left <= 0:
			_gave_up = true
			break
	return PackedFloat64Array()


# A random row of `width` numbers; empty: there is none.
func _one_of(rows: PackedFloat64Array, width: int) -> PackedFloat64Array:
	if rows.is_empty():
		return rows
	var k := width * _random.randi_range(0, floori(rows.size() / float(width)) - 1)
	return rows.slice(k, k + width)


# x, y, z of a free place whose distance from `near` (x, y), if given, is in `between`; empty: none
# was found.
func _free_place(near: PackedFloat64Array, between: Vector2) -> PackedFloat64Array:
	for _k in _POINTS:
		var x := _random.randf_range(_low.x, _high.x)
		var y := _random.randf_range(_low.y, _high.y)
		if not near.is_empty():
			var far := Vector2(_high.x - _low.x, _high.y - _low.y).length()
			var most := maxf(between.x, minf(between.y, far))
			var distance := _random.randf_range(between.x, most)
			var angle := _random.randf_range(-PI, PI)
			x = near[0] + distance * cos(angle)
			y = near[1] + distance * sin(angle)
		if x < _low.x or y < _low.y or x > _high.x or y > _high.y:
			continue
		var floors := _floor.floors(x, y, _low.z, _high.z)
		if floors.is_empty():
			continue
		var z := floors[_random.randi_range(0, floors.size() - 1)]
		if _is_free(x, y, z) and not _space.is_inside(x, y, z):
			return [x, y, z]
	return PackedFloat64Array()


# Whether the body can stand at (x, y, z) with a margin to obstacles and floor edges.
func _is_free(x: float, y: float, z: float) -> bool:
	_work_left -= 1
	if not _space.has_floor_around(x, y, z, _space.body_radius):
		return false
	return _space.fits(x, y, z, AmbuloSceneFloor.SPARE)


# Whether the body can walk straight from one free place to another.
func _is_straight(start: Vector3, goal: Vector3) -> bool:
	var dx := goal.x - start.x
	var dy := goal.y - start.y
	var steps := ceili(sqrt(dx * dx + dy * dy) / CELL)
	var at := start
	for k in range(1, steps + 1):
		var x := start.x + dx * k / steps
		var y := start.y + dy * k / steps
		var z := _space.support(x, y, at.z, AmbuloContract.CLIMB_HEIGHT)
		if _work_left <= 0 or is_nan(z) or not _is_free(x, y, z):
			return false
		if not _space.has_floor_along(at.x, at.y, at.z, x, y):
			return false
		at = Vector3(x, y, z)
	return absf(at.z - goal.z) < AmbuloContract.SAME_FLOOR


# Whether a walk over free cells leads from `start` to `goal`; the cells next to both ends count as
# reached from them.
#
# A greedy search: it expands the found cell nearest to the goal first, because the walk need not be
# short. A failed search has found all cells reachable from its start, which later searches skip. A
# search that takes half of the remaining work is aborted, because other places may be easier.
func _is_walk(start: Vector3, goal: Vector3) -> bool:
	var last := _cell(goal)
	var known: Dictionary[int, bool] = {}
	for cell in _around(start):
		known[_seen.get(cell, _BLOCKED)] = true
	for cell in _around(goal):
		var search: int = _seen.get(cell, _BLOCKED)
		if search != _BLOCKED and known.has(search):
			return true
	_searches += 1
	# Found cells and their heights, by the number of steps to the goal, which changes by at most
	# one per step.
	var found: Dictionary[int, Array] = {}
	var nearest := 0
	var farthest := -1
	for cell in _around(start):
		farthest = maxi(farthest, _find(Vector2i(cell.x, cell.y), start, last, found))
	var enough := _work_left >> 1
	while nearest <= farthest:
		if _work_left <= enough:
			_gave_up = true
			_seen.clear()
			return false
		var cells: Array = found.get(nearest, [])
		if cells.is_empty():
			nearest += 1
			continue
		var here: Vector3 = cells.pop_back()
		var cell := Vector2i(int(here.x), int(here.y))
		if maxi(absi(cell.x - last.x), absi(cell.y - last.y)) <= 1:
			if absf(here.z - goal.z) < AmbuloContract.SAME_FLOOR:
				return true
		for side in _SIDES:
			var from := Vector3((cell.x + 0.5) * CELL, (cell.y + 0.5) * CELL, here.z)
			var steps := _find(cell + side, from, last, found)
			if steps >= 0:
				farthest = maxi(farthest, steps)
				nearest = mini(nearest, steps)
	return false


# Adds a cell reached from a place to `found` if it is free, new and connected; returns its steps to
# `last`, else -1.
func _find(cell: Vector2i, from: Vector3, last: Vector3i, found: Dictionary[int, Array]) -> int:
	var x := (cell.x + 0.5) * CELL
	var y := (cell.y + 0.5) * CELL
	var floor_z := _space.support(x, y, from.z, AmbuloContract.CLIMB_HEIGHT)
	if is_nan(floor_z):
		_work_left -= 1
		return -1
	var key := Vector3i(cell.x, cell.y, roundi(floor_z))
	if _seen.has(key):
		return -1
	if not _is_free(x, y, floor_z):
		_seen[key] = _BLOCKED
		return -1
	if not _space.has_floor_along(from.x, from.y, from.z, x, y):
		return -1  # it may be free from another side
	_seen[key] = _searches
	var steps := absi(cell.x - last.x) + absi(cell.y - last.y)
	found.get_or_add(steps, []).append(Vector3(cell.x, cell.y, floor_z))
	return steps


func _around(place: Vector3) -> Array[Vector3i]:
	var middle := _cell(place)
	var cells: Array[Vector3i] = []
	for k in 9:
		cells.append(middle + Vector3i(k % 3 - 1, floori(k / 3.0) - 1, 0))
	return cells


func _cell(place: Vector3) -> Vector3i:
	return Vector3i(floori(place.x / CELL), floori(place.y / CELL), roundi(place.z))
