class_name AmbuloSceneSpace
extends AmbuloSpace
## A user's own 3D scene as a place for players: obstacles are its colliders, the floor
## and its edges are found by rays downwards.
##
## What differs from a level: obstacles have their real height (the body capsule floats
## [constant AmbuloContract.STEP_HEIGHT] above [member floor_height]); rays run at
## [member ray_height]; slopes and stairs are not climbed, the floor is the plane at
## [member floor_height]; edges are found to about 1 cm. It costs some ten times as much.
## Colliders that move are seen where the engine has them at that moment.

## Floor edges are looked for at this spacing along a ray, then halved, [m].
const EDGE_STEP := 0.25
const EDGE_HALVINGS := 5

## Height of the floor plane in the scene (Godot's Y), [m].
var floor_height := 0.0:
	set(value):
		floor_height = value
		_place()
## Height of the horizontal rays above the floor, [m].
var ray_height := 0.875:
	set(value):
		ray_height = value
		_place()
## A collider within this distance of the floor plane, up or down, is floor, [m].
var floor_tolerance := 0.1
## Physics layers of obstacles.
var obstacle_mask := 1:
	set(value):
		obstacle_mask = value
		_place()
## Physics layers of the floor.
var floor_mask := 1:
	set(value):
		floor_mask = value
		_place()
## Bodies that do not count, such as the player's own.
var excluded: Array[RID] = []:
	set(value):
		excluded = value
		_place()

var _down := PhysicsRayQueryParameters3D.new()


func _init(space: RID) -> void:
	super()
	_state = PhysicsServer3D.space_get_direct_state(space)
	_capsule_height = AmbuloContract.BODY_HEIGHT - AmbuloContract.STEP_HEIGHT
	body_radius = AmbuloContract.BODY_RADIUS
	_body.shape_rid = _capsule
	_ray.hit_from_inside = true
	_place()


## Always 2: whether the floor counts as near depends on the scene.
func count_near(_x: float, _y: float, _radius: float) -> int:
	return 2


func has_floor(x: float, y: float) -> bool:
	var at := Vector3(-y, floor_height + floor_tolerance, -x)
	_down.from = at
	_down.to = at + Vector3.DOWN * (2.0 * floor_tolerance)
	return not _state.intersect_ray(_down).is_empty()


func _place() -> void:
	var height := AmbuloContract.BODY_HEIGHT + AmbuloContract.STEP_HEIGHT
	_body_height = floor_height + height / 2.0
	_ray_height = floor_height + ray_height
	for query: PhysicsRayQueryParameters3D in [_ray, _probe]:
		query.collision_mask = obstacle_mask
		query.exclude = excluded
	_body.collision_mask = obstacle_mask
	_body.exclude = excluded
	_down.collision_mask = floor_mask
	_down.exclude = excluded


func _shorten_rays(
	x: float, y: float, yaw: float, spec: AmbuloSpec, rows: PackedFloat64Array, start: int
) -> void:
	if not spec.rays_see_edges:
		return
	for r in spec.num_rays:
		var heading := yaw + TAU * r / spec.num_rays
		rows[start + r] = _edge(x, y, cos(heading), sin(heading), rows[start + r])


## Distance along a ray to where its floor ends, at most [param length], [m].
func _edge(x: float, y: float, cx: float, sy: float, length: float) -> float:
	var held := 0.0
	while held < length:
		var next := minf(held + EDGE_STEP, length)
		if not has_floor(x + cx * next, y + sy * next):
			for _k in EDGE_HALVINGS:
				var middle := 0.5 * (held + next)
				if has_floor(x + cx * middle, y + sy * middle):
					held = middle
				else:
					next = middle
			return 0.5 * (held + next)
		held = next
	return length
