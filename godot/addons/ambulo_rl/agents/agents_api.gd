class_name AmbuloAgentsApi
extends RefCounted
## The endpoints of the scene's own agents: what they are, reset, step (docs/godot_api.md).
##
## A step is answered after the ticks that it takes: the server calls [method begin_tick] before
## each of them, and [method finish] when it says that there are no more.

## Ticks of a step that neither a `Sync` node, an agent nor a request names.
const ACTION_REPEAT := 8
const MOST_REPEAT := 1000
const MOST_SPEED_UP := 100

const ErrorLog := preload("../error_log.gd")

## A step is under way.
var running := false
## Steps made since the engine started.
var steps := 0
## Draw only what is seen at the end of a step: drawing in software takes most of the time.
var draws_ends_only := false

var _tree: SceneTree
var _log := ErrorLog.new()
# The agents, and their step; null: not looked for yet.
var _step: AmbuloAgentsStep
var _ticks_per_second := 0
var _action_repeat := 0
var _speed_up := 0
var _answers_binary := false


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
	router.add("POST", "/agents/step", _make_step, true)


## Begins a tick of the step; false where it needs no more.
func begin_tick() -> bool:
	var goes_on := _step.begin_tick()
	if draws_ends_only:
		RenderingServer.render_loop_enabled = not goes_on or _step.is_last_tick()
	return goes_on


## The answer to the step.
func finish() -> AmbuloReply:
	running = false
	_step.finish()
	steps += 0 if _step.is_reset else 1
	var reply: AmbuloReply = null
	if _step.problem == "" and _answers_binary:
		reply = _step.binary_reply(steps, _log.script_errors)
	elif _step.problem == "":
		reply = _step.json_reply(steps)
	if _step.problem == "":
		return reply
	var text := "%s (step %d)" % [_step.problem, steps]
	_step = null
	return AmbuloReply.fail(409, "bad_agent", _with_script_error(text))


func _get_spec(_request: AmbuloRequest) -> AmbuloReply:
	var refusal := _refusal()
	return refusal if refusal != null else _described()


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
	_step = null
	return _get_spec(request)


# Looks for the agents, and sets the engine's clock.
func _look() -> void:
	_step = AmbuloAgentsStep.new(_tree)
	var roster := _step.roster
	if _action_repeat == 0:
		_action_repeat = AmbuloSyncNode.action_repeat
		for agent in roster.agents:
			if roster.controllers.is_empty():
				_action_repeat = maxi(_action_repeat, agent.node.get("action_repeat"))
		if _action_repeat <= 0:
			_action_repeat = ACTION_REPEAT
	if _speed_up == 0:
		_speed_up = maxi(1, roundi(AmbuloSyncNode.speed_up))
	if AmbuloSyncNode.action_repeat > 0:
		_ticks_per_second = AmbuloSyncNode.TICKS_PER_SECOND
	# A frame has as many ticks as the speed-up, of the same duration as without.
	Engine.physics_ticks_per_second = _ticks_per_second * _speed_up
	Engine.time_scale = _speed_up
	Engine.max_physics_steps_per_frame = maxi(8, _speed_up + 1)
	Engine.physics_jitter_fix = 0.0


func _described() -> AmbuloReply:
	var scene := _tree.current_scene
	var kinds: Array[Dictionary] = []
	for kind in _step.roster.kinds:
		kinds.append(kind.to_dict())
	return (
		AmbuloReply
		. json(
			{
				"api_version": AmbuloEngineApi.API_VERSION,
				"engine": AmbuloEngineApi.about(),
				"scene": "" if scene == null else scene.scene_file_path,
				"contract": "ambulo" if _step.roster.controllers.is_empty() else "godot_rl",
				"action_repeat": _action_repeat,
				"speed_up": _speed_up,
				"ticks_per_second": _ticks_per_second,
				"script_errors": _log.script_errors,
				"script_error": _script_error(),
				"kinds": kinds,
			}
		)
	)


func _reset(request: AmbuloRequest) -> AmbuloReply:
	var refusal := _refusal()
	if refusal != null:
		return refusal
	var fields := AmbuloFields.new()
	if request.head.binary_body:
		_step.read_modes(request.body, 0, fields)
	else:
		var data := fields.table(request.json_object(fields), "body", "", ["seed"], [])
		_step.choose(AmbuloAgentsStep.NOW, fields.whole(data.get("seed", 0), "seed", 0, 1 << 30))
	if fields.refusal != null:
		return fields.refusal
	_answers_binary = request.head.binary_reply
	if _step.begin_reset(_action_repeat):
		running = true
		return AmbuloReply.later()
	return finish()


func _make_step(request: AmbuloRequest) -> AmbuloReply:
	var refusal := _refusal()
	if refusal != null:
		return refusal
	var fields := AmbuloFields.new()
	var actions: PackedFloat32Array
	if request.head.binary_body:
		actions = _step.read_modes(request.body, _step.roster.action_size(), fields)
	else:
		actions = _json_actions(request, fields)
		_step.choose(AmbuloAgentsStep.IF_DONE, hash(steps) & 0x3FFFFFFF)
	if fields.refusal != null:
		return fields.refusal
	_answers_binary = request.head.binary_reply
	_step.begin(actions, _action_repeat)
	running = true
	return AmbuloReply.later()


# Why neither reset nor step can be done, or null.
func _refusal() -> AmbuloReply:
	if _step == null:
		_look()
	var problem := _step.roster.problem
	if problem == "" and not _step.has_all():
		problem = "agent %s was freed" % _step.roster.first_gone().path
	if problem == "":
		return null
	_step = null
	return AmbuloReply.fail(409, "bad_agents", _with_script_error(problem))


func _json_actions(request: AmbuloRequest, fields: AmbuloFields) -> PackedFloat32Array:
	var values := PackedFloat32Array()
	var data := fields.table(request.json_object(fields), "body", "", ["actions"], ["actions"])
	var names := PackedStringArray()
	for kind in _step.roster.kinds:
		names.append(kind.name)
	var tables := fields.table(data.get("actions"), "actions", "actions.", names, names)
	for kind in _step.roster.kinds:
		var key := "actions.%s" % kind.name
		var rows := fields.rows(tables.get(kind.name), key, kind.agents.size(), kind.action_size)
		values.append_array(PackedFloat32Array(Array(rows)))
	return values


func _script_error() -> String:
	if _log.script_error == "":
		return ""
	return "%s:%d: %s" % [_log.script_path, _log.script_line, _log.script_error]


func _with_script_error(text: String) -> String:
	return text if _log.script_error == "" else "%s; %s" % [text, _script_error()]
