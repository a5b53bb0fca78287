class_name AmbuloLevelSpace
extends AmbuloSpace
## A physics space of its own that holds one level: its obstacles as tall prisms, its
## floor edges as prisms that only rays see. Nothing in it moves by itself, and engine
## ticks do not touch it.
##
## A space is made for each level and dropped with it: bodies that come and go in a space
## that is never stepped would make its queries slower and slower.

const OBSTACLES := 1
const EDGES := 2
## Prisms reach from here to here, [m].
const BOTTOM := -2.0
const TOP := 4.0
## Thickness of the rim around the floor, [m].
const RIM := 10.0

## What is built here.
var level: AmbuloLevel

var _space: RID
var _walls: RID
var _rims: RID
var _shapes: Array[RID] = []


func _init(new_level: AmbuloLevel) -> void:
	super()
	level = new_level
	_body_height = AmbuloContract.BODY_HEIGHT / 2.0
	_ray_height = _body_height
	body_radius = AmbuloContract.BODY_RADIUS
	_space = PhysicsServer3D.space_create()
	_state = PhysicsServer3D.space_get_direct_state(_space)
	_body.shape_rid = _capsule
	_body.collision_mask = OBSTACLES
	_reach.shape_rid = _ball
	_reach.collision_mask = OBSTACLES
	_probe.collision_mask = OBSTACLES
	_ray.hit_from_inside = true
	_build()


func _notification(what: int) -> void:
	if what == NOTIFICATION_PREDELETE:  # own methods cannot be called any more
		PhysicsServer3D.free_rid(_walls)
		PhysicsServer3D.free_rid(_rims)
		for shape in _shapes:
			PhysicsServer3D.free_rid(shape)
		PhysicsServer3D.free_rid(_space)


func has_floor(x: float, y: float) -> bool:
	return level.has_floor(x, y)


func has_floor_around(x: float, y: float, radius: float) -> bool:
	var b := level.bounds
	if x - radius < b[0] or y - radius < b[1] or x + radius > b[2] or y + radius > b[3]:
		return false
	var h := level.holes
	for k in range(0, h.size(), 4):
		if x > h[k] - radius and x < h[k + 2] + radius:
			if y > h[k + 1] - radius and y < h[k + 3] + radius:
				return false
	return true


func _build() -> void:
	var b := level.bounds
	origin_x = 0.5 * (b[0] + b[2])
	origin_y = 0.5 * (b[1] + b[3])
	_walls = _static_body(OBSTACLES)
	for k in range(0, level.boxes.size(), 7):
		if level.box_obstructs(k):
			var box := level.boxes
			_add_box(_walls, box[k], box[k + 1], box[k + 3], box[k + 4], box[k + 6])
	for k in range(0, level.cylinders.size(), AmbuloLevel.DRUM):
		if level.cylinder_obstructs(k):
			_add_cylinder(level.cylinders[k], level.cylinders[k + 1], level.cylinders[k + 2])
	PhysicsServer3D.body_set_space(_walls, _space)
	_rims = _static_body(EDGES)
	for k in range(0, level.holes.size(), 4):
		var h := level.holes
		_add_rectangle(h[k], h[k + 1], h[k + 2], h[k + 3])
	_add_rectangle(b[0] - RIM, b[1] - RIM, b[0], b[3] + RIM)
	_add_rectangle(b[2], b[1] - RIM, b[2] + RIM, b[3] + RIM)
	_add_rectangle(b[0] - RIM, b[1] - RIM, b[2] + RIM, b[1])
	_add_rectangle(b[0] - RIM, b[3], b[2] + RIM, b[3] + RIM)
	PhysicsServer3D.body_set_space(_rims, _space)


func _aim_rays(spec: AmbuloSpec) -> void:
	super(spec)
	_ray.collision_mask = OBSTACLES | EDGES if spec.rays_see_edges else OBSTACLES


func _static_body(layer: int) -> RID:
	var body := PhysicsServer3D.body_create()
	PhysicsServer3D.body_set_mode(body, PhysicsServer3D.BODY_MODE_STATIC)
	PhysicsServer3D.body_set_collision_layer(body, layer)
	PhysicsServer3D.body_set_collision_mask(body, 0)
	return body


func _add_rectangle(x0: float, y0: float, x1: float, y1: float) -> void:
	_add_box(_rims, 0.5 * (x0 + x1), 0.5 * (y0 + y1), 0.5 * (x1 - x0), 0.5 * (y1 - y0), 0.0)


func _add_box(body: RID, x: float, y: float, a: float, b: float, yaw: float) -> void:
	var shape := PhysicsServer3D.box_shape_create()
	PhysicsServer3D.shape_set_data(shape, Vector3(b, 0.5 * (TOP - BOTTOM), a))
	PhysicsServer3D.shape_set_margin(shape, 0.0)
	_add_shape(body, shape, x, y, yaw)


func _add_cylinder(x: float, y: float, radius: float) -> void:
	# The round ends lie above and below everything that is asked about.
	var shape := PhysicsServer3D.capsule_shape_create()
	PhysicsServer3D.shape_set_data(shape, {"radius": radius, "height": TOP - BOTTOM + 2.0 * radius})
	_add_shape(_walls, shape, x, y, 0.0)


func _add_shape(body: RID, shape: RID, x: float, y: float, yaw: float) -> void:
	var middle := 0.5 * (TOP + BOTTOM)
	var pose := AmbuloAxes.pose(x - origin_x, y - origin_y, middle, yaw)
	PhysicsServer3D.body_add_shape(body, shape, pose)
	_shapes.append(shape)
