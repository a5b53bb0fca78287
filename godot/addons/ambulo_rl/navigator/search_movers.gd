class_name AmbuloSearchMovers
extends RefCounted
## Moving objects for an [AmbuloSearch]: carriers become nodes of their own, all others add a price
## to their columns. Same computation as in the trainer (`envs/vr/navigator/planning.py` and
## `search.py`).

## Numbers of a lift: those of its box, and its stops.
const LIFT := 8 + AmbuloTracks.STOPS
## Bit of [member near] of columns in or right beside a carrier; the bits below it mark the ring
## around each carrier from which it is boarded.
const INSIDE := 1 << AmbuloNodes.LIFTS
## Range of distances of the columns from which a carrier is boarded and to which it is left; nearer
## columns are no floor, [m].
const RING_FROM := 0.3
const RING_TO := 0.62
const BESIDE := 0.15

# Price of a column that a moving object occupies, and the price if that is a shut door, which will
# open, [m].
const _IN_THE_WAY := 3.0
const _SHUT := 0.4
# A moving object occupies columns at most this far from it, [m].
const _THING_ROOM := 0.3
# A body this near to the top of a carrier is on it, [m].
const _ABOARD := 0.12
# Distance from the edges of a carrier of the point that is stepped to, [m].
const _STEP_IN := 0.3
# Stops that differ by less are the same, [m].
const _SAME_STOP := 0.3

## LIFT numbers of each carrier, and the track of each.
var lifts: PackedFloat64Array = []
var tracks: PackedInt32Array = []
## Price of each column on the floor of the body, [m].
var prices: PackedFloat32Array = []
## Bits of the columns near carriers, see [constant INSIDE].
var near: PackedInt32Array = []
## Lift that carries the body, -1: none.
var aboard := -1

# Columns of the map around the body, not wrapped, and those that were written.
var _window := Rect2i()
var _columns: PackedInt32Array = []


func _init() -> void:
	lifts.resize(AmbuloNodes.LIFTS * LIFT)
	tracks.resize(AmbuloNodes.LIFTS)
	prices.resize(AmbuloColumns.SIDE * AmbuloColumns.SIDE)
	near.resize(AmbuloColumns.SIDE * AmbuloColumns.SIDE)


## Adds the remembered moving objects in decision [param step] for a body at (x, y, z).
func enter(map: AmbuloColumns, of: AmbuloTracks, at: PackedFloat64Array, step: int) -> void:
	aboard = -1
	var count := 0
	if not of.some:
		return
	var on := of.carrier_under(at[0], at[1], at[2], _ABOARD)
	var half := Vector2i.ONE * (AmbuloColumns.SIDE / 2)
	_window = Rect2i(Vector2i(floori(at[0] * 4.0), floori(at[1] * 4.0)) - half, 2 * half)
	var room := AmbuloNodes.LIFTS if on < 0 else AmbuloNodes.LIFTS - 1
	for m in AmbuloTracks.TRACKS:
		if of.seen[m] < 0:
			continue
		if of.carries[m]:
			if m == on:
				room = AmbuloNodes.LIFTS
				aboard = count
			elif count == room:
				continue
			_enter_lift(of, m, count)
			count += 1
		elif step - of.seen[m] <= AmbuloTracks.RECENT and AmbuloEvading.stands_in(of, m, at[2]):
			_enter_thing(map, of, m, at[2])


## Undoes what [method enter] wrote.
func leave() -> void:
	for column in _columns:
		prices[column] = 0.0
		near[column] = 0
	_columns.clear()


## Whether the lift whose numbers begin at [param row] is known to stop at height [param z], [m].
func stops_at(row: int, z: float) -> bool:
	for s in range(row + 8, row + LIFT):
		if absf(lifts[s] - z) < _SAME_STOP:  # never for NAN
			return true
	return false


## Whether it may stop there, as far as known.
func may_stop(row: int, z: float) -> bool:
	for s in range(row + 8, row + LIFT):
		if is_nan(lifts[s]):
			return true
	return stops_at(row, z)


## Whether no known wall lies between (x, y) at height [param h] and the inside of a lift.
func is_open_between(map: AmbuloColumns, x: float, y: float, h: int, row: int) -> bool:
	var dx := x - lifts[row]
	var dy := y - lifts[row + 1]
	var cy := lifts[row + 4]
	var sy := lifts[row + 5]
	var a := maxf(lifts[row + 2] - _STEP_IN, 0.0)
	var b := maxf(lifts[row + 3] - _STEP_IN, 0.0)
	var u := clampf(cy * dx + sy * dy, -a, a)
	var v := clampf(cy * dy - sy * dx, -b, b)
	dx = lifts[row] + cy * u - sy * v - x
	dy = lifts[row + 1] + sy * u + cy * v - y
	var n := int(sqrt(dx * dx + dy * dy) / 0.08) + 1
	for s in range(1, n + 1):
		var first := AmbuloColumns.at(x + dx * s / n, y + dy * s / n)
		for i in range(first, first + 3):
			if map.entries[i] & (AmbuloColumns.HIT | AmbuloColumns.BUMP):
				if absi((map.entries[i] >> AmbuloColumns.SHIFT) - h) < AmbuloColumns.SAME:
					return false
	return true


## Cells around a moving object whose numbers begin at [param row], in the map around the body.
func cells_around(rows: PackedFloat64Array, row: int) -> Rect2i:
	var a := rows[row + 2]
	var b := rows[row + 3]
	var far := int((sqrt(a * a + b * b) + RING_TO) * 4) + 2
	var first := Vector2i(floori(rows[row] * 4.0) - far, floori(rows[row + 1] * 4.0) - far)
	return Rect2i(first, Vector2i.ONE * (2 * far + 1)).intersection(_window)


func _enter_lift(of: AmbuloTracks, m: int, lift: int) -> void:
	var row := AmbuloTracks.ROW * m
	for k in 8:
		lifts[LIFT * lift + k] = of.rows[row + k]
	for s in AmbuloTracks.STOPS:
		lifts[LIFT * lift + 8 + s] = of.stops[AmbuloTracks.STOPS * m + s]
	tracks[lift] = m
	var around := cells_around(of.rows, row)
	for iy in range(around.position.y, around.end.y):
		for ix in range(around.position.x, around.end.x):
			var px := (ix + 0.5) * 0.25
			var py := (iy + 0.5) * 0.25
			if not AmbuloTracks.is_in_base(of.rows, row, px, py, RING_TO):
				continue
			var column := (iy & 255) << 8 | ix & 255
			if AmbuloTracks.is_in_base(of.rows, row, px, py, BESIDE):
				near[column] |= INSIDE
			elif not AmbuloTracks.is_in_base(of.rows, row, px, py, RING_FROM):
				near[column] |= 1 << lift
			_columns.append(column)


func _enter_thing(map: AmbuloColumns, of: AmbuloTracks, m: int, z: float) -> void:
	var row := AmbuloTracks.ROW * m
	var price := _SHUT if _is_shut(map, of.rows, row, z) else _IN_THE_WAY
	var around := cells_around(of.rows, row)
	for iy in range(around.position.y, around.end.y):
		for ix in range(around.position.x, around.end.x):
			if of.gap_at(m, 0.0, (ix + 0.5) * 0.25, (iy + 0.5) * 0.25) < _THING_ROOM:
				var column := (iy & 255) << 8 | ix & 255
				prices[column] = maxf(prices[column], price)
				_columns.append(column)


# Whether both ends of a moving object are at walls, like those of a shut door.
static func _is_shut(map: AmbuloColumns, rows: PackedFloat64Array, row: int, z: float) -> bool:
	var far := maxf(rows[row + 2], rows[row + 3]) + 0.12
	var ux := rows[row + 4]
	var uy := rows[row + 5]
	if rows[row + 3] > rows[row + 2]:
		ux = -rows[row + 5]
		uy = rows[row + 4]
	var h := AmbuloColumns.in_units(z)
	for side: float in [-1.0, 1.0]:
		var cx := floori((rows[row] + side * ux * far) * 4.0)
		var cy := floori((rows[row + 1] + side * uy * far) * 4.0)
		if not _is_at_wall(map, cx, cy, h):
			return false
	return true


static func _is_at_wall(map: AmbuloColumns, cx: int, cy: int, h: int) -> bool:
	for dy in range(-1, 2):
		for dx in range(-1, 2):
			var first := ((cy + dy & 255) << 8 | cx + dx & 255) * 3
			for i in range(first, first + 3):
				if map.entries[i] & AmbuloColumns.HIT:
					if absi((map.entries[i] >> AmbuloColumns.SHIFT) - h) < AmbuloColumns.SAME:
						return true
	return false
