class_name AmbuloLevelSpace
extends AmbuloSpace
## A physics space that holds one level. It is static, and engine ticks do not affect it.
##
## The engine finds the floor, the headroom and nearby shapes. Push-out and ray ends use the
## contract's formulas, in 64-bit floats: the engine clips depths where faces meet, and a ray along
## slopes and steps would need hundreds of its queries. In a level with only walls on its ground
## (such as every flat one) the floor is known without a query, and a ray is one query: that is
## several times as fast.
##
## Each level gets a new space, freed with it, because adding and removing bodies in a space that is
## never stepped makes its queries slower and slower.

## Height of the rays among walls, [m].
const RAY_HEIGHT := 0.6

# Shapes near a body are cached per cell of this side, with a margin around a body in its middle,
# [m].
const _CELL := 0.25
const _BEYOND := 0.4
# Most cached cells.
const _MOST_CELLS := 20_000
const _MOST_NEAR := 1024
# Shapes for rays are gathered again after a body has moved this far, [m].
const _SEEN_AROUND := 1.0
const _SLACK := 0.05
const _MARGIN := 1e-6

## The level of this space.
var level: AmbuloLevel

var _solids: AmbuloLevelSolids
var _triangles: AmbuloTriangles
var _bodies: AmbuloLevelBodies
# Whether only walls stand on the ground, without moving obstacles.
var _is_walled := false
var _gather := PhysicsShapeQueryParameters3D.new()
var _around_cell := CylinderShape3D.new()
# Per cell, first indices of the flat shapes and triangles that a body in it may touch.
var _flats_of: Dictionary[Vector3i, PackedInt32Array] = {}
var _faces_of: Dictionary[Vector3i, PackedInt32Array] = {}
# Those of the last used cell, and its middle.
var _near: PackedInt32Array = []
var _near_faces: PackedInt32Array = []
var _near_x := NAN
var _near_y := NAN
var _near_z := NAN
# Shapes that rays from a place may meet.
var _rays := AmbuloRays.new()
var _seen: PackedInt32Array = []
var _seen_faces: PackedInt32Array = []
var _seen_at := Vector2(NAN, NAN)
var _seen_length := 0.0
# Ends of the rays among walls, relative to their origin at yaw 0.
var _ray := PhysicsRayQueryParameters3D.new()
var _fan: PackedVector3Array = []
var _fan_length := 0.0


func _init(new_level: AmbuloLevel) -> void:
	level = new_level
	var b := level.bounds
	origin_x = 0.5 * (b[0] + b[2])
	origin_y = 0.5 * (b[1] + b[3])
	_solids = AmbuloLevelSolids.new(level)
	_triangles = AmbuloTriangles.new(_solids.closed + _solids.open)
	_is_walled = _solids.has_only_walls()
	_bodies = AmbuloLevelBodies.new(level, _solids, origin_x, origin_y)
	super(_bodies.space)
	obstacle_mask = AmbuloLevelBodies.FLATS | AmbuloLevelBodies.CLOSED | AmbuloLevelBodies.OPEN
	floor_mask = obstacle_mask
	_gather.collision_mask = AmbuloLevelBodies.FLATS
	_ray.hit_from_inside = true


## Heights of the lowest and highest floor, [m].
func floor_range() -> Vector2:
	return Vector2.ZERO if _is_walled else Vector2(_solids.lowest, _solids.highest)


## Whether (x, y, z) is inside a closed solid of triangles: the first of its faces above faces up.
func is_inside(x: float, y: float, z: float) -> bool:
	if _solids.closed.is_empty():
		return false
	var ray := PhysicsRayQueryParameters3D.new()
	ray.collision_mask = AmbuloLevelBodies.CLOSED
	ray.from = Vector3(origin_y - y, z + AmbuloContract.CLIMB_HEIGHT, origin_x - x)
	ray.to = ray.from + Vector3(0.0, DEPTH, 0.0)
	ray.hit_back_faces = true
	var face := _state.intersect_ray(ray)
	if face.is_empty():
		return false
	ray.hit_back_faces = false
	var front := _state.intersect_ray(ray)
	if front.is_empty():
		return true
	var first: Vector3 = face.position
	var below: Vector3 = front.position
	return below.y > first.y + _TINY


## See [AmbuloSpace]; tops of moving boxes are floors, too.
func floor_at(x: float, y: float, highest: float, lowest: float) -> float:
	var still := NAN
	if not _is_walled or highest >= AmbuloLevelSolids.WALL:
		still = super(x, y, highest, lowest)
	elif highest >= 0.0 and lowest <= 0.0 and level.has_floor(x, y):
		still = 0.0
	if things == null:
		return still
	var moved := things.support(x, y, highest, lowest)
	if is_nan(moved) or moved <= still:
		things.found = -1
		return still
	return moved


## See [AmbuloSpace].
func board(carries := true) -> void:
	if things != null:
		things.carrier = things.found if carries else -1


func has_headroom(x: float, y: float, z: float) -> bool:
	if not _is_walled and not super(x, y, z):
		return false
	var low := z + AmbuloContract.CLIMB_HEIGHT + _MARGIN
	var high := z + body_height - _MARGIN
	return things == null or not things.is_between(x, y, low, high)


## See [AmbuloSpace]; exact where only walls stand on the ground.
func has_floor_around(x: float, y: float, z: float, radius: float) -> bool:
	if _is_walled and z == 0.0:
		return level.has_floor_around(x, y, radius)
	return super(x, y, z, radius)


## See [AmbuloSpace]; 0 if anything moves.
func level_radius(x: float, y: float, z: float, most: float) -> float:
	if things != null:
		return 0.0
	if not _is_walled:
		return super(x, y, z, most)
	return most if z == 0.0 and level.has_floor_around(x, y, most) else 0.0


## See [AmbuloSpace]; 0 if anything moves.
func room(x: float, y: float, z: float, most: float) -> float:
	stand_at(z)
	_gather_near(x, y)
	if things != null:
		return 0.0
	if _near.is_empty() and _near_faces.is_empty():
		return minf(most, _BEYOND - 0.75 * _CELL)
	find_overlaps(x, y)
	return minf(spare, most) if _count == 0 and not _is_cut else 0.0


## See [AmbuloSpace]: adds the pushes of shapes, moving boxes and people.
func find_overlaps(x: float, y: float) -> void:
	_count = 0
	_is_cut = false
	if not absf(x - _near_x) + absf(y - _near_y) < _BEYOND or absf(_feet - _near_z) > _CELL:
		_gather_near(x, y)
	var dx := x - _near_x
	var dy := y - _near_y
	spare = _BEYOND - sqrt(dx * dx + dy * dy)
	var low := _feet + _BOTTOM + body_radius
	var high := _feet + body_height + AmbuloContract.BODY_RADIUS * _RIM - body_radius
	var touches := _push_from_flats(x, y, low, high, _solids.flats, _near)
	if things != null:
		touches += _push_from_flats(x, y, low, high, things.now, things.boxes)
	if things != null or not _near_faces.is_empty():
		spare = 0.0
	for t in _near_faces:
		if _triangles.push(t, x, y, low, high, body_radius):
			if is_inf(_triangles.depth):
				_is_cut = true
				return
			if _triangles.depth > TOUCH_DEPTH:
				_add_push(_triangles.push_x, _triangles.push_y, _triangles.depth)
				touches += 1
	touched_thing = touched_thing or touches > 0
	if things != null:
		touches = _push_from_flats(x, y, low, high, things.now, things.people)
		touched_person = touched_person or touches > 0


## See [AmbuloSpace]; what moves stands in no engine's space, so that all that hides it does.
func things_near(_x: float, _y: float, _z: float, spec: AmbuloSpec) -> PackedFloat64Array:
	return things.sensed(spec.decision_dt()) if things != null else PackedFloat64Array()


func read_rays(
	x: float, y: float, z: float, yaw: float, spec: AmbuloSpec, rows: PackedFloat64Array, start: int
) -> void:
	if _is_walled and things == null and z == 0.0:
		if _cast_rays(x, y, yaw, spec, rows, start):
			return
	var away := Vector2(x - _seen_at.x, y - _seen_at.y).length()
	if not away < _SEEN_AROUND - _SLACK or spec.ray_length != _seen_length:
		_seen_at = Vector2(x, y)
		_seen_length = spec.ray_length
		var reach := spec.ray_length + _SEEN_AROUND
		var around := CylinderShape3D.new()
		around.radius = reach
		around.height = _solids.highest - _solids.lowest
		_seen = _flats_in(around, x, y, 0.5 * (_solids.highest + _solids.lowest))
		_seen_faces = _triangles.gather(x, y, reach, -INF, INF)
	var at: PackedFloat64Array = [x, y, z, yaw]
	_rays.things = things
	_rays.body_height = body_height
	_rays.read(_solids, _seen, _triangles, _seen_faces, at, spec, rows, start)


# Reads rays among walls with one query each; false if a ray crosses a gap in the ground as narrow
# as a seam, so that the general method is needed.
func _cast_rays(
	x: float, y: float, yaw: float, spec: AmbuloSpec, rows: PackedFloat64Array, start: int
) -> bool:
	var length := spec.ray_length
	if _fan.size() != spec.num_rays or _fan_length != length:
		_fan_length = length
		_fan.resize(spec.num_rays)
		for r in spec.num_rays:
			var angle := TAU * r / spec.num_rays
			_fan[r] = Vector3(-sin(angle), 0.0, -cos(angle)) * length
	_ray.collision_mask = AmbuloLevelBodies.FLATS
	if spec.rays_see_edges:
		_ray.collision_mask |= AmbuloLevelBodies.EDGES
	var from := Vector3(origin_y - y, RAY_HEIGHT, origin_x - x)
	var ends := Transform3D(Basis(Vector3.UP, yaw), from) * _fan
	var ray := _ray
	var state := _state
	var rims := _bodies.rims
	ray.from = from
	for r in spec.num_rays:
		ray.to = ends[r]
		var hit := state.intersect_ray(ray)
		if hit:
			var point: Vector3 = hit.position
			rows[start + r] = minf(from.distance_to(point), length)
			if hit.rid == rims and _is_seam(hit.shape, x, y, yaw + TAU * r / _fan.size()):
				return false
			if spec.surroundings:
				rows[start + spec.num_rays + r] = AmbuloContract.WALL
				if hit.rid == rims and not _is_wall_behind(point, ends[r]):
					rows[start + spec.num_rays + r] = AmbuloContract.DROP
		else:
			rows[start + r] = length
			if spec.surroundings:
				rows[start + spec.num_rays + r] = AmbuloContract.NOTHING
	return true


# Whether a wall stands right behind an edge of the ground at `edge` of a ray towards `end`.
func _is_wall_behind(edge: Vector3, end: Vector3) -> bool:
	var ray := PhysicsRayQueryParameters3D.create(
		edge, edge.move_toward(end, AmbuloContract.SAME_END), AmbuloLevelBodies.FLATS
	)
	ray.hit_from_inside = true
	return not _state.intersect_ray(ray).is_empty()


# Whether the part of a ray from (x, y) inside a rim is no longer than a seam.
func _is_seam(rim: int, x: float, y: float, heading: float) -> bool:
	if 4 * rim >= level.holes.size():
		return false
	var h := level.holes
	var k := 4 * rim
	var a := 0.5 * (h[k + 2] - h[k])
	var b := 0.5 * (h[k + 3] - h[k + 1])
	return (
		_rays.way_through(h[k] + a - x, h[k + 1] + b - y, a, b, heading) <= AmbuloContract.MAX_SEAM
	)


# Adds the pushes of the shapes of `flats` that begin at `first` on a body whose axis reaches from
# `low` to `high`; returns their number. Shapes that do not push may reduce the body's free
# distance.
func _push_from_flats(
	x: float, y: float, low: float, high: float, flats: PackedFloat64Array, first: PackedInt32Array
) -> int:
	var radius := body_radius
	var steep := radius * sqrt(0.5) - 1e-6
	var least := spare
	var count := 0
	for k in first:
		var gap := maxf(maxf(low - flats[k + 7], flats[k + 6] - high), 0.0)
		if gap >= steep:
			continue
		var dx := x - flats[k]
		var dy := y - flats[k + 1]
		var nx := 1.0
		var ny := 0.0
		var depth := 0.0
		if flats[k + 3] < 0.0:
			var away := sqrt(dx * dx + dy * dy)
			var beyond := away - flats[k + 2] - radius
			if beyond >= 0.0:
				least = minf(least, beyond)
				continue
			depth = sqrt(radius * radius - gap * gap) + flats[k + 2] - away
			if depth <= TOUCH_DEPTH or (gap > 1e-6 and away <= flats[k + 2]):
				least = 0.0
				continue
			if away > 0.0:
				nx = dx / away
				ny = dy / away
		else:
			var c := flats[k + 4]
			var s := flats[k + 5]
			var u := c * dx + s * dy
			var v := c * dy - s * dx
			var a := flats[k + 2]
			var b := flats[k + 3]
			var beyond := maxf(absf(u) - a, absf(v) - b) - radius
			if beyond >= 0.0:
				least = minf(least, beyond)
				continue
			var nu := u - clampf(u, -a, a)
			var nv := v - clampf(v, -b, b)
			var away := sqrt(nu * nu + nv * nv)
			var reach := sqrt(radius * radius - gap * gap)
			depth = reach - away
			if depth <= TOUCH_DEPTH or (gap > 1e-6 and away == 0.0):
				least = minf(least, maxf(-depth, 0.0))
				continue
			if away > 0.0:
				nu /= away
				nv /= away
			elif a - absf(u) < b - absf(v):
				depth = reach + a - absf(u)
				nu = 1.0 if u >= 0.0 else -1.0
			else:
				depth = reach + b - absf(v)
				nv = 1.0 if v >= 0.0 else -1.0
			nx = c * nu - s * nv
			ny = s * nu + c * nv
		_add_push(nx, ny, depth)
		count += 1
	spare = least
	return count


# Loads the shapes that a body near (x, y) may touch.
func _gather_near(x: float, y: float) -> void:
	var cell := Vector3i(floori(x / _CELL), floori(y / _CELL), floori(_feet / _CELL))
	_near_x = (cell.x + 0.5) * _CELL
	_near_y = (cell.y + 0.5) * _CELL
	_near_z = (cell.z + 0.5) * _CELL
	if not _flats_of.has(cell):
		if _flats_of.size() >= _MOST_CELLS:
			_flats_of.clear()
			_faces_of.clear()
		var low := _near_z + AmbuloContract.CLIMB_HEIGHT - _CELL
		var high := _near_z + body_height + _CELL
		_flats_of[cell] = _flats_in(_around_cell, _near_x, _near_y, 0.5 * (low + high))
		var reach := _BEYOND + body_radius
		_faces_of[cell] = _triangles.gather(_near_x, _near_y, reach, low, high)
	_near = _flats_of[cell]
	_near_faces = _faces_of[cell]


# First indices of the flat shapes in a cylinder whose middle is at (x, y, z).
func _flats_in(cylinder: CylinderShape3D, x: float, y: float, z: float) -> PackedInt32Array:
	_gather.shape = cylinder
	_gather.transform = Transform3D(Basis.IDENTITY, Vector3(origin_y - y, z, origin_x - x))
	var found: PackedInt32Array = []
	for hit in _state.intersect_shape(_gather, _MOST_NEAR):
		var shape: int = hit.shape
		found.append(AmbuloLevelSolids.FLAT * shape)
	found.sort()
	return found


func _fit() -> void:
	super()
	_around_cell.radius = body_radius + _BEYOND + ALIKE
	_around_cell.height = body_height - AmbuloContract.CLIMB_HEIGHT + 2.0 * _CELL
	_flats_of.clear()
	_faces_of.clear()
	_near_x = NAN
