class_name AmbuloSight
extends RefCounted
## Visible moving objects of an agent: the nearest ones that static shapes do not hide at all tested
## points (docs/vr_world.md).

# Objects this near are sensed even if hidden, [m].
const _BESIDE := 0.05
# Position of the tested points of a box, as a fraction of its half sizes, and their distance from
# its bottom and top, [m].
const _INSIDE := 0.8
const _OFF := 0.02


## Writes the objects that the agent sees in [param space] to its state row, which begins at [param
## row] of [param rows], nearest first.
static func look(space: AmbuloSpace, spec: AmbuloSpec, rows: PackedFloat64Array, row: int) -> void:
	var x := rows[row]
	var y := rows[row + 1]
	var width := AmbuloContract.MOVER_COLUMNS
	var things := space.things_near(x, y, rows[row + 2], spec)
	if things.is_empty():
		return
	var eye := rows[row + 2] + spec.eye_height
	var gaps: PackedFloat64Array = []
	var found: PackedInt32Array = []
	for k in range(0, things.size(), width):
		var gap := gap_to(things, k, x, y)
		if gap > spec.ray_length:
			continue
		var place := gaps.bsearch(gap, false)
		if place >= AmbuloContract.MOVERS_SEEN:
			continue
		if gap > _BESIDE and not _is_visible(space, things, k, x, y, eye, spec.ray_length):
			continue
		gaps.insert(place, gap)
		found.insert(place, k)
	var first := row + AmbuloWorld.RAYS + spec.sensed_size() - AmbuloContract.MOVERS_SEEN * width
	for i in mini(found.size(), AmbuloContract.MOVERS_SEEN):
		for m in width:
			rows[first + i * width + m] = things[found[i] + m]


## [param row] of an object (see [AmbuloThings]) with its velocity [m/s] and yaw rate [rad/s], from
## the row [param old] of [param dt] seconds ago.
static func with_rates(
	row: PackedFloat64Array, old: PackedFloat64Array, dt: float
) -> PackedFloat64Array:
	var out := row.duplicate()
	for k: int in [0, 1, 6]:
		out.append((row[k] - old[k]) / dt)
	var c := old[4] * row[4] + old[5] * row[5]
	out.append(atan2(old[4] * row[5] - old[5] * row[4], c) / dt)
	return out


## Distance from (x, y) to the base of the object whose row begins at [param k], 0 inside, [m].
static func gap_to(things: PackedFloat64Array, k: int, x: float, y: float) -> float:
	var dx := x - things[k]
	var dy := y - things[k + 1]
	if things[k + 8] != AmbuloThings.BOX:
		return maxf(sqrt(dx * dx + dy * dy) - things[k + 2], 0.0)
	var c := things[k + 4]
	var s := things[k + 5]
	var u := maxf(absf(c * dx + s * dy) - things[k + 2], 0.0)
	var v := maxf(absf(c * dy - s * dx) - things[k + 3], 0.0)
	return sqrt(u * u + v * v)


# Whether one of five points at the bottom or top of an object is visible from (x, y, eye).
static func _is_visible(
	space: AmbuloSpace,
	things: PackedFloat64Array,
	k: int,
	x: float,
	y: float,
	eye: float,
	length: float
) -> bool:
	for p in 5:
		var u := 0.0
		var v := 0.0
		if p > 0:
			u = _INSIDE * things[k + 2] * (1.0 if p % 2 == 1 else -1.0)
			v = _INSIDE * things[k + 3] * (1.0 if p < 3 else -1.0)
		var px := things[k] + things[k + 4] * u - things[k + 5] * v
		var py := things[k + 1] + things[k + 5] * u + things[k + 4] * v
		for z: float in [things[k + 6] - _OFF, things[k + 7] + _OFF]:
			if (px - x) ** 2 + (py - y) ** 2 + (z - eye) ** 2 > length * length:
				continue
			if space.is_clear(x, y, eye, px, py, z):
				return true
	return false
