class_name AmbuloHighLevelSpace
extends AmbuloHighSpace
## A physics space of its own that holds one level with heights (docs/vr_world.md, "Heights").
##
## The engine finds the floor, the headroom and what is near. How far that pushes a body and stops
## a ray are the contract's formulas, in 64-bit floats: the engine's own depths are clipped where
## faces meet, and a ray along slopes and steps would be hundreds of its queries.

## Layers: boxes and cylinders, triangles that bound matter, and other triangles.
const FLATS := 1
const CLOSED := 2
const OPEN := 4
const TRIANGLES := CLOSED | OPEN

# Shapes so far from the body are gathered, and used while it gets no nearer, [m].
const _GATHERED := 0.6
const _GATHERED_HIGH := 0.6
const _MOST_NEAR := 1024
# What rays may meet is gathered anew after so long a way, [m].
const _SEEN_AROUND := 1.0
const _MARGIN := 1e-6

## What is built here.
var level: AmbuloLevel
## What moves where the agent is that is moved or looks now; null: nothing.
var things: AmbuloThings

var _solids: AmbuloLevelSolids
var _space: RID
var _bodies: Array[RID] = []
var _shapes: Array[RID] = []
var _triangles: AmbuloTriangles
var _gather := PhysicsShapeQueryParameters3D.new()
var _gatherer := CylinderShape3D.new()
# First numbers of the flat shapes and triangles that were gathered around a place.
var _near: PackedInt32Array = []
var _near_faces: PackedInt32Array = []
var _near_at := Vector3(NAN, NAN, NAN)
var _feet := 0.0
var _z_range := Vector2.ZERO
# Lowest and highest point of the body's axis, [m].
var _axis: PackedFloat64Array = [0.0, 0.0]
var _pushes := 0
var _rays := AmbuloHighRays.new()
# What rays may meet that begin near a place.
var _seen: PackedInt32Array = []
var _seen_faces: PackedInt32Array = []
var _seen_at := Vector2(NAN, NAN)
var _seen_length := 0.0


func _init(new_level: AmbuloLevel) -> void:
	_space = PhysicsServer3D.space_create()
	super(_space)
	level = new_level
	var b := level.bounds
	origin_x = 0.5 * (b[0] + b[2])
	origin_y = 0.5 * (b[1] + b[3])
	obstacle_mask = FLATS | TRIANGLES
	floor_mask = FLATS | TRIANGLES
	# A box whose top is a hair above what may be stepped on is in the way, too.
	_spare_height += 4.0 * ALIKE
	_cylinder.height += 4.0 * ALIKE
	_gather.shape = _gatherer
	_gather.collision_mask = FLATS
	_solids = AmbuloLevelSolids.new(level)
	_triangles = AmbuloTriangles.new(_solids.closed + _solids.open)
	_build()


func _notification(what: int) -> void:
	if what == NOTIFICATION_PREDELETE:  # own methods cannot be called any more
		for rid in _bodies:
			PhysicsServer3D.free_rid(rid)
		for rid in _shapes:
			PhysicsServer3D.free_rid(rid)
		PhysicsServer3D.free_rid(_space)


## Lowest and highest z of all shapes, [m].
func z_range() -> Vector2:
	if _z_range != Vector2.ZERO:
		return _z_range
	var found := Vector2(INF, -INF)
	var flats := _solids.flats
	for k in range(0, flats.size(), AmbuloLevelSolids.FLAT):
		found = Vector2(minf(found.x, flats[k + 6]), maxf(found.y, flats[k + 7]))
	for corners: PackedFloat64Array in [_solids.closed, _solids.open]:
		for k in range(2, corners.size(), 3):
			found = Vector2(minf(found.x, corners[k]), maxf(found.y, corners[k]))
	_z_range = found
	return found


## Whether a body can be placed at (x, y) at the height of a floor [param z], in no matter.
func stands(x: float, y: float, z: float) -> bool:
	return fits(x, y, z) and not is_inside(x, y, z + AmbuloContract.CLIMB_HEIGHT)


## Whether (x, y, z) is in a closed body of triangles: the first of its faces above faces up.
func is_inside(x: float, y: float, z: float) -> bool:
	var ray := PhysicsRayQueryParameters3D.new()
	ray.collision_mask = CLOSED
	ray.from = Vector3(origin_y - y, z, origin_x - x)
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


func stand_at(z: float) -> void:
	super(z)
	_feet = z


## See [AmbuloSpace]; a triangle that cuts the axis of the body is a push of endless depth.
func find_overlaps(x: float, y: float) -> int:
	_gather_near(x, y)
	var low := _feet + _bottom + body_radius
	var high := _feet + _bottom + _capsule_height - body_radius
	_axis[0] = low
	_axis[1] = high
	_pushes = 0
	var count := _push_from_flats(x, y, _solids.flats, _near, 0)
	if things != null:
		count = _push_from_flats(x, y, things.now, things.boxes, count)
	for t in _near_faces:
		if _triangles.push(t, x, y, low, high, body_radius):
			if is_inf(_triangles.depth):
				_push_depth[0] = INF
				return 1
			if _triangles.depth > TOUCH_DEPTH:
				var faces := _triangles
				count = _insert(faces.push_x, faces.push_y, faces.depth, count)
				_pushes += 1
	touched_thing = touched_thing or _pushes > 0
	if things != null:
		_pushes = 0
		count = _push_from_flats(x, y, things.now, things.people, count)
		touched_person = touched_person or _pushes > 0
	return count


# Inserts the pushes of those of `flats` that begin at `first`; the new number of pushes.
func _push_from_flats(
	x: float, y: float, flats: PackedFloat64Array, first: PackedInt32Array, count: int
) -> int:
	var radius := body_radius
	var steep := radius * sqrt(0.5) - 1e-6
	var low := _axis[0]
	var high := _axis[1]
	for k in first:
		var gap := maxf(maxf(low - flats[k + 7], flats[k + 6] - high), 0.0)
		if gap >= steep:
			continue
		var reach := radius if gap == 0.0 else sqrt(radius * radius - gap * gap)
		var dx := x - flats[k]
		var dy := y - flats[k + 1]
		var nx := 1.0
		var ny := 0.0
		var depth := 0.0
		if flats[k + 3] < 0.0:
			var away := sqrt(dx * dx + dy * dy)
			depth = flats[k + 2] + reach - away
			if depth <= TOUCH_DEPTH or (gap > 1e-6 and away <= flats[k + 2]):
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
			var nu := u - clampf(u, -a, a)
			var nv := v - clampf(v, -b, b)
			var away := sqrt(nu * nu + nv * nv)
			depth = reach - away
			if depth <= TOUCH_DEPTH or (gap > 1e-6 and away == 0.0):
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
		count = _insert(nx, ny, depth, count)
		_pushes += 1
	return count


## See [AmbuloHighSpace]; tops of boxes that move are floors, too.
func floor_at(x: float, y: float, highest: float, lowest: float) -> float:
	var still := super(x, y, highest, lowest)
	if things == null:
		return still
	var moved := things.support(x, y, highest, lowest)
	if is_nan(moved) or moved <= still:
		things.found = -1
		return still
	return moved


## See [AmbuloHighSpace].
func has_headroom(x: float, y: float, z: float) -> bool:
	if not super(x, y, z):
		return false
	var low := z + AmbuloContract.CLIMB_HEIGHT + _MARGIN
	var high := z + body_height - _MARGIN
	return things == null or not things.is_between(x, y, low, high)


## See [AmbuloHighSpace]; where anything moves nothing is known beforehand.
func level_radius(x: float, y: float, z: float) -> float:
	return super(x, y, z) if things == null else 0.0


## See [AmbuloHighSpace]; where anything moves nothing is known beforehand.
func is_open(x: float, y: float, z: float, radius: float) -> bool:
	return things == null and super(x, y, z, radius)


## See [AmbuloHighSpace].
func read_ways(
	x: float, y: float, z: float, yaw: float, spec: AmbuloSpec, rows: PackedFloat64Array, start: int
) -> void:
	var away := Vector2(x - _seen_at.x, y - _seen_at.y).length()
	if not away < _SEEN_AROUND - 0.05 or spec.ray_length != _seen_length:
		_seen_at = Vector2(x, y)
		_seen_length = spec.ray_length
		var reach := spec.ray_length + _SEEN_AROUND
		var range_z := z_range()
		_seen = _flats_within(x, y, reach, range_z.x, range_z.y)
		_seen_faces = _triangles.gather(x, y, reach, -INF, INF)
	var at: PackedFloat64Array = [x, y, z, yaw]
	_rays.things = things
	_rays.body_height = body_height
	_rays.read(_solids, _seen, _triangles, _seen_faces, at, spec, rows, start)


# Gathers the shapes around a place, unless those that were gathered will do.
func _gather_near(x: float, y: float) -> void:
	var dx := x - _near_at.x
	var dy := y - _near_at.y
	if absf(_feet - _near_at.z) < _GATHERED_HIGH - 0.05:
		if sqrt(dx * dx + dy * dy) < _GATHERED - 0.05:
			return
	_near_at = Vector3(x, y, _feet)
	var reach := body_radius + _GATHERED
	var low := _feet + _bottom - _GATHERED_HIGH
	var high := _feet + body_height + _GATHERED_HIGH
	_near = _flats_within(x, y, reach, low, high)
	_near_faces = _triangles.gather(x, y, reach, low, high)


# First numbers of the flat shapes within a distance of (x, y), from one height to another.
func _flats_within(x: float, y: float, reach: float, low: float, high: float) -> PackedInt32Array:
	_gatherer.radius = reach
	_gatherer.height = high - low
	var at := Vector3(origin_y - y, 0.5 * (low + high), origin_x - x)
	_gather.transform = Transform3D(Basis.IDENTITY, at)
	var found: PackedInt32Array = []
	for hit in _state.intersect_shape(_gather, _MOST_NEAR):
		var shape: int = hit.shape
		found.append(AmbuloLevelSolids.FLAT * shape)
	found.sort()
	return found


func _build() -> void:
	var flats := _static_body(FLATS)
	var rows := _solids.flats
	for k in range(0, rows.size(), AmbuloLevelSolids.FLAT):
		_add_flat(flats, rows.slice(k, k + AmbuloLevelSolids.FLAT))
	PhysicsServer3D.body_set_space(flats, _space)
	for layer: int in [CLOSED, OPEN]:
		var faces := _solids.closed if layer == CLOSED else _solids.open
		if not faces.is_empty():
			var body := _static_body(layer)
			_add_faces(body, faces)
			PhysicsServer3D.body_set_space(body, _space)


func _static_body(layer: int) -> RID:
	var body := PhysicsServer3D.body_create()
	PhysicsServer3D.body_set_mode(body, PhysicsServer3D.BODY_MODE_STATIC)
	PhysicsServer3D.body_set_collision_layer(body, layer)
	PhysicsServer3D.body_set_collision_mask(body, 0)
	_bodies.append(body)
	return body


func _add_flat(body: RID, row: PackedFloat64Array) -> void:
	var tall := row[7] - row[6]
	var shape: RID
	if row[3] < 0.0:
		shape = PhysicsServer3D.cylinder_shape_create()
		PhysicsServer3D.shape_set_data(shape, {"radius": row[2], "height": tall})
	else:
		shape = PhysicsServer3D.box_shape_create()
		PhysicsServer3D.shape_set_data(shape, Vector3(row[3], 0.5 * tall, row[2]))
	PhysicsServer3D.shape_set_margin(shape, 0.0)
	var middle := 0.5 * (row[6] + row[7])
	var yaw := atan2(row[5], row[4])
	var pose := AmbuloAxes.pose(row[0] - origin_x, row[1] - origin_y, middle, yaw)
	PhysicsServer3D.body_add_shape(body, shape, pose)
	_shapes.append(shape)


func _add_faces(body: RID, corners: PackedFloat64Array) -> void:
	var points: PackedVector3Array = []
	for k in range(0, corners.size(), 9):
		for m: int in [0, 6, 3]:  # the engine's faces are clockwise
			var at := k + m
			points.append(
				AmbuloAxes.to_godot(
					corners[at] - origin_x, corners[at + 1] - origin_y, corners[at + 2]
				)
			)
	var shape := PhysicsServer3D.concave_polygon_shape_create()
	PhysicsServer3D.shape_set_data(shape, {"faces": points, "backface_collision": true})
	PhysicsServer3D.body_add_shape(body, shape)
	_shapes.append(shape)
