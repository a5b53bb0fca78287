extends AmbuloAgent2D
## Counts its steps, and breaks one rule of agents at the third of them.

@export var fault := ""
@export var observations := 2
@export var ends_at := 0
var steps := 0
var drawn := 0
var last_seed := -1


func get_observation() -> Variant:
	var numbers := PackedFloat32Array([steps, drawn % 1000])
	numbers.resize(observations)
	if steps == 3 and fault == "nan":
		numbers[1] = NAN
	if steps == 3 and fault == "longer":
		numbers.append(1.0)
	if steps == 3 and fault == "text":
		return "three"
	return numbers


func get_action_space() -> Dictionary:
	return {} if fault == "no_actions" else {"turn": {"discrete": 3}, "pick": {"discrete": 2}}


func set_action(action: Dictionary) -> void:
	steps += 1
	add_reward(0.5 * action["turn"], "turn")
	if steps != 3:
		return
	match fault:
		"freed":
			queue_free()
		"script":
			var nothing: Node = null
			nothing.get_name()
		"hang":
			while true:
				pass
		"quit":
			OS.kill(OS.get_process_id())


func get_reward() -> Variant:
	if steps == 3 and fault == "nan_reward":
		return NAN
	if steps == 3 and fault == "no_reward":
		return null
	return 0.0


func is_done() -> bool:
	return ends_at > 0 and steps >= ends_at


func reset(episode_seed: int) -> void:
	steps = 0
	last_seed = episode_seed
	drawn = randi()


func get_info() -> Dictionary:
	return {"success": steps == ends_at, "seed": last_seed % 1000}
