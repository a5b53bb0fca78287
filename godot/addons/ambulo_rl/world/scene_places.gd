class_name AmbuloScenePlaces
extends RefCounted
## Draws a start and a goal in a scene: its markers, or free floor that a walk leads between.

## Cells of a walk, [m].
const CELL := 0.25
## Cells of a walk that are looked at: work, not time, so that a seed has one result.
const MOST_CELLS := 8000
## Places that are tried for a start, and starts for a goal.
const _TRIES := 400
const _STARTS := 20
## A marker is reached by a walk that comes this near, [m].
const _NEAR := 0.4
const _SIDES: Array[Vector2i] = [Vector2i.RIGHT, Vector2i.UP, Vector2i.LEFT, Vector2i.DOWN]

var _space: AmbuloHighSpace
var _floor: AmbuloSceneFloor
var _survey: AmbuloSceneSurvey
var _random: RandomNumberGenerator


## Places in [param space], a scene of which [param survey] knows the markers.
func _init(
	space: AmbuloHighSpace, survey: AmbuloSceneSurvey, random: RandomNumberGenerator
) -> void:
	_space = space
	var moving: Array[RID] = []
	_floor = AmbuloSceneFloor.new(space, survey.moving_bodies if survey != null else moving)
	_survey = survey
	_random = random


## Start x, y, yaw, z and goal x, y, z with a straight distance in [param between] where a marker
## does not fix it; empty, with the rule appended to [param problems]: none was found.
func draw(between: Vector2, problems: PackedStringArray) -> PackedFloat64Array:
	var excluded := _space.excluded
	if _survey != null:
		_space.excluded = excluded + _survey.moving_bodies
	var found := _draw(between, problems)
	_space.excluded = excluded
	return found


func _draw(between: Vector2, problems: PackedStringArray) -> PackedFloat64Array:
	var goals := _survey.markers["ambulo_goal"]
	var goal := PackedFloat64Array()
	if not goals.is_empty():
		goal = _marker(goals, problems)
		if goal.is_empty():
			return goal
	for _k in _STARTS:
		var start := _start(problems)
		if start.is_empty():
			return start
		var found := _reached(start, goal, between)
		if not found.is_empty():
			start.append_array(found)
			return start
	problems.append("no walk was found from a start to a goal")
	return PackedFloat64Array()


## x, y, yaw, z of a start.
func _start(problems: PackedStringArray) -> PackedFloat64Array:
	var starts := _survey.markers["ambulo_start"]
	if not starts.is_empty():
		var at := _marker(starts, problems)
		return [at[0], at[1], at[3], at[2]] if at else at
	var low := AmbuloAxes.from_godot(_survey.box.end)
	var high := AmbuloAxes.from_godot(_survey.box.position)
	for _k in _TRIES:
		var x := _random.randf_range(low[0], high[0])
		var y := _random.randf_range(low[1], high[1])
		var floors := _floor.floors(x, y, high[2] - 0.1, low[2] + 0.1)
		if floors.is_empty():
			continue
		var z := floors[_random.randi_range(0, floors.size() - 1)]
		if _space.fits(x, y, z) and not _floor.is_within(x, y, z):
			return [x, y, _random.randf_range(-PI, PI), z]
	problems.append("no free floor was found")
	return PackedFloat64Array()


## x, y, z, yaw of one of the markers [param nodes], on its floor.
func _marker(nodes: Array, problems: PackedStringArray) -> PackedFloat64Array:
	var node: Node3D = nodes[_random.randi_range(0, nodes.size() - 1)]
	var at := AmbuloAxes.from_godot(node.global_position)
	var rules := PackedStringArray()
	var z := _floor.below(at[0], at[1], at[2], rules)
	if not rules.is_empty():
		problems.append("node %s: %s" % [_survey.path_of(node), rules[0]])
		return PackedFloat64Array()
	return [at[0], at[1], z, AmbuloAxes.yaw_of(node.global_basis)]


## The goal if a walk leads to it, or one that a walk leads to; empty: none.
func _reached(
	start: PackedFloat64Array, goal: PackedFloat64Array, between: Vector2
) -> PackedFloat64Array:
	var cells: Array[Vector3] = [Vector3(start[0], start[1], start[3])]
	var seen: Dictionary[Vector3i, bool] = {Vector3i.ZERO: true}
	var places: Array[Vector2i] = [Vector2i.ZERO]
	var fitting: Array[Vector3] = []
	var k := 0
	while k < cells.size() and k < MOST_CELLS:
		var here := cells[k]
		var away := Vector2(here.x - start[0], here.y - start[1]).length()
		if goal.is_empty():
			if away >= between.x and away <= between.y:
				fitting.append(here)
		elif here.distance_to(Vector3(goal[0], goal[1], goal[2])) < _NEAR:
			return goal.slice(0, 3)
		for side in _SIDES:
			var to := places[k] + side
			var x := start[0] + to.x * CELL
			var y := start[1] + to.y * CELL
			var z := _space.support(x, y, here.z, AmbuloContract.CLIMB_HEIGHT)
			if is_nan(z):
				continue
			var key := Vector3i(to.x, to.y, roundi(z))
			if seen.has(key):
				continue
			seen[key] = true
			if _space.fits(x, y, z):
				cells.append(Vector3(x, y, z))
				places.append(to)
		k += 1
	if fitting.is_empty():
		return PackedFloat64Array()
	var chosen := fitting[_random.randi_range(0, fitting.size() - 1)]
	return [chosen.x, chosen.y, chosen.z]
