class_name AmbuloBlade
extends RefCounted
## A ray of a body in a scene: a thin upright blade that is swept along the floor.
##
## It reaches from the climbing height to the top of the body, so that the same obstacles stop ray
## and body; it follows steps and slopes of the floor.

## Spacing of the points at which the floor is examined, on level and on other floors, [m].
const STRIDE := 0.25
const FINE := 0.0625
const HALVINGS := 4
## Half the width of the blade, [m].
const HALF := 0.002
## The blade moves horizontally over floors that differ by less, [m].
const LEVEL := 0.03
## On other floors the blade is swept at most this far at once, [m].
const LOOK := 1.5
## Distance behind a face at which its solid is examined, [m].
const NEAR := 0.01
## Most queries of the floor per ray.
const MOST_LOOKS := 256

## Query of the blade, with the masks of what it sees.
var query := PhysicsShapeQueryParameters3D.new()

## Parts of the floor along the last [method way], see [method AmbuloRays.write_floors].
var trail: PackedFloat64Array = []

## End of the last ray: nothing, an edge, or a static or moving obstacle (a wall until it is
## examined).
var end := AmbuloContract.NOTHING

# Height of the floor at the end.
var _end_floor := 0.0
var _shape := BoxShape3D.new()
var _middle := 0.5 * (AmbuloContract.CLIMB_HEIGHT + AmbuloContract.BODY_HEIGHT)


func _init() -> void:
	_shape.margin = 0.0
	query.shape = _shape
	fit(AmbuloContract.BODY_HEIGHT)


## Sets the height of the body to [param body_height], [m].
func fit(body_height: float) -> void:
	# Slightly shorter than the gap, so that it does not touch steps and beams.
	var tall := body_height - AmbuloContract.CLIMB_HEIGHT - 2.0 * HALF
	_shape.size = Vector3(2.0 * HALF, tall, 2.0 * HALF)
	_middle = 0.5 * (AmbuloContract.CLIMB_HEIGHT + body_height)


## Free distance of the blade from [param feet] (engine's axes) along [param heading], [m].
func sweep(state: PhysicsDirectSpaceState3D, feet: Vector3, heading: float, length: float) -> float:
	var at := feet + Vector3(0.0, _middle, 0.0)
	query.transform = Transform3D(Basis(Vector3.UP, heading), at)
	query.motion = Vector3(-sin(heading), 0.0, -cos(heading)) * length
	var free := state.cast_motion(query)
	if free[1] >= 1.0:
		return length
	if free[1] <= 0.0:
		return 0.0
	return minf(0.5 * (free[0] + free[1]) * length + HALF, length)


## The solid right behind the end of the last [method way], which began at (x, z) of the engine and
## ended after [param reach]. For a solid of triangles this is its face.
func behind(
	state: PhysicsDirectSpaceState3D, x: float, z: float, heading: float, reach: float
) -> Array[Dictionary]:
	if end == AmbuloContract.NOTHING:
		return []
	# For triangles the engine finds only those that face the middle of a shape.
	var at := reach + (-0.5 * NEAR if end == AmbuloContract.WALL else AmbuloContract.SAME_END)
	var turned := Basis(Vector3.UP, heading)
	var feet := Vector3(x, _end_floor + _middle, z)
	query.transform = Transform3D(turned, feet - at * turned.z)
	_shape.size.z = 3.0 * NEAR
	var found := state.intersect_shape(query, 4)
	_shape.size.z = 2.0 * HALF
	return found


## Free distance along [param heading] from (x, y) for feet at height [param z], at most [param
## length]; [param edges]: it also ends where the floor drops, [m].
func way(
	space: AmbuloSpace, x: float, y: float, z: float, heading: float, length: float, edges: bool
) -> float:
	var cx := cos(heading)
	var sy := sin(heading)
	var climb := AmbuloContract.CLIMB_HEIGHT + NEAR
	var at := 0.0
	var floor_z := z
	var level := z
	var fine := 0.0  # up to here it is examined closely
	var until := space.sweep(x, y, z, heading, length)
	var blocked := until < length
	trail.clear()
	_note(0.0, z)
	end = AmbuloContract.WALL
	for _k in MOST_LOOKS:
		_end_floor = floor_z
		if at >= length:
			break
		if not blocked and at > until - NEAR:
			level = floor_z
			var left := minf(length - at, LOOK)
			var free := space.sweep(x + cx * at, y + sy * at, level, heading, left)
			until = at + free
			blocked = free < left
		var level_to := at + space.level_radius(x + cx * at, y + sy * at, floor_z, length - at)
		if level_to > at + STRIDE and absf(floor_z - level) <= LEVEL and at >= fine:
			at = minf(minf(level_to, length), maxf(until - NEAR, at))
			if at >= length:
				break
			if at < until - NEAR:
				continue
		var stride := FINE if at < fine else STRIDE
		var next := minf(at + stride, length if blocked else minf(until, length))
		var beyond := blocked and next > until
		if beyond and stride > FINE and until - at > FINE:
			fine = until
			continue
		if beyond:
			next = minf(until + NEAR, length)
		var found := space.support(x + cx * next, y + sy * next, floor_z + NEAR, climb + NEAR)
		if absf(found - level) <= LEVEL:
			if beyond:
				return until
			at = next
			floor_z = found
			_note(at, floor_z)
			continue
		if stride > FINE and not beyond:
			var half := 0.5 * (at + next)
			var middle := space.support(x + cx * half, y + sy * half, floor_z, climb)
			if not absf(middle - 0.5 * (floor_z + found)) <= LEVEL:
				fine = next  # a step or an edge: find its place
				continue
		if is_nan(found):
			if beyond:
				return until
			if not edges:
				at = next
				continue
			var edge := _edge(space, x, y, cx, sy, floor_z, at, next)
			var behind := edge + AmbuloContract.MAX_SEAM
			found = space.support(x + cx * behind, y + sy * behind, floor_z, climb)
			if is_nan(found) or behind >= length:
				end = AmbuloContract.DROP
				return edge
			at = behind
			floor_z = found
			_note(at, floor_z)
			continue
		# The floor rises or sinks here: continue from there.
		var rest := minf(length - next, LOOK)
		var ahead := rest
		if rest > 0.0:
			ahead = space.sweep(x + cx * next, y + sy * next, found, heading, rest)
			if ahead <= NEAR:
				_end_floor = found
				return minf(next, until)
		at = next
		floor_z = found
		_note(at, floor_z)
		level = found
		until = next + ahead
		blocked = ahead < rest
	end = AmbuloContract.NOTHING
	return minf(at, length)


# Adds a point of the floor to the trail, linearly connected to the last one.
func _note(at: float, z: float) -> void:
	var last := trail.size() - 3
	if last >= 0 and at > trail[last]:
		trail[last + 2] = (z - trail[last + 1]) / (at - trail[last])
	trail.append(at)
	trail.append(z)
	trail.append(0.0)


## Distance along a ray to the end of its floor, between [param held] and [param next], [m].
func _edge(
	space: AmbuloSpace, x: float, y: float, cx: float, sy: float, z: float, held: float, next: float
) -> float:
	for _k in HALVINGS:
		var middle := 0.5 * (held + next)
		var depth := AmbuloContract.CLIMB_HEIGHT + NEAR
		if is_nan(space.support(x + cx * middle, y + sy * middle, z, depth)):
			next = middle
		else:
			held = middle
	return 0.5 * (held + next)
