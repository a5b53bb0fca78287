extends CharacterBody3D
## A player of the platformer: it walks, jumps and takes the coins that it touches.

const Islands := preload("platformer.gd")
const SPEED := 5.0
const JUMP := 6.5
const GRAVITY := 16.0
const FEELERS := 8

var _wish := Vector2.ZERO
var _jumps := false
var _coins: PackedVector3Array = []

@onready var _agent: AmbuloAgent3D = get_child(-1)


func get_action_space() -> Dictionary:
	return {"move": {"size": 2}, "jump": {"discrete": 2}}


func set_action(action: Dictionary) -> void:
	_wish = Vector2(action["move"][0], action["move"][1]).limit_length()
	_jumps = action["jump"] == 1


func get_observation() -> Dictionary:
	var near := _nearest()
	return {
		"body": [velocity.x / SPEED, velocity.y / JUMP, velocity.z / SPEED, float(is_on_floor())],
		"coin": near[0] / 5.0,
		"next_coin": near[1] / 5.0,
		"floor": _feel(),
	}


func is_done() -> bool:
	return position.y < -1.0 or _coins.is_empty()


func get_info() -> Dictionary:
	return {"success": _coins.is_empty()}


## What a player without training does: it walks to the nearest coin, and jumps if that is higher.
func get_scripted_action() -> Dictionary:
	var way := _nearest()[0]
	var wish := Vector2(way.x, way.z).normalized()
	return {"move": PackedFloat32Array([wish.x, wish.y]), "jump": int(way.y > 0.5)}


func reset(episode_seed: int) -> void:
	var rng := RandomNumberGenerator.new()
	rng.seed = episode_seed
	position = Islands.place(0, rng.randf_range(-1.0, 1.0), rng.randf_range(-1.0, 1.0))
	velocity = Vector3.ZERO
	_coins.clear()
	for k in Islands.COINS:
		var aside := rng.randf_range(-1.6, 1.6)
		_coins.append(Islands.place(k % Islands.ISLANDS, aside, rng.randf_range(-1.6, 1.6)))


func _physics_process(delta: float) -> void:
	velocity = Vector3(_wish.x * SPEED, velocity.y - GRAVITY * delta, _wish.y * SPEED)
	if _jumps and is_on_floor():
		velocity.y = JUMP
	var left := _distance()
	move_and_slide()
	_agent.add_reward(0.3 * (left - _distance()), "nearer")
	for k in range(_coins.size() - 1, -1, -1):
		if position.distance_to(_coins[k]) < 0.9:
			_coins.remove_at(k)
			_agent.add_reward(1.0, "coins")


# How far the nearest coin is, [m].
func _distance() -> float:
	var ways := Array(_coins).map(position.distance_to)
	return 0.0 if ways.is_empty() else ways.min()


# The ways to the two nearest coins, [m].
func _nearest() -> Array[Vector3]:
	var ways: Array[Vector3] = []
	ways.assign(Array(_coins).map(func(coin: Vector3) -> Vector3: return coin - position))
	ways.sort_custom(func(a: Vector3, b: Vector3) -> bool: return a.length() < b.length())
	while ways.size() < 2:
		ways.append(Vector3.ZERO if ways.is_empty() else ways[0])
	return ways.slice(0, 2)


# Whether there is floor 0.9 m away in each of some directions.
func _feel() -> PackedFloat32Array:
	var found := PackedFloat32Array()
	var space := get_world_3d().direct_space_state
	for k in FEELERS:
		var aside := Vector3(0.9, 1.0, 0.0).rotated(Vector3.UP, TAU * k / FEELERS)
		var from := global_position + aside
		var ray := PhysicsRayQueryParameters3D.create(from, from + Vector3.DOWN * 2.5)
		found.append(float(not space.intersect_ray(ray).is_empty()))
	return found
