class_name AmbuloPlanning
extends RefCounted
## From the map and moving objects to a path and the waypoint on it. Same computation as in the
## trainer (`envs/vr/navigator/planning.py`). [method update] continues a search, which may take
## several decisions; [method take] adopts its result.

## Decisions between two plans.
const REPLAN := 3

# Decisions without motion after which the map is closed ahead; shorter moves do not count, [m].
const _STUCK := 30
const _MOVED := 0.15
# A larger move in one decision is a leap and starts a new plan, [m].
const _LEAP := 0.6
# Range on the path, from the body, that is closed, [m].
const _AHEAD_FROM := 0.25
const _AHEAD_TO := 0.6
# An agent nearer to the goal than this is not stuck, [m].
const _AT_GOAL := 0.3
# Distance at which a frontier counts as explored, [m].
const _AT_FRONTIER := 0.8
# The same beside a lift that carries the body: distance and height difference, [m].
const _BESIDE_LIFT: PackedFloat64Array = [1.5, 0.3]
# Number of points of a path among which the body is searched.
const _PASSED := 12
# Tight places at most this far from the body do not block a line of sight, [m].
const _OWN := 0.5
# An agent waits for a carrier within this distance of the place to board it, [m].
const _AT_LIFT := 0.5
const _ABOARD := 0.12
const _POINT := AmbuloSearch.POINT

# Searches that no agent uses, kept for their work space.
static var _spare: Array[AmbuloSearch] = []
static var _lock := Mutex.new()

## The path: [constant AmbuloSearch.POINT] numbers per point, with tracks in place of lifts, and the
## number of points; 0: no plan yet.
var points: PackedFloat32Array = []
var length := 0
## Whether a path exists; without one its only point is the goal.
var found := false
## Whether it ends at a frontier, on another floor than the goal's.
var frontier := false
## The furthest visible point of the path, [m].
var waypoint_x := 0.0
var waypoint_y := 0.0
## Track of the carrier to board now, -1: none.
var boards := -1
## Largest distance of the waypoint along the path, [columns].
var reach := 40

var _age := 0
# Place at the last move, [m], and decisions since then, except those of waiting.
var _rest_x := INF
var _rest_y := INF
var _still := 0
# The present search: null, or its start and end, its first decision, the attempts so far, and the
# number of points found (-1: unfinished).
var _search: AmbuloSearch
var _map: AmbuloColumns
var _tracks: AmbuloTracks
var _query: PackedFloat64Array = []
var _step := 0
var _attempt := -1
var _mask := 0
var _count := -1
var _new_points: PackedFloat32Array = []
var _new_x := 0.0
var _new_y := 0.0
var _new_boards := -1


## Clears the plan.
func clear() -> void:
	if _search != null:
		_count = -1
		_end_search()
	length = 0
	_age = 0
	_rest_x = INF
	_rest_y = INF
	_still = 0


## Clears the plan if the agent has leapt.
func note_leap(sensed: AmbuloSensed) -> void:
	if sqrt((sensed.x - _rest_x) ** 2 + (sensed.y - _rest_y) ** 2) > _LEAP:
		clear()


## Boards nothing for now, because the carrier is no longer remembered; starts a new plan.
func forget_carrier() -> void:
	boards = -1
	_age = 0


## Adopts the result of a search that has finished.
func take() -> void:
	if _search != null and _count >= 0:
		_end_search()


## Begins a search in decision [param step] if the plan is old or the agent has learned something
## relevant, and continues it for at most [param most] nodes; [param waits]: the agent waited in the
## last decision.
func update(
	map: AmbuloColumns,
	tracks: AmbuloTracks,
	sensed: AmbuloSensed,
	step: int,
	waits: bool,
	most: int
) -> void:
	var rides := tracks.carrier_under(sensed.x, sensed.y, sensed.z, _ABOARD) >= 0
	_note_bump(map, sensed, waits or rides)
	_note_frontier(map, sensed)
	_age -= 1
	if _search == null:
		if _age >= 0 and length > 0:
			return
		_age = REPLAN - 1
		_begin(map, tracks, sensed, step)
	_go_on(most)


## Points (x, y, z) of the path at the distances [param ahead] along it (ascending), or the end of a
## shorter one, and then the remaining length of the path, [m].
func points_ahead(x: float, y: float, ahead: PackedFloat64Array) -> PackedFloat64Array:
	var out: PackedFloat64Array = []
	out.resize(3 * ahead.size() + 1)
	var first := 0
	var least := INF
	for j in mini(length, _PASSED):
		var off := _away(points, j, x, y)
		if off < least:
			least = off
			first = j
	var walked := 0.0
	var at := 0
	for j in range(first, length):
		var p := _POINT * j
		if j > first:
			walked += _away(points, j - 1, points[p], points[p + 1])
		while at < ahead.size() and walked > ahead[at]:
			at += 1
		for a in range(at, ahead.size()):
			for k in 3:
				out[3 * a + k] = points[p + k]
	out[-1] = walked
	return out


# Closes the map ahead of an agent that is stuck.
func _note_bump(map: AmbuloColumns, sensed: AmbuloSensed, waits: bool) -> void:
	var moved := sqrt((sensed.x - _rest_x) ** 2 + (sensed.y - _rest_y) ** 2)
	if not moved <= _MOVED:
		_rest_x = sensed.x
		_rest_y = sensed.y
		_still = 0
	elif not waits:
		_still += 1
	var left := sqrt((sensed.goal_x - sensed.x) ** 2 + (sensed.goal_y - sensed.y) ** 2)
	if _still < _STUCK or left < _AT_GOAL:
		return
	_still = 0
	_age = 0
	var h := AmbuloColumns.in_units(sensed.z)
	for j in length:
		var far := _away(points, j, sensed.x, sensed.y)
		if far > _AHEAD_TO:
			break
		if far > _AHEAD_FROM:
			map.add_bits(points[_POINT * j], points[_POINT * j + 1], h, AmbuloColumns.BUMP)


# Marks a nearby frontier as explored.
func _note_frontier(map: AmbuloColumns, sensed: AmbuloSensed) -> void:
	if length == 0 or not frontier:
		return
	var p := _POINT * (length - 1)
	var most := _AT_FRONTIER
	if length == 2 and points[3] >= 0.0 and absf(points[p + 2] - sensed.z) < _BESIDE_LIFT[1]:
		most = _BESIDE_LIFT[0]
	if _away(points, length - 1, sensed.x, sensed.y) > most:
		return
	if absf(points[p + 2] - sensed.z) > _AT_FRONTIER:
		return
	var h := AmbuloColumns.in_units(points[p + 2])
	for dy in range(-1, 2):
		for dx in range(-1, 2):
			var x := points[p] + 0.25 * dx
			map.add_bits(x, points[p + 1] + 0.25 * dy, h, AmbuloColumns.LOOKED)
	_age = 0


func _begin(map: AmbuloColumns, tracks: AmbuloTracks, sensed: AmbuloSensed, step: int) -> void:
	_lock.lock()
	_search = null if _spare.is_empty() else _spare.pop_back()
	_lock.unlock()
	if _search == null:
		_search = AmbuloSearch.new()
	_map = map
	_tracks = tracks
	_step = step
	_attempt = -1
	_count = -1
	_query = [sensed.x, sensed.y, sensed.z, sensed.goal_x, sensed.goal_y, sensed.goal_z]
	for k in 3:
		_query.append(points[_POINT * (length - 1) + k] if length > 0 else 1e9)


# Continues the search for at most `most` nodes.
func _go_on(most: int) -> void:
	if _attempt < 0:
		_search.movers.enter(_map, _tracks, _query, _step)
		_try_next()
	while most > 0:
		var before := _search.expanded()
		var count := _search.advance(most)
		if count < 0:
			return
		most -= _search.expanded() - before
		if count > 0:
			_count = count
			_new_points = _search.path.slice(0, _POINT * count)
			break
		if not _try_next():
			_count = 0
			_mask = AmbuloColumns.CLOSED
			_new_points = [_query[3], _query[4], _query[2], -1.0, 0.0]
			break
	if _count >= 0:
		_aim()


# Begins the next attempt: with tight places closed, then open, then through all unknown places,
# then without bumps. False: no attempt is left.
func _try_next() -> bool:
	_attempt += 1
	_mask = AmbuloColumns.CLOSED
	if _attempt % 2 == 0 and _attempt < 4:
		_mask |= AmbuloColumns.TIGHT
	var jumps := AmbuloSearch.ANYWHERE
	if _attempt < 2:
		var other := absf(_query[5] - _query[2]) >= AmbuloContract.SAME_FLOOR
		jumps = AmbuloSearch.FRONTIERS if other else AmbuloSearch.NO_JUMPS
	if _attempt > 4 or (_attempt == 4 and not _map.forget_bumps()):
		return false
	_search.begin(_map, _query, _search.movers.aboard, _mask, jumps)
	return true


# Finds the waypoint, and the carrier to board now.
func _aim() -> void:
	var path := _new_points
	var count := path.size() / _POINT
	var begin := 1 if _search.movers.aboard >= 0 and count > 1 else 0
	for p in range(3, path.size(), _POINT):
		if path[p] >= 0.0:
			path[p] = _search.movers.tracks[int(path[p])]
	var lift := begin
	while lift < count and path[_POINT * lift + 3] < 0.0:
		lift += 1
	var aim := mini(begin, count - 1)
	for j in range(begin, mini(lift, reach)):
		if j > begin + 1 and not _is_line_clear(_POINT * j):
			break
		aim = j
	_new_x = path[_POINT * aim]
	_new_y = path[_POINT * aim + 1]
	_new_boards = -1
	if lift < count:
		if lift == 0 or _away(path, lift - 1, _query[0], _query[1]) < _AT_LIFT:
			_new_boards = int(path[_POINT * lift + 3])


# Adopts the result of the search and frees its work space.
func _end_search() -> void:
	_search.movers.leave()
	_lock.lock()
	_spare.append(_search)
	_lock.unlock()
	_search = null
	if _count < 0:
		return
	found = _count > 0
	length = maxi(_count, 1)
	points = _new_points
	frontier = found and points[_POINT * (length - 1) + 4] == 1.0
	waypoint_x = _new_x
	waypoint_y = _new_y
	boards = _new_boards


# Whether a straight walk to the point of the new path that begins at number `p` crosses no closed
# place.
func _is_line_clear(p: int) -> bool:
	var dx := _new_points[p] - _query[0]
	var dy := _new_points[p + 1] - _query[1]
	var dz := _new_points[p + 2] - _query[2]
	var far := sqrt(dx * dx + dy * dy)
	var n := int(far / 0.1) + 1
	for s in range(1, n + 1):
		var share := s / float(n)
		var first := AmbuloColumns.at(_query[0] + dx * share, _query[1] + dy * share)
		if _search.movers.prices[first / 3] > 0.0:
			return false
		var k := _map.find(first, AmbuloColumns.in_units(_query[2] + dz * share))
		if k == AmbuloColumns.VOID:
			return false
		if k >= 0:
			var bits := _map.entries[first + k]
			if bits & AmbuloColumns.CLOSED or (bits & _mask and share * far > _OWN):
				return false
	return true


static func _away(of: PackedFloat32Array, j: int, x: float, y: float) -> float:
	return sqrt((of[_POINT * j] - x) ** 2 + (of[_POINT * j + 1] - y) ** 2)
