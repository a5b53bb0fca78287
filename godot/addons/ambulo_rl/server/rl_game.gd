class_name AmbuloRlGame
extends RefCounted
## The endpoints of the published game: reset by seed, observation, action, state of an episode.

const _CONTINUOUS: PackedStringArray = [
	"type", "move_horizontal", "move_vertical", "rotate", "max_movement_speed", "max_rotation_speed"
]
const _DISCRETE: PackedStringArray = ["type", "action_index", "turn_angle", "move_distance"]
## The level of a game that names none.
const _DEFAULT_LEVEL := {
	"name": "default",
	"bounds": [-8, -8, 8, 8],
	"boxes":
	[
		{"center": [0, 8.1, 1], "half_size": [8.2, 0.1, 1]},
		{"center": [0, -8.1, 1], "half_size": [8.2, 0.1, 1]},
		{"center": [8.1, 0, 1], "half_size": [0.1, 8.2, 1]},
		{"center": [-8.1, 0, 1], "half_size": [0.1, 8.2, 1]},
		{"center": [3, 3, 1], "half_size": [0.5, 1.5, 1]},
		{"center": [-3, -2, 1], "half_size": [1.5, 0.5, 1], "yaw": 0.5},
	],
	"cylinders":
	[
		{"center": [-4, 4], "radius": 0.6, "height": 2},
		{"center": [4, -4], "radius": 0.6, "height": 2},
	],
	"goal_distance": [5, 12],
}

## The scene that agents may be in; null: there are only levels.
var scene: AmbuloSceneApi

var _rl: AmbuloRlApi
var _episodes: Dictionary[int, AmbuloEpisode] = {}
var _count := 0


## The game over the world of `rl`.
func _init(rl: AmbuloRlApi) -> void:
	_rl = rl
	rl.placed = _on_placed


## Put the endpoints on `router`.
func register(router: AmbuloRouter) -> void:
	router.add("POST", "/rl/reset", _reset, true)
	router.add("GET", "/rl/observation", _observation)
	router.add("POST", "/rl/action", _action)
	router.add("GET", "/rl/state", _state)


# Agents placed by a trainer: their episode begins there, with the level's goal if it has one.
func _on_placed(agents: PackedInt64Array, poses: PackedFloat64Array) -> void:
	if agents.is_empty():
		_episodes.clear()
		return
	for k in agents.size():
		var level: AmbuloLevel = null
		if _rl.world.scene() == null:
			level = _rl.world.level_of(_rl.world.slot_of(agents[k]))
		var episode := AmbuloEpisode.new()
		_count += 1
		episode.number = _count
		episode.began = _rl.decisions
		episode.origin = poses.slice(3 * k, 3 * k + 3)
		if level != null and not level.goal.is_empty():
			episode.goal = [level.goal[0], level.goal[1], level.goal_height]
		_episodes[agents[k]] = episode


func _reset(request: AmbuloRequest) -> AmbuloReply:
	var fields := AmbuloFields.new()
	if request.head.binary_body:
		return _rl.reset_agents(request, {}, fields)
	var data := request.json_object(fields)
	if fields.refusal != null:
		return fields.refusal
	if data.has("agents") or data.has("slots") or data.has("poses"):
		return _rl.reset_agents(request, data, fields)
	return _reset_game(data, fields)


func _reset_game(data: Dictionary, fields: AmbuloFields) -> AmbuloReply:
	fields.table(data, "body", "", ["seed", "level", "options"], [])
	var random := RandomNumberGenerator.new()
	random.randomize()
	if data.get("seed") != null:
		random.seed = fields.whole(data["seed"], "seed", 0, AmbuloFields.MAX_WHOLE)
	var options := _options(data.get("options"), fields)
	if fields.refusal != null:
		return fields.refusal
	var agent: int = options["agent"]
	if _rl.world.scene() != null:
		return _reset_in_scene(data, random, options)
	var level := _level(data.get("level"), agent, fields)
	if fields.refusal != null:
		return fields.refusal
	var problems := PackedStringArray()
	var drawn := AmbuloPlaces.in_level(level, random, AmbuloEpisode.GOAL_DISTANCE, problems)
	if drawn.is_empty():
		var rule := "%s in this level: name them in it" % problems[0]
		return AmbuloReply.fail(409, "no_free_place", rule, "level")
	var slot := AmbuloRlApi.MAX_SLOT + 1 + agent
	if data.get("level") != null or _rl.world.slot_of(agent) < 0:
		_rl.put_levels([slot], [level])
	else:
		slot = _rl.world.slot_of(agent)
	_rl.place([agent], [slot], drawn.slice(0, 3), drawn.slice(3, 4))
	return _begun(options, drawn.slice(4, 7))


# In a scene no level of ours is ever built: its markers or its free floor say where.
func _reset_in_scene(
	data: Dictionary, random: RandomNumberGenerator, options: Dictionary
) -> AmbuloReply:
	if data.get("level") != null:
		return AmbuloReply.fail(409, "in_scene", "the agents are in a scene", "level")
	if not scene.survey.is_alive():
		return AmbuloReply.fail(409, "bad_scene", "scene %s: is closed" % scene.path)
	var problems := PackedStringArray()
	var space := _rl.world.scene()
	var reach := AmbuloEpisode.GOAL_DISTANCE
	var drawn := AmbuloPlaces.in_scene(space, scene.survey, random, reach, problems)
	if drawn.is_empty():
		var rule := "scene %s: %s" % [scene.path, problems[0]]
		return AmbuloReply.fail(409, "no_free_place", rule)
	_rl.place([options["agent"]], [0], drawn.slice(0, 3), drawn.slice(3, 4))
	return _begun(options, drawn.slice(4, 7))


func _begun(options: Dictionary, goal: PackedFloat64Array) -> AmbuloReply:
	var agent: int = options["agent"]
	var episode := _episodes[agent]
	episode.goal = goal
	episode.max_steps = options["max_steps"]
	episode.goal_radius = options["goal_radius"]
	return AmbuloReply.json({"observation": _observed(agent), "state": _legacy_state(agent)})


func _options(value: Variant, fields: AmbuloFields) -> Dictionary:
	var given := {}
	if value != null:
		var allowed: PackedStringArray = ["agent", "max_steps", "goal_radius"]
		given = fields.table(value, "options", "options.", allowed, [])
	var last := _rl.world.num_agents - 1
	return {
		"agent": fields.whole(given.get("agent", 0), "options.agent", 0, last),
		"max_steps":
		fields.whole(
			given.get("max_steps", AmbuloEpisode.DEFAULT_MAX_STEPS),
			"options.max_steps",
			1,
			1_000_000_000
		),
		"goal_radius":
		fields.number(
			given.get("goal_radius", AmbuloEpisode.DEFAULT_GOAL_RADIUS),
			"options.goal_radius",
			0.01,
			1000.0
		),
	}


func _level(value: Variant, agent: int, fields: AmbuloFields) -> AmbuloLevel:
	if value == null:
		var level := _rl.world.level_of(_rl.world.slot_of(agent))
		if level != null:
			return level
		value = _DEFAULT_LEVEL
	var errors := PackedStringArray()
	var parsed := AmbuloLevel.from_dict(value, errors)
	if not errors.is_empty():
		fields.fail_line(errors[0], "level", "level")
	return parsed


func _observation(request: AmbuloRequest) -> AmbuloReply:
	var fields := AmbuloFields.new()
	var agent := _queried_agent(request, fields)
	if fields.refusal == null:
		_need_episode(agent, fields)
	if fields.refusal != null:
		return fields.refusal
	return AmbuloReply.json(_observed(agent))


func _state(request: AmbuloRequest) -> AmbuloReply:
	var fields := AmbuloFields.new()
	var agent := _queried_agent(request, fields)
	if fields.refusal != null:
		return fields.refusal
	var data := {"agents": _rl.world.num_agents, "slots": []}
	for k in _rl.world.num_agents:
		(data["slots"] as Array).append(_rl.world.slot_of(k))
	data.merge(_legacy_state(agent))
	return _rl.rows_reply(data, _rl.world.all_rows())


func _action(request: AmbuloRequest) -> AmbuloReply:
	var fields := AmbuloFields.new()
	var data := request.json_object(fields)
	if fields.refusal == null and _rl.world.num_agents != 1:
		fields.refuse(409, "many_agents", "several agents are stepped by /rl/step", "agents")
	if fields.refusal == null:
		_need_episode(0, fields)
	if fields.refusal != null:
		return fields.refusal
	var actions := (
		_discrete_action(data, fields)
		if _rl.world.spec.discrete
		else _continuous_action(data, fields)
	)
	if fields.refusal != null:
		return fields.refusal
	var refusal := _rl.decide(actions)
	if refusal != null:
		return refusal
	return (
		AmbuloReply
		. json(
			{
				"status": "ok",
				"tick": _rl.decisions,
				"observation": _observed(0),
				"state": _legacy_state(0),
			}
		)
	)


func _continuous_action(data: Dictionary, fields: AmbuloFields) -> PackedFloat64Array:
	var spec := _rl.world.spec
	fields.table(data, "body", "", _CONTINUOUS, _CONTINUOUS.slice(1, 4))
	_check_type(data, "continuous", fields)
	_check_same(data, "max_movement_speed", spec.max_speed, fields)
	_check_same(data, "max_rotation_speed", rad_to_deg(spec.max_yaw_rate), fields)
	var actions := PackedFloat64Array()
	for key in _CONTINUOUS.slice(1, 4):
		actions.append(fields.number(data.get(key), key, -1e6, 1e6))
	return actions


func _discrete_action(data: Dictionary, fields: AmbuloFields) -> PackedFloat64Array:
	var spec := _rl.world.spec
	fields.table(data, "body", "", _DISCRETE, ["action_index"])
	_check_type(data, "discrete", fields)
	_check_same(data, "turn_angle", rad_to_deg(spec.turn_angle), fields)
	_check_same(data, "move_distance", spec.move_distance, fields)
	return [float(fields.whole(data.get("action_index"), "action_index", 0, 6))]


func _check_type(data: Dictionary, expected: String, fields: AmbuloFields) -> void:
	if data.has("type") and (data["type"] is not String or data["type"] != expected):
		fields.fail("type", "this world's actions are %s; POST /rl/spec changes that" % expected)


# The published bodies repeat settings; the world has one setting for all.
func _check_same(data: Dictionary, key: String, own: float, fields: AmbuloFields) -> void:
	if data.has(key):
		var given := fields.number(data[key], key, 0.0, 1e6)
		if fields.refusal == null and absf(given - own) > 1e-6 * own:
			fields.fail(key, "the world has %s; POST /rl/spec changes it" % own)


func _queried_agent(request: AmbuloRequest, fields: AmbuloFields) -> int:
	var values := request.query_values()
	for name in values:
		if name != "agent":
			fields.refuse(400, "unknown_key", "unknown query; known is agent", name)
	var text: String = values.get("agent", "0")
	if not AmbuloHttpHead.is_digits(text) or text.length() > 9:
		fields.fail("agent", "expected a whole number")
		return 0
	return fields.whole(text.to_int(), "agent", 0, _rl.world.num_agents - 1)


func _need_episode(agent: int, fields: AmbuloFields) -> void:
	if _rl.world.slot_of(agent) < 0 or not _episodes.has(agent):
		fields.refuse(409, "not_reset", "agent %d is in no level: reset it first" % agent, "agent")
	elif _episodes[agent].goal.is_empty():
		fields.refuse(409, "no_goal", "agent %d has no goal: its level names none" % agent, "agent")


func _observed(agent: int) -> Dictionary:
	var world := _rl.world
	var row := world.state_rows([agent])
	var numbers := PackedFloat32Array()
	numbers.resize(AmbuloObservation.published_size(world.spec.num_rays))
	var episode := _episodes[agent]
	AmbuloObservation.write(
		row,
		episode.goal,
		episode.origin,
		world.spec.num_rays,
		world.spec.rays_in_head_frame,
		numbers,
		world.spec.eye_height
	)
	var data := {}
	var parts := AmbuloObservation.layout(world.spec.num_rays, false, "none")
	var at := 0
	for name: String in parts:
		var size: int = parts[name]
		data[name] = (
			numbers[at] if size == 1 and name != "ray_sensors" else numbers.slice(at, at + size)
		)
		at += size
	var tail := world.state_width - AmbuloWorld.TAIL
	data["collision"] = row[tail + AmbuloWorld.COLLISIONS] > 0.0
	data["fell"] = row[tail + AmbuloWorld.FELL] != 0.0
	return data


func _legacy_state(agent: int) -> Dictionary:
	if _rl.world.slot_of(agent) < 0 or not _episodes.has(agent):
		return {"episode": 0, "step": 0, "reward": null, "done": false, "info": {}}
	var episode := _episodes[agent]
	var row := _rl.world.state_rows([agent])
	var tail := _rl.world.state_width - AmbuloWorld.TAIL
	var steps := _rl.decisions - episode.began
	var reached := episode.is_reached(row)
	var fell := row[tail + AmbuloWorld.FELL] != 0.0
	var late := steps >= episode.max_steps
	return {
		"episode": episode.number,
		"step": steps,
		"reward": null,
		"done": reached or fell or late,
		"info":
		{
			"collision": row[tail + AmbuloWorld.COLLISIONS] > 0.0,
			"goal_reached": reached,
			"timeout": late and not reached and not fell,
			"fell": fell,
			"comfort_score": _comfort(row),
		},
	}


# 1, less what turning fast and moving fast cost.
func _comfort(row: PackedFloat64Array) -> float:
	var vx := row[AmbuloWorld.VELOCITY]
	var vy := row[AmbuloWorld.VELOCITY + 1]
	var score := 1.0
	if absf(row[AmbuloWorld.YAW_RATE]) > AmbuloContract.FAST_TURN:
		score -= AmbuloContract.FAST_TURN_COST
	var top := _rl.world.spec.max_speed
	if _rl.world.spec.teleport > 0.0:
		return score  # a teleport is not seen as motion
	if sqrt(vx * vx + vy * vy) > AmbuloContract.FAST_SHARE * top + 1e-9:
		score -= AmbuloContract.FAST_MOVE_COST
	return score
