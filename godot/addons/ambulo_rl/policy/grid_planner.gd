class_name AmbuloGridPlanner
extends RefCounted
## The shortest path to a goal on a map of what one player's rays hit.
##
## The unknown is taken as free. Paths have eight moves on the 0.25 m cells of an
## [AmbuloHitMap] and are planned anew every [constant REPLAN] decisions. The frame is the
## caller's, as long as it stays the same. The rules are those of the trainer's planner
## (`envs/vr/task/grid_planner.py`); of equally long paths it may take another one.

## Decisions between two plans.
const REPLAN := 3
## Where along the path the points after the waypoint lie, [m].
const AHEAD: PackedFloat64Array = [2.0, 4.0]
## Numbers of [member points]: x and y of the waypoint and of the points ahead.
const NUMBERS := 6

const _PER_METRE := AmbuloHitMap.PER_METRE
# Decisions without motion, of more than _MOVED [m], after which a cell ahead is blocked.
const _STUCK := 30
const _MOVED := 0.15
# Plans after one without a wide path in which none is looked for, where walls cost; and the
# same without any path.
const _WIDE_AGAIN := 9
const _ANY_AGAIN := 3
# Distance of the blocked cell, towards the waypoint, or that of a nearer waypoint, [cells].
const _BUMPED := 2
# Who stands nearer to the goal is not stuck, [m].
const _AT_GOAL := 0.75

## The farthest point in sight along the path, within the reach, and those [constant AHEAD] (or
## the goal, if nearer): x, y, x, y, x, y, [m].
var points: PackedFloat64Array = []
## Length of the path when it was planned, [m].
var length := 0.0
## Whether there is a path; without one every point is the goal.
var found := false

var _map: AmbuloHitMap
# Cells that the waypoint lies ahead at most.
var _reach := 10
var _age := 0
# Where the player last moved to, [m], and decisions since then.
var _rest_x := INF
var _rest_y := INF
var _still := 0
# Plans to come that look for no wide path, and for no path.
var _pause_wide := 0
var _pause_any := 0


## Nothing mapped. [param margin]: cost factor of cells up to 0.75 m from an obstacle;
## [param walls]: of cells up to 1.5 m from one that no ray has passed; [param reach]: largest
## distance of the waypoint along the path, [m].
func _init(margin := 1.0, walls := 1.0, reach := 2.5) -> void:
	_map = AmbuloHitMap.new(margin, walls)
	_reach = int(reach * _PER_METRE)
	points.resize(NUMBERS)


## Forget the map.
func reset() -> void:
	_map.clear()
	_age = 0
	_rest_x = INF
	_still = 0
	_pause_wide = 0
	_pause_any = 0


## Distance to the nearest remembered obstacle in each of [param sectors], the first around the
## yaw of [param pose]; at most [param farthest], [m].
func nearest(pose: PackedFloat64Array, sectors: int, farthest: float) -> PackedFloat64Array:
	var cells := _map.nearest(
		pose[0] * _PER_METRE, pose[1] * _PER_METRE, pose[2], sectors, farthest * _PER_METRE
	)
	for i in sectors:
		cells[i] /= _PER_METRE
	return cells


## Map what the rays of a decision show, and plan if the plan is old.
##
## [param pose] is x, y [m] and yaw [rad], [param goal] x and y in the same frame; for the rays
## see [method AmbuloMemory.update].
func update(
	pose: PackedFloat64Array,
	row: PackedFloat64Array,
	num_rays: int,
	ray_angle: float,
	ray_length: float,
	goal: PackedFloat64Array
) -> void:
	_map_rays(pose, row, num_rays, ray_angle, ray_length)
	_map_bump(pose, goal)
	_age -= 1
	if _age < 0:
		_age = REPLAN - 1
		_plan(pose, goal)


func _map_rays(
	pose: PackedFloat64Array,
	row: PackedFloat64Array,
	num_rays: int,
	ray_angle: float,
	ray_length: float
) -> void:
	var step := TAU / num_rays
	if _map.walls > 1.0:
		_map_passed(pose, row, num_rays, ray_angle)
	for ray in num_rays:
		var reading := row[AmbuloWorld.RAYS + ray]
		if reading < ray_length - 1e-4:
			var angle := ray_angle + step * ray
			var x := (pose[0] + cos(angle) * (reading + 0.02)) * _PER_METRE
			var y := (pose[1] + sin(angle) * (reading + 0.02)) * _PER_METRE
			_map.add(Vector2i(floori(x), floori(y)), Vector2(x, y), angle)


## Mark the cells that rays have passed, and forget hits that are there no more.
func _map_passed(
	pose: PackedFloat64Array, row: PackedFloat64Array, num_rays: int, ray_angle: float
) -> void:
	var step := TAU / num_rays
	var at_x := pose[0] * _PER_METRE
	var at_y := pose[1] * _PER_METRE
	var readings := row.slice(AmbuloWorld.RAYS, AmbuloWorld.RAYS + num_rays)
	for ray in num_rays:
		readings[ray] *= _PER_METRE
	for ray in num_rays:
		var angle := ray_angle + step * ray
		var along_x := cos(angle)
		var along_y := sin(angle)
		for k in ceili(readings[ray]):  # a point in every cell's length
			var cell := Vector2i(floori(at_x + along_x * k), floori(at_y + along_y * k))
			_map.pass_through(cell)
			if _map.is_gone(cell, at_x, at_y, angle, ray, readings):
				_map.forget_hit(cell)


## Block a cell ahead of a player that is stuck, who then plans at once.
func _map_bump(pose: PackedFloat64Array, goal: PackedFloat64Array) -> void:
	var x := pose[0]
	var y := pose[1]
	if not _distance(x - _rest_x, y - _rest_y) <= _MOVED:
		_rest_x = x
		_rest_y = y
		_still = 0
		return
	_still += 1
	if _still < _STUCK or not found or _distance(goal[0] - x, goal[1] - y) < _AT_GOAL:
		return
	_still = 0
	_age = 0
	var player := Vector2i(floori(x * _PER_METRE), floori(y * _PER_METRE))
	var way := Vector2i(floori(points[0] * _PER_METRE), floori(points[1] * _PER_METRE)) - player
	# One of the cells that the way to the waypoint was seen to be open in.
	var far := maxi(maxi(absi(way.x), absi(way.y)), _BUMPED)
	_map.bump(
		(
			player
			+ Vector2i(_round(float(way.x * _BUMPED) / far), _round(float(way.y * _BUMPED) / far))
		)
	)


# In 64 bits, unlike the length of a vector.
static func _distance(dx: float, dy: float) -> float:
	return sqrt(dx * dx + dy * dy)


## A path that keeps away from obstacles, or else any; bumps are forgotten before none is found.
func _plan(pose: PackedFloat64Array, goal: PackedFloat64Array) -> void:
	for i in NUMBERS:
		points[i] = goal[i & 1]
	length = _distance(goal[0] - pose[0], goal[1] - pose[1])
	var player := Vector2i(floori(pose[0] * _PER_METRE), floori(pose[1] * _PER_METRE))
	var last := Vector2i(floori(goal[0] * _PER_METRE), floori(goal[1] * _PER_METRE))
	var most := Vector2i.ONE * AmbuloHitMap.MOST_CELLS
	last = last.clamp(player - most, player + most)
	found = false
	if _pause_any > 0:
		_pause_any -= 1
		return
	var wide := _pause_wide == 0
	_pause_wide = maxi(_pause_wide - 1, 0)
	var widths: Array[bool] = [false]
	if wide:
		widths.push_front(true)
	if _try(player, last, widths) or _map.forget_bumps() and _try(player, last, widths):
		return
	if _map.walls > 1.0:
		_pause_any = _ANY_AGAIN


## Whether there is a path of one of [param widths], which is then followed.
func _try(player: Vector2i, last: Vector2i, widths: Array[bool]) -> bool:
	for wide in widths:
		var cells := _map.path(player, last, wide)
		if not cells.is_empty():
			found = true
			_follow(player, cells, wide)
			return true
		if wide and _map.walls > 1.0:  # a search without result is long
			_pause_wide = _WIDE_AGAIN
	return false


## Points along the path and its length; [param cells] lead from the goal to the player.
func _follow(player: Vector2i, cells: PackedVector2Array, wide: bool) -> void:
	var walked := 0.0
	var in_sight := true
	var before := Vector2(player)
	for step in cells.size() - 1:
		var cell := cells[cells.size() - 2 - step]
		walked += 1.0 if cell.x == before.x or cell.y == before.y else sqrt(2.0)
		before = cell
		if in_sight and step > 0:
			in_sight = step < _reach and _is_clear(player, Vector2i(cell), wide)
		if in_sight:
			_set_point(0, cell)
		for i in AHEAD.size():
			if walked <= AHEAD[i] * _PER_METRE:
				_set_point(1 + i, cell)
	length = walked / _PER_METRE


func _set_point(index: int, cell: Vector2) -> void:
	points[2 * index] = (cell.x + 0.5) / _PER_METRE
	points[2 * index + 1] = (cell.y + 0.5) / _PER_METRE


## Whether the straight line from the player to [param cell] is open. With a margin it leads
## past obstacles only where it begins or ends beside one.
func _is_clear(player: Vector2i, cell: Vector2i, wide: bool) -> bool:
	var clear_of_sides := (
		_map.margin > 1.0 and not _map.is_beside(player) and not _map.is_beside(cell)
	)
	var way := cell - player
	var steps := 2 * maxi(absi(way.x), absi(way.y))
	for k in range(1, steps + 1):
		var offset := Vector2i(_round(float(way.x * k) / steps), _round(float(way.y * k) / steps))
		var at := player + offset
		if maxi(absi(offset.x), absi(offset.y)) <= AmbuloHitMap.OWN_CELLS:
			if _map.is_hit(at):
				return false
		elif _map.is_blocked(at, wide) or clear_of_sides and _map.is_beside(at):
			return false
	return true


## The nearest whole number; of two equally near ones the even one, as in training.
static func _round(value: float) -> int:
	var below := floori(value)
	var rest := value - below
	return below + (1 if rest > 0.5 or rest == 0.5 and below & 1 else 0)
