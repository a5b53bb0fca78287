class_name AmbuloAgentsStep
extends RefCounted
## A step or reset of all agents of a scene: what each of them is to do, and what came of it.

## What becomes of an agent: it goes on whatever happens; it begins an episode with its seed if
## the one that it is in ends; it begins one after the step, whose outcome is dropped.
enum { GO_ON, IF_DONE, NOW }

## "AMB3" as little-endian uint32: begins the binary reply.
const MAGIC := 0x33424D41
## Ticks that are waited for agents that were freed to come back, as when a scene is reloaded.
const _GRACE := 8

var roster: AmbuloRoster
## No ticks of agents, but new episodes.
var is_reset := false
## The rule that an agent has broken, or "".
var problem := ""

var _tree: SceneTree
var _modes: PackedInt32Array = []
var _seeds: PackedInt32Array = []
var _ticks_left := 0
var _grace := 0
var _ended: PackedInt32Array = []
var _rewards: PackedFloat32Array = []
var _infos: Array[PackedFloat32Array] = []
var _finals: Array[Dictionary] = []
# Bodies of the tree, and whether others have come since they were looked for.
var _bodies: Array[Node] = []
var _has_new_bodies := true


## Steps of the agents that are in `tree` now; see the roster's problem first.
func _init(tree: SceneTree) -> void:
	_tree = tree
	_tree.node_added.connect(_note_new)
	roster = AmbuloRoster.new(tree)
	var count := roster.agents.size()
	_modes.resize(count)
	_seeds.resize(count)
	_ended.resize(count)
	_rewards.resize(count)
	_infos.resize(count)
	_finals.resize(count)


## Whether no agent is gone. Those that were freed are replaced by those that stand in the scene
## instead, if they are as many: a game may load its scene anew when an episode ends.
func has_all() -> bool:
	if roster.first_gone() == null:
		return true
	var now := AmbuloRoster.new(_tree)
	if not roster.is_like(now):
		return false
	for k in now.kinds.size():
		now.kinds[k].info_names = roster.kinds[k].info_names
	for at in now.agents.size():
		now.agents[at].seen = roster.agents[at].seen
		now.agents[at].begins_by_itself = true
		_ended[at] = AmbuloAgentAdapter.TERMINATED
	roster = now
	return true


## Reads mode and seed of each agent, as little-endian int32, and so many numbers after them.
func read_modes(body: PackedByteArray, numbers: int, fields: AmbuloFields) -> PackedFloat32Array:
	var head := 8 * _modes.size()
	if body.size() != head + 4 * numbers:
		fields.fail("body", "expected %d bytes, got %d" % [head + 4 * numbers, body.size()])
		return []
	var pairs := body.slice(0, head).to_int32_array()
	for at in _modes.size():
		_modes[at] = pairs[2 * at]
		_seeds[at] = pairs[2 * at + 1]
	return body.slice(head).to_float32_array()


## Sets the mode of all agents, and seeds from `first` on.
func choose(mode: int, first: int) -> void:
	_modes.fill(mode)
	for at in _seeds.size():
		_seeds[at] = first + at


## Begins episodes; whether `ticks` must go by before it can be finished.
func begin_reset(ticks: int) -> bool:
	is_reset = true
	var all := _modes.count(NOW) == _modes.size()
	if all:
		seed(_seeds[0])
	for at in _modes.size():
		if _modes[at] == NOW:
			roster.agents[at].restart(_seeds[at], not all)
	_move_bodies()
	_ticks_left = ticks
	_grace = 0
	return all and not roster.controllers.is_empty()


## Has the agents do `actions`, for `ticks`.
func begin(actions: PackedFloat32Array, ticks: int) -> void:
	is_reset = false
	_ended.fill(0)
	_ticks_left = ticks
	_grace = _GRACE
	for agent in roster.controllers:
		agent.look_ahead(ticks + _GRACE)
	var at := 0
	for kind in roster.kinds:
		for agent in kind.agents:
			var scripted := is_nan(actions[at])
			agent.act(agent.scripted_action() if scripted else kind.action_at(actions, at))
			at += kind.action_size


## Begins the next tick, unless all are over: then false. Some more come where agents begin anew.
func begin_tick() -> bool:
	if _ticks_left <= 0:
		if _grace <= 0:
			return false
		var all := has_all()
		if all and not roster.is_restarting():
			return false
		_grace -= _GRACE if all else 1
	_ticks_left -= 1
	for agent in roster.controllers:
		if is_instance_valid(agent.node) and (agent.is_near_limit or agent.node.get(&"done")):
			agent.begin_tick()
	return true


## Whether the tick that has begun is the last one, unless agents begin anew.
func is_last_tick() -> bool:
	return _ticks_left <= 0


## Asks the agents what came of it, and begins episodes; see [member problem] then.
func finish() -> void:
	if not has_all():
		problem = "agent %s was freed during the step" % roster.first_gone().path
		return
	var at := 0
	for kind in roster.kinds:
		for agent in kind.agents:
			_finals[at] = {}
			if is_reset:
				if _modes[at] == NOW:
					agent.settle()
				_ended[at] = 0
				_rewards[at] = 0.0
				_infos[at] = PackedFloat32Array()
			else:
				_take(at, kind, agent)
			at += 1
	if is_reset:
		return
	var some := false
	for k in _modes.size():
		if _modes[k] == NOW or (_modes[k] == IF_DONE and _ended[k] != 0):
			roster.agents[k].restart(_seeds[k], true)
			some = some or not roster.agents[k].begins_by_itself
	if some:
		_move_bodies()


func _take(at: int, kind: AmbuloAgentKind, agent: AmbuloAgentAdapter) -> void:
	if _ended[at] == 0:
		_ended[at] = agent.outcome()
	_rewards[at] = agent.take_reward()
	_infos[at] = kind.info_row(agent.info())
	if _modes[at] == NOW:
		_ended[at] = 0
		_rewards[at] = 0.0
	elif _ended[at] != 0 and _modes[at] == IF_DONE:
		_finals[at] = agent.last_observation()
		if _finals[at].is_empty():
			_finals[at] = agent.seen if agent.begins_by_itself else agent.observe()


# Bodies that were put somewhere are there for the physics only after the next tick otherwise.
func _move_bodies() -> void:
	if _has_new_bodies:
		_has_new_bodies = false
		_bodies = _tree.root.find_children("*", "CollisionObject3D", true, false)
		_bodies += _tree.root.find_children("*", "CollisionObject2D", true, false)
	for k in range(_bodies.size() - 1, -1, -1):
		if is_instance_valid(_bodies[k]):
			_bodies[k].call("force_update_transform")
		else:
			_bodies.remove_at(k)


func _note_new(node: Node) -> void:
	_has_new_bodies = _has_new_bodies or node is CollisionObject3D or node is CollisionObject2D


## Header, rewards, ends, observations, last ones of ended episodes, infos, pictures.
func binary_reply(step: int, script_errors: int) -> AmbuloReply:
	var rows := PackedFloat32Array()
	var infos := PackedFloat32Array()
	var pictures := PackedByteArray()
	var columns := 0
	var at := 0
	for kind in roster.kinds:
		var width := kind.info_names.size()
		columns += width
		for agent in kind.agents:
			agent.seen = agent.observe()
			_note(agent, kind.append(agent.seen, agent, rows, pictures))
			_infos[at].resize(width)
			infos.append_array(_infos[at])
			at += 1
	var count := _modes.size()
	var events := count - _ended.count(0) + _modes.count(NOW)
	at = 0
	for kind in roster.kinds if events > 0 else []:
		for agent in kind.agents:
			if not _finals[at].is_empty():
				_note(agent, kind.append(_finals[at], agent, rows, pictures))
			at += 1
	var numbers := 2 * count + rows.size() + infos.size()
	var head := [MAGIC, count, step, script_errors, columns, numbers, events, pictures.size()]
	var body := PackedInt32Array(head).to_byte_array()
	body.append_array(_rewards.to_byte_array())
	body.append_array(_ended.to_byte_array())
	body.append_array(rows.to_byte_array())
	body.append_array(infos.to_byte_array())
	body.append_array(pictures)
	return AmbuloReply.raw(body, AmbuloWire.MEDIA_TYPE)


## The same by name.
func json_reply(step: int) -> AmbuloReply:
	var list: Array[Dictionary] = []
	var at := 0
	for kind in roster.kinds:
		for agent in kind.agents:
			agent.seen = agent.observe()
			var info := {}
			for k in _infos[at].size():
				info[kind.info_names[k]] = _infos[at][k]
			var row := {
				"agent": agent.path,
				"kind": kind.name,
				"observation": _plain(kind, agent, agent.seen),
				"reward": _rewards[at],
				"terminated": _ended[at] == AmbuloAgentAdapter.TERMINATED,
				"truncated": _ended[at] == AmbuloAgentAdapter.TRUNCATED,
				"info": info,
			}
			if not _finals[at].is_empty():
				row["final_observation"] = _plain(kind, agent, _finals[at])
			list.append(row)
			at += 1
	return AmbuloReply.json({"step": step, "agents": list})


func _plain(kind: AmbuloAgentKind, agent: AmbuloAgentAdapter, seen: Dictionary) -> Dictionary:
	var rows := PackedFloat32Array()
	var pictures := PackedByteArray()
	_note(agent, kind.append(seen, agent, rows, pictures))
	var result := {}
	for part in kind.parts if problem == "" else []:
		var all: Array = Array(pictures) if part.is_picture else Array(rows)
		result[part.name] = all.slice(0, part.size)
		rows = rows.slice(0 if part.is_picture else part.size)
		pictures = pictures.slice(part.size if part.is_picture else 0)
	return result


func _note(agent: AmbuloAgentAdapter, rule: String) -> void:
	if rule != "" and problem == "":
		problem = "agent %s: %s" % [agent.path, rule]
