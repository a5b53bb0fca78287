class_name AmbuloPlaces
extends RefCounted
## Draws a start and a goal in a level that leaves them open.
##
## Both have floor below them and keep [constant MARGIN] from obstacles and floor edges, and the
## body can walk from one to the other: straight, or over cells whose middles keep it too.

## Distance to obstacles and floor edges, [m]: the body and 3 cm.
const MARGIN := 0.28
## Spacing of the points on a walk, [m]. Between two free ones the body fits everywhere: what is
## MARGIN away from both is sqrt(MARGIN^2 - (CELL / 2)^2) > BODY_RADIUS from the line.
const CELL := 0.25

const _TRIES := 400
# Work is counted, not timed, so that a seed has one result on all machines. A unit is a shape
# looked at; all of it takes about half a second.
const _MOST_WORK := 800_000
const _WORK_PER_POINT := 10
# What the search for a walk does with a point beside looking at it.
const _WORK_PER_CELL := 10
const _BLOCKED := 0

var _level: AmbuloLevel
var _shapes: AmbuloShapeGrid
var _work_left := _MOST_WORK
# A search was not finished: what it looked for may be there.
var _gave_up := false
# Cells that were looked at: the number of the search that found them free, or _BLOCKED.
var _seen: Dictionary[Vector2i, int] = {}
var _searches := 0


## Start x, y, yaw and goal x, y; places that [param level] fixes stay. The straight
## distance is in [param reach] (min, max) [m] unless the level has its own. Empty, with a line
## appended to [param problems], when no such places were found.
static func draw(
	level: AmbuloLevel,
	rng: RandomNumberGenerator,
	reach: Vector2,
	problems: PackedStringArray = PackedStringArray()
) -> PackedFloat64Array:
	var fixed_start := level.start
	if fixed_start.is_empty() and not level.starts.is_empty():
		var pose := one_of(level.starts, 4, rng)
		fixed_start = [pose[0], pose[1], pose[3]]
	var fixed_goal := level.goal
	if fixed_goal.is_empty() and not level.goals.is_empty():
		fixed_goal = one_of(level.goals, 3, rng).slice(0, 2)
	if not fixed_start.is_empty() and not fixed_goal.is_empty():
		return fixed_start + fixed_goal
	var places := AmbuloPlaces.new()
	places._level = level
	places._shapes = AmbuloShapeGrid.new(level, MARGIN)
	var low := reach.x
	var high := reach.y
	if not level.goal_distance.is_empty():
		low = level.goal_distance[0]
		high = level.goal_distance[1]
	for _attempt in _TRIES:
		var goal := fixed_goal if not fixed_goal.is_empty() else places._point(rng)
		var start := fixed_start
		if start.is_empty():
			start = places._point_near(goal, low, high, rng)
			start.append(rng.randf_range(-PI, PI))
		var away := sqrt((start[0] - goal[0]) ** 2 + (start[1] - goal[1]) ** 2)
		if away < low or away > high:
			continue
		if places.is_free(start[0], start[1]) and places.is_free(goal[0], goal[1]):
			if places._is_straight(start, goal) or places._is_walk(start, goal):
				return start + goal
		if places._work_left <= 0:
			places._gave_up = true
			break
	if places._gave_up:
		problems.append("gave up looking for a free start and goal")
	else:
		problems.append("found no free start and goal in %d tries" % _TRIES)
	return PackedFloat64Array()


## One of rows of [param width] numbers.
static func one_of(
	rows: PackedFloat64Array, width: int, rng: RandomNumberGenerator
) -> PackedFloat64Array:
	var k := width * rng.randi_range(0, floori(rows.size() / float(width)) - 1)
	return rows.slice(k, k + width)


## Whether the body can stand at (x, y) with room to spare.
func is_free(x: float, y: float) -> bool:
	var bounds := _level.bounds
	_work_left -= _WORK_PER_POINT
	if minf(x - bounds[0], bounds[2] - x) < MARGIN or minf(y - bounds[1], bounds[3] - y) < MARGIN:
		return false
	var free := _shapes.is_clear(x, y)
	_work_left -= _shapes.looked_at
	return free


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


## Whether the body can go straight from [param start] to [param goal], both free.
func _is_straight(start: PackedFloat64Array, goal: PackedFloat64Array) -> bool:
	var dx := goal[0] - start[0]
	var dy := goal[1] - start[1]
	var steps := ceili(sqrt(dx * dx + dy * dy) / CELL)
	for k in range(1, steps):
		var share := float(k) / steps
		if _work_left <= 0 or not is_free(start[0] + share * dx, start[1] + share * dy):
			return false
	return true


## Whether a walk over free cells leads from [param start] to [param goal]; the cells next
## to both ends count as reached from them.
##
## Of the cells found so far the one nearest to the goal is looked at first: what counts is that
## there is a walk, not that it is short. A search that fails has found all cells that can be
## reached from its start; later ones need not look at them again. One that takes half of the work
## that is left is broken off: other places may be easier.
func _is_walk(start: PackedFloat64Array, goal: PackedFloat64Array) -> bool:
	var last := _cell(goal)
	var known: Dictionary[int, bool] = {}
	for cell in _around(_cell(start)):
		known[_seen.get(cell, _BLOCKED)] = true
	for cell in _around(last):
		var search: int = _seen.get(cell, _BLOCKED)
		if search != _BLOCKED and known.has(search):
			return true
	_searches += 1
	# Found cells by their steps to the goal; one step on, that is one more or less.
	var found: Dictionary[int, Array] = {}
	var nearest := 0
	var farthest := -1
	for cell in _around(_cell(start)):
		farthest = maxi(farthest, _find(cell, last, found))
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
		var cell: Vector2i = cells.pop_back()
		_work_left -= _WORK_PER_CELL
		if maxi(absi(cell.x - last.x), absi(cell.y - last.y)) <= 1:
			return true
		for step: Vector2i in [Vector2i.LEFT, Vector2i.RIGHT, Vector2i.UP, Vector2i.DOWN]:
			var steps := _find(cell + step, last, found)
			if steps >= 0:
				farthest = maxi(farthest, steps)
				nearest = mini(nearest, steps)
	return false


## Puts [param cell] into [param found] if it is free and new; its steps to [param last], else -1.
func _find(cell: Vector2i, last: Vector2i, found: Dictionary[int, Array]) -> int:
	if _seen.has(cell):
		return -1
	if not is_free((cell.x + 0.5) * CELL, (cell.y + 0.5) * CELL):
		_seen[cell] = _BLOCKED
		return -1
	_seen[cell] = _searches
	var steps := absi(cell.x - last.x) + absi(cell.y - last.y)
	found.get_or_add(steps, []).append(cell)
	return steps


func _around(cell: Vector2i) -> Array[Vector2i]:
	var cells: Array[Vector2i] = []
	for k in 9:
		cells.append(cell + Vector2i(k % 3 - 1, floori(k / 3.0) - 1))
	return cells


func _cell(point: PackedFloat64Array) -> Vector2i:
	return Vector2i(floori(point[0] / CELL), floori(point[1] / CELL))
