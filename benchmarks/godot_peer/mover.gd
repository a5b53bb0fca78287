extends CharacterBody3D
## An agent after godot-rl's controller contract, in one node: it walks to a place between pillars,
## and sees by rays.

const SPEED := 3.0
const RAYS := 16
const SIGHT := 6.0
const ROOM := 5.5
const NEAR := 0.6

var done := false
var needs_reset := false
var reset_after := 900
var n_steps := 0
var reward := 0.0

var _move := Vector2.ZERO
var _target := Vector3.ZERO
var _left := 0.0


func _ready() -> void:
	add_to_group("AGENT")
	collision_layer = 2
	var shape := CollisionShape3D.new()
	var ball := SphereShape3D.new()
	ball.radius = 0.3
	shape.shape = ball
	add_child(shape)
	reset()


func _physics_process(_delta: float) -> void:
	n_steps += 1
	if n_steps > reset_after:
		needs_reset = true
		done = true
	if needs_reset:
		needs_reset = false
		reset()
	velocity = Vector3(_move.x, 0.0, _move.y) * SPEED
	move_and_slide()
	var left := position.distance_to(_target)
	reward += _left - left
	_left = left
	if left < NEAR:
		reward += 5.0
		_choose_target()


func get_obs() -> Dictionary:
	var way := _target - position
	var seen: Array[float] = [position.x / ROOM, position.z / ROOM, way.x / ROOM, way.z / ROOM]
	var space := get_world_3d().direct_space_state
	for k in RAYS:
		var ahead := Vector3.RIGHT.rotated(Vector3.UP, TAU * k / RAYS)
		var ray := PhysicsRayQueryParameters3D.create(position, position + SIGHT * ahead, 1)
		var hit := space.intersect_ray(ray)
		seen.append(1.0 if hit.is_empty() else position.distance_to(hit["position"]) / SIGHT)
	return {"obs": seen}


func get_obs_space() -> Dictionary:
	return {"obs": {"size": [get_obs()["obs"].size()], "space": "box"}}


func get_action_space() -> Dictionary:
	return {"move": {"size": 2, "action_type": "continuous"}}


func set_action(action: Dictionary) -> void:
	_move = Vector2(action["move"][0], action["move"][1]).limit_length()


func get_reward() -> float:
	return reward


func zero_reward() -> void:
	reward = 0.0


func get_done() -> bool:
	return done


func set_done_false() -> void:
	done = false


func reset() -> void:
	n_steps = 0
	position = _somewhere()
	_choose_target()


func _choose_target() -> void:
	_target = _somewhere()
	_left = position.distance_to(_target)


# A place that no pillar takes.
func _somewhere() -> Vector3:
	return Vector3(randf_range(-ROOM, ROOM), 0.0, (randi() % 3 - 1) * 4.0)
