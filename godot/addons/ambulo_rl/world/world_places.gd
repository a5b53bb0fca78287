class_name AmbuloWorldPlaces
extends AmbuloWorldRows
## Where the agents of an [AmbuloWorld] are: in levels or in a user's scene, among what moves there.

## How the agents answer their sticks; null: at once, as the contract has it.
var twin: AmbuloTwin

var _climb := AmbuloClimb.new()
var _slots: PackedInt64Array = []
var _levels := AmbuloLevelSpaces.new()
var _spaces: Array[AmbuloSpace] = []
var _scene: AmbuloSceneSpace
# What moves in the level of each agent; null: nothing.
var _things: Array[AmbuloThings] = []


## Puts [param levels] into [param slots]. Agents in a replaced slot must be reset before
## they are stepped.
func set_levels(slots: PackedInt64Array, levels: Array[AmbuloLevel]) -> void:
	for k in slots.size():
		var slot := slots[k]
		_levels.put(slot, levels[k])
		for agent in num_agents:
			if _slots[agent] == slot:
				_slots[agent] = -1
				_spaces[agent] = null


## Moves all agents into the 3D scene behind [param space] (World3D.space); see
## [AmbuloSceneSpace] for its settings. An invalid RID goes back to levels.
func use_scene_space(space: RID) -> AmbuloSceneSpace:
	_slots.fill(-1)
	for agent in num_agents:
		_spaces[agent] = null
	_scene = null
	if space.is_valid():
		_scene = AmbuloSceneSpace.new(space)
	return _scene


## The scene that all agents are in, or null.
func scene() -> AmbuloSceneSpace:
	return _scene


## Whether agents can be placed in [param slot].
func has_slot(slot: int) -> bool:
	return _scene != null or _levels.has(slot)


## Whether shapes have heights where [param agent] is.
func has_heights(agent: int) -> bool:
	return _spaces[agent] != null and _spaces[agent].has_heights


## The slot of [param agent]; -1: it is in no level.
func slot_of(agent: int) -> int:
	return _slots[agent]


## The level of [param slot], or null.
func level_of(slot: int) -> AmbuloLevel:
	return _levels.level_of(slot)


## Says where what moves in the level of [param agent] is at the end of the next decision: rows of
## [AmbuloThings], none if nothing moves there. After [method reset] it is there at once.
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


# Has the space of an agent know what moves there.
func _show_things(agent: int) -> void:
	var high := _spaces[agent] as AmbuloHighLevelSpace
	if high != null:
		high.things = _things[agent]


func _enter(agent: int, slot: int) -> void:
	if _scene != null:
		_slots[agent] = slot
		_spaces[agent] = _scene
	else:
		assert(_levels.has(slot), "AmbuloWorld: no level in slot %d" % slot)
		if _slots[agent] != slot:
			_slots[agent] = slot
			_spaces[agent] = null
			_spaces[agent] = _levels.space_of(slot, _slots)
	_spaces[agent].body_height = AmbuloContract.BODY_HEIGHT * spec.body_scale()
	_spaces[agent].body_radius = AmbuloContract.BODY_RADIUS if twin == null else twin.radius


# Moves the agent of a row along the unit vector (ux, uy), at most a way, as far as it is free.
# Returns how far, [m].
func _go_straight(agent: int, ux: float, uy: float, travel: float) -> float:
	var row := agent * state_width
	var free := 0.0
	_show_things(agent)
	if _spaces[agent].has_heights:
		_climb.x = _rows[row]
		_climb.y = _rows[row + 1]
		_climb.z = _rows[row + 2]
		free = _climb.leap(_spaces[agent] as AmbuloHighSpace, ux, uy, travel)
		_rows[row + 2] = _climb.z
	else:
		free = _spaces[agent].free_leap(_rows[row], _rows[row + 1], ux, uy, travel)
	_rows[row] += ux * free
	_rows[row + 1] += uy * free
	return free


# Puts the agent of a row on the floor of its place below a height.
func _stand(agent: int, height: float) -> void:
	var row := agent * state_width
	_climb.x = _rows[row]
	_climb.y = _rows[row + 1]
	_climb.z = height
	_climb.place(_spaces[agent] as AmbuloHighSpace)
	_rows[row + 2] = _climb.z
	_rows[row + state_width - TAIL + FALLING] = 1.0 if _climb.falling else 0.0


func _read_rays(agent: int) -> void:
	_show_things(agent)
	var row := agent * state_width
	var yaw := _rows[row + YAW] if spec.rays_in_head_frame else 0.0
	if _spaces[agent].has_heights:
		var high: AmbuloHighSpace = _spaces[agent]
		if _rows[row + state_width - TAIL + FALLING] != 0.0:
			for r in spec.num_rays:
				_rows[row + RAYS + r] = spec.ray_length
		else:
			high.read_ways(_rows[row], _rows[row + 1], _rows[row + 2], yaw, spec, _rows, row + RAYS)
		return
	_spaces[agent].read_rays(_rows[row], _rows[row + 1], yaw, spec, _rows, row + RAYS)
