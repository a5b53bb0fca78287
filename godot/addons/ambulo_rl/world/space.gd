class_name AmbuloSpace
extends RefCounted
## A place in the physics engine in which players move: overlaps, push-out, floor, rays.
##
## The engine finds the overlaps of the body capsule (direction and depth of each), the
## contract's rule resolves them. Points here are in the contract's axes relative to
## [member origin_x], [member origin_y], so that the engine's 32-bit floats stay exact.

## Overlap up to this is rounding of the engine: who stands at a wall does not touch
## it, [m].
const TOUCH_DEPTH := 2e-5
## A contact this far off the nearest line of the capsule has a clipped depth, [m].
const CLIPPED := 1e-4
## Rounding of the engine's points of a ball, with room to spare, [m].
const DEEP_ERROR := 1e-3
## A push by less leads to no obstacle that was out of reach, [m].
const SHALLOW := 0.1
## Directions with a larger cosine are one direction.
const SAME := 0.99999
## Contacts that push up or down by more than this share of the way aside are floor or
## ceiling.
const STEEP := 1.0

## Longest part of a teleport at whose end obstacles and floor are looked for, [m].
const LEAP_PART := 0.05
## A teleport ends at most this far before what stops it, [m].
const LEAP_EXACT := 1e-3

## Whether shapes have their real heights here, see [AmbuloHighSpace].
var has_heights := false
## Radius of the body capsule, [m].
var body_radius := 0.0:
	set(value):
		if value != body_radius:
			body_radius = value
			var capsule := {"radius": value, "height": _capsule_height}
			PhysicsServer3D.shape_set_data(_capsule, capsule)
## Height of the body, where shapes have heights, [m].
var body_height := AmbuloContract.BODY_HEIGHT:
	set(value):
		if value != body_height:
			body_height = value
			_fit_height()
## Where the engine's origin is, [m].
var origin_x := 0.0
var origin_y := 0.0
## Result of [method slide]: where the body ends, [m].
var slid_x := 0.0
var slid_y := 0.0
## Result of [method count_near]: distance to the obstacle if it is one and (x, y) lies
## outside; else 0, [m].
var near_distance := 0.0

var _state: PhysicsDirectSpaceState3D
var _body := PhysicsShapeQueryParameters3D.new()
var _probe := PhysicsRayQueryParameters3D.new()
var _ray := PhysicsRayQueryParameters3D.new()
var _reach := PhysicsShapeQueryParameters3D.new()
var _fan: PackedVector3Array = []
var _fan_length := 0.0
var _fan_edges := false
var _reach_radius := -1.0
var _capsule: RID
var _ball: RID
var _capsule_height := AmbuloContract.BODY_HEIGHT
var _body_height := 0.0
var _ray_height := 0.0
var _push_x: PackedFloat64Array = []
var _push_y: PackedFloat64Array = []
var _push_depth: PackedFloat64Array = []
var _way_x := 0.0
var _way_y := 0.0


func _init() -> void:
	_push_x.resize(AmbuloContract.MOST_OVERLAPS)
	_push_y.resize(AmbuloContract.MOST_OVERLAPS)
	_push_depth.resize(AmbuloContract.MOST_OVERLAPS)
	_capsule = PhysicsServer3D.capsule_shape_create()
	_ball = PhysicsServer3D.sphere_shape_create()


func _notification(what: int) -> void:
	if what == NOTIFICATION_PREDELETE:
		PhysicsServer3D.free_rid(_capsule)
		PhysicsServer3D.free_rid(_ball)


# Has the shapes of the body be as tall as it is.
func _fit_height() -> void:
	pass


## Whether there is floor at (x, y).
func has_floor(_x: float, _y: float) -> bool:
	return true


## Whether all of the disc around (x, y) is known to have floor; false: perhaps not.
func has_floor_around(_x: float, _y: float, _radius: float) -> bool:
	return false


## Writes the readings of a player with heading [param yaw] at (x, y) into
## [param rows] from [param start] on. Ray 0 points along [param yaw].
func read_rays(
	x: float, y: float, yaw: float, spec: AmbuloSpec, rows: PackedFloat64Array, start: int
) -> void:
	var length := spec.ray_length
	var count := spec.num_rays
	if not has_floor(x, y):
		for r in count:
			rows[start + r] = length
		return
	if _fan.size() != count or _fan_length != length or _fan_edges != spec.rays_see_edges:
		_aim_rays(spec)
	var c := cos(yaw)
	var s := sin(yaw)
	var from := Vector3(origin_y - y, _ray_height, origin_x - x)
	var turned := Basis(Vector3(c, 0.0, -s), Vector3.UP, Vector3(s, 0.0, c))
	var ends := Transform3D(turned, from) * _fan
	var ray := _ray
	var state := _state
	ray.from = from
	for r in count:
		ray.to = ends[r]
		var hit := state.intersect_ray(ray)
		if hit:
			var point: Vector3 = hit.position
			rows[start + r] = minf(from.distance_to(point), length)
		else:
			rows[start + r] = length
	_shorten_rays(x, y, yaw, spec, rows, start)


## How many obstacles are nearer to (x, y) than [param radius]: 0, 1, or 2 for more.
func count_near(x: float, y: float, radius: float) -> int:
	if radius != _reach_radius:
		_reach_radius = radius
		PhysicsServer3D.shape_set_data(_ball, radius)
	var at := Vector3(origin_y - y, _body_height, origin_x - x)
	_reach.transform = Transform3D(Basis.IDENTITY, at)
	# A ball has a single contact with each shape.
	var points := _state.collide_shape(_reach, 2)
	near_distance = 0.0
	if points.size() == 2:
		# The ball's point that is deepest in the obstacle, and the obstacle's in the ball:
		# on one side, unless the middle of the ball is in the obstacle too.
		var deepest := points[0] - at
		var nearest := points[1] - at
		if deepest.dot(nearest) > 0.0 and deepest.length() > radius - DEEP_ERROR:
			near_distance = nearest.length()
	return points.size() >> 1


## Pushes a body that stepped from (x0, y0) to (x, y) out of everything it overlaps, into
## [member slid_x], [member slid_y]; true: something was touched. Where no way out is found
## (a gap narrower than the body) it is back at (x0, y0). [param alone]: one obstacle is in
## reach at all, so one push is enough.
func slide(x0: float, y0: float, x: float, y: float, alone: bool) -> bool:
	slid_x = x
	slid_y = y
	for k in AmbuloContract.SLIDE_PASSES:
		var count := find_overlaps(slid_x, slid_y)
		if count == 0:
			return k > 0
		if is_inf(_push_depth[0]):
			slid_x = x0
			slid_y = y0
			return true
		if count == 1:
			slid_x += _push_x[0] * _push_depth[0]
			slid_y += _push_y[0] * _push_depth[0]
		else:
			_find_way_out(count)
			slid_x += _way_x
			slid_y += _way_y
		if alone and _push_depth[0] < SHALLOW:
			return true
	var left := find_overlaps(slid_x, slid_y)
	for k in left:
		if _push_depth[k] > AmbuloContract.STUCK_DEPTH:
			slid_x = x0
			slid_y = y0
			break
	return true


## How far a body gets from (x, y) along the unit vector (ux, uy) at once, at most
## [param travel]: what obstructs a walking body stops it, and so does the end of the floor, [m].
func free_leap(x: float, y: float, ux: float, uy: float, travel: float) -> float:
	var done := 0.0
	var part := LEAP_PART
	while part > LEAP_EXACT and done < travel:
		var far := minf(done + part, travel)
		var to_x := x + ux * far
		var to_y := y + uy * far
		if slide(x + ux * done, y + uy * done, to_x, to_y, false) or not has_floor(to_x, to_y):
			part *= 0.5
		else:
			done = far
	return done


## How many obstacles the body at (x, y) overlaps, as far as they push in different
## directions; their directions and depths are kept for [method slide].
func find_overlaps(x: float, y: float) -> int:
	var at := Vector3(origin_y - y, _body_height, origin_x - x)
	_body.transform = Transform3D(Basis.IDENTITY, at)
	var points := _state.collide_shape(_body, 4 * AmbuloContract.MOST_OVERLAPS)
	if points.is_empty():
		return 0
	var count := 0
	var last := Vector3.ZERO
	for k in range(0, points.size(), 2):
		var deep := points[k]
		var out := points[k + 1] - deep
		if out.is_equal_approx(last):  # a face has several contacts
			continue
		last = out
		var gx := out.x
		var gz := out.z
		var depth := sqrt(gx * gx + gz * gz)
		if depth <= TOUCH_DEPTH or absf(out.y) > STEEP * depth:
			continue
		var nx := -gz / depth
		var ny := -gx / depth
		if absf((deep.x - at.x) * nx - (deep.z - at.z) * ny) > CLIPPED:
			depth = _probed_depth(at, points[k + 1].y, nx, ny, depth)
		if count == 0:
			_push_x[0] = nx
			_push_y[0] = ny
			_push_depth[0] = depth
			count = 1
		else:
			count = _insert(nx, ny, depth, count)
	return count


## Readies the ray query for [param spec].
func _aim_rays(spec: AmbuloSpec) -> void:
	_fan_length = spec.ray_length
	_fan_edges = spec.rays_see_edges
	_fan.resize(spec.num_rays)
	for r in spec.num_rays:
		var angle := TAU * r / spec.num_rays
		_fan[r] = Vector3(-sin(angle), 0.0, -cos(angle)) * _fan_length


## Shortens the readings to floor edges that the ray query cannot see.
func _shorten_rays(
	_x: float, _y: float, _yaw: float, _spec: AmbuloSpec, _rows: PackedFloat64Array, _start: int
) -> void:
	pass


## The depth in direction (nx, ny) of a contact at [param height] of which the engine
## gave a clipped depth: by a ray from the body axis to the nearest point.
func _probed_depth(at: Vector3, height: float, nx: float, ny: float, depth: float) -> float:
	var radius := body_radius
	_probe.from = Vector3(at.x, height, at.z)
	_probe.to = Vector3(at.x + ny * radius, height, at.z + nx * radius)
	var hit := _state.intersect_ray(_probe)
	if hit.is_empty():
		return depth
	var point: Vector3 = hit.position
	return maxf(depth, radius - _probe.from.distance_to(point))


## Keeps the pushes sorted by depth, each direction once, so that the order in which the
## engine reports contacts does not matter.
func _insert(nx: float, ny: float, depth: float, count: int) -> int:
	for k in count:
		if nx * _push_x[k] + ny * _push_y[k] > SAME:
			if depth <= _push_depth[k]:
				return count
			for m in range(k, count - 1):
				_move_push(m + 1, m)
			count -= 1
			break
	if count == AmbuloContract.MOST_OVERLAPS:
		return count
	var place := count
	while place > 0 and _is_before(nx, depth, place - 1):
		_move_push(place - 1, place)
		place -= 1
	_push_x[place] = nx
	_push_y[place] = ny
	_push_depth[place] = depth
	return count + 1


func _is_before(nx: float, depth: float, k: int) -> bool:
	return depth > _push_depth[k] or (depth == _push_depth[k] and nx > _push_x[k])


func _move_push(from: int, to: int) -> void:
	_push_x[to] = _push_x[from]
	_push_y[to] = _push_y[from]
	_push_depth[to] = _push_depth[from]


## Finds the shortest move that undoes the first [param count] overlaps, two or more: along
## one of them or to the corner of two; without any, that of the deepest one.
func _find_way_out(count: int) -> void:
	_way_x = _push_x[0] * _push_depth[0]
	_way_y = _push_y[0] * _push_depth[0]
	var best := INF
	for i in count:
		for j in range(i, count):
			var ux := _push_x[i] * _push_depth[i]
			var uy := _push_y[i] * _push_depth[i]
			if i != j:
				var det := _push_x[i] * _push_y[j] - _push_y[i] * _push_x[j]
				if absf(det) < 1e-6:
					continue
				ux = (_push_depth[i] * _push_y[j] - _push_depth[j] * _push_y[i]) / det
				uy = (_push_depth[j] * _push_x[i] - _push_depth[i] * _push_x[j]) / det
			var length := ux * ux + uy * uy
			if length < best and _leaves_all(ux, uy, count):
				best = length
				_way_x = ux
				_way_y = uy


func _leaves_all(ux: float, uy: float, count: int) -> bool:
	for k in count:
		if _push_x[k] * ux + _push_y[k] * uy < _push_depth[k] - 0.5 * TOUCH_DEPTH:
			return false
	return true
