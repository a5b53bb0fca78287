extends "peer.gd"
## A room with pillars in two rows, in which agents after godot-rl's contract walk.

const Mover := preload("mover.gd")
const SIZE := 12.0

@export var agents := 1


func _ready() -> void:
	for side: float in [-0.5, 0.5]:
		_add_box(Vector3(side * SIZE, 0.0, 0.0), Vector3(0.2, 1.0, SIZE))
		_add_box(Vector3(0.0, 0.0, side * SIZE), Vector3(SIZE, 1.0, 0.2))
		for k in 5:
			_add_box(Vector3(2.2 * (k - 2), 0.0, 4.0 * side), Vector3(0.8, 1.0, 0.8))
	for k in agents:
		add_child(Mover.new())
	super()


func _add_box(place: Vector3, size: Vector3) -> void:
	var body := StaticBody3D.new()
	var shape := CollisionShape3D.new()
	var box := BoxShape3D.new()
	box.size = size
	shape.shape = box
	body.position = place
	body.add_child(shape)
	add_child(body)
