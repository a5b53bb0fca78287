class_name AmbuloAgentsApi
extends RefCounted
## The endpoints of the scene's own agents: what they are, reset, step (docs/godot_api.md).
##
## A step is answered after the ticks that it takes: the server calls [method begin_tick] before
## each of them, and [method finish] when [method is_finished].

## What becomes of an agent in a step: it goes on whatever happens; it begins an episode with its
## seed if the one that it is in ends; it begins one after the step, whose outcome is dropped.
enum { GO_ON, IF_DONE, NOW }

## "AMB2" as little-endian uint32: begins the binary reply.
const MAGIC := 0x32424D41
## Ticks of a step that neither a `Sync` node, an agent nor a request names.
const ACTION_REPEAT := 8
const MOST_REPEAT := 1000
const MOST_SPEED_UP := 100
## Ticks that are waited for agents that were freed to come back, as when a scene is reloaded.
const _GRACE := 8

const ErrorLog := preload("../error_log.gd")

## A step is under way.
var running := false
## Steps made since the engine started.
var steps := 0

var _tree: SceneTree
var _roster: AmbuloRoster
var _log := ErrorLog.new()
var _ticks_per_second := 0
var _action_repeat := 0
var _speed_up := 0
var _ticks_left := 0
var _grace := 0
var _answers_binary := false
var _modes: PackedInt32Array = []
var _seeds: PackedInt32Array = []
var _is_reset := false
var _ended: PackedInt32Array = []
var _rewards: PackedFloat32Array = []
var _infos: Array[PackedFloat32Array] = []
var _finals: Array[Dictionary] = []


## The endpoints for the scenes of `tree`.
func _init(tree: SceneTree) -> void:
	_tree = tree
	_ticks_per_second = Engine.physics_ticks_per_second
	OS.add_logger(_log)


## Put the endpoints on `router`.
func register(router: AmbuloRouter) -> void:
	router.add("GET", "/agents/spec", _get_spec)
	router.add("POST", "/agents/spec", _set_spec)
	router.add("POST", "/agents/reset", _reset, true)
	router.add("POST", "/agents/step", _step, true)


## A tick of the step begins.
func begin_tick() -> void:
	_ticks_left -= 1
	if _roster.has_controllers:
		for agent in _roster.agents:
			if is_instance_valid(agent.node):
				agent.begin_tick()


## Whether the ticks of the step are over; some more are let by where agents begin anew.
func is_finished() -> bool:
	if _ticks_left > 0:
		return false
	if _grace <= 0:
		return true
	var gone := _roster.first_gone() != null
	if gone:
		_regain()
		gone = _roster.first_gone() != null
	if not gone and not _is_restarting():
		return true
	_grace -= 1 if gone else _GRACE
	return false


## The answer to the step.
func finish() -> AmbuloReply:
	running = false
	steps += 0 if _is_reset else 1
	var gone := _roster.first_gone()
	if gone != null:
		_roster = null
		return AmbuloReply.fail(
			409, "agent_gone", "agent %s was freed during step %d" % [gone.path, steps]
		)
	_finals.clear()
	_finals.resize(_roster.agents.size())
	for at in _roster.agents.size():
		if _is_reset:
			_roster.agents[at].settle()
			_ended[at] = 0
		else:
			_take_outcome(at)
	_restart()
	return _answer()


func _take_outcome(at: int) -> void:
	var agent := _roster.agents[at]
	if _ended[at] == 0:
		_ended[at] = agent.outcome()
	_rewards[at] = agent.take_reward()
	if _modes[at] == NOW:
		_ended[at] = 0
		_rewards[at] = 0.0
	if _ended[at] != 0 and _modes[at] == IF_DONE:
		var last := agent.last_observation()
		if last.is_empty():
			last = agent.seen if agent.begins_by_itself else agent.observe()
		_finals[at] = last


# Begins episodes where they are asked for, and lets the physics see where things are put.
func _restart() -> void:
	_infos.clear()
	for kind in _roster.kinds:
		for agent in kind.agents:
			_infos.append(PackedFloat32Array() if _is_reset else kind.info_row(agent.info()))
	var some := false
	for at in _roster.agents.size():
		if _modes[at] == NOW or (_modes[at] == IF_DONE and _ended[at] != 0):
			if not _is_reset:
				_roster.agents[at].restart(_seeds[at], true)
				some = true
	if some:
		_move_bodies()


func _get_spec(_request: AmbuloRequest) -> AmbuloReply:
	if _roster == null or _roster.problem != "" or _roster.first_gone() != null:
		_look()
	return _described()


func _set_spec(request: AmbuloRequest) -> AmbuloReply:
	var fields := AmbuloFields.new()
	var keys: PackedStringArray = ["action_repeat", "speed_up"]
	var data := fields.table(request.json_object(fields), "body", "", keys, [])
	var repeat := _action_repeat
	var speed_up := _speed_up
	if data.get("action_repeat") != null:
		repeat = fields.whole(data["action_repeat"], "action_repeat", 1, MOST_REPEAT)
	if data.get("speed_up") != null:
		speed_up = fields.whole(data["speed_up"], "speed_up", 1, MOST_SPEED_UP)
	if fields.refusal != null:
		return fields.refusal
	_action_repeat = repeat
	_speed_up = speed_up
	_look()
	return _described()


func _look() -> void:
	_roster = AmbuloRoster.new(_tree)
	var count := _roster.agents.size()
	_modes.resize(count)
	_seeds.resize(count)
	_ended.resize(count)
	_rewards.resize(count)
	if _action_repeat == 0:
		_action_repeat = AmbuloSyncNode.action_repeat
		for agent in _roster.agents:
			if "action_repeat" in agent.node and not _roster.has_controllers:
				_action_repeat = maxi(_action_repeat, agent.node.get("action_repeat"))
		if _action_repeat <= 0:
			_action_repeat = ACTION_REPEAT
	if _speed_up == 0:
		_speed_up = maxi(1, roundi(AmbuloSyncNode.speed_up))
	# A frame has as many ticks as the speed-up, of the same duration as without.
	if AmbuloSyncNode.action_repeat > 0:
		_ticks_per_second = AmbuloSyncNode.TICKS_PER_SECOND
	Engine.physics_ticks_per_second = _ticks_per_second * _speed_up
	Engine.time_scale = _speed_up
	Engine.max_physics_steps_per_frame = maxi(8, _speed_up + 1)
	Engine.physics_jitter_fix = 0.0


func _described() -> AmbuloReply:
	if _roster.problem != "":
		return AmbuloReply.fail(409, "bad_agents", _with_script_error(_roster.problem))
	var scene := _tree.current_scene
	return AmbuloReply.json(
		{
			"api_version": AmbuloEngineApi.API_VERSION,
			"engine": AmbuloEngineApi.about(),
			"scene": "" if scene == null else scene.scene_file_path,
			"contract": "godot_rl" if _roster.has_controllers else "ambulo",
			"action_repeat": _action_repeat,
			"speed_up": _speed_up,
			"ticks_per_second": _ticks_per_second,
			"script_errors": _log.script_errors,
			"script_error": _script_error(),
			"kinds":
			_roster.kinds.map(func(kind: AmbuloAgentKind) -> Dictionary: return kind.to_dict()),
		}
	)


func _reset(request: AmbuloRequest) -> AmbuloReply:
	var refusal := _refusal()
	if refusal != null:
		return refusal
	var count := _roster.agents.size()
	if request.head.binary_body:
		if request.body.size() != 8 * count:
			return _wrong_size(8 * count, request.body.size())
		_read_modes(request.body)
	else:
		var fields := AmbuloFields.new()
		var data := fields.table(request.json_object(fields), "body", "", ["seed"], [])
		var first := fields.whole(data.get("seed", 0), "seed", 0, (1 << 31) - 1)
		if fields.refusal != null:
			return fields.refusal
		_modes.fill(NOW)
		for at in count:
			_seeds[at] = (first + at) & 0x7FFFFFFF
	_answers_binary = request.head.binary_reply
	var all := _modes.count(NOW) == count
	if all:
		seed(_seeds[0])
	for at in count:
		if _modes[at] == NOW:
			_roster.agents[at].restart(_seeds[at], not all)
	_move_bodies()
	_is_reset = true
	_ticks_left = 0
	_grace = 0
	if all and _roster.has_controllers:
		return _begin(_action_repeat)
	return finish()


func _step(request: AmbuloRequest) -> AmbuloReply:
	var refusal := _refusal()
	if refusal != null:
		return refusal
	var values: PackedFloat32Array
	if request.head.binary_body:
		var head := 8 * _roster.agents.size()
		var size := head + 4 * _action_numbers()
		if request.body.size() != size:
			return _wrong_size(size, request.body.size())
		_read_modes(request.body.slice(0, head))
		values = request.body.slice(head).to_float32_array()
	else:
		var fields := AmbuloFields.new()
		values = _json_actions(request, fields)
		if fields.refusal != null:
			return fields.refusal
		for at in _modes.size():
			_modes[at] = IF_DONE
			_seeds[at] = hash([steps, at]) & 0x7FFFFFFF
	_answers_binary = request.head.binary_reply
	_is_reset = false
	_ended.fill(0)
	var at := 0
	for kind in _roster.kinds:
		for agent in kind.agents:
			agent.act(kind.action_at(values, at))
			at += kind.action_size
	return _begin(_action_repeat)


func _begin(ticks: int) -> AmbuloReply:
	running = true
	_ticks_left = ticks
	_grace = _GRACE
	return AmbuloReply.later()


# Why neither reset nor step can be done, or null.
func _refusal() -> AmbuloReply:
	if _roster == null:
		_look()
	if _roster.problem != "":
		return AmbuloReply.fail(409, "bad_agents", _with_script_error(_roster.problem))
	var gone := _roster.first_gone()
	if gone == null:
		return null
	_regain()
	if _roster.first_gone() == null:
		return null
	_roster = null
	return AmbuloReply.fail(409, "agent_gone", "agent %s was freed" % gone.path)


func _read_modes(bytes: PackedByteArray) -> void:
	var pairs := bytes.to_int32_array()
	for at in _modes.size():
		_modes[at] = pairs[2 * at]
		_seeds[at] = pairs[2 * at + 1]


func _action_numbers() -> int:
	var sum := 0
	for kind in _roster.kinds:
		sum += kind.action_size * kind.agents.size()
	return sum


func _json_actions(request: AmbuloRequest, fields: AmbuloFields) -> PackedFloat32Array:
	var values := PackedFloat32Array()
	var data := fields.table(request.json_object(fields), "body", "", ["actions"], ["actions"])
	var names := PackedStringArray()
	for kind in _roster.kinds:
		names.append(kind.name)
	var tables := fields.table(data.get("actions"), "actions", "actions.", names, names)
	for kind in _roster.kinds:
		var key := "actions.%s" % kind.name
		var rows := fields.rows(tables.get(kind.name), key, kind.agents.size(), kind.action_size)
		values.append_array(PackedFloat32Array(Array(rows)))
	return values


func _wrong_size(expected: int, got: int) -> AmbuloReply:
	return AmbuloReply.fail(400, "bad_value", "expected %d bytes, got %d" % [expected, got], "body")


# Agents that were freed are replaced by those that stand in the scene instead, if they are as
# many: a game may load its scene anew when an episode ends.
func _regain() -> void:
	var now := AmbuloRoster.new(_tree)
	if not _roster.is_like(now):
		return
	for k in now.kinds.size():
		now.kinds[k].info_names = _roster.kinds[k].info_names
	for at in now.agents.size():
		var old := _roster.agents[at]
		if old.is_alive():
			continue
		now.agents[at].seen = old.seen
		now.agents[at].begins_by_itself = true
		_ended[at] = AmbuloAgentAdapter.TERMINATED
	_roster = now


func _is_restarting() -> bool:
	if not _roster.has_controllers or _is_reset:
		return false
	for agent in _roster.agents:
		if agent.is_restarting():
			return true
	return false


# Bodies that were put somewhere are there for the physics only after the next tick otherwise.
func _move_bodies() -> void:
	for type: String in ["CollisionObject3D", "CollisionObject2D"]:
		for body in _tree.root.find_children("*", type, true, false):
			body.call("force_update_transform")


func _answer() -> AmbuloReply:
	var rows := PackedFloat32Array()
	var pictures := PackedByteArray()
	var finals := 0
	var at := 0
	for kind in _roster.kinds:
		for agent in kind.agents:
			agent.seen = agent.observe()
			rows.append(_rewards[at] if not _is_reset else 0.0)
			rows.append(_ended[at])
			var info := _infos[at]
			info.resize(kind.info_names.size())
			rows.append_array(info)
			var problem := kind.append(agent.seen, agent, rows, pictures)
			if problem != "":
				return _bad_agent(agent, problem)
			at += 1
	at = 0
	for kind in _roster.kinds:
		for agent in kind.agents:
			if not _finals[at].is_empty():
				finals += 1
				var problem := kind.append(_finals[at], agent, rows, pictures)
				if problem != "":
					return _bad_agent(agent, problem)
			at += 1
	if not _answers_binary:
		return _json_answer()
	var infos := 0
	for kind in _roster.kinds:
		infos += kind.info_names.size()
	var head := PackedInt32Array(
		[MAGIC, _roster.agents.size(), steps, _log.script_errors, infos, rows.size(), finals]
	)
	head.append(pictures.size())
	var body := head.to_byte_array()
	body.append_array(rows.to_byte_array())
	body.append_array(pictures)
	return AmbuloReply.raw(body, AmbuloWire.MEDIA_TYPE)


func _json_answer() -> AmbuloReply:
	var list: Array[Dictionary] = []
	var at := 0
	for kind in _roster.kinds:
		for agent in kind.agents:
			var info := {}
			for k in kind.info_names.size():
				info[kind.info_names[k]] = _infos[at][k]
			var row := {
				"agent": agent.path,
				"kind": kind.name,
				"observation": _plain(kind, agent.seen),
				"reward": _rewards[at] if not _is_reset else 0.0,
				"terminated": _ended[at] == AmbuloAgentAdapter.TERMINATED,
				"truncated": _ended[at] == AmbuloAgentAdapter.TRUNCATED,
				"info": info,
			}
			if not _finals[at].is_empty():
				row["final_observation"] = _plain(kind, _finals[at])
			list.append(row)
			at += 1
	return AmbuloReply.json({"step": steps, "agents": list})


func _plain(kind: AmbuloAgentKind, seen: Dictionary) -> Dictionary:
	var result := {}
	for part in kind.parts:
		var value: Variant = seen[part.name]
		result[part.name] = Array(value if part.is_picture else AmbuloAgentValues.floats(value))
	return result


func _bad_agent(agent: AmbuloAgentAdapter, problem: String) -> AmbuloReply:
	var text := "agent %s: %s (step %d)" % [agent.path, problem, steps]
	_roster = null
	return AmbuloReply.fail(409, "bad_agent", _with_script_error(text))


func _script_error() -> String:
	if _log.script_error == "":
		return ""
	return "%s:%d: %s" % [_log.script_path, _log.script_line, _log.script_error]


func _with_script_error(text: String) -> String:
	return text if _log.script_error == "" else "%s; %s" % [text, _script_error()]
