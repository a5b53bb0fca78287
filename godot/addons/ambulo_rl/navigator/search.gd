class_name AmbuloSearch
extends RefCounted
## A* search over the columns of a partial map and over lifts. Same computation and paths as in the
## trainer (`envs/vr/navigator/search.py`). Known floors connect where they differ by less than a
## step; unknown places count as level with the place from which they are entered. If the goal is on
## another floor a path may end at a frontier.

## A path ends this near to the goal, [m].
const GOAL_RADIUS := 0.8
## Where a path to another floor may end: only at the goal, at frontiers, or at any unknown place.
const NO_JUMPS := 0
const FRONTIERS := 1
const ANYWHERE := 2
## Numbers of a point of a path: x, y, z [m], lift that it is in (-1: none), 1 at a frontier.
const POINT := 5
## Most points of a path; a longer one is cut.
const POINTS := 300
# Cost factors: where a wall may continue; in tight places on the floor of the goal, on other floors
# and on slopes.
const _WALLS := 2.0
const _TIGHT_HERE := 5.0
const _TIGHT_AWAY := 30.0
const _TIGHT_SLOPE := 1.5
# Cost of waiting for a carrier, and of leaving one at a height at which it was never seen to stop,
# [m].
const _BOARD := 4.0
const _UNSEEN_STOP := 2.0
# Tight places this near to the goal are open, [m]; so are those this near to the body, and carriers
# within one more, [columns].
const _AT_GOAL := 0.9
const _OWN := 2
# From a slope, the search enters unknown places only where the floor rises by at least this, [1 /
# UNITS m].
const _ALONG := 8
# Unknown columns farther than this are not crossed on the way to another floor.
const _BLIND := 3
const _FLAT := 154
const _TALL := 256
# Frontiers within this of the last plan's end are the same, [m].
const _AGAIN := 1.25
const _NEARER := sqrt(2.0) - 1.0

## The resulting path, POINT numbers each.
var path: PackedFloat32Array = []
## Moving objects as nodes and prices of the search.
var movers := AmbuloSearchMovers.new()

var _nodes := AmbuloNodes.new()
var _map: AmbuloColumns
var _x := 0.0
var _y := 0.0
var _z := 0.0
var _goal_x := 0.0
var _goal_y := 0.0
var _goal_z := 0.0
var _weight := 1.0
# Bits that close a column, see `begin`.
var _mask := 0
var _jumps := 0
# End of the previous plan, [m].
var _last_x := 0.0
var _last_y := 0.0
var _last_z := 0.0


func _init() -> void:
	path.resize(POINTS * POINT)


## Number of nodes expanded by the present search.
func expanded() -> int:
	return _nodes.expanded


## Begins a search on [param map]. [param query]: x, y, z of the feet, of the goal, and of the end
## of the previous plan, [m]; [param aboard]: lift that carries the body, -1: none; [param mask]:
## bits that close a column, unless it is free, or near to the body or goal.
func begin(
	map: AmbuloColumns, query: PackedFloat64Array, aboard: int, mask: int, jumps: int
) -> void:
	_map = map
	_x = query[0]
	_y = query[1]
	_z = query[2]
	_goal_x = query[3]
	_goal_y = query[4]
	_goal_z = query[5]
	_last_x = query[6]
	_last_y = query[7]
	_last_z = query[8]
	_mask = mask
	_jumps = jumps
	_weight = 1.0
	if absf(_goal_z - _z) > AmbuloContract.SAME_FLOOR:
		_weight = minf(AmbuloFrontiers.AWAY_PRICE, 1.0)
	_nodes.begin()
	var h := AmbuloColumns.in_units(_z)
	if aboard >= 0:
		_nodes.reach(AmbuloNodes.FIRST_LIFT + aboard, 0.0, 0.0, -1, h)
		return
	var first := AmbuloColumns.at(_x, _y)
	var k := map.find(first, h)
	if k < 0:
		k = _nodes.place_for(first / 3, h)
	_nodes.reach(first / 3 * AmbuloNodes.PLACES + k, 0.0, 0.0, -1, h)


## Continues the search for at most [param most] nodes; returns the number of points of the path, 0:
## no path exists, -1: unfinished.
func advance(most: int) -> int:
	var nodes := _nodes
	var entries := _map.entries
	var mark := nodes.mark
	var marks := nodes.marks
	var guests := nodes.guests
	var costs := nodes.costs
	var heights := nodes.heights
	var bx := floori(_x * 4.0)
	var by := floori(_y * 4.0)
	var body_h := AmbuloColumns.in_units(_z)
	var goal_h := AmbuloColumns.in_units(_goal_z)
	var stop := mini(nodes.expanded + most, AmbuloNodes.MOST_EXPANDED)
	var dxs := AmbuloFrontiers.DX
	var dys := AmbuloFrontiers.DY
	var lengths := AmbuloFrontiers.LENGTH
	var lifts := movers.lifts
	var near := movers.near
	var prices := movers.prices
	var margin := 1.09 * GOAL_RADIUS
	while nodes.size > 0 and nodes.expanded < stop:
		var node := nodes.pop()
		var here := costs[node]
		if node == AmbuloNodes.END:
			return _write_path()
		if node >= AmbuloNodes.FIRST_LIFT:
			var lift := node - AmbuloNodes.FIRST_LIFT
			var left := _rest(
				lifts[AmbuloSearchMovers.LIFT * lift], lifts[AmbuloSearchMovers.LIFT * lift + 1]
			)
			if nodes.key <= here + left + 1e-3:
				nodes.expanded += 1
				_leave(lift)
			continue
		var column := node / 5
		var k := node - 5 * column
		var c := column & 255
		var r := column >> 8
		var ix := bx + (c - bx + 128 & 255) - 128
		var iy := by + (r - by + 128 & 255) - 128
		var x := (ix + 0.5) * 0.25
		var y := (iy + 0.5) * 0.25
		var away_x := absf(_goal_x - x)
		var away_y := absf(_goal_y - y)
		var at_least := maxf(away_x, away_y) + _NEARER * minf(away_x, away_y) - margin
		if nodes.key > here + _weight * maxf(at_least, 0.0) + 1e-3:
			continue
		nodes.expanded += 1
		var h := heights[node]
		var other := absi(h - goal_h) >= _FLAT
		if not other and (_goal_x - x) ** 2 + (_goal_y - y) ** 2 <= GOAL_RADIUS * GOAL_RADIUS:
			nodes.reach(AmbuloNodes.END, here, 0.0, node, h)
		var bits := entries[3 * column + k] if k < 3 else 0
		if other:
			if _jumps != NO_JUMPS and not bits & 1 and nodes.parents[node] >= 0:
				_end_at_frontier(node, r, c, h, x, y)
			var rings := near[column] & AmbuloSearchMovers.INSIDE - 1
			if rings:
				_board(node, x, y, rings)
			var blind := maxi(absi(ix - bx), absi(iy - by)) > _BLIND
			if _jumps == FRONTIERS and blind and not bits & 257:  # FREE | SEEN
				continue
		var to_edges := other and _jumps != NO_JUMPS
		var off_slope := bits & 3 == 3
		for q in 8:
			var jx := ix + dxs[q]
			var jy := iy + dys[q]
			var away := maxi(absi(jx - bx), absi(jy - by))
			if away >= 127:
				continue
			var next := (jy & 255) << 8 | jx & 255
			var cheapest := here + lengths[q] + 1e-4
			var i := 3 * next
			var entry := entries[i]
			var k2 := 0
			if (entries[i + 1] | entries[i + 2]) & 0xFFFF:
				k2 = _map.find(i, h)
				if k2 == AmbuloColumns.VOID:
					continue
				entry = entries[i + k2] if k2 >= 0 else 0
			else:  # as `find`, for one entry or none
				var gap := absi((entry >> 16) - h)
				if entry & 1:
					if gap > 128:
						if gap < 435:
							continue
						k2 = -1
						entry = 0
				elif gap >= 205 or entry & 0xFFFF == 0:
					k2 = -1
					entry = 0
			# Most were already reached at less cost; edges may be ends.
			var to := 5 * next + k2
			if k2 < 0:
				to = 5 * next + 3 if guests[2 * next] == mark and heights[5 * next + 3] == h else -1
			if to >= 0 and marks[to] == mark and costs[to] <= cheapest and not entry & 8:
				continue
			if near[next] >= AmbuloSearchMovers.INSIDE and away > _OWN + 1:
				continue
			if to_edges and entry & 524 == 8:  # of DROP | HIT | LOOKED
				var far := sqrt((_goal_x - x) ** 2 + (_goal_y - y) ** 2)
				var climb := _goal_z - h / 256.0
				var left := AmbuloFrontiers.rest_from_edge(far, climb)
				nodes.reach(AmbuloNodes.END, here + left, 0.0, node, h)
			if off_slope and not entry & 1:
				var rise := AmbuloFrontiers.rise_towards(_map, r, c, h, q)
				if not absf(rise) > _ALONG:
					continue
			var h2 := entry >> 16 if entry & 1 else h
			var x2 := (jx + 0.5) * 0.25
			var y2 := (jy + 0.5) * 0.25
			if entry & (_mask | 16):
				if entry & 28:  # CLOSED
					continue
				if not entry & 1 and not (away <= _OWN and absi(h2 - body_h) < _FLAT):
					var at_goal := maxf(absf(x2 - _goal_x), absf(y2 - _goal_y)) <= _AT_GOAL
					if not at_goal or absi(h2 - goal_h) >= _FLAT:
						continue
			if k2 < 0:
				k2 = nodes.place_for(next, h)
				if k2 < 0:
					continue
			var price := lengths[q]
			if entry & 129 == 128:  # WALL, not FREE
				price *= _WALLS
			if entry & 96:  # NEAR | TIGHT
				if entry & 2:
					price *= _TIGHT_SLOPE
				elif absi(h2 - goal_h) < _FLAT:
					price *= _TIGHT_HERE
				else:
					price *= _TIGHT_AWAY
			if absi(h2 - body_h) < _TALL:
				price += prices[next]
			var cost := here + price
			to = 5 * next + k2
			if marks[to] == mark and costs[to] <= cost + 1e-4:
				continue
			var dx := absf(_goal_x - x2)
			var dy := absf(_goal_y - y2)
			var rest := _weight * maxf(maxf(dx, dy) + _NEARER * minf(dx, dy) - margin, 0.0)
			nodes.reach(to, cost, rest, node, h2)
	return 0 if nodes.size == 0 or nodes.expanded >= AmbuloNodes.MOST_EXPANDED else -1


# Least cost from (x, y) to the goal, [m]. Eight directions make the disc of the goal an octagon, at
# most 1.09 times nearer.
func _rest(x: float, y: float) -> float:
	var dx := absf(_goal_x - x)
	var dy := absf(_goal_y - y)
	var far := maxf(dx, dy) + _NEARER * minf(dx, dy)
	return _weight * maxf(far - 1.09 * GOAL_RADIUS, 0.0)


# Reaches the columns around a lift at the heights of its possible stops.
func _leave(lift: int) -> void:
	var lifts := movers.lifts
	var row := AmbuloSearchMovers.LIFT * lift
	var node := AmbuloNodes.FIRST_LIFT + lift
	var here := _nodes.costs[node]
	var around := movers.cells_around(lifts, row)
	for stop in AmbuloTracks.STOPS + 1:
		var extra := 0.0
		var z := 0.0
		if stop == AmbuloTracks.STOPS:
			if movers.stops_at(row, _goal_z) or not movers.may_stop(row, _goal_z):
				continue
			z = _goal_z
			extra = _UNSEEN_STOP
		else:
			z = lifts[row + 8 + stop]
			if is_nan(z):
				continue
		var h := AmbuloColumns.in_units(z)
		for iy in range(around.position.y, around.end.y):
			for ix in range(around.position.x, around.end.x):
				var px := (ix + 0.5) * 0.25
				var py := (iy + 0.5) * 0.25
				if AmbuloTracks.is_in_base(lifts, row, px, py, AmbuloSearchMovers.RING_FROM):
					continue
				if AmbuloTracks.is_in_base(lifts, row, px, py, AmbuloSearchMovers.RING_TO):
					_leave_for(row, node, here + extra, ix, iy, h)


func _leave_for(row: int, node: int, here: float, ix: int, iy: int, h: int) -> void:
	var lifts := movers.lifts
	var column := (iy & 255) << 8 | ix & 255
	var k := _map.find(3 * column, h)
	var floor_h := h
	if k == AmbuloColumns.VOID:
		return
	if k >= 0:
		var entry := _map.entries[3 * column + k]
		if entry & (AmbuloColumns.HIT | AmbuloColumns.BUMP):
			return
		if entry & AmbuloColumns.FREE:
			floor_h = entry >> AmbuloColumns.SHIFT
	else:
		k = _nodes.place_for(column, h)
		if k < 0:
			return
	var px := (ix + 0.5) * 0.25
	var py := (iy + 0.5) * 0.25
	if movers.is_open_between(_map, px, py, floor_h, row):
		var walk := sqrt((px - lifts[row]) ** 2 + (py - lifts[row + 1]) ** 2)
		walk += movers.prices[column]
		_nodes.reach(column * AmbuloNodes.PLACES + k, here + walk, _rest(px, py), node, floor_h)


# Reaches the lifts of some rings from a node at (x, y).
func _board(node: int, x: float, y: float, rings: int) -> void:
	var lifts := movers.lifts
	var h := _nodes.heights[node]
	for lift in AmbuloNodes.LIFTS:
		var row := AmbuloSearchMovers.LIFT * lift
		if not rings & 1 << lift or not movers.may_stop(row, h / 256.0):
			continue
		if movers.is_open_between(_map, x, y, h, row):
			var walk := sqrt((x - lifts[row]) ** 2 + (y - lifts[row + 1]) ** 2)
			var cost := _nodes.costs[node] + walk + _BOARD
			var left := _rest(lifts[row], lifts[row + 1])
			_nodes.reach(AmbuloNodes.FIRST_LIFT + lift, cost, left, node, h)


# Reaches the end from an unknown column that may be a frontier.
func _end_at_frontier(node: int, r: int, c: int, h: int, x: float, y: float) -> void:
	var parent := _nodes.parents[node]
	var edge := parent >= AmbuloNodes.FIRST_LIFT or _nodes.parents[parent] < 0
	var r0 := r
	var c0 := c
	var h0 := h
	if parent < AmbuloNodes.FIRST_LIFT:
		var column := parent / AmbuloNodes.PLACES
		r0 = column >> 8
		c0 = column & 255
		h0 = _nodes.heights[parent]
	var away := sqrt((_goal_x - x) ** 2 + (_goal_y - y) ** 2)
	var z := h / 256.0
	var left := AmbuloFrontiers.rest_from(
		_map, r, c, h, r0, c0, h0, edge, _jumps == ANYWHERE, away, _goal_z - z
	)
	if left < 0.0:
		return
	var apart := sqrt((_last_x - x) ** 2 + (_last_y - y) ** 2)
	if apart < _AGAIN and absf(_last_z - z) < AmbuloColumns.SAME / 256.0:
		left -= AmbuloFrontiers.SAME_PRICE
	_nodes.reach(AmbuloNodes.END, _nodes.costs[node] + left, 0.0, node, h)


# Writes the points of the path to the end, the goal last; returns their number.
func _write_path() -> int:
	var bx := floori(_x * 4.0)
	var by := floori(_y * 4.0)
	var parents := _nodes.parents
	var lifts := movers.lifts
	var last := parents[AmbuloNodes.END]
	var count := 0
	var node := last
	while node >= 0:
		count += 1
		node = parents[node]
	var at := count
	node = last
	while node >= 0:
		at -= 1
		if at < POINTS:
			var p := at * POINT
			path[p + 3] = -1.0
			if node >= AmbuloNodes.FIRST_LIFT:
				var lift := node - AmbuloNodes.FIRST_LIFT
				path[p] = lifts[AmbuloSearchMovers.LIFT * lift]
				path[p + 1] = lifts[AmbuloSearchMovers.LIFT * lift + 1]
				path[p + 3] = lift
			else:
				var column := node / AmbuloNodes.PLACES
				path[p] = (bx + ((column & 255) - bx + 128 & 255) - 128 + 0.5) * 0.25
				path[p + 1] = (by + ((column >> 8) - by + 128 & 255) - 128 + 0.5) * 0.25
			path[p + 2] = _nodes.heights[node] / 256.0
			path[p + 4] = 0.0
		node = parents[node]
	if count > POINTS:
		return POINTS
	if absf(_nodes.heights[last] / 256.0 - _goal_z) >= AmbuloContract.SAME_FLOOR:
		path[(count - 1) * POINT + 4] = 1.0
	elif count < POINTS:
		var p := count * POINT
		for value: float in [_goal_x, _goal_y, _goal_z, -1.0, 0.0]:
			path[p] = value
			p += 1
		count += 1
	return count
