class_name AmbuloMapping
extends RefCounted
## Writes ray readings into a map: the floors along them, their ends, and the area between
## neighbouring rays. Same computation as in the trainer (`envs/vr/navigator/mapping.py`).

# Spacing of the points along a ray at which the floor is written, and distance of the last one from
# its end, [m].
const _SPACING := 0.125
const _BEFORE := 0.05
# Least rise per metre of a slope.
const _STEEP := 0.2
# Distance range of the ends of two neighbouring rays that get an obstacle between them, and their
# largest height difference, [m].
const _JOIN_FROM := 0.25
const _JOIN_TO := 0.56
const _LEVEL := 0.3
# If the floors of two neighbouring rays differ by less, the floor between them was seen: range of
# distances and spacing, [m].
const _EVEN := 0.35
const _BETWEEN_FROM := 0.5
const _BETWEEN_TO := 4.8
const _BETWEEN_STEP := 0.25
# Distance of an obstacle behind the end of its ray, [m].
const _BEHIND := 0.02


## Writes the ray readings of one decision into a map.
static func map_rays(map: AmbuloColumns, sensed: AmbuloSensed) -> void:
	var count := sensed.rays.size()
	var turn := TAU / count
	var all := _all(sensed.things.size())
	if not _is_over(sensed.things, all, sensed.x, sensed.y, sensed.z):
		var first := AmbuloColumns.at(sensed.x, sensed.y)
		map.add_floor(first, AmbuloColumns.in_units(sensed.z), 0)
	for r in count:
		var cx := cos(sensed.angle + turn * r)
		var sy := sin(sensed.angle + turn * r)
		var over := _along(sensed, all, cx, sy, sensed.rays[r])
		if sensed.levels[r] == 1 and over.is_empty():
			_map_level_ray(map, sensed, sensed.rays[r] - _BEFORE, cx, sy)
		else:
			_map_ray(map, sensed, r, cx, sy, over)
		var end := sensed.ends[r]
		if end == AmbuloContract.WALL or end == AmbuloContract.DROP:
			var far := sensed.rays[r] + _BEHIND
			var h := AmbuloColumns.in_units(sensed.z + sensed.floor_at_end(r))
			map.add_hit(sensed.x + cx * far, sensed.y + sy * far, h, _bit_of(end))
	for r in count:
		_map_between(map, sensed, r)


static func _bit_of(end: int) -> int:
	return AmbuloColumns.HIT if end == AmbuloContract.WALL else AmbuloColumns.DROP


# Writes a ray on the floor of the feet without moving objects below it.
static func _map_level_ray(
	map: AmbuloColumns, sensed: AmbuloSensed, last: float, cx: float, sy: float
) -> void:
	var entries := map.entries
	var px := 4.0 * sensed.x
	var py := 4.0 * sensed.y
	var dx := 4.0 * cx
	var dy := 4.0 * sy
	var h := AmbuloColumns.in_units(sensed.z)
	var t := _SPACING
	while t < last:
		var i := ((floori(py + dy * t) & 255) << 8 | floori(px + dx * t) & 255) * 3
		var entry := entries[i]
		if not entry & 1 or entry >> 16 != h:
			map.add_floor(i, h, 0)
		t += _SPACING


static func _map_ray(
	map: AmbuloColumns, sensed: AmbuloSensed, r: int, cx: float, sy: float, over: PackedInt32Array
) -> void:
	var parts := AmbuloContract.FLOOR_PARTS
	var reach := sensed.rays[r]
	var is_level := sensed.levels[r] == 1
	var level_h := AmbuloColumns.in_units(sensed.z)
	var is_free := over.is_empty()
	var entries := map.entries
	var t := _SPACING
	while t < reach - _BEFORE:
		var above := 0.0
		var slope := 0
		if not is_level:
			var q := t / reach * parts
			var p := parts * r + mini(int(q), parts - 1)
			var low := 0.0 if p == parts * r else sensed.floors[p - 1]
			var rise := sensed.floors[p] - low
			above = low + rise * (q - (p - parts * r))
			if absf(rise * parts / reach) > _STEEP:
				slope = AmbuloColumns.SLOPE
		var x := sensed.x + cx * t
		var y := sensed.y + sy * t
		var z := sensed.z + above
		if is_free or not _is_over(sensed.things, over, x, y, z):
			var h := level_h if is_level else AmbuloColumns.in_units(z)
			var i := ((floori(4.0 * y) & 255) << 8 | floori(4.0 * x) & 255) * 3
			var need := slope | AmbuloColumns.FREE
			if entries[i] >> 16 != h or entries[i] & need != need:
				map.add_floor(i, h, slope)
		t += _SPACING


# Writes the area between ray `r` and the next one.
static func _map_between(map: AmbuloColumns, sensed: AmbuloSensed, r: int) -> void:
	var px := sensed.x
	var py := sensed.y
	var s := (r + 1) % sensed.rays.size()
	var turn := TAU / sensed.rays.size()
	var a := sensed.angle + turn * r
	var end := sensed.ends[r]
	if end == sensed.ends[s] and (end == AmbuloContract.WALL or end == AmbuloContract.DROP):
		var near := sensed.rays[r] + _BEHIND
		var far := sensed.rays[s] + _BEHIND
		var x0 := px + cos(a) * near
		var y0 := py + sin(a) * near
		var x1 := px + cos(a + turn) * far
		var y1 := py + sin(a + turn) * far
		var gap := sqrt((x1 - x0) * (x1 - x0) + (y1 - y0) * (y1 - y0))
		var floor_z := sensed.floor_at_end(r)
		var is_level := absf(sensed.floor_at_end(s) - floor_z) < _LEVEL
		if _JOIN_FROM < gap and gap < _JOIN_TO and is_level:
			var h := AmbuloColumns.in_units(sensed.z + floor_z)
			map.add_hit(0.5 * (x0 + x1), 0.5 * (y0 + y1), h, _bit_of(end))
	var entries := map.entries
	var both := sensed.levels[r] + sensed.levels[s] == 2
	var z := AmbuloColumns.in_units(sensed.z)
	px *= 4.0
	py *= 4.0
	var most := minf(minf(sensed.rays[r], sensed.rays[s]), _BETWEEN_TO) - 0.1
	var t := _BETWEEN_FROM
	while t < most:
		var parts := int(t * turn * AmbuloColumns.PER_METRE) + 1
		if not both:
			var low := sensed.floor_at(r, t)
			var high := sensed.floor_at(s, t)
			if not absf(low - high) < _EVEN:
				t += _BETWEEN_STEP
				continue
			z = AmbuloColumns.in_units(sensed.z + 0.5 * (low + high))
		for j in range(1, parts):
			var b := a + turn * j / parts
			var row := floori(py + sin(b) * 4.0 * t) & 255
			var i := (row << 8 | floori(px + cos(b) * 4.0 * t) & 255) * 3
			var entry := entries[i]
			if entry >> 16 == z and entry & 0xFFFF:
				if not entry & AmbuloColumns.SEEN:
					entries[i] = entry | AmbuloColumns.SEEN
			else:
				map.add_bits_at(i, z, AmbuloColumns.SEEN)
		t += _BETWEEN_STEP


static func _all(size: int) -> PackedInt32Array:
	var found: PackedInt32Array = []
	for k in range(0, size, AmbuloContract.MOVER_COLUMNS):
		found.append(k)
	return found


# Rows of the moving objects that a ray may pass over or under.
static func _along(
	sensed: AmbuloSensed, things: PackedInt32Array, cx: float, sy: float, reach: float
) -> PackedInt32Array:
	var found: PackedInt32Array = []
	for k in things:
		var dx := sensed.things[k] - sensed.x
		var dy := sensed.things[k + 1] - sensed.y
		var a := sensed.things[k + 2]
		var b := sensed.things[k + 3]
		var radius := sqrt(a * a + b * b) + 1e-6
		var ahead := dx * cx + dy * sy
		if absf(dx * sy - dy * cx) <= radius and ahead >= -radius and ahead <= reach + radius:
			found.append(k)
	return found


# Whether a floor at (x, y, z) would be on, in or right under a moving object.
static func _is_over(
	things: PackedFloat64Array, some: PackedInt32Array, x: float, y: float, z: float
) -> bool:
	for k in some:
		if things[k + 6] < z + 1.0 and things[k + 7] > z - 0.3:
			if AmbuloTracks.is_in_base(things, k, x, y, 0.0):
				return true
	return false
