class_name AmbuloNodeAgent
extends AmbuloAgentAdapter
## An agent whose node is an [AmbuloAgent2D] or [AmbuloAgent3D].

const _METHODS: PackedStringArray = [
	"get_observation",
	"get_action_space",
	"set_action",
	"get_scripted_action",
	"get_reward",
	"is_done",
	"is_truncated",
	"reset",
	"get_info",
]

# Nothing stands there, [m] or [pixels].
const _FAR := 1e5

var _score: AmbuloAgentScore
# The object that has each method; absent: none.
var _owners: Dictionary[String, Object] = {}
var _sensors: Array[AmbuloSensor] = []
var _steps := 0
var _max_steps := 0


## The agent of `of_node`.
func _init(of_node: Node) -> void:
	node = of_node
	kind = str(node.get("kind"))
	_max_steps = node.get("max_steps")
	_score = node.get("score")
	var parent := node.get_parent()
	for method in _METHODS:
		if node.has_method(method):
			_owners[method] = node
		elif parent != null and parent.has_method(method):
			_owners[method] = parent
	for required: String in ["get_action_space", "set_action"]:
		if not _owners.has(required):
			_fail("neither it nor its parent has the method %s" % required)
	_find_sensors(node if _owners.get("get_action_space") == node else parent)


func is_alive() -> bool:
	for owner: Object in _owners.values():
		if not is_instance_valid(owner):
			return false
	return super()


func parts() -> Array[AmbuloAgentPart]:
	var result: Array[AmbuloAgentPart] = []
	var seen := observe()
	for key: Variant in seen:
		if seen[key] is PackedByteArray:
			continue  # of a sensor, below
		var numbers: Variant = AmbuloAgentValues.floats(seen[key])
		if numbers == null:
			_fail(
				(
					"get_observation(): '%s': expected numbers, got %s"
					% [key, AmbuloChecks.shown(seen[key])]
				)
			)
		elif not _is_of_sensor(str(key)):
			result.append(AmbuloAgentPart.of(str(key), [(numbers as PackedFloat32Array).size()]))
	for sensor in _sensors:
		if sensor.problem() != "":
			_fail("sensor %s: %s" % [sensor.name, sensor.problem()])
		result.append(sensor.part())
	if result.is_empty():
		_fail("it observes nothing: add get_observation() or a sensor below it")
	return result


func actions() -> Array[AmbuloAgentPart]:
	return _actions(_call("get_action_space"))


func observe() -> Dictionary:
	var result := {}
	if _owners.has("get_observation"):
		var value: Variant = _call("get_observation")
		if value is Dictionary:
			result = value if _sensors.is_empty() else (value as Dictionary).duplicate()
		elif value == null:
			_fail("get_observation(): returned nothing")
		else:
			result = {"obs": value}
	for sensor in _sensors:
		result[str(sensor.name)] = sensor.observe()
	return result


func act(action: Dictionary) -> void:
	_score.clear_terms()
	_owners["set_action"].call("set_action", action)
	_steps += 1


func has_script() -> bool:
	return _owners.has("get_scripted_action")


func scripted_action() -> Dictionary:
	return _table(_call("get_scripted_action"), "get_scripted_action")


func take_reward() -> float:
	var reward := _score.sum
	_score.sum = 0.0
	if _owners.has("get_reward"):
		reward += _number(_call("get_reward"), "get_reward")
	return reward


func outcome() -> int:
	if _score.ended or (_owners.has("is_done") and _number(_call("is_done"), "is_done") != 0.0):
		return TERMINATED
	if _max_steps > 0 and _steps >= _max_steps:
		return TRUNCATED
	if _owners.has("is_truncated") and _number(_call("is_truncated"), "is_truncated") != 0.0:
		return TRUNCATED
	return 0


func info() -> Dictionary:
	var result := {}
	if _owners.has("get_info"):
		result = _table(_call("get_info"), "get_info")
	if _score.success != null or not _score.terms.is_empty():
		result = result.duplicate()
		if _score.success != null:
			result["success"] = _score.success
		if not _score.terms.is_empty():
			var terms: Dictionary = result.get("reward_terms", {})
			result["reward_terms"] = terms.merged(Dictionary(_score.terms))
	return result


func restart(episode_seed: int, _alone: bool) -> void:
	seed(episode_seed)
	_steps = 0
	_score.clear()
	if _owners.has("reset"):
		var owner := _owners["reset"]
		if owner.get_method_argument_count("reset") == 0:
			owner.call("reset")
		else:
			owner.call("reset", episode_seed)
	_leave_floor(node)
	_leave_floor(node.get_parent())


func settle() -> void:
	_score.clear()
	take_reward()


# A body knows floor and walls of its last move until the next one: it makes one far from all.
static func _leave_floor(body: Node) -> void:
	if body is not CharacterBody3D and body is not CharacterBody2D:
		return
	var place: Variant = body.get("transform")
	var velocity: Variant = body.get("velocity")
	var up: Variant = Vector3.UP if body is CharacterBody3D else Vector2.UP
	body.set("velocity", up * 0.0)
	body.set("global_position", up * _FAR)
	body.call("move_and_slide")
	body.set("transform", place)
	body.set("velocity", velocity)


func _call(method: String) -> Variant:
	return _owners[method].call(method)


func _find_sensors(below: Node) -> void:
	for child in below.get_children():
		if child is AmbuloSensor:
			_sensors.append(child)
		if child == node or not child.is_in_group(AmbuloRoster.GROUP):
			_find_sensors(child)


func _is_of_sensor(part: String) -> bool:
	for sensor in _sensors:
		if str(sensor.name) == part:
			return true
	return false
