extends AnimatableBody3D
## A wall that sweeps along the street at SPEED, and back.

const SPEED := 1.5
const REACH := 16.0

var _time := 0.0


func _physics_process(delta: float) -> void:
	_time += delta
	position.x = -8.0 + pingpong(SPEED * _time, REACH)
