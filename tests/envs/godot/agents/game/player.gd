extends CharacterBody3D
## A player who jumps for ten coins.

const COINS := 10
var coins: Array[Vector3] = []
var _move := Vector2.ZERO
var _jump := false
@onready var agent: AmbuloAgent3D = $Agent


func _physics_process(delta: float) -> void:
	velocity.x = _move.x * 5.0
	velocity.z = _move.y * 5.0
	velocity.y = 5.0 if _jump and is_on_floor() else velocity.y - 9.8 * delta
	move_and_slide()
	for coin in coins.duplicate():
		if position.distance_to(coin) < 1.0:
			coins.erase(coin)
			agent.add_reward(1.0, "coin")
	agent.add_reward(-0.001, "time")
	if coins.is_empty():
		agent.end_episode(true)
	elif position.y < -5.0:
		agent.end_episode(false)


func get_observation() -> Dictionary:
	var nearest := Vector3.ZERO
	var best := INF
	for coin in coins:
		if position.distance_to(coin) < best:
			best = position.distance_to(coin)
			nearest = coin - position
	return {"coin": nearest / 10.0, "body": [position.y, is_on_floor()]}


func get_action_space() -> Dictionary:
	return {"move": {"size": 2}, "jump": {"discrete": 2}}


func set_action(action: Dictionary) -> void:
	_move = Vector2(action["move"][0], action["move"][1])
	_jump = action["jump"] == 1


func reset(_episode_seed: int) -> void:
	position = Vector3(0, 1, 0)
	velocity = Vector3.ZERO
	coins.clear()
	for _k in COINS:
		coins.append(Vector3(randf_range(-8, 8), randf_range(0.5, 2.0), randf_range(-8, 8)))
