class_name AmbuloPolicyNode
extends Node
## A trained policy that plays inside the engine, without Python.
##
## Set the file of `ambulo export --target godot`. Once per decision (ten times a second, see
## [method decision_seconds]) get an action from [method act] for an agent of an [AmbuloWorld] or
## from [method act_in_scene] for a body of your own scene. It remembers what each agent has seen;
## call [method reset] when an agent's episode restarts.

## Agent [param agent] starts or stops being lost, see [member lost_above]. Only of policies with a
## memory.
signal lost_changed(agent: int, is_lost: bool)

# Settings of a world whose change alters the meaning of the observation or the action, and settings
# whose change only makes the agent move in an unusual way: by stick, by discrete actions.
const _MUST_EQUAL: PackedStringArray = [
	"num_rays", "ray_length", "rays_see_edges", "rays_in_head_frame", "discrete"
]
const _STICK: PackedStringArray = [
	"max_speed",
	"max_yaw_rate",
	"smoothing",
	"dead_zone",
	"snap_turn",
	"snap_delay",
	"teleport",
	"teleport_delay",
	"eye_height",
]
const _STEPS: PackedStringArray = ["turn_angle", "move_distance", "eye_height"]
## Logit of being lost: constant, factor of ln(1 + decisions since the least distance to the goal)
## and of ln(1 + decisions spent in this 1 m cell). Equal to LOST of policies/agents/navigation.py,
## which documents their origin and accuracy.
const LOST: PackedFloat64Array = [-4.2, 0.3, 0.85]

## File of the policy.
@export_file("*.ambulo") var policy_path := ""
## Whether policies with a planner map and plan between two decisions, on another thread: a decision
## then takes 0.1 to 0.3 ms of this thread, and follows the plan of the decision before. Otherwise
## it takes 1 to 10 ms, and equals the trainer's bit for bit.
@export var plans_later := false
## Task of the agents, for a policy that was trained for several; loading one that was trained
## for a single task sets it.
@export_enum("navigate", "follow", "reach", "patrol") var task := 0

## Comfort dial of a policy that was trained with one, from 0 (fast) to 1 (comfortable); below 0:
## the file's default. It may change while agents walk. The limits of their sticks follow it, see
## [method dial].
@export_range(-1.0, 1.0) var comfort := -1.0:
	set(value):
		comfort = clampf(value, -1.0, 1.0)

## Probability above which an agent counts as lost.
@export_range(0.0, 1.0) var lost_above := 0.6
## Probability below which it no longer counts as lost; less than [member lost_above], to avoid
## flicker.
@export_range(0.0, 1.0) var lost_below := 0.4

## The last error of the file or the world; empty if there is none.
var error := ""
## The loaded file; null while no policy is loaded.
var file: AmbuloPolicyFile
## Probability that the agent of the last decision is lost, from 0 to 1; -1 before the first
## decision, and for policies without a memory. See [method lost_of] for several agents.
var lost := -1.0

var _mlp: AmbuloMlp
var _players: Dictionary[int, _Player] = {}
# Probability of being lost of each agent at its last decision, and the agents that count as lost.
var _lost: Dictionary[int, float] = {}
var _says_lost: Dictionary[int, bool] = {}
# Recurrent state of each agent.
var _states: Dictionary[int, PackedVector4Array] = {}
var _observation := PackedFloat32Array()
var _memory_at := 0
var _checked_spec: AmbuloSpec
# Height of the present goal's floor, NAN: that of the feet, [m].
var _floor_z := NAN
# Settings of the file's world without surroundings, for states that lack them.
var _flat: AmbuloSpec


func _ready() -> void:
	if file == null and policy_path != "" and not load_policy(policy_path):
		push_error(error)


## Load the policy in the file [param path]; false, with [member error] set, if it cannot
## be used. All agents are reset.
func load_policy(path: String) -> bool:
	file = null
	_mlp = null
	lost = -1.0
	_lost.clear()
	_says_lost.clear()
	_players.clear()
	_states.clear()
	_checked_spec = null
	error = ""
	var loaded := AmbuloPolicyFile.new()
	if not loaded.load_from(path):
		error = loaded.error
		return false
	var has_task_id := loaded.tasks.size() > 1
	var has_dial := loaded.observation.has("comfort")
	var layout := AmbuloObservation.layout(loaded.num_rays, has_task_id, loaded.memory, has_dial)
	if layout != loaded.observation or layout.keys() != loaded.observation.keys():
		error = "%s: observation: not what this add-on observes" % path
		return false
	_mlp = AmbuloMlp.from_file(loaded)
	if _mlp == null:
		error = "%s: the weights are not finite" % path
		return false
	file = loaded
	_flat = AmbuloSpec.from_dict(loaded.spec.to_dict().merged({"surroundings": false}, true), [])
	policy_path = path
	_observation.resize(loaded.observation_size)
	_memory_at = AmbuloObservation.published_size(loaded.num_rays)
	if loaded.tasks.size() == 1:
		task = AmbuloObservation.TASKS.find(loaded.tasks[0])
	if has_task_id:
		_memory_at += AmbuloObservation.TASKS.size()
	if has_dial:
		_memory_at += 1
	return true


## Time between two decisions in training, [s]; 0 without a policy.
func decision_seconds() -> float:
	return file.spec.decision_dt() if file != null else 0.0


## Strength of the stick limits, from 0 (none) to 1 (full): [member comfort], or 1 for a policy
## without a dial. For [method AmbuloCommand.aim].
func dial() -> float:
	if not has_dial():
		return 1.0
	return comfort if comfort >= 0.0 else file.comfort


## Whether the policy was trained with a comfort dial.
func has_dial() -> bool:
	return file != null and file.observation.has("comfort")


## Clear the memory of [param agent], whose episode restarts at its present place.
func reset(agent: int) -> void:
	_players.erase(agent)
	_states.erase(agent)
	_lost.erase(agent)
	if _says_lost.erase(agent):
		lost_changed.emit(agent, false)


## The action of [param agent] of [param world], whose goal is at x, y [m] on the floor at height
## [param floor_z], in the contract's axes: strafe, forward and rotation in [-1, 1], or the index of
## a discrete action. Empty, with [member error] set, if the policy does not fit the world. Sets the
## agent's dial in the world.
func act(world: AmbuloWorld, agent: int, goal: Vector2, floor_z := 0.0) -> PackedFloat64Array:
	if not _can_act() or not _has_place(world, agent):
		return PackedFloat64Array()
	var height := floor_z
	if AmbuloObservation.TASKS[task] == "reach":
		height += AmbuloContract.HAND_UP * file.spec.body_scale()
	world.comfort[agent] = dial()
	var row := world.state_rows(PackedInt64Array([agent]))
	_floor_z = floor_z
	var action := act_on_row(agent, row, PackedFloat64Array([goal.x, goal.y, height]))
	_floor_z = NAN
	return action


## The action of [param agent] whose state is [param row] (see [AmbuloObservation]) and
## whose goal is at [param goal] (x, y, z).
func act_on_row(
	agent: int, row: PackedFloat64Array, goal: PackedFloat64Array
) -> PackedFloat64Array:
	if not _can_act():
		return PackedFloat64Array()
	var width := AmbuloWorld.RAYS + file.num_rays
	if row.size() < width or goal.size() != 3:
		var sizes := [width, row.size(), goal.size()]
		_refuse("a row of at least %d numbers and a goal of 3 are needed, got %d and %d" % sizes)
		return PackedFloat64Array()
	return act_on_observation(observe(agent, row, goal), agent)


## The action for a whole observation of [param agent], as returned by [method observe]. Advances a
## recurrent policy by one decision of that agent.
func act_on_observation(observation: PackedFloat32Array, agent := 0) -> PackedFloat64Array:
	if not _can_act():
		return PackedFloat64Array()
	if observation.size() != file.observation_size:
		var sizes := [file.observation_size, observation.size()]
		_refuse("the policy observes %d numbers, got %d" % sizes)
		return PackedFloat64Array()
	if file.state_size > 0 and not _states.has(agent):
		_states[agent] = _mlp.new_state()
	var action := _mlp.act(observation, _states.get(agent, PackedVector4Array()))
	if file.follow_plan:
		_follow_plan(action, observation)
	if file.memory != "none":
		_note_lost(agent, observation)
	return action


## Probability that [param agent] was lost at its last decision; -1 before its first decision, and
## for policies without a memory.
func lost_of(agent: int) -> float:
	return _lost.get(agent, -1.0)


## Whether [param agent] counts as lost, see [member lost_above].
func is_lost(agent: int) -> bool:
	return _says_lost.has(agent)


## The action of a body of any scene, in Godot's axes.
##
## [param position] is its point on the floor, [param yaw] its heading about +Y (0 looks along -Z),
## [param velocity] [m/s] and [param yaw_rate] [rad/s] its motion, [param rays] the distances [m] to
## the surrounding obstacles, counter-clockwise from straight ahead (from -Z for a policy in the
## frame of the world), [param goal] a point on the floor. Empty, with [member error] set, if the
## policy needs other inputs.
func act_in_scene(
	agent: int,
	position: Vector3,
	yaw: float,
	velocity: Vector3,
	yaw_rate: float,
	rays: PackedFloat64Array,
	goal: Vector3
) -> PackedFloat64Array:
	if not _can_act():
		return PackedFloat64Array()
	if rays.size() != file.num_rays:
		_refuse("the policy needs %d rays, got %d" % [file.num_rays, rays.size()])
		return PackedFloat64Array()
	error = ""
	var row := AmbuloAxes.from_godot(position)
	row.append(yaw)
	row.append_array(AmbuloAxes.from_godot(velocity))
	row.append_array([yaw_rate, 0.0, 0.0, 0.0])
	row.append_array(rays)
	return act_on_row(agent, row, AmbuloAxes.from_godot(goal))


## Observation and memory features of [param agent] in the state [param row]; one decision. The
## array belongs to the node and is overwritten by the next call.
func observe(agent: int, row: PackedFloat64Array, goal: PackedFloat64Array) -> PackedFloat32Array:
	if not _players.has(agent):
		var memory := AmbuloMemory.new(file.memory, file.plan_reach)
		if memory.navigator() != null:
			memory.navigator().spreads = plans_later
		_players[agent] = _Player.new(memory, row[0], row[1], row[AmbuloWorld.YAW])
	var player := _players[agent]
	var head := file.frame == "head"
	var out := _observation
	var eyes := file.spec.eye_height
	AmbuloObservation.write(row, goal, player.origin, file.num_rays, head, out, eyes)
	if file.tasks.size() > 1:
		var at := AmbuloObservation.published_size(file.num_rays)
		for i in AmbuloObservation.TASKS.size():
			out[at + i] = 1.0 if i == task else 0.0
	if has_dial():
		out[_memory_at - 1] = dial()
	var tells := row.size() >= AmbuloWorld.RAYS + file.spec.sensed_size()
	var floor_goal := goal.duplicate()
	if AmbuloObservation.TASKS[task] == "reach":
		floor_goal[2] = row[2] if is_nan(_floor_z) else _floor_z
	var spec := file.spec if tells else _flat
	player.memory.update(row, floor_goal, player.origin, spec, out, _memory_at)
	return out


## The memory of [param agent], for tests and figures; null before its first decision.
func memory_of(agent: int) -> AmbuloMemory:
	return _players[agent].memory if _players.has(agent) else null


## Move as planned while the plan of [param observation] is not to walk on, or the stick of [param
## action] is at rest.
func _follow_plan(action: PackedFloat64Array, observation: PackedFloat32Array) -> void:
	var state := file.start_of("route_state")
	var stick := maxf(absf(action[0]), absf(action[1]))
	if observation[state + AmbuloSteering.WALK] > 0.0 and stick > file.spec.dead_zone:
		return
	var velocity := file.start_of("route_velocity")
	var ahead := observation[velocity] / AmbuloNavigatorFeatures.SPEEDS
	AmbuloActions.write_move(
		ahead, observation[velocity + 1] / AmbuloNavigatorFeatures.SPEEDS, file.spec, action
	)


## Update the probability that [param agent], which observes [param observation], is lost.
func _note_lost(agent: int, observation: PackedFloat32Array) -> void:
	var fields := AmbuloMemory.fields(file.memory)
	var last: int = _memory_at + fields.get("stay", fields.get("visits", 0)) - 1
	var since := maxf(observation[last], 0.0)
	var here := maxf(observation[last - 1], 0.0)
	var logit := LOST[0] + LOST[1] * log(1.0 + 100.0 * since) + LOST[2] * 5.0 * here
	lost = 1.0 / (1.0 + exp(-logit))
	_lost[agent] = lost
	if is_lost(agent) and lost < lost_below:
		_says_lost.erase(agent)
		lost_changed.emit(agent, false)
	elif not is_lost(agent) and lost > lost_above:
		_says_lost[agent] = true
		lost_changed.emit(agent, true)


## Whether a policy for the task is loaded; an error of its file is kept.
func _can_act() -> bool:
	if file == null:
		_refuse(error if error else "no policy is loaded")
		return false
	var name := AmbuloObservation.TASKS[task]
	if name not in file.tasks:
		_refuse("the policy was trained to %s, not to %s" % [", ".join(file.tasks), name])
		return false
	return true


## Whether the policy fits [param world], and [param agent] has been placed there.
func _has_place(world: AmbuloWorld, agent: int) -> bool:
	if world == null:
		_refuse("there is no world")
	elif not _fits(world.spec):
		return false
	elif agent < 0 or agent >= world.num_agents:
		_refuse("agent %d: the world has %d agents, counted from 0" % [agent, world.num_agents])
	elif world.slot_of(agent) < 0:
		_refuse("agent %d has no place yet: call AmbuloWorld.reset before act" % agent)
	else:
		return true
	return false


func _fits(spec: AmbuloSpec) -> bool:
	if spec == _checked_spec:
		return true
	for key in _MUST_EQUAL:
		if not _equal(spec.get(key), file.spec.get(key)):
			_refuse("the policy needs a world with %s = %s" % [key, file.spec.get(key)])
			return false
	if file.spec.surroundings and not spec.surroundings:
		_refuse("the policy needs a world with surroundings = true")
		return false
	if not _equal(spec.decision_dt(), file.spec.decision_dt()):
		var needed := file.spec.decision_dt()
		_refuse("the policy needs a world with ticks_per_decision * dt = %s s" % needed)
		return false
	for key in _STEPS if file.discrete else _STICK:
		if not _equal(spec.get(key), file.spec.get(key)):
			var values := [key, file.spec.get(key), spec.get(key)]
			push_warning("the policy was trained with %s = %s, the world has %s" % values)
	error = ""
	_checked_spec = spec
	return true


## Sets [member error], and reports it to the engine the first time.
func _refuse(reason: String) -> void:
	_checked_spec = null
	if error != reason:
		error = reason
		push_error(reason)


static func _equal(a: Variant, b: Variant) -> bool:
	if a is float:
		return absf(a - b) <= 1e-9 * maxf(absf(a), absf(b))
	return a == b


## State of one agent.
class _Player:
	extends RefCounted

	var origin: PackedFloat64Array
	var memory: AmbuloMemory

	func _init(own_memory: AmbuloMemory, x: float, y: float, yaw: float) -> void:
		origin = [x, y, yaw]
		memory = own_memory
