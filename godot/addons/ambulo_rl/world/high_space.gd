class_name AmbuloHighSpace
extends AmbuloSpace
## A place in the physics engine in which shapes have their real heights: the body climbs ramps
## of up to 45 degrees and steps of up to [constant AmbuloContract.CLIMB_HEIGHT], walks below
## what hangs high enough, and falls where the floor ends (docs/vr_world.md, "Heights").
##
## The body is a capsule that floats: it begins so high above the feet that what may be stepped
## on touches it from below 45 degrees, and such a push is ignored.

## Pushes downwards that are steeper than this (aside to down) are those of a ceiling.
const OVERHEAD := 0.1051
## A floor is looked for this far below the body at most, [m].
const DEPTH := 1000.0
## Floors nearer than this are one, [m].
const ALIKE := 0.01
## Faces that are too steep to stand on, or too thin, that a look downwards passes at most.
const MOST_FACES := 8
const _TINY := 1e-4
# Width of a seam between two tiles that carries, [m].
const _SEAM := 0.002

## Bodies that do not count, such as the player's own.
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

## Set by [method AmbuloSpace.find_overlaps] where a person, and where anything else, is touched.
var touched_person := false
var touched_thing := false

## Whether no floor ever moves: it is then looked at once, which is several times as fast.
var floor_stands_still := false:
	set(value):
		floor_stands_still = value
		_level = AmbuloLevelFloor.new() if value else null

# Where the capsule begins above the feet, [m].
var _bottom := 0.0
# By how much the cylinder around the body is taller than it is looked for, [m].
var _spare_height := -2.0 * ALIKE
var _down := PhysicsRayQueryParameters3D.new()
var _up := PhysicsRayQueryParameters3D.new()
var _around := PhysicsShapeQueryParameters3D.new()
var _cylinder := CylinderShape3D.new()
var _blade := AmbuloBlade.new()
var _level: AmbuloLevelFloor


func _init(space: RID) -> void:
	super()
	has_heights = true
	_state = PhysicsServer3D.space_get_direct_state(space)
	var rim := AmbuloContract.BODY_RADIUS * (1.0 - sqrt(0.5))
	_bottom = AmbuloContract.CLIMB_HEIGHT - rim
	_capsule_height = AmbuloContract.BODY_HEIGHT + rim - _bottom
	body_radius = AmbuloContract.BODY_RADIUS
	_body.shape_rid = _capsule
	_down.hit_back_faces = false
	_up.hit_from_inside = true
	_cylinder.height = body_height - AmbuloContract.CLIMB_HEIGHT + _spare_height
	_around.shape = _cylinder
	_apply_masks()


## Height of the highest floor under the body axis at (x, y) that is at most
## [param highest] and at least [param lowest]; NAN: none, [m].
func floor_at(x: float, y: float, highest: float, lowest: float) -> float:
	var found := _floor_below(x, y, highest, lowest)
	if is_nan(found):  # perhaps exactly between two tiles
		found = _floor_below(x + _SEAM, y + _SEAM, highest, lowest)
	return found


## Height of the floor for who comes from height [param z]: at most a climb above it; NAN: none
## down to [param depth] below, [m].
func support(x: float, y: float, z: float, depth: float) -> float:
	return floor_at(x, y, z + AmbuloContract.CLIMB_HEIGHT, z - depth)


## Height of the floor on both sides of a seam at (x, y) that carries feet at height [param z], at
## most [param z]; NAN: there is none, [m].
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


## How far around (x, y) the floor is known to be as high as [param z]; 0: not at all, [m].
func level_radius(x: float, y: float, z: float) -> float:
	return _level.radius(self, x, y, z) if _level != null else 0.0


## Whether nothing is right above the axis of a body that stands at height [param z].
func has_headroom(x: float, y: float, z: float) -> bool:
	var low := z + AmbuloContract.CLIMB_HEIGHT + ALIKE
	_up.from = Vector3(origin_y - y, low, origin_x - x)
	_up.to = Vector3(_up.from.x, z + body_height - ALIKE, _up.from.z)
	return _state.intersect_ray(_up).is_empty()


## Always 2: what is near depends on the height.
func count_near(_x: float, _y: float, _radius: float) -> int:
	near_distance = 0.0
	return 2


## Whether a body at (x, y, z) meets no obstacle within [param radius] of its axis.
func is_open(x: float, y: float, z: float, radius: float) -> bool:
	_cylinder.radius = radius
	var middle := 0.5 * (AmbuloContract.CLIMB_HEIGHT + body_height)
	var at := Vector3(origin_y - y, z + middle, origin_x - x)
	_around.transform = Transform3D(Basis.IDENTITY, at)
	return _state.intersect_shape(_around, 1).is_empty()


## Whether a body fits at (x, y, z): it overlaps no obstacle by more than [param spare] [m].
func fits(x: float, y: float, z: float, spare := AmbuloContract.STUCK_DEPTH) -> bool:
	if not has_headroom(x, y, z):
		return false
	stand_at(z)
	for k in find_overlaps(x, y):
		if _push_depth[k] > spare:
			return false
	return true


## What [param ray] hits in this space, as the engine reports it.
func cast(ray: PhysicsRayQueryParameters3D) -> Dictionary:
	return _state.intersect_ray(ray)


## The name of an obstacle that the body at (x, y, z) overlaps; "": none, or none has a name.
func obstacle_at(x: float, y: float, z: float) -> String:
	stand_at(z)
	_body.transform = Transform3D(Basis.IDENTITY, Vector3(origin_y - y, _body_height, origin_x - x))
	for hit in _state.intersect_shape(_body, 1):
		var node: Node = hit.collider as Node
		if node != null and node.is_inside_tree():
			return str(node.get_path()).trim_prefix("/root/")
	return ""


## Has [method slide] and [method find_overlaps] work for feet at height [param z].
func stand_at(z: float) -> void:
	_body_height = z + _bottom + 0.5 * _capsule_height


## See [AmbuloSpace]; a shape that cuts the axis of the body is a push of endless depth.
func find_overlaps(x: float, y: float) -> int:
	var at := Vector3(origin_y - y, _body_height, origin_x - x)
	_body.transform = Transform3D(Basis.IDENTITY, at)
	var points := _state.collide_shape(_body, 4 * AmbuloContract.MOST_OVERLAPS)
	var count := 0
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
			_push_depth[0] = INF
			return 1
		if depth <= TOUCH_DEPTH or out.y > aside or aside < -OVERHEAD * out.y:
			continue
		# Along the floor it is farther out than along the contact.
		var ahead := (body_radius - depth) / depth
		var above := ahead * out.y
		var nx := -out.z / aside
		var ny := -out.x / aside
		depth = sqrt(maxf(body_radius * body_radius - above * above, 0.0)) - ahead * aside
		if absf((deep.x - at.x) * nx - (deep.z - at.z) * ny) > CLIPPED:
			depth = _probed_depth(at, points[k + 1].y, nx, ny, depth)
		if depth <= TOUCH_DEPTH:
			continue
		if count == 0:
			_push_x[0] = nx
			_push_y[0] = ny
			_push_depth[0] = depth
			count = 1
		else:
			count = _insert(nx, ny, depth, count)
	return count


## Writes how far the way is free along the floor for feet at (x, y, z), as
## [method AmbuloSpace.read_rays] does.
func read_ways(
	x: float, y: float, z: float, yaw: float, spec: AmbuloSpec, rows: PackedFloat64Array, start: int
) -> void:
	for r in spec.num_rays:
		var heading := yaw + TAU * r / spec.num_rays
		rows[start + r] = _blade.way(self, x, y, z, heading, spec.ray_length, spec.rays_see_edges)


## How far a blade as tall as what blocks a body gets from (x, y) along [param heading] above a
## floor at height [param z], at most [param length], [m].
func sweep(x: float, y: float, z: float, heading: float, length: float) -> float:
	return _blade.sweep(_state, Vector3(origin_y - y, z, origin_x - x), heading, length)


func _fit_height() -> void:
	var rim := AmbuloContract.BODY_RADIUS * (1.0 - sqrt(0.5))
	_capsule_height = body_height + rim - _bottom
	var capsule := {"radius": body_radius, "height": _capsule_height}
	PhysicsServer3D.shape_set_data(_capsule, capsule)
	_cylinder.height = body_height - AmbuloContract.CLIMB_HEIGHT + _spare_height
	_blade.fit(body_height)


func _floor_below(x: float, y: float, highest: float, lowest: float) -> float:
	var from := Vector3(origin_y - y, highest + _TINY, origin_x - x)
	var to := Vector3(from.x, lowest - _TINY, from.z)
	var ray := _down
	ray.to = to
	for _k in MOST_FACES:
		ray.from = from
		var hit := _state.intersect_ray(ray)
		if hit.is_empty():
			break
		var point: Vector3 = hit.position
		var normal: Vector3 = hit.normal
		if normal.y >= AmbuloContract.STEEPEST_FLOOR - _TINY:
			return point.y
		from.y = point.y - ALIKE
		if from.y <= to.y:
			break
	return NAN


func _apply_masks() -> void:
	for query: PhysicsRayQueryParameters3D in [_ray, _probe, _up]:
		query.collision_mask = obstacle_mask
		query.exclude = excluded
	for query: PhysicsShapeQueryParameters3D in [_body, _around, _blade.query]:
		query.collision_mask = obstacle_mask
		query.exclude = excluded
	_down.collision_mask = floor_mask
	_down.exclude = excluded
