class_name AmbuloWorldPlaces
extends AmbuloWorldRows
## Where the agents of an [AmbuloWorld] are: in levels or in a user's scene, among what moves there.

## How the agents answer their sticks; null: at once, as the contract has it.
var twin: AmbuloTwin

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
	_spaces[agent].body_radius = AmbuloContract.BODY_RADIUS if twin == null else twin.radius
