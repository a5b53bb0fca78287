class_name AmbuloSpace
extends AmbuloSlide
## A physics space in which bodies walk (docs/vr_world.md, "Shapes and floor"): they climb ramps of
## up to 45 degrees and steps of up to [constant AmbuloContract.CLIMB_HEIGHT], pass below shapes
## that hang high enough, are pushed out of all others, and fall where the floor ends.
##
## It is a user's own 3D scene, whose colliders are obstacles and floors where the engine has them
## at that moment; a level is an [AmbuloLevelSpace]. The body is a floating capsule: its lower end
## is so high above the feet that a step that it may climb touches it from more than 45 degrees
## below, and such pushes are ignored. Points in the engine are relative to [member origin_x],
## [member origin_y], so that its 32-bit floats stay exact.

## A contact this far off the nearest line of the capsule has a clipped depth, [m].
const CLIPPED := 1e-4
## Ratio of horizontal to downward push below which the push is that of a ceiling.
const OVERHEAD := 0.1051
## Largest depth below the body at which a floor is searched, [m].
const DEPTH := 1000.0
## Floors nearer than this count as one, [m].
const ALIKE := 0.01
## Most faces that a downward ray passes because they are too steep or too thin to stand on.
const MOST_FACES := 8
const _TINY := 1e-4
# Margin beyond the reach of a body in which obstacles are searched, [m].
const _ROOM := 0.05
# Width of a seam between two tiles that carries a body, [m].
const _SEAM := 0.002
# Fraction of the body's radius within which a floor touches it from more than 45 degrees below.
const _RIM := 1.0 - sqrt(0.5)
# Height of the capsule's lower end above the feet, [m].
const _BOTTOM := AmbuloContract.CLIMB_HEIGHT - AmbuloContract.BODY_RADIUS * _RIM
# Most bodies examined at one place.
const _MOST_BODIES := 16
# Height above a floor of the test whether it is inside a solid, and the width of the widest solid,
# [m].
const _WAIST := 0.3
const _WIDEST := 200.0
# Number of floor queries per circle around a place.
const _AROUND := 8
const _DIRECTIONS: PackedVector3Array = [
	Vector3.UP, Vector3.LEFT, Vector3.RIGHT, Vector3.FORWARD, Vector3.BACK
]

## Bodies that are ignored, such as the player's own.
var excluded: Array[RID] = []:
	set(value):
		excluded = value
		_apply_masks()
## Physics layers of obstacles.
var obstacle_mask := 1:
	set(value):
		obstacle_mask = value
		_apply_masks()
## Physics layers of the floor.
var floor_mask := 1:
	set(value):
		floor_mask = value
		_apply_masks()
## Height in the scene (Godot's Y) for placing players without a given height, [m]: they stand on
## the highest floor that is at most 0.25 m above it.
var floor_height := 0.0
## Whether floors are static: they are then examined once, which is several times as fast.
var floor_stands_still := false:
	set(value):
		floor_stands_still = value
		_level_floor = AmbuloLevelFloor.new() if value else null
## Engine coordinates of the origin, [m].
var origin_x := 0.0
var origin_y := 0.0
## Moving obstacles around the present body, besides the engine's own bodies; null: none.
var things: AmbuloThings
## Moving bodies of a scene, and the carrier of the present body there; null: none.
var scene_things: AmbuloSceneThings
var ride: AmbuloSceneThings.Ride
var _state: PhysicsDirectSpaceState3D
var _capsule := CapsuleShape3D.new()
var _cylinder := CylinderShape3D.new()
var _body := PhysicsShapeQueryParameters3D.new()
var _around := PhysicsShapeQueryParameters3D.new()
var _probe := PhysicsRayQueryParameters3D.new()
var _down := PhysicsRayQueryParameters3D.new()
var _up := PhysicsRayQueryParameters3D.new()
var _face := PhysicsRayQueryParameters3D.new()
var _blade := AmbuloBlade.new()
var _level_floor: AmbuloLevelFloor
var _sight := PhysicsRayQueryParameters3D.new()
# Collider of the last floor; null: none.
var _floor: Node3D
# Heights of the feet and of the middle of the capsule, [m].
var _feet := 0.0
var _middle := 0.0


## The scene in a World3D whose physics space is [param space].
func _init(space: RID) -> void:
	super()
	_state = PhysicsServer3D.space_get_direct_state(space)
	scene_things = AmbuloSceneThings.new(_state)
	_body.shape = _capsule
	_around.shape = _cylinder
	_down.hit_back_faces = false
	_face.hit_back_faces = false
	_up.hit_from_inside = true
	_fit()
	_apply_masks()


## Height of the highest floor below the body axis at (x, y) that is at most [param highest] and at
## least [param lowest]; NAN: none, [m].
func floor_at(x: float, y: float, highest: float, lowest: float) -> float:
	var found := _floor_below(x, y, highest, lowest)
	if is_nan(found):  # it may be exactly between two tiles
		found = _floor_below(x + _SEAM, y + _SEAM, highest, lowest)
	return found


## Height of the floor for a body that comes from height [param z]: at most a climb above it; NAN:
## none within [param depth] below, [m].
func support(x: float, y: float, z: float, depth: float) -> float:
	return floor_at(x, y, z + AmbuloContract.CLIMB_HEIGHT, z - depth)


## Height of the floor on both sides of a seam at (x, y) that carries feet at height [param z], at
## most [param z]; NAN: none, [m].
func floor_over_seam(x: float, y: float, z: float) -> float:
	var aside := AmbuloContract.MAX_SEAM
	for along: Vector2 in [Vector2(aside, 0.0), Vector2(0.0, aside)]:
		var one := support(x + along.x, y + along.y, z, AmbuloContract.CLIMB_HEIGHT)
		if is_nan(one):
			continue
		var other := support(x - along.x, y - along.y, z, AmbuloContract.CLIMB_HEIGHT)
		if not is_nan(other):
			return minf(maxf(one, other), z)
	return NAN


## Makes the last floor the carrier of the body, if [param carries].
func board(carries := true) -> void:
	if ride != null:
		ride.board(_floor if carries else null)


## Known radius around (x, y) in which the floor is at height [param z], at most [param most]; 0:
## unknown, [m].
func level_radius(x: float, y: float, z: float, _most: float) -> float:
	return _level_floor.radius(self, x, y, z) if _level_floor != null else 0.0


## Whether the floor covers the circle of [param radius] around (x, y) for feet at height [param z],
## tested on two circles.
func has_floor_around(x: float, y: float, z: float, radius: float) -> bool:
	for part: float in [0.5, 1.0]:
		for k in _AROUND:
			var angle := TAU * (k + 0.5 * part) / _AROUND
			var at := Vector2(x, y) + Vector2.from_angle(angle) * part * radius
			if is_nan(support(at.x, at.y, z, AmbuloContract.CLIMB_HEIGHT)):
				return false
	return true


## Whether the floor covers the line from (x, y, z) to (to_x, to_y), tested every 5 cm.
func has_floor_along(x: float, y: float, z: float, to_x: float, to_y: float) -> bool:
	var count := ceili(Vector2(to_x - x, to_y - y).length() / AmbuloContract.MAX_SEAM)
	for k in range(1, count):
		var share := k / float(count)
		var px := x + share * (to_x - x)
		var py := y + share * (to_y - y)
		var floor_z := support(px, py, z, AmbuloContract.CLIMB_HEIGHT)
		if is_nan(floor_z):
			floor_z = floor_over_seam(px, py, z)
			if is_nan(floor_z):
				return false
		z = floor_z
	return true


## Lower bound of the distance that a body at (x, y, z) can move at this height before it touches an
## obstacle, at most [param most], [m].
func room(x: float, y: float, z: float, most: float) -> float:
	stand_at(z)
	_cylinder.radius = body_radius + most + _ROOM
	var middle := 0.5 * (AmbuloContract.CLIMB_HEIGHT + body_height)
	var at := Vector3(origin_y - y, z + middle, origin_x - x)
	_around.transform = Transform3D(Basis.IDENTITY, at)
	return most if _state.collide_shape(_around, 1).is_empty() else 0.0


## Whether the axis of a body that stands at height [param z] is free of shapes right above it.
func has_headroom(x: float, y: float, z: float) -> bool:
	var low := z + AmbuloContract.CLIMB_HEIGHT + ALIKE
	_up.from = Vector3(origin_y - y, low, origin_x - x)
	_up.to = Vector3(_up.from.x, z + body_height - ALIKE, _up.from.z)
	return _state.intersect_ray(_up).is_empty()


## Whether a body fits at (x, y, z): it overlaps no obstacle by more than [param spare] [m].
func fits(x: float, y: float, z: float, spare := AmbuloContract.STUCK_DEPTH) -> bool:
	if not has_headroom(x, y, z):
		return false
	stand_at(z)
	find_overlaps(x, y)
	return not _overlaps_more_than(spare)


## Whether a body fits on the floor at (x, y) and height [param z], outside of all solids.
func stands(x: float, y: float, z: float) -> bool:
	return fits(x, y, z) and not is_inside(x, y, z)


## Whether the floor at (x, y, z) is inside a solid, whose faces are visible only from outside: in
## each direction, a face that looks away precedes the first one that looks this way.
func is_inside(x: float, y: float, z: float) -> bool:
	var at := Vector3(origin_y - y, z + _WAIST, origin_x - x)
	for way in _DIRECTIONS:
		var end := _first_face(at, at + way * _WIDEST)
		if not end.is_finite():
			end = at + way * _WIDEST
		if not _first_face(end - way * ALIKE, at).is_finite():
			return false
	return true


## The name of an obstacle that the body at (x, y, z) overlaps; "": none, or unnamed.
func obstacle_at(x: float, y: float, z: float) -> String:
	stand_at(z)
	_put_body(x, y)
	for hit in _state.intersect_shape(_body, 1):
		var node: Node = hit.collider as Node
		if node != null and node.is_inside_tree():
			return str(node.get_tree().root.get_path_to(node))
	return ""


## Sets the height of the feet for [method slide] and [method find_overlaps] to [param z].
func stand_at(z: float) -> void:
	_feet = z
	_middle = z + 0.5 * (_BOTTOM + body_height + AmbuloContract.BODY_RADIUS * _RIM)


func find_overlaps(x: float, y: float) -> void:
	_find_contacts(x, y)
	if _count == 0 and not _is_cut:
		return
	var people: Array[RID] = []
	for hit in _state.intersect_shape(_body, _MOST_BODIES):
		if AmbuloSceneThings.is_person(hit.collider as Node):
			people.append(hit.rid)
	if people.is_empty():
		touched_thing = true
		return
	touched_person = true
	_body.exclude = excluded + people
	_find_contacts(x, y)
	touched_thing = touched_thing or _count > 0 or _is_cut
	_body.exclude = excluded
	_find_contacts(x, y)


## Writes the free distances along the floor for feet at (x, y, z) into [param rows] from index
## [param start] and, if [param spec] has surroundings, behind them the end of each ray and the
## floors along it. Ray 0 points along [param yaw].
func read_rays(
	x: float, y: float, z: float, yaw: float, spec: AmbuloSpec, rows: PackedFloat64Array, start: int
) -> void:
	for r in spec.num_rays:
		var heading := yaw + TAU * r / spec.num_rays
		var reach := _blade.way(self, x, y, z, heading, spec.ray_length, spec.rays_see_edges)
		rows[start + r] = reach
		if spec.surroundings:
			var hits := _blade.behind(_state, origin_y - y, origin_x - x, heading, reach)
			rows[start + spec.num_rays + r] = scene_things.kind_of(hits, _blade.end)
			var floors := start + 2 * spec.num_rays + AmbuloContract.FLOOR_PARTS * r
			AmbuloRays.write_floors(_blade.trail, z, reach, rows, floors)


## Rows of the moving objects within [member AmbuloSpec.ray_length] of feet at (x, y, z), see
## [constant AmbuloContract.MOVER_COLUMNS], including hidden ones.
func things_near(x: float, y: float, z: float, spec: AmbuloSpec) -> PackedFloat64Array:
	var eye := Vector3(origin_y - y, z + spec.eye_height, origin_x - x)
	var rows := scene_things.near(eye, spec, obstacle_mask, excluded)
	_sight.exclude = excluded + scene_things.moving
	return rows


## Whether no static shape lies on the line between two points.
func is_clear(x: float, y: float, z: float, to_x: float, to_y: float, to_z: float) -> bool:
	_sight.from = Vector3(origin_y - y, z, origin_x - x)
	_sight.to = Vector3(origin_y - to_y, to_z, origin_x - to_x)
	return _state.intersect_ray(_sight).is_empty()


## Free distance of a blade as tall as the blocking part of a body from (x, y) along [param heading]
## above a floor at height [param z], at most [param length], [m].
func sweep(x: float, y: float, z: float, heading: float, length: float) -> float:
	return _blade.sweep(_state, Vector3(origin_y - y, z, origin_x - x), heading, length)


func _fit() -> void:
	_capsule.radius = body_radius
	_capsule.height = body_height + AmbuloContract.BODY_RADIUS * _RIM - _BOTTOM
	_cylinder.height = body_height - AmbuloContract.CLIMB_HEIGHT - 2.0 * ALIKE
	_blade.fit(body_height)


func _apply_masks() -> void:
	for query: PhysicsRayQueryParameters3D in [_probe, _up, _face, _sight]:
		query.collision_mask = obstacle_mask
		query.exclude = excluded
	for query: PhysicsShapeQueryParameters3D in [_body, _around, _blade.query]:
		query.collision_mask = obstacle_mask
		query.exclude = excluded
	_down.collision_mask = floor_mask
	_down.exclude = excluded


func _floor_below(x: float, y: float, highest: float, lowest: float) -> float:
	var from := Vector3(origin_y - y, highest + _TINY, origin_x - x)
	var to := Vector3(from.x, lowest - _TINY, from.z)
	var ray := _down
	ray.to = to
	_floor = null
	for _k in MOST_FACES:
		ray.from = from
		var hit := _state.intersect_ray(ray)
		if hit.is_empty():
			break
		var point: Vector3 = hit.position
		var normal: Vector3 = hit.normal
		if normal.y >= AmbuloContract.STEEPEST_FLOOR - _TINY:
			_floor = hit.collider as Node3D
			return point.y
		from.y = point.y - ALIKE
		if from.y <= to.y:
			break
	return NAN


# The first face towards `from` on the way to `to`; not finite: none.
func _first_face(from: Vector3, to: Vector3) -> Vector3:
	_face.from = from
	_face.to = to
	var hit := _state.intersect_ray(_face)
	return Vector3.INF if hit.is_empty() else hit.position


func _put_body(x: float, y: float) -> Vector3:
	var at := Vector3(origin_y - y, _middle, origin_x - x)
	_body.transform = Transform3D(Basis.IDENTITY, at)
	return at


# Adds the pushes of the engine's contacts; a shape that cuts the axis of the body leaves no way
# out.
func _find_contacts(x: float, y: float) -> void:
	var at := _put_body(x, y)
	var points := _state.collide_shape(_body, 4 * AmbuloContract.MOST_OVERLAPS)
	_count = 0
	_is_cut = false
	var last := Vector3.ZERO
	for k in range(0, points.size(), 2):
		var deep := points[k]
		var out := points[k + 1] - deep
		if out.is_equal_approx(last):  # a face has several contacts
			continue
		last = out
		var aside := sqrt(out.x * out.x + out.z * out.z)
		var depth := out.length()
		if depth >= body_radius:
			_is_cut = true
			return
		if depth <= TOUCH_DEPTH or out.y > aside or aside < -OVERHEAD * out.y:
			continue
		# Convert the depth along the contact to that along the floor.
		var ahead := (body_radius - depth) / depth
		var above := ahead * out.y
		var nx := -out.z / aside
		var ny := -out.x / aside
		depth = sqrt(maxf(body_radius * body_radius - above * above, 0.0)) - ahead * aside
		if absf((deep.x - at.x) * nx - (deep.z - at.z) * ny) > CLIPPED:
			depth = _probed_depth(at, points[k + 1].y, nx, ny, depth)
		if depth > TOUCH_DEPTH:
			_add_push(nx, ny, depth)


# Depth in direction (nx, ny) of a contact whose depth the engine has clipped, by a ray from the
# body axis to the nearest point.
func _probed_depth(at: Vector3, height: float, nx: float, ny: float, depth: float) -> float:
	var radius := body_radius
	_probe.from = Vector3(at.x, height, at.z)
	_probe.to = Vector3(at.x + ny * radius, height, at.z + nx * radius)
	var hit := _state.intersect_ray(_probe)
	if hit.is_empty():
		return depth
	var point: Vector3 = hit.position
	return maxf(depth, radius - _probe.from.distance_to(point))
