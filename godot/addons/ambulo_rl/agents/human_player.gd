class_name AmbuloHumanPlayer
extends Node
## Plays the agent above it by the project's input actions (keyboard, gamepad), and records its
## episodes as JSON files for `ambulo train godot --demos FOLDER`.
##
## A number follows the input actions `<part>_left` and `<part>_right` (of two numbers the second
## `<part>_up` and `<part>_down`), a choice of two `<part>`, of more `<part>_1`, `<part>_2`...;
## where the project has none, `ui_left` and so on, and `ui_accept`. An agent with a method
## `get_human_action() -> Dictionary` is asked instead.

const FORMAT := "ambulo-demonstration"

var _adapter: AmbuloNodeAgent
var _kind: AmbuloAgentKind
var _folder := ""
var _repeat := 0
var _ticks := 0
var _episodes := 0
var _recording: Dictionary = {}


## Has `agent` played as its mode says, unless Python drives the game.
static func add_to(agent: Node) -> void:
	var mode: AmbuloAgent3D.Mode = agent.get("mode")
	var driven := AmbuloServerOptions.of_game(OS.get_cmdline_user_args()) != null
	if driven or Engine.is_editor_hint() or mode == AmbuloAgent3D.Mode.TRAIN:
		return
	var player: Node = AmbuloHumanPlayer.new()
	if mode == AmbuloAgent3D.Mode.PLAY:
		player = (load("res://addons/ambulo_rl/policy/agent_policy.gd") as GDScript).new()
		player.set("policy_path", agent.get("policy_path"))
	elif mode == AmbuloAgent3D.Mode.RECORD:
		player.set("_folder", agent.get("record_folder"))
	agent.add_child(player)


# Other nodes must be ready for it.
func _start() -> void:
	_adapter = AmbuloNodeAgent.new(get_parent())
	_kind = AmbuloAgentKind.new(_adapter)
	_repeat = maxi(1, get_parent().get("action_repeat"))
	if _adapter.problem != "":
		push_error("agent %s: %s" % [get_parent().name, _adapter.problem])
		set_physics_process(false)


func _physics_process(_delta: float) -> void:
	if _adapter == null:
		_start()
	if is_physics_processing() and _ticks % _repeat == 0:
		var ended := _ticks > 0 and _end_step()
		if ended or _ticks == 0:
			_begin()
		var seen := _adapter.observe()
		var action := _pressed()
		_note("observation", _kind.parts, seen)
		_note("action", _kind.actions, action)
		_adapter.act(action)
	_ticks += 1


# Whether the episode is over with this step.
func _end_step() -> bool:
	var outcome := _adapter.outcome()
	(_recording["reward"] as Array).append(_adapter.take_reward())
	if outcome != 0 and _folder != "":
		_recording["success"] = _adapter.info().get("success")
		DirAccess.make_dir_recursive_absolute(_folder)
		var moment := roundi(Time.get_unix_time_from_system())
		var name := "%s_%d_%d_%d.json" % [_kind.name, moment, get_instance_id(), _episodes]
		var file := FileAccess.open(_folder.path_join(name), FileAccess.WRITE)
		if file == null or not file.store_string(JSON.stringify(_recording)):
			push_error("%s: cannot be written" % _folder.path_join(name))
	return outcome != 0


func _begin() -> void:
	_episodes += 1
	_adapter.restart(randi() & 0x7FFFFFFF, true)
	_adapter.settle()
	_recording = {
		"format": FORMAT, "kind": _kind.name, "observation": {}, "action": {}, "reward": []
	}


func _note(key: String, parts: Array[AmbuloAgentPart], values: Dictionary) -> void:
	var table: Dictionary = _recording[key]
	for part in parts:
		var numbers: Variant = values.get(part.name)
		if not part.is_picture:
			numbers = AmbuloAgentValues.floats(numbers)
		(table.get_or_add(part.name, []) as Array).append(Array(numbers))


func _pressed() -> Dictionary:
	for owner: Node in [get_parent(), get_parent().get_parent()]:
		if owner.has_method("get_human_action"):
			return owner.call("get_human_action")
	var result := {}
	for part in _kind.actions:
		if part.choices > 0:
			result[part.name] = _choice(part)
			continue
		var numbers := PackedFloat32Array()
		numbers.resize(part.size)
		numbers[0] = _axis(part.name, "left", "right")
		if part.size > 1:
			numbers[1] = _axis(part.name, "up", "down")
		result[part.name] = numbers
	return result


func _choice(part: AmbuloAgentPart) -> int:
	for k in range(1, part.choices):
		var name := part.name if part.choices == 2 else "%s_%d" % [part.name, k]
		if Input.is_action_pressed(name if InputMap.has_action(name) else "ui_accept"):
			return k
	return 0


func _axis(part: String, less: String, more: String) -> float:
	var own := InputMap.has_action("%s_%s" % [part, less])
	var prefix := part if own else "ui"
	return Input.get_axis("%s_%s" % [prefix, less], "%s_%s" % [prefix, more])
