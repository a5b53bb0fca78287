class_name AmbuloWorldPlaces
extends RefCounted
## State and place of the agents of an [AmbuloWorld]: the state row of each, 64-bit floats, and its
## level or user's scene with the moving obstacles there.

const POSITION := 0
const YAW := 3
const VELOCITY := 4
const YAW_RATE := 7
const COMMAND := 8
const RAYS := 11
## Offsets from the end of the sensor readings:
const PATH := 0
const CONTACT_TICKS := 1
const COLLISIONS := 2
const SINCE_CONTACT := 3
const PEOPLE_TICKS := 4
const PEOPLE_COLLISIONS := 5
const SINCE_PERSON := 6
const MOVES := 7
const SNAPS := 8
const COOLDOWN := 9
const FELL := 11
const FALLING := 12
const TAIL := 13

## Fewest physics spaces of levels that are kept; at least one per agent is.
const KEPT := 32

## Number of agents.
var num_agents := 0
## Settings.
var spec := AmbuloSpec.new()
## 64-bit floats per agent, see [method state_layout].
var state_width := 0

## Response of the agents to their sticks; null: immediate, as in the contract.
var twin: AmbuloTwin

var _rows: PackedFloat64Array = []
var _step := AmbuloStep.new()
var _slots: PackedInt64Array = []
# Levels by slot, and their spaces, built when agents enter; the least recently used first.
var _levels: Dictionary[int, AmbuloLevel] = {}
var _built: Dictionary[int, AmbuloLevelSpace] = {}
var _spaces: Array[AmbuloSpace] = []
var _scene: AmbuloSpace
# Moving obstacles in the level of each agent; null: none.
var _things: Array[AmbuloThings] = []
# Carrier of each agent in a scene; null: none is known.
var _rides: Array[AmbuloSceneThings.Ride] = []


## Name, first index and length of each part of a state row.
static func state_layout(of: AmbuloSpec) -> Array[Dictionary]:
	var parts: Array[Array] = [
		["position", 3],
		["yaw", 1],
		["velocity", 3],
		["yaw_rate", 1],
		["command", 3],
		["rays", of.num_rays],
	]
	if of.surroundings:
		parts.append(["ray_ends", of.num_rays])
		parts.append(["ray_floors", of.num_rays * AmbuloContract.FLOOR_PARTS])
		parts.append(["movers", AmbuloContract.MOVERS_SEEN * AmbuloContract.MOVER_COLUMNS])
	parts += [
		["path", 1],
		["contact_ticks", 1],
		["collisions", 1],
		["since_contact", 1],
		["people_ticks", 1],
		["people_collisions", 1],
		["since_person", 1],
		["moves", 1],
		["snaps", 1],
		["cooldown", 2],
		["fell", 1],
		["falling", 1],
	]
	var layout: Array[Dictionary] = []
	var start := 0
	for part in parts:
		layout.append({"name": part[0], "start": start, "size": part[1]})
		start += part[1]
	return layout


## Copies of the state rows of [param agents], one after the other.
func state_rows(agents: PackedInt64Array) -> PackedFloat64Array:
	var rows := PackedFloat64Array()
	for agent in agents:
		rows.append_array(_rows.slice(agent * state_width, (agent + 1) * state_width))
	return rows


## A copy of the state rows of all agents.
func all_rows() -> PackedFloat64Array:
	return _rows.duplicate()


## Puts [param levels] into [param slots]. Agents in a replaced slot must be reset before
## they are stepped.
func set_levels(slots: PackedInt64Array, levels: Array[AmbuloLevel]) -> void:
	for k in slots.size():
		var slot := slots[k]
		_levels[slot] = levels[k]
		_built.erase(slot)
		for agent in num_agents:
			if _slots[agent] == slot:
				_slots[agent] = -1
				_spaces[agent] = null


## Moves all agents into the 3D scene behind [param space] (World3D.space); see
## [AmbuloSpace] for its settings. An invalid RID goes back to levels.
func use_scene_space(space: RID) -> AmbuloSpace:
	_slots.fill(-1)
	for agent in num_agents:
		_spaces[agent] = null
	_scene = null
	if space.is_valid():
		_scene = AmbuloSpace.new(space)
	return _scene


## The scene of all agents, or null.
func scene() -> AmbuloSpace:
	return _scene


## Whether agents can be placed in [param slot].
func has_slot(slot: int) -> bool:
	return _scene != null or _levels.has(slot)


## The slot of [param agent]; -1: none.
func slot_of(agent: int) -> int:
	return _slots[agent]


## The level of [param slot], or null.
func level_of(slot: int) -> AmbuloLevel:
	return _levels.get(slot)


## Sets the poses of the moving obstacles in the level of [param agent] at the end of the next
## decision: rows of [AmbuloThings], empty without obstacles. After [method reset] they are there at
## once.
func set_things(agent: int, rows: PackedFloat64Array) -> void:
	if rows.is_empty():
		_things[agent] = null
		return
	if _things[agent] == null:
		_things[agent] = AmbuloThings.new()
	_things[agent].set_rows(rows)


func _clear_places() -> void:
	_slots.resize(num_agents)
	_slots.fill(-1)
	_spaces.clear()
	_spaces.resize(num_agents)
	_things.clear()
	_things.resize(num_agents)
	_rides.clear()
	_rides.resize(num_agents)


# Sets the moving obstacles and the carrier in the space of an agent.
func _show_things(agent: int) -> void:
	_spaces[agent].things = _things[agent]
	_spaces[agent].ride = _rides[agent]


func _enter(agent: int, slot: int) -> void:
	if _scene != null:
		_slots[agent] = slot
		_spaces[agent] = _scene
		var moves := not _scene.floor_stands_still
		_rides[agent] = AmbuloSceneThings.Ride.new() if moves else null
	else:
		_rides[agent] = null
		assert(_levels.has(slot), "AmbuloWorld: no level in slot %d" % slot)
		if _slots[agent] != slot:
			_slots[agent] = slot
			_spaces[agent] = null
			_spaces[agent] = _space_of(slot)
	_spaces[agent].body_height = AmbuloContract.BODY_HEIGHT * spec.body_scale()
	_spaces[agent].body_radius = AmbuloContract.BODY_RADIUS if twin == null else twin.radius


# The space of a slot, built if needed; the least recently used one without agents is then freed.
func _space_of(slot: int) -> AmbuloLevelSpace:
	var space: AmbuloLevelSpace = _built.get(slot)
	if space == null:
		if _built.size() >= maxi(KEPT, num_agents):
			for old: int in _built:
				if not _slots.has(old):
					_built.erase(old)
					break
		space = AmbuloLevelSpace.new(_levels[slot])
	_built.erase(slot)
	_built[slot] = space
	return space


# Moves the agent of a row along the unit vector (ux, uy), at most `travel`, as far as it is free.
# Returns the distance, [m].
func _go_straight(agent: int, ux: float, uy: float, travel: float) -> float:
	var row := agent * state_width
	_show_things(agent)
	_step.x = _rows[row]
	_step.y = _rows[row + 1]
	_step.z = _rows[row + 2]
	var free := _step.leap(_spaces[agent], ux, uy, travel)
	_rows[row] += ux * free
	_rows[row + 1] += uy * free
	_rows[row + 2] = _step.z
	return free


# Puts the agent of a row on the floor at its place below a height.
func _stand(agent: int, height: float) -> void:
	var row := agent * state_width
	_step.x = _rows[row]
	_step.y = _rows[row + 1]
	_step.z = height
	_step.place(_spaces[agent])
	_rows[row + 2] = _step.z
	_rows[row + state_width - TAIL + FALLING] = 1.0 if _step.falling else 0.0


func _read_rays(agent: int) -> void:
	_show_things(agent)
	var row := agent * state_width
	for k in spec.sensed_size():
		_rows[row + RAYS + k] = spec.ray_length if k < spec.num_rays else 0.0
	if _rows[row + state_width - TAIL + FALLING] != 0.0:
		return
	var yaw := _rows[row + YAW] if spec.rays_in_head_frame else 0.0
	var space := _spaces[agent]
	space.read_rays(_rows[row], _rows[row + 1], _rows[row + 2], yaw, spec, _rows, row + RAYS)
	if spec.surroundings:
		AmbuloSight.look(space, spec, _rows, row)
