class_name AmbuloHighPlaces
extends AmbuloScenePlaces
## Draws a start and a goal in any level: in one with heights on its floors, where a walk over
## cells leads from one to the other.

var _level: AmbuloLevel
# Lowest and highest z of all shapes, [m].
var _low := INF
var _high := -INF


## Places in [param level], which has heights.
func _init(level: AmbuloLevel, random: RandomNumberGenerator) -> void:
	var space := AmbuloHighLevelSpace.new(level)
	super(space, null, random)
	_level = level
	var heights := space.z_range()
	_low = heights.x
	_high = heights.y


## Start x, y, yaw, z and goal x, y, z in [param level]; see [method AmbuloPlaces.draw].
static func draw_in(
	level: AmbuloLevel,
	random: RandomNumberGenerator,
	reach: Vector2,
	problems: PackedStringArray = PackedStringArray()
) -> PackedFloat64Array:
	if level.heights:
		var between := reach
		if not level.goal_distance.is_empty():
			between = Vector2(level.goal_distance[0], level.goal_distance[1])
		return AmbuloHighPlaces.new(level, random).draw(between, problems)
	var drawn := AmbuloPlaces.draw(level, random, reach, problems)
	if drawn.is_empty():
		return drawn
	return [drawn[0], drawn[1], drawn[2], 0.0, drawn[3], drawn[4], 0.0]


func draw(between: Vector2, problems: PackedStringArray) -> PackedFloat64Array:
	for _k in _STARTS:
		var goal := PackedFloat64Array()
		if not _level.goal.is_empty():
			goal = [_level.goal[0], _level.goal[1], _level.goal_height]
		elif not _level.goals.is_empty():
			goal = AmbuloPlaces.one_of(_level.goals, 3, _random)
		var start := _named_start()
		if not start.is_empty() and not goal.is_empty():
			return start + goal
		if start.is_empty():
			start = _free_start(goal, between)
		if start.is_empty():
			continue
		var found := _reached(start, goal, between)
		if not found.is_empty():
			return start + found
	problems.append("found no free start and goal that a walk leads between")
	return PackedFloat64Array()


## x, y, yaw, z of the start that the level fixes, or of one of its list; empty: neither.
func _named_start() -> PackedFloat64Array:
	var start := _level.start
	if not start.is_empty():
		return start + PackedFloat64Array([_level.start_height])
	if _level.starts.is_empty():
		return PackedFloat64Array()
	var chosen := AmbuloPlaces.one_of(_level.starts, 4, _random)
	return [chosen[0], chosen[1], chosen[3], chosen[2]]


## x, y, yaw, z of a free place on some floor, at a distance to the goal, if there is one, in
## [param between]; empty: none was found.
func _free_start(goal: PackedFloat64Array, between: Vector2) -> PackedFloat64Array:
	var space: AmbuloHighLevelSpace = _space
	var b := _level.bounds
	for _k in _TRIES:
		var x := _random.randf_range(b[0], b[2])
		var y := _random.randf_range(b[1], b[3])
		if not goal.is_empty():
			var away := sqrt((x - goal[0]) ** 2 + (y - goal[1]) ** 2)
			if away < between.x or away > between.y:
				continue
		var floors := _floor.floors(x, y, _low - 0.1, _high + 0.1)
		if floors.is_empty():
			continue
		var z := floors[_random.randi_range(0, floors.size() - 1)]
		if space.stands(x, y, z):
			return [x, y, _random.randf_range(-PI, PI), z]
	return PackedFloat64Array()
