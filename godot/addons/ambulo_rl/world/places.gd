class_name AmbuloPlaces
extends RefCounted
## Draws a start and a goal in a level that leaves them open.
##
## Both have floor below them and keep [constant MARGIN] from obstacles and floor edges,
## and a walk that keeps it too leads from one to the other.

## Distance to obstacles and floor edges, [m]: the body and 3 cm.
const MARGIN := 0.28
## Cells of the search for a walk, [m].
const CELL := 0.25

const _TRIES := 400
const _MOST_WORK := 12_000_000

var _level: AmbuloLevel
# Shapes that may still be looked at, so that a hopeless level is given up in seconds.
var _work_left := _MOST_WORK
var _shapes := 0


## Start x, y, yaw and goal x, y; places that [param level] fixes stay. The straight
## distance is in [param reach] (min, max) [m] unless the level has its own. Empty when no
## such places were found.
static func draw(
	level: AmbuloLevel, rng: RandomNumberGenerator, reach: Vector2
) -> PackedFloat64Array:
	if not level.start.is_empty() and not level.goal.is_empty():
		return level.start + level.goal
	var places := AmbuloPlaces.new()
	places._level = level
	places._shapes = (
		8 + (level.boxes.size() / 7 + level.cylinders.size() / 4 + level.holes.size() / 4)
	)
	var low := reach.x
	var high := reach.y
	if not level.goal_distance.is_empty():
		low = level.goal_distance[0]
		high = level.goal_distance[1]
	for _attempt in _TRIES:
		if places._work_left <= 0:
			break
		var goal := level.goal if not level.goal.is_empty() else places._point(rng)
		var start := level.start
		if start.is_empty():
			start = places._point_near(goal, low, high, rng)
			start.append(rng.randf_range(-PI, PI))
		var away := sqrt((start[0] - goal[0]) ** 2 + (start[1] - goal[1]) ** 2)
		if away < low or away > high:
			continue
		if places.is_free(start[0], start[1]) and places.is_free(goal[0], goal[1]):
			if places._is_walk(start, goal):
				return start + goal
	return PackedFloat64Array()


## Whether the body can stand at (x, y) with room to spare.
func is_free(x: float, y: float) -> bool:
	_work_left -= _shapes
	var bounds := _level.bounds
	if minf(x - bounds[0], bounds[2] - x) < MARGIN or minf(y - bounds[1], bounds[3] - y) < MARGIN:
		return false
	var holes := _level.holes
	for k in range(0, holes.size(), 4):
		var dx := maxf(maxf(holes[k] - x, x - holes[k + 2]), 0.0)
		var dy := maxf(maxf(holes[k + 1] - y, y - holes[k + 3]), 0.0)
		if dx * dx + dy * dy < MARGIN * MARGIN:
			return false
	return _level.clearance(x, y) >= MARGIN


func _point(rng: RandomNumberGenerator) -> PackedFloat64Array:
	var bounds := _level.bounds
	return [rng.randf_range(bounds[0], bounds[2]), rng.randf_range(bounds[1], bounds[3])]


func _point_near(
	center: PackedFloat64Array, low: float, high: float, rng: RandomNumberGenerator
) -> PackedFloat64Array:
	var bounds := _level.bounds
	var far := Vector2(bounds[2] - bounds[0], bounds[3] - bounds[1]).length()
	var distance := rng.randf_range(low, maxf(low, minf(high, far)))
	var angle := rng.randf_range(-PI, PI)
	return [center[0] + distance * cos(angle), center[1] + distance * sin(angle)]


## Whether a walk over free cells leads from [param start] to [param goal]; the cells next
## to both ends count as reached from them.
func _is_walk(start: PackedFloat64Array, goal: PackedFloat64Array) -> bool:
	var first := _cell(start)
	var last := _cell(goal)
	var seen: Dictionary[Vector2i, bool] = {first: true}
	var queue: Array[Vector2i] = [first]
	var at := 0
	while at < queue.size() and _work_left > 0:
		var cell := queue[at]
		at += 1
		if maxi(absi(cell.x - last.x), absi(cell.y - last.y)) <= 1:
			return true
		for step: Vector2i in [Vector2i.LEFT, Vector2i.RIGHT, Vector2i.UP, Vector2i.DOWN]:
			var next := cell + step
			if not seen.has(next):
				seen[next] = true
				if is_free((next.x + 0.5) * CELL, (next.y + 0.5) * CELL):
					queue.append(next)
	return false


func _cell(point: PackedFloat64Array) -> Vector2i:
	return Vector2i(floori(point[0] / CELL), floori(point[1] / CELL))
