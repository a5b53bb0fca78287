extends CharacterBody3D
## Somebody who walks along the street, 8 m there and back.

var _way := 1.2


func _physics_process(_delta: float) -> void:
	if absf(position.x) > 4.0:
		_way = -signf(position.x) * absf(_way)
	velocity = Vector3(_way, 0.0, 0.0)
	move_and_slide()
