class_name AmbuloPolicy
extends Node
## Plays an agent of the game with a trained policy, without Python.
##
## Put it below an [AmbuloAgent2D], an [AmbuloAgent3D] or a controller of godot-rl, or anywhere and
## set [member agent]: it then observes, acts and restarts episodes by itself. Without an agent,
## call [method act] with your own observations.

## File of `ambulo export MODEL --out FILE.ambulo`.
@export_file("*.ambulo") var policy_path := ""
## Kind of agent in the file; "": that of the agent, or the only kind in the file.
@export var kind := ""
## The controlled agent; empty: none.
@export var agent := ^".."
## Whether to use mean and most likely actions; otherwise actions are sampled as in training.
@export var deterministic := true
## Physics ticks per environment step; 0: as in training.
@export_range(0, 1000) var action_repeat := 0

## The last error; empty if there is none.
var error := ""

var _network: AmbuloAgentNetwork
var _adapter: AmbuloAgentAdapter
var _states: Dictionary[int, PackedVector4Array] = {}
var _ticks := 0
var _episodes := 0


func _ready() -> void:
	var node := get_node_or_null(agent)
	if node != null and node.is_in_group(AmbuloRoster.GROUP):
		_adapter = AmbuloNodeAgent.new(node)
	elif node != null and node.is_in_group(AmbuloRoster.CONTROLLERS):
		_adapter = AmbuloControllerAgent.new(node)
	if kind == "" and _adapter != null:
		kind = _adapter.kind.get_slice("@", 0)
	if policy_path != "" and not load_policy(policy_path):
		push_error(error)


## Load the policy in the file [param path]; false, with [member error] set, if it cannot be used.
func load_policy(path: String) -> bool:
	_network = null
	_states.clear()
	var file := AmbuloGameFile.new()
	if not file.load_from(path):
		error = file.error
		return false
	for row in file.agents:
		if kind == row.name or (kind == "" and file.agents.size() == 1):
			_network = AmbuloAgentNetwork.from_kind(row, file.weights)
	if _network == null:
		var names := file.agents.map(func(row: Dictionary) -> String: return row.name)
		error = "%s: plays %s, not '%s'" % [path, ", ".join(PackedStringArray(names)), kind]
		return false
	if action_repeat == 0:
		action_repeat = file.action_repeat
	policy_path = path
	error = ""
	return true


## The action for the named observation [param seen]: a [PackedFloat32Array] of numbers in [-1, 1],
## or an int for a discrete action. [param who] identifies the agent whose recurrent state is used.
## Empty, with [member error] set, if the observation does not fit.
func act(seen: Dictionary, who := 0) -> Dictionary:
	if _network == null:
		return _refuse(error if error else "no policy is loaded")
	if not _states.has(who):
		_states[who] = _network.new_state()
	var action := _network.act(seen, _states[who], deterministic)
	if _network.error != "":
		return _refuse(_network.error)
	error = ""
	return action


## Clears the recurrent state of agent [param who] at the start of an episode.
func reset(who := 0) -> void:
	_states.erase(who)


func _physics_process(_delta: float) -> void:
	if _adapter == null or _network == null or not _adapter.is_alive():
		return
	if _ticks % action_repeat == 0:
		if _ticks == 0 or _adapter.outcome() != 0:
			_adapter.restart(hash([get_instance_id(), _episodes]) & 0x7FFFFFFF, true)
			_adapter.settle()
			_episodes += 1
			reset()
		_adapter.take_reward()
		var action := act(_adapter.observe())
		if error == "":
			_adapter.act(action)
	_adapter.begin_tick()
	_ticks += 1


## Sets [member error], and reports it to the engine the first time.
func _refuse(reason: String) -> Dictionary:
	if error != reason:
		error = reason
		push_error(reason)
	return {}
