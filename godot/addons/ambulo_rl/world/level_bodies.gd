class_name AmbuloLevelBodies
extends RefCounted
## The static bodies of a level, in a physics space of their own, which is freed with them.

## Layers: boxes and cylinders, triangles of closed solids, other triangles, and the rims of the
## ground, which only rays see.
const FLATS := 1
const CLOSED := 2
const OPEN := 4
const EDGES := 8
## Thickness of the rim around the ground, [m].
const RIM := 10.0

## The physics space.
var space := PhysicsServer3D.space_create()
## The body of the rims: holes, then the four sides of the ground; none if other shapes than walls
## stand on it.
var rims := RID()

var _bodies: Array[RID] = []
var _shapes: Array[RID] = []
# Engine coordinates of the origin, [m].
var _x := 0.0
var _y := 0.0


## The shapes [param solids] of [param level], with the engine's origin at (x, y).
func _init(level: AmbuloLevel, solids: AmbuloLevelSolids, x: float, y: float) -> void:
	_x = x
	_y = y
	_add_body(FLATS, solids.flats, [])
	_add_body(CLOSED, [], solids.closed)
	_add_body(OPEN, [], solids.open)
	if solids.has_only_walls():
		rims = _add_body(EDGES, _rims(level), [])


func _notification(what: int) -> void:
	if what == NOTIFICATION_PREDELETE:  # the object's own methods cannot be called here
		for rid in _bodies:
			PhysicsServer3D.free_rid(rid)
		for rid in _shapes:
			PhysicsServer3D.free_rid(rid)
		PhysicsServer3D.free_rid(space)


# Boxes around holes, and around the ground.
static func _rims(level: AmbuloLevel) -> PackedFloat64Array:
	var b := level.bounds
	var around: PackedFloat64Array = [b[0] - RIM, b[1] - RIM, b[0], b[3] + RIM]
	around.append_array([b[2], b[1] - RIM, b[2] + RIM, b[3] + RIM])
	around.append_array([b[0] - RIM, b[1] - RIM, b[2] + RIM, b[1]])
	around.append_array([b[0] - RIM, b[3], b[2] + RIM, b[3] + RIM])
	around = level.holes + around
	var rows := PackedFloat64Array()
	for k in range(0, around.size(), 4):
		var x := 0.5 * (around[k] + around[k + 2])
		var y := 0.5 * (around[k + 1] + around[k + 3])
		rows.append_array([x, y, around[k + 2] - x, around[k + 3] - y, 1.0, 0.0, 0.0, 1.0])
	return rows


func _add_body(layer: int, flats: PackedFloat64Array, faces: PackedFloat64Array) -> RID:
	if flats.is_empty() and faces.is_empty():
		return RID()
	var body := PhysicsServer3D.body_create()
	PhysicsServer3D.body_set_mode(body, PhysicsServer3D.BODY_MODE_STATIC)
	PhysicsServer3D.body_set_collision_layer(body, layer)
	PhysicsServer3D.body_set_collision_mask(body, 0)
	for k in range(0, flats.size(), AmbuloLevelSolids.FLAT):
		_add_flat(body, flats.slice(k, k + AmbuloLevelSolids.FLAT))
	if not faces.is_empty():
		_add_faces(body, faces)
	PhysicsServer3D.body_set_space(body, space)
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
	var pose := AmbuloAxes.pose(row[0] - _x, row[1] - _y, middle, yaw)
	PhysicsServer3D.body_add_shape(body, shape, pose)
	_shapes.append(shape)


func _add_faces(body: RID, corners: PackedFloat64Array) -> void:
	var points: PackedVector3Array = []
	for k in range(0, corners.size(), 9):
		for m: int in [0, 6, 3]:  # the engine's faces are clockwise
			var at := k + m
			points.append(
				AmbuloAxes.to_godot(corners[at] - _x, corners[at + 1] - _y, corners[at + 2])
			)
	var shape := PhysicsServer3D.concave_polygon_shape_create()
	PhysicsServer3D.shape_set_data(shape, {"faces": points, "backface_collision": true})
	PhysicsServer3D.body_add_shape(body, shape)
	_shapes.append(shape)
