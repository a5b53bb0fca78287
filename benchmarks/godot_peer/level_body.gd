extends Node3D
## A level as static bodies: obstacles as tall prisms, and floor edges that only rays see.
## The same shapes as in our world.

const OBSTACLES := 1
const EDGES := 2
const BOTTOM := -2.0
const TOP := 4.0
const RIM := 10.0

## What is built here.
var level: AmbuloLevel
## The middle of the level, [m]: it lies at this node's origin.
var middle_x := 0.0
var middle_y := 0.0


## Builds [param new_level].
func build(new_level: AmbuloLevel) -> void:
	level = new_level
	var b := level.bounds
	middle_x = 0.5 * (b[0] + b[2])
	middle_y = 0.5 * (b[1] + b[3])
	var walls := _static_body(OBSTACLES)
	for k in range(0, level.boxes.size(), 7):
		if level.box_obstructs(k):
			var box := level.boxes
			_add_box(walls, box[k], box[k + 1], box[k + 3], box[k + 4], box[k + 6])
	for k in range(0, level.cylinders.size(), 4):
		if level.cylinder_obstructs(k):
			var drum := level.cylinders
			var shape := CapsuleShape3D.new()
			shape.height = TOP - BOTTOM + 2.0 * drum[k + 2]
			shape.radius = drum[k + 2]
			_add(walls, shape, drum[k], drum[k + 1], 0.0)
	var rims := _static_body(EDGES)
	for k in range(0, level.holes.size(), 4):
		var h := level.holes
		_add_rectangle(rims, h[k], h[k + 1], h[k + 2], h[k + 3])
	_add_rectangle(rims, b[0] - RIM, b[1] - RIM, b[0], b[3] + RIM)
	_add_rectangle(rims, b[2], b[1] - RIM, b[2] + RIM, b[3] + RIM)
	_add_rectangle(rims, b[0] - RIM, b[1] - RIM, b[2] + RIM, b[1])
	_add_rectangle(rims, b[0] - RIM, b[3], b[2] + RIM, b[3] + RIM)


func _static_body(layer: int) -> StaticBody3D:
	var body := StaticBody3D.new()
	body.collision_layer = layer
	body.collision_mask = 0
	add_child(body)
	return body


func _add_rectangle(body: StaticBody3D, x0: float, y0: float, x1: float, y1: float) -> void:
	_add_box(body, 0.5 * (x0 + x1), 0.5 * (y0 + y1), 0.5 * (x1 - x0), 0.5 * (y1 - y0), 0.0)


func _add_box(body: StaticBody3D, x: float, y: float, a: float, b: float, yaw: float) -> void:
	var shape := BoxShape3D.new()
	shape.margin = 0.0
	shape.size = Vector3(2.0 * b, TOP - BOTTOM, 2.0 * a)
	_add(body, shape, x, y, yaw)


func _add(body: StaticBody3D, shape: Shape3D, x: float, y: float, yaw: float) -> void:
	var place := CollisionShape3D.new()
	place.shape = shape
	place.transform = AmbuloAxes.pose(x - middle_x, y - middle_y, 0.5 * (TOP + BOTTOM), yaw)
	body.add_child(place)
