class_name AmbuloControllerAgent
extends AmbuloAgentAdapter
## An agent whose node follows the controller contract of godot-rl, in the group `AGENT`.
##
## Such a game begins its episodes anew by itself, often within the tick that ends them. What ends
## at the controller's own limit (`reset_after` ticks) is truncated; its last observation is taken
## before the tick that could be the last.

const _METHODS: PackedStringArray = [
	"get_obs",
	"get_obs_space",
	"get_action_space",
	"set_action",
	"get_reward",
	"zero_reward",
	"get_done",
	"set_done_false",
	"reset",
]
const _PICTURE := "2d"

## Its limit may be reached in this step.
var is_near_limit := false
var _has_limit := false
var _has_info := false
var _has_pictures := false
var _pictures: Dictionary[String, bool] = {}
# What happened since the last step: the game may begin anew before it is asked.
var _done := false
var _at_limit := false
var _last: Dictionary = {}


## The agent of `of_node`.
func _init(of_node: Node) -> void:
	node = of_node
	begins_by_itself = true
	kind = str(node.get("policy_name")) if "policy_name" in node else "shared_policy"
	_has_limit = "n_steps" in node and "reset_after" in node
	_has_info = node.has_method("get_info")
	for method in _METHODS:
		if not node.has_method(method):
			_fail("is in the group AGENT, and has no method %s" % method)
	if node.has_method("set_heuristic"):
		node.call("set_heuristic", "model")


func parts() -> Array[AmbuloAgentPart]:
	var result: Array[AmbuloAgentPart] = []
	var space := _table(node.call("get_obs_space"), "get_obs_space")
	for key: Variant in space:
		var entry: Variant = space[key]
		if entry is not Dictionary or entry.get("space", "box") not in ["box", "discrete"]:
			_fail("get_obs_space(): '%s': expected a box, got %s" % [key, str(entry).left(60)])
			return []
		var shape := PackedInt32Array([1])
		if entry.get("size") is Array and entry.get("space") != "discrete":
			shape = PackedInt32Array(entry["size"] as Array)
		var is_picture := _PICTURE in str(key)
		_pictures[str(key)] = is_picture
		_has_pictures = _has_pictures or is_picture
		result.append(AmbuloAgentPart.of(str(key), shape, is_picture))
	return result


func actions() -> Array[AmbuloAgentPart]:
	return _actions(node.call("get_action_space"))


func observe() -> Dictionary:
	var result := _table(node.call(&"get_obs"), "get_obs")
	for key: Variant in result if _has_pictures else {}:
		if result[key] is String and _pictures.get(str(key), false):
			result[key] = (result[key] as String).hex_decode()
	return result


func act(action: Dictionary) -> void:
	for key: Variant in action:
		if action[key] is PackedFloat32Array:
			action[key] = Array(action[key] as PackedFloat32Array)
	_done = false
	_at_limit = false
	_last = {}
	node.call(&"set_action", action)


## A step of at most [param ticks] begins.
func look_ahead(ticks: int) -> void:
	is_near_limit = _has_limit and _ticks_left() <= ticks + 1


func begin_tick() -> void:
	if _done:
		return
	if node.get(&"done"):
		_note_done()
	elif _has_limit:
		var ticks_left := _ticks_left()
		if absi(ticks_left) <= 1:
			_at_limit = true
			_last = observe()
		elif _at_limit and ticks_left > 1:  # it has begun anew, without a word
			_done = true
		else:  # beyond a limit that the game does not keep
			_at_limit = false


func take_reward() -> float:
	var reward := _number(node.call(&"get_reward"), "get_reward")
	node.call(&"zero_reward")
	return reward


func outcome() -> int:
	if not _done:
		if node.call(&"get_done"):
			_note_done()
		elif _at_limit:
			_done = node.get("needs_reset") or _ticks_left() > 1
	if not _done:
		return 0
	node.call("set_done_false")
	return TRUNCATED if _at_limit else TERMINATED


func info() -> Dictionary:
	return _table(node.call(&"get_info"), "get_info") if _has_info else {}


func restart(_episode_seed: int, alone: bool) -> void:
	if not alone:
		node.set("needs_reset", true)


func settle() -> void:
	if node.get("needs_reset"):
		node.call("reset")
	node.call("set_done_false")
	node.call("zero_reward")
	_done = false
	_at_limit = false
	_last = {}


func last_observation() -> Dictionary:
	return _last


func is_restarting() -> bool:
	return node.get(&"needs_reset") and (_done or _at_limit or node.get("done"))


func _ticks_left() -> int:
	return node.get(&"reset_after") - node.get(&"n_steps")


# The flag is up: unless the game has begun anew already, this is the last observation.
func _note_done() -> void:
	_done = true
	if node.get("needs_reset"):
		_last = observe()
