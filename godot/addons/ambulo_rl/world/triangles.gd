class_name AmbuloTriangles
extends RefCounted
## Triangles that push upright bodies: the contract's formulas, in 64-bit floats.

## Numbers of a triangle: three corners, unit normal, lowest and highest z, [m].
const WIDTH := 14
## Side of a bin, [m].
const BIN := 1.0
## Triangles that overlap more bins are tested in every query.
const MOST_BINS := 1024
const _INSIDE := 1e-9
const _ALONG := 0.999

## Result of [method push]: direction, and depth [m].
var push_x := 0.0
var push_y := 0.0
var depth := 0.0
## [constant WIDTH] numbers of each triangle.
var rows: PackedFloat64Array = []

# First indices of the triangles of each bin.
var _bins: Dictionary[Vector2i, PackedInt32Array] = {}
var _everywhere: PackedInt32Array = []
# Shortest vector from a triangle to the axis of a body, and its squared length.
var _hx := 0.0
var _hy := 0.0
var _hz := 0.0
var _square := 0.0


## Triangles of [param corners], nine numbers each.
func _init(corners: PackedFloat64Array) -> void:
	rows.resize(floori(corners.size() / 9.0) * WIDTH)
	var to := 0
	for k in range(0, corners.size(), 9):
		for m in 9:
			rows[to + m] = corners[k + m]
		_add_normal(to)
		_enter(to)
		to += WIDTH


## First indices of the triangles within [param reach] of (x, y), from one height to another.
func gather(x: float, y: float, reach: float, low: float, high: float) -> PackedInt32Array:
	var found := _everywhere.duplicate()
	var first := Vector2i(floori((x - reach) / BIN), floori((y - reach) / BIN))
	var last := Vector2i(floori((x + reach) / BIN), floori((y + reach) / BIN))
	for row in range(first.y, last.y + 1):
		for column in range(first.x, last.x + 1):
			found.append_array(_bins.get(Vector2i(column, row), PackedInt32Array()))
	found.sort()
	var kept: PackedInt32Array = []
	var before := -1
	var r := rows
	for t in found:
		if t == before or r[t + 13] < low or r[t + 12] > high:
			continue
		before = t
		var dx := maxf(minf(minf(r[t], r[t + 3]), r[t + 6]) - x, 0.0)
		dx = maxf(dx, x - maxf(maxf(r[t], r[t + 3]), r[t + 6]))
		var dy := maxf(minf(minf(r[t + 1], r[t + 4]), r[t + 7]) - y, 0.0)
		dy = maxf(dy, y - maxf(maxf(r[t + 1], r[t + 4]), r[t + 7]))
		if dx * dx + dy * dy <= reach * reach:
			kept.append(t)
	return kept


## Whether the triangle whose numbers begin at [param t] pushes a body of a radius whose axis is at
## (x, y) from one height to another; the push is in [member push_x], [member push_y] and [member
## depth], which is infinite if the triangle cuts the axis.
func push(t: int, x: float, y: float, low: float, high: float, radius: float) -> bool:
	var r := rows
	if r[t + 13] < low - radius or r[t + 12] > high + radius:
		return false
	_find_gap(t, x, y, low, high)
	if _square >= radius * radius:
		return false
	var gap := sqrt(_square)
	if gap < _INSIDE:
		depth = INF
		return true
	var aside := sqrt(_hx * _hx + _hy * _hy)
	if _is_steep(t, aside, gap):
		return false
	push_x = _hx / aside
	push_y = _hy / aside
	depth = (radius - gap) * gap / aside
	return true


func _add_normal(t: int) -> void:
	var r := rows
	var ux := r[t + 3] - r[t]
	var uy := r[t + 4] - r[t + 1]
	var uz := r[t + 5] - r[t + 2]
	var vx := r[t + 6] - r[t]
	var vy := r[t + 7] - r[t + 1]
	var vz := r[t + 8] - r[t + 2]
	var nx := uy * vz - uz * vy
	var ny := uz * vx - ux * vz
	var nz := ux * vy - uy * vx
	var size := sqrt(nx * nx + ny * ny + nz * nz)
	r[t + 9] = nx / size
	r[t + 10] = ny / size
	r[t + 11] = nz / size
	r[t + 12] = minf(minf(r[t + 2], r[t + 5]), r[t + 8])
	r[t + 13] = maxf(maxf(r[t + 2], r[t + 5]), r[t + 8])


func _enter(t: int) -> void:
	var r := rows
	var left := floori(minf(minf(r[t], r[t + 3]), r[t + 6]) / BIN)
	var right := floori(maxf(maxf(r[t], r[t + 3]), r[t + 6]) / BIN)
	var bottom := floori(minf(minf(r[t + 1], r[t + 4]), r[t + 7]) / BIN)
	var top := floori(maxf(maxf(r[t + 1], r[t + 4]), r[t + 7]) / BIN)
	if (right - left + 1) * (top - bottom + 1) > MOST_BINS:
		_everywhere.append(t)
		return
	for row in range(bottom, top + 1):
		for column in range(left, right + 1):
			var bin: PackedInt32Array = _bins.get_or_add(Vector2i(column, row), PackedInt32Array())
			bin.append(t)


# Whether a face is steep enough to push. Sloping ceilings push at more angles than other faces;
# otherwise bodies would pass through them.
func _is_steep(t: int, aside: float, gap: float) -> bool:
	if aside < _INSIDE:
		return true
	if _hz < 0.0:
		var r := rows
		if absf(_hx * r[t + 9] + _hy * r[t + 10] + _hz * r[t + 11]) > _ALONG * gap:
			return aside < -AmbuloSpace.OVERHEAD * _hz
	return absf(_hz) > aside


# Ericson, Real-Time Collision Detection (2005), sections 5.1.9 and 5.1.10: the nearest points are
# ends of the axis against the face, or the axis against an edge.
func _find_gap(t: int, x: float, y: float, low: float, high: float) -> void:
	_square = INF
	var r := rows
	var nz := r[t + 11]
	if absf(nz) > 1e-9 and _is_over(t, x, y, 1.0 if nz > 0.0 else -1.0):
		var z := r[t + 2] - (r[t + 9] * (x - r[t]) + r[t + 10] * (y - r[t + 1])) / nz
		if z >= low and z <= high:
			_square = 0.0
			return
	for end in 2:
		var z := low if end == 0 else high
		var away := r[t + 9] * (x - r[t]) + r[t + 10] * (y - r[t + 1]) + nz * (z - r[t + 2])
		if away * away < _square and _is_in_front(t, x, y, z):
			_square = away * away
			_hx = away * r[t + 9]
			_hy = away * r[t + 10]
			_hz = away * nz
	_try_edge(t, t + 3, x, y, low, high)
	_try_edge(t + 3, t + 6, x, y, low, high)
	_try_edge(t + 6, t, x, y, low, high)


# Whether (x, y) lies in the triangle seen from above.
func _is_over(t: int, x: float, y: float, sign_up: float) -> bool:
	var r := rows
	for k in 3:
		var a := t + 3 * k
		var b := t + 3 * ((k + 1) % 3)
		var side := (r[b] - r[a]) * (y - r[a + 1]) - (r[b + 1] - r[a + 1]) * (x - r[a])
		if sign_up * side < -_INSIDE:
			return false
	return true


# Whether the projection of the point on the triangle's plane lies in the triangle.
func _is_in_front(t: int, x: float, y: float, z: float) -> bool:
	var r := rows
	for k in 3:
		var a := t + 3 * k
		var b := t + 3 * ((k + 1) % 3)
		var ex := r[b] - r[a]
		var ey := r[b + 1] - r[a + 1]
		var ez := r[b + 2] - r[a + 2]
		var dx := x - r[a]
		var dy := y - r[a + 1]
		var dz := z - r[a + 2]
		var cx := ey * dz - ez * dy
		var cy := ez * dx - ex * dz
		var cz := ex * dy - ey * dx
		if cx * r[t + 9] + cy * r[t + 10] + cz * r[t + 11] < -_INSIDE:
			return false
	return true


# Finds where the edge is nearest to the infinite axis; clamping to the axis' ends gives the nearest
# point, because the distance is convex.
func _try_edge(a: int, b: int, x: float, y: float, low: float, high: float) -> void:
	var r := rows
	var ex := r[b] - r[a]
	var ey := r[b + 1] - r[a + 1]
	var ez := r[b + 2] - r[a + 2]
	var dx := x - r[a]
	var dy := y - r[a + 1]
	var flat := ex * ex + ey * ey
	var z := clampf(r[a + 2], low, high)
	if flat > 1e-18:
		z = clampf(r[a + 2] + clampf((dx * ex + dy * ey) / flat, 0.0, 1.0) * ez, low, high)
	elif (r[a + 2] - z) * (r[b + 2] - z) > 0.0:
		z = clampf(r[b + 2], low, high)
	var dz := z - r[a + 2]
	var share := clampf((dx * ex + dy * ey + dz * ez) / (flat + ez * ez), 0.0, 1.0)
	dx -= share * ex
	dy -= share * ey
	dz -= share * ez
	var square := dx * dx + dy * dy + dz * dz
	if square < _square:
		_square = square
		_hx = dx
		_hy = dy
		_hz = dz
