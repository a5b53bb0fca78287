extends Node2D
## A controller by the contract of godot-rl, written for these tests: it walks along a line.

@export var reset_after := 12
@export var policy_name := "shared_policy"
@export var at_once := true
var done := false
var needs_reset := false
var reward := 0.0
var n_steps := 0
var heuristic := "human"
var goal := 0.0
var _speed := 0.0


func _ready() -> void:
	add_to_group("AGENT")


func _physics_process(_delta: float) -> void:
	n_steps += 1
	if needs_reset:
		reset()
	position.x += _speed
	if position.x >= 3.0:
		done = true
		reward += 1.0
		if at_once:
			reset()
		else:
			needs_reset = true
	elif n_steps >= reset_after:
		done = true
		reset()


func get_obs() -> Dictionary:
	return {"obs": [position.x, n_steps, goal]}


func get_obs_space() -> Dictionary:
	return {"obs": {"size": [len(get_obs()["obs"])], "space": "box"}}


func get_action_space() -> Dictionary:
	return {"speed": {"size": 1, "action_type": "continuous"}}


func set_action(action: Dictionary) -> void:
	assert(action["speed"] is Array)
	_speed = action["speed"][0]


func get_reward() -> float:
	return reward


func zero_reward() -> void:
	reward = 0.0


func get_done() -> bool:
	return done


func set_done_false() -> void:
	done = false


func set_heuristic(value: String) -> void:
	heuristic = value


func get_info() -> Dictionary:
	return {"is_success": position.x > 2.0}


func reset() -> void:
	needs_reset = false
	n_steps = 0
	position.x = 0.0
	goal = randf()
