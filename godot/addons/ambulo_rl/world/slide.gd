class_name AmbuloSlide
extends RefCounted
## Pushes a body out of its overlaps by the shortest displacement that resolves all of them.
##
## Subclasses provide the overlaps, see [method find_overlaps].

## Overlap up to this is rounding of the engine, not contact: a body at a wall does not touch it,
## [m].
const TOUCH_DEPTH := 2e-5
## Directions with a larger cosine count as the same.
const SAME := 0.99999

## Radius and height of the body, [m].
var body_radius := AmbuloContract.BODY_RADIUS:
	set(value):
		if value != body_radius:
			body_radius = value
			_fit()
var body_height := AmbuloContract.BODY_HEIGHT:
	set(value):
		if value != body_height:
			body_height = value
			_fit()
## Result of [method slide]: end of the body, [m].
var slid_x := 0.0
var slid_y := 0.0
## Set by [method find_overlaps]: lower bound of the distance that the body, out of its overlaps,
## can move before the next contact, [m].
var spare := 0.0
## Set by [method slide]: whether a person, and whether anything else, is touched.
var touched_person := false
var touched_thing := false

# Number of pushes with different directions.
var _count := 0
# Whether a shape cuts the body's axis, so that no push resolves the overlap.
var _is_cut := false
# Directions and depths [m], the deepest first.
var _push_x: PackedFloat64Array = []
var _push_y: PackedFloat64Array = []
var _depth: PackedFloat64Array = []
# Shortest displacement that resolves all overlaps, [m].
var _way_x := 0.0
var _way_y := 0.0


func _init() -> void:
	for numbers: PackedFloat64Array in [_push_x, _push_y, _depth]:
		numbers.resize(AmbuloContract.MOST_OVERLAPS)


## Finds the pushes on the body at (x, y), and whether people cause them; the free distance is 0 if
## unknown.
func find_overlaps(_x: float, _y: float) -> void:
	_count = 0


## Pushes a body that stepped from (x0, y0) to (x, y) out of all overlaps, into [member slid_x],
## [member slid_y]; returns whether it touched anything. If there is no way out (a gap narrower than
## the body) it returns to (x0, y0).
func slide(x0: float, y0: float, x: float, y: float) -> bool:
	slid_x = x
	slid_y = y
	touched_person = false
	touched_thing = false
	for k in AmbuloContract.SLIDE_PASSES:
		find_overlaps(slid_x, slid_y)
		if _is_cut:
			slid_x = x0
			slid_y = y0
			return true
		if _count == 0:
			return k > 0
		if _count == 1:
			slid_x += _push_x[0] * _depth[0]
			slid_y += _push_y[0] * _depth[0]
			if _depth[0] < spare:
				return true
		else:
			_find_way_out()
			slid_x += _way_x
			slid_y += _way_y
	find_overlaps(slid_x, slid_y)
	if _overlaps_more_than(AmbuloContract.STUCK_DEPTH):
		slid_x = x0
		slid_y = y0
	return true


# Resizes the shapes of the body.
func _fit() -> void:
	pass


func _overlaps_more_than(most: float) -> bool:
	return _is_cut or (_count > 0 and _depth[0] > most)


# Adds a push of a depth along the unit vector (nx, ny). Each direction is kept once, so that the
# order of the pushes does not matter.
func _add_push(nx: float, ny: float, deep: float) -> void:
	for k in _count:
		if nx * _push_x[k] + ny * _push_y[k] > SAME:
			if deep <= _depth[k]:
				return
			for m in range(k, _count - 1):
				_move(m + 1, m)
			_count -= 1
			break
	if _count == AmbuloContract.MOST_OVERLAPS:
		return
	var place := _count
	while place > 0 and _is_before(nx, deep, place - 1):
		_move(place - 1, place)
		place -= 1
	_push_x[place] = nx
	_push_y[place] = ny
	_depth[place] = deep
	_count += 1


# Finds the shortest displacement that resolves two or more pushes: along one of them or to the
# corner of two; if none does, that of the deepest push.
func _find_way_out() -> void:
	_way_x = _push_x[0] * _depth[0]
	_way_y = _push_y[0] * _depth[0]
	var best := INF
	for i in _count:
		for j in range(i, _count):
			var ux := _push_x[i] * _depth[i]
			var uy := _push_y[i] * _depth[i]
			if i != j:
				var det := _push_x[i] * _push_y[j] - _push_y[i] * _push_x[j]
				if absf(det) < 1e-6:
					continue
				ux = (_depth[i] * _push_y[j] - _depth[j] * _push_y[i]) / det
				uy = (_depth[j] * _push_x[i] - _depth[i] * _push_x[j]) / det
			var length := ux * ux + uy * uy
			if length < best and _leaves_all(ux, uy):
				best = length
				_way_x = ux
				_way_y = uy


func _is_before(nx: float, deep: float, k: int) -> bool:
	return deep > _depth[k] or (deep == _depth[k] and nx > _push_x[k])


func _move(from: int, to: int) -> void:
	_push_x[to] = _push_x[from]
	_push_y[to] = _push_y[from]
	_depth[to] = _depth[from]


func _leaves_all(ux: float, uy: float) -> bool:
	for k in _count:
		if _push_x[k] * ux + _push_y[k] * uy < _depth[k] - 0.5 * TOUCH_DEPTH:
			return false
	return true
