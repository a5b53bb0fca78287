class_name AmbuloRlApi
extends RefCounted
## The endpoints of training: spec, levels, reset, step, state, shutdown.

## Most agents of one engine.
const MAX_AGENTS := 65536
## Largest slot a trainer may use; beyond it are the slots of the game form of reset.
const MAX_SLOT := 999_999
## Numbers of a state row may be this large (a long fall), [m].
const MAX_STATE := 1e12

## The world that is stepped.
var world: AmbuloWorld
## Decisions made since the engine started.
var decisions := 0
## Resets made since the engine started.
var resets := 0
## A shutdown was asked for.
var quitting := false
## `func(agents: PackedInt64Array, poses: PackedFloat64Array)`: these agents were placed.
var placed := Callable()

# Some agent is in no level, so a step is refused. Looked up again when this may have changed.
var _unplaced := true


## The endpoints of `of_world`, which is configured already.
func _init(of_world: AmbuloWorld) -> void:
	world = of_world


## Put the endpoints on `router`.
func register(router: AmbuloRouter) -> void:
	router.add("GET", "/rl/spec", _get_spec)
	router.add("POST", "/rl/spec", _set_spec)
	router.add("POST", "/rl/levels", _set_levels)
	router.add("POST", "/rl/things", _set_things, true)
	router.add("POST", "/rl/comfort", _set_comfort)
	router.add("POST", "/rl/step", _step, true)
	router.add("POST", "/rl/state", _restore, true)
	router.add("POST", "/rl/shutdown", _shutdown)


## One decision of all agents, or the refusal; null: done.
func decide(actions: PackedFloat64Array) -> AmbuloReply:
	var problem := AmbuloActions.problem(actions, world.spec, world.num_agents)
	if problem != "":
		var fields := AmbuloFields.new()
		fields.fail_line(problem)
		return fields.refusal
	if _unplaced:
		_unplaced = _first_unplaced() >= 0
		if _unplaced:
			return AmbuloReply.fail(
				409,
				"not_reset",
				"agent %d is in no level: reset it first" % _first_unplaced(),
				"agents"
			)
	world.step_checked(actions)
	decisions += 1
	return null


## Place agents in levels or a scene, on the floors below `heights`, and tell who listens.
func place(
	agents: PackedInt64Array,
	slots: PackedInt64Array,
	poses: PackedFloat64Array,
	heights := PackedFloat64Array()
) -> void:
	world.reset(agents, slots, poses, heights)
	resets += agents.size()
	_unplaced = true
	if placed.is_valid():
		placed.call(agents, poses)


## Put `levels` into `slots`; agents that were there are in no level now.
func put_levels(slots: PackedInt64Array, levels: Array[AmbuloLevel]) -> void:
	world.set_levels(slots, levels)
	_unplaced = true


## All agents leave their places, for the physics space of a scene (none: for levels).
func use_scene(space: RID) -> void:
	world.use_scene_space(space)
	_unplaced = true
	if placed.is_valid():
		placed.call(PackedInt64Array(), PackedFloat64Array())


## The training form of reset: {"agents", "slots", "poses"}, or binary rows.
func reset_agents(request: AmbuloRequest, data: Dictionary, fields: AmbuloFields) -> AmbuloReply:
	var chosen: AmbuloRlPlacement
	var limit := AmbuloFields.MAX_NUMBER
	var width := 4 if world.scene() != null else AmbuloRlPlacement.pose_width(request, data)
	if request.head.binary_body:
		chosen = AmbuloRlPlacement.from_binary(request.body, width, limit, world, fields)
	else:
		chosen = AmbuloRlPlacement.from_json(data, "poses", width, limit, world, fields)
	if fields.refusal != null:
		return fields.refusal
	var poses := PackedFloat64Array()
	var heights := PackedFloat64Array()
	for k in range(0, chosen.rows.size(), width):
		poses.append_array(chosen.rows.slice(k, k + 3))
		if width == 4:
			heights.append(chosen.rows[k + 3])
	place(chosen.agents, chosen.slots, poses, heights)
	var rows := world.state_rows(chosen.agents)
	if request.head.binary_reply:
		return _binary_reply(chosen.agents.size(), rows)
	return rows_reply({"agents": Array(chosen.agents)}, rows)


## `data` and the rows under "states", split by agent.
func rows_reply(data: Dictionary, rows: PackedFloat64Array) -> AmbuloReply:
	var states: Array[PackedFloat64Array] = []
	for k in range(0, rows.size(), world.state_width):
		states.append(rows.slice(k, k + world.state_width))
	for x in rows:
		if not is_finite(x):
			return AmbuloReply.fail(500, "not_finite", "a state is not finite: reset", "states")
	data["states"] = states
	return AmbuloReply.json(data)


func _get_spec(_request: AmbuloRequest) -> AmbuloReply:
	return AmbuloReply.json(AmbuloSchema.of(world))


func _set_spec(request: AmbuloRequest) -> AmbuloReply:
	var fields := AmbuloFields.new()
	var data := fields.table(request.json_object(fields), "body", "", ["agents", "spec"], [])
	var agents := world.num_agents
	if data.has("agents"):
		agents = fields.whole(data["agents"], "agents", 1, MAX_AGENTS)
	var spec := world.spec
	if data.has("spec"):
		var errors := PackedStringArray()
		spec = AmbuloSpec.from_dict(data["spec"], errors)
		if not errors.is_empty():
			fields.fail_line(errors[0], "spec", "spec")
	if fields.refusal != null:
		return fields.refusal
	world.configure(agents, spec)
	_unplaced = true
	if placed.is_valid():
		placed.call(PackedInt64Array(), PackedFloat64Array())
	return AmbuloReply.json(AmbuloSchema.of(world))


func _set_levels(request: AmbuloRequest) -> AmbuloReply:
	var fields := AmbuloFields.new()
	if world.scene() != null:
		return AmbuloReply.fail(409, "in_scene", "the agents are in a scene: levels are not used")
	var keys: PackedStringArray = ["slots", "levels"]
	var data := fields.table(request.json_object(fields), "body", "", keys, keys)
	var slots := fields.wholes(data.get("slots"), "slots", 0, MAX_SLOT)
	var items := fields.entries(data.get("levels"), "levels", slots.size())
	var levels: Array[AmbuloLevel] = []
	for k in items.size():
		var errors := PackedStringArray()
		levels.append(AmbuloLevel.from_dict(items[k], errors))
		if not errors.is_empty():
			fields.fail_line(errors[0], "levels[%d]" % k, "level")
			break
	if fields.refusal != null:
		return fields.refusal
	put_levels(slots, levels)
	return AmbuloReply.json({"levels": levels.size()})


func _set_things(request: AmbuloRequest) -> AmbuloReply:
	var fields := AmbuloFields.new()
	if world.scene() != null:
		return AmbuloReply.fail(
			409, "in_scene", "the agents are in a scene, which moves its things"
		)
	if not request.head.binary_body:
		return AmbuloReply.fail(415, "media_type", "this endpoint takes rows", "content-type")
	var rows := _read_things(request.body, fields)
	if fields.refusal != null:
		return fields.refusal
	for agent in world.num_agents:
		world.set_things(agent, rows[agent])
	return AmbuloReply.json({"agents": world.num_agents})


# The rows of things of each agent, one after the other; not all of them after a refusal.
func _read_things(body: PackedByteArray, fields: AmbuloFields) -> Array[PackedFloat64Array]:
	var agents := world.num_agents
	var out: Array[PackedFloat64Array] = []
	out.resize(agents)
	var width := AmbuloThings.ROW + 1
	var values := AmbuloWire.read_rows(body, width, fields)
	for k in range(0, values.size(), width):
		var agent := int(values[k])
		if agent != values[k] or agent < 0 or agent >= agents:
			fields.fail("body", "row %d is of no agent" % (k / width))
			return out
		var row := values.slice(k + 1, k + width)
		var problem := AmbuloThings.problem(row)
		if problem.is_empty() and out[agent].size() >= AmbuloThings.MOST * AmbuloThings.ROW:
			problem = "more than %d things of an agent" % AmbuloThings.MOST
		if not problem.is_empty():
			fields.fail("body", "row %d: %s" % [k / width, problem])
			return out
		out[agent].append_array(row)
	return out


func _set_comfort(request: AmbuloRequest) -> AmbuloReply:
	var fields := AmbuloFields.new()
	var keys: PackedStringArray = ["comfort"]
	var data := fields.table(request.json_object(fields), "body", "", keys, keys)
	var dials := PackedFloat64Array()
	for item: Variant in fields.entries(data.get("comfort"), "comfort", world.num_agents):
		dials.append(fields.number(item, "comfort[%d]" % dials.size(), 0.0, 1.0))
	if fields.refusal != null:
		return fields.refusal
	world.comfort = dials
	return AmbuloReply.json({"agents": world.num_agents})


func _step(request: AmbuloRequest) -> AmbuloReply:
	var actions: PackedFloat64Array
	if request.head.binary_body:
		if request.body.size() % 8 != 0:
			return AmbuloReply.fail(
				400,
				"bad_value",
				"expected 8 bytes per number, got %d" % request.body.size(),
				"body"
			)
		actions = AmbuloWire.numbers(request.body)
	else:
		var fields := AmbuloFields.new()
		actions = _json_actions(request, fields)
		if fields.refusal != null:
			return fields.refusal
	var refusal := decide(actions)
	if refusal != null:
		return refusal
	if request.head.binary_reply:
		return _binary_reply(world.num_agents, world.all_rows())
	return rows_reply({"tick": decisions}, world.all_rows())


func _json_actions(request: AmbuloRequest, fields: AmbuloFields) -> PackedFloat64Array:
	var data := fields.table(request.json_object(fields), "body", "", ["actions"], ["actions"])
	if fields.refusal != null:
		return PackedFloat64Array()
	var value: Variant = data["actions"]
	if not world.spec.discrete:
		return fields.rows(value, "actions", world.num_agents, 3, MAX_STATE)
	return PackedFloat64Array(Array(fields.wholes(value, "actions", 0, 6, world.num_agents)))


func _restore(request: AmbuloRequest) -> AmbuloReply:
	var fields := AmbuloFields.new()
	var chosen: AmbuloRlPlacement
	var width := world.state_width
	if request.head.binary_body:
		chosen = AmbuloRlPlacement.from_binary(request.body, width, MAX_STATE, world, fields)
	else:
		var data := request.json_object(fields)
		chosen = AmbuloRlPlacement.from_json(data, "states", width, MAX_STATE, world, fields)
	if fields.refusal != null:
		return fields.refusal
	world.restore(chosen.agents, chosen.slots, chosen.rows)
	_unplaced = true
	return AmbuloReply.json({"agents": Array(chosen.agents)})


func _shutdown(_request: AmbuloRequest) -> AmbuloReply:
	quitting = true
	return AmbuloReply.json({"status": "shutting down"})


func _binary_reply(count: int, rows: PackedFloat64Array) -> AmbuloReply:
	return AmbuloReply.raw(
		AmbuloWire.rows(count, world.state_width, decisions, rows), AmbuloWire.MEDIA_TYPE
	)


func _first_unplaced() -> int:
	for agent in world.num_agents:
		if world.slot_of(agent) < 0:
			return agent
	return -1
