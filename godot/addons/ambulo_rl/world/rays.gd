class_name AmbuloRays
extends RefCounted
## Rays in a level: free distances along the floor (docs/vr_world.md).
##
## A vertical plane through each ray cuts the shapes; a walk over the cuts finds the end of the ray.

## Numbers of a cut: begin and end along the ray, bottom and top at the begin, their slopes, and
## whether the top is a floor: 1 static, 2 moving.
const CUT := 7
## Offset behind the beginning of a cut at which it is examined, and half its least length, [m].
const BEYOND := 1e-6
## Longest part of a sloping floor that is examined for obstacles at once, [m].
const STRIDE := 0.25
const _EMPTY: PackedFloat64Array = []

## Moving obstacles; null: none.
var things: AmbuloThings
## Height of the body, [m].
var body_height := AmbuloContract.BODY_HEIGHT

var _cuts: Array[PackedFloat64Array] = []
# End of the last ray, and the parts of its floor: begin, height there, slope.
var _end := AmbuloContract.NOTHING
var _trail: PackedFloat64Array = []
var _heading := 0.0
var _length := 0.0
# Results of the cut functions.
var _enter := 0.0
var _leave := 0.0
var _low := 0.0
var _high := 0.0


## Writes the free distances along the floor for feet at (x, y, z) into [param rows] from index
## [param start] and, if the spec has surroundings, behind them the end of each ray and the floors
## along it. [param flats] are the first indices of flat shapes of [param solids], [param faces]
## those of [param triangles].
func read(
	solids: AmbuloLevelSolids,
	flats: PackedInt32Array,
	triangles: AmbuloTriangles,
	faces: PackedInt32Array,
	at: PackedFloat64Array,
	spec: AmbuloSpec,
	rows: PackedFloat64Array,
	start: int
) -> void:
	var count := spec.num_rays
	_length = spec.ray_length
	_heading = at[3]
	_cuts.resize(count)
	_cuts.fill(_EMPTY)
	var row := solids.flats
	for k in flats:
		_cut_flat(row, k, at[0], at[1], 1.0)
	if things != null:
		for k in things.boxes + things.people:
			_cut_flat(things.now, k, at[0], at[1], 2.0)
	row = triangles.rows
	for t in faces:
		_cut_triangle(row, t, at[0], at[1])
	for r in count:
		var reach := _free_way(_cuts[r], at[2], spec.rays_see_edges)
		rows[start + r] = reach
		if spec.surroundings:
			rows[start + count + r] = _end
			write_floors(_trail, at[2], reach, rows, start + 2 * count + 4 * r)


## Writes the heights of the floor along a ray of length [param reach] [m], above feet at height
## [param z], into [param rows] from index [param first]. [param trail] has the parts of the floor:
## where each begins, its height there, and its slope.
static func write_floors(
	trail: PackedFloat64Array, z: float, reach: float, rows: PackedFloat64Array, first: int
) -> void:
	var k := 0
	for p in AmbuloContract.FLOOR_PARTS:
		var at := reach * (p + 1) / AmbuloContract.FLOOR_PARTS
		if p == AmbuloContract.FLOOR_PARTS - 1:
			at = maxf(reach - AmbuloContract.BEFORE_END, 0.0)
		while k + 3 < trail.size() and trail[k + 3] <= at:
			k += 3
		rows[first + p] = 0.0
		if not trail.is_empty():
			rows[first + p] = trail[k + 1] + trail[k + 2] * (at - trail[k]) - z


## Length of the part of a ray along [param heading] inside an upright box with half sizes a and b
## along the axes and its middle at (dx, dy) from the ray's origin; negative: the ray misses it,
## [m].
func way_through(dx: float, dy: float, a: float, b: float, heading: float) -> float:
	_enter = -INF
	_leave = INF
	_cross_slab(-dx, cos(heading), a)
	_cross_slab(-dy, sin(heading), b)
	return _leave - maxf(_enter, 0.0)


func _cut_flat(row: PackedFloat64Array, k: int, x: float, y: float, is_floor: float) -> void:
	var dx := row[k] - x
	var dy := row[k + 1] - y
	var a := row[k + 2]
	var b := row[k + 3]
	var cy := row[k + 4]
	var sy := row[k + 5]
	var seen := _rays_at(dx, dy, a if b < 0.0 else sqrt(a * a + b * b))
	for r in range(seen.x, seen.y + 1):
		var ray := posmod(r, _cuts.size())
		var angle := _heading + TAU * ray / _cuts.size()
		var c := cos(angle)
		var s := sin(angle)
		if b < 0.0:
			_cross_disc(dx, dy, c, s, a)
		else:
			_enter = -INF
			_leave = INF
			_cross_slab(-cy * dx - sy * dy, cy * c + sy * s, a)
			_cross_slab(sy * dx - cy * dy, cy * s - sy * c, b)
		if _enter <= _leave:
			_keep(ray, row[k + 6], row[k + 7], row[k + 6], row[k + 7], is_floor)


func _cut_triangle(row: PackedFloat64Array, t: int, x: float, y: float) -> void:
	var px := (row[t] + row[t + 3] + row[t + 6]) / 3.0
	var py := (row[t + 1] + row[t + 4] + row[t + 7]) / 3.0
	var far := 0.0
	for k: int in [t, t + 3, t + 6]:
		far = maxf(far, (row[k] - px) ** 2 + (row[k + 1] - py) ** 2)
	var is_floor := row[t + 11] >= AmbuloContract.STEEPEST_FLOOR
	var seen := _rays_at(px - x, py - y, sqrt(far))
	for r in range(seen.x, seen.y + 1):
		var ray := posmod(r, _cuts.size())
		var angle := _heading + TAU * ray / _cuts.size()
		if not _cross_triangle(row, t, x, y, cos(angle), sin(angle)):
			continue
		var first := _low
		var last := _high
		if not is_floor and _leave - _enter < STRIDE:
			first = minf(_low, _high)
			last = maxf(_low, _high)
			_keep(ray, first, last, first, last, 0.0)
		else:
			_keep(ray, first, first, last, last, 1.0 if is_floor else 0.0)


## First and last ray that may meet a disc of [param radius] around (dx, dy); the indices may wrap
## around.
func _rays_at(dx: float, dy: float, radius: float) -> Vector2i:
	var away := sqrt(dx * dx + dy * dy)
	var reach := radius + 2.0 * BEYOND
	if away > _length + reach:
		return Vector2i(0, -1)
	if away <= reach:
		return Vector2i(0, _cuts.size() - 1)
	var step := TAU / _cuts.size()
	var middle := wrapf(atan2(dy, dx) - _heading, -PI, PI)
	var half := asin(minf(reach / away, 1.0)) + 1e-9
	return Vector2i(ceili((middle - half) / step), floori((middle + half) / step))


func _cross_slab(from: float, way: float, half: float) -> void:
	if absf(way) < 1e-12:
		if absf(from) > half:
			_enter = INF
		return
	var t0 := (-half - from) / way
	var t1 := (half - from) / way
	_enter = maxf(_enter, minf(t0, t1))
	_leave = minf(_leave, maxf(t0, t1))


func _cross_disc(dx: float, dy: float, c: float, s: float, radius: float) -> void:
	var b := dx * c + dy * s
	var root := b * b - (dx * dx + dy * dy - radius * radius)
	_enter = 1.0
	_leave = 0.0
	if root >= 0.0:
		_enter = b - sqrt(root)
		_leave = b + sqrt(root)


# The segment in which the vertical plane through a ray cuts a triangle: both ends and their
# heights.
func _cross_triangle(
	row: PackedFloat64Array, t: int, x: float, y: float, c: float, s: float
) -> bool:
	var found := 0
	for k in 3:
		var a := t + 3 * k
		var b := t + 3 * ((k + 1) % 3)
		var ta := c * (row[a + 1] - y) - s * (row[a] - x)
		var tb := c * (row[b + 1] - y) - s * (row[b] - x)
		if (ta > 0.0) == (tb > 0.0):
			continue
		var w := ta / (ta - tb)
		var px := row[a] + w * (row[b] - row[a])
		var py := row[a + 1] + w * (row[b + 1] - row[a + 1])
		var pz := row[a + 2] + w * (row[b + 2] - row[a + 2])
		var far := c * (px - x) + s * (py - y)
		found += 1
		if found == 1:
			_enter = far
			_low = pz
		elif far < _enter:
			_leave = _enter
			_high = _low
			_enter = far
			_low = pz
		else:
			_leave = far
			_high = pz
	return found == 2


# Stores a cut with these bottoms and tops at both ends.
func _keep(ray: int, low0: float, top0: float, low1: float, top1: float, is_floor: float) -> void:
	if _leave < 0.0 or _enter >= _length:
		return
	var leave := maxf(_leave, _enter + 2.0 * BEYOND)
	var slope := 1.0 / (leave - _enter)
	# Rays without a cut share one array.
	var cuts := _cuts[ray].duplicate() if _cuts[ray].is_empty() else _cuts[ray]
	cuts.append_array(
		[_enter, leave, low0, top0, (low1 - low0) * slope, (top1 - top0) * slope, is_floor]
	)
	_cuts[ray] = cuts


func _free_way(c: PackedFloat64Array, z: float, edges: bool) -> float:
	var begins: PackedFloat64Array = []
	var order: PackedInt32Array = []
	for k in range(0, c.size(), CUT):
		var place := begins.bsearch(c[k])
		begins.insert(place, c[k])
		order.insert(place, k)
	var active: PackedInt32Array = []
	var begun := 0
	var at := 0.0
	var floor_z := z
	var gap := -1.0  # end of the floor, while it may be a seam
	var rim := -1.0  # begin and end of the last seam
	var back := -1.0
	var gap_floor := z
	_end = AmbuloContract.NOTHING
	_trail.clear()
	while at < _length:
		var here := at + BEYOND
		while begun < order.size() and begins[begun] <= here:
			active.append(order[begun])
			begun += 1
		var next_at := _length if begun >= order.size() else minf(_length, begins[begun])
		var best := -INF
		var slope := 0.0
		var slopes := false
		for m in range(active.size() - 1, -1, -1):
			var k := active[m]
			if c[k + 1] <= here:
				active.remove_at(m)
				continue
			next_at = minf(next_at, c[k + 1])
			slopes = slopes or c[k + 4] != 0.0 or c[k + 5] != 0.0
			var top := c[k + 3] + (here - c[k]) * c[k + 5]
			if c[k + 6] > 0.0 and top > best and top <= floor_z + AmbuloContract.CLIMB_HEIGHT:
				best = top
				slope = c[k + 5]
		if best < floor_z - AmbuloContract.CLIMB_HEIGHT:
			if edges and gap < 0.0:
				gap = at
				gap_floor = floor_z
			if edges and next_at - gap > AmbuloContract.MAX_SEAM:
				_end = _end_at_edge(c, gap, gap_floor)
				return gap
			best = floor_z
			slope = 0.0
		elif gap >= 0.0:
			rim = gap
			back = at
			gap = -1.0
		# Where something slopes the highest floor may change within a part.
		if slopes:
			next_at = minf(next_at, at + STRIDE)
		floor_z = best
		_trail.append(at)
		_trail.append(floor_z)
		_trail.append(slope)
		var free := next_at - here
		for k in active:
			var low := c[k + 2] + (here - c[k]) * c[k + 4] - floor_z - body_height
			var top := c[k + 3] + (here - c[k]) * c[k + 5] - floor_z - AmbuloContract.CLIMB_HEIGHT
			var first := _before(low, c[k + 4] - slope, BEYOND - top, slope - c[k + 5], free)
			if first < free:
				free = first
				_end = AmbuloContract.MOVER if c[k + 6] == 2.0 else AmbuloContract.WALL
		if free < next_at - here:
			var end := minf(here + free, _length) if free > 0.0 else at
			if gap >= 0.0:
				return gap
			return rim if rim >= 0.0 and end <= back + BEYOND else end
		floor_z += slope * (next_at - here)
		at = next_at
	if gap < 0.0:
		return _length
	_end = AmbuloContract.DROP
	return gap


# End of a ray at a floor edge: the edge, or the obstacle on it or right behind it.
func _end_at_edge(c: PackedFloat64Array, at: float, floor_z: float) -> int:
	for k in range(0, c.size(), CUT):
		if c[k] > at + AmbuloContract.SAME_END or c[k + 1] <= at:
			continue
		var low := c[k + 2] + (at - c[k]) * c[k + 4]
		var top := c[k + 3] + (at - c[k]) * c[k + 5]
		if top > floor_z + AmbuloContract.CLIMB_HEIGHT and low < floor_z + body_height:
			return AmbuloContract.MOVER if c[k + 6] == 2.0 else AmbuloContract.WALL
	return AmbuloContract.DROP


# First s from 0 to `most` at which a + b s and c + d s are both negative; `most` if there is none.
func _before(a: float, b: float, c: float, d: float, most: float) -> float:
	if (a >= 0.0 and b >= 0.0) or (c >= 0.0 and d >= 0.0):
		return most
	var first := maxf(-a / b if a >= 0.0 else 0.0, -c / d if c >= 0.0 else 0.0)
	var last := minf(-a / b if b > 0.0 else INF, -c / d if d > 0.0 else INF)
	return first if first < minf(last, most) else most
