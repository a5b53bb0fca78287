class_name AmbuloLevelSpaces
extends RefCounted
## Levels by slot, and the physics spaces that are built of them when agents enter.

## Fewest physics spaces that are kept built; at least one per agent is.
const KEPT := 32

var _levels: Dictionary[int, AmbuloLevel] = {}
var _built: Dictionary[int, AmbuloSpace] = {}


## Put [param level] into [param slot].
func put(slot: int, level: AmbuloLevel) -> void:
	_levels[slot] = level
	_built.erase(slot)


## Whether [param slot] holds a level.
func has(slot: int) -> bool:
	return _levels.has(slot)


## The level of [param slot], or null.
func level_of(slot: int) -> AmbuloLevel:
	return _levels.get(slot)


## The space of [param slot], built if it is not; the one that was used longest ago, by
## no agent now, then goes. [param used] are the slots of all agents.
func space_of(slot: int, used: PackedInt64Array) -> AmbuloSpace:
	var space: AmbuloSpace = _built.get(slot)
	if space == null:
		if _built.size() >= maxi(KEPT, used.size()):
			_drop_oldest_unused(used)
		var level := _levels[slot]
		space = AmbuloHighLevelSpace.new(level) if level.heights else AmbuloLevelSpace.new(level)
	_built.erase(slot)
	_built[slot] = space
	return space


func _drop_oldest_unused(used: PackedInt64Array) -> void:
	for slot: int in _built:
		if not used.has(slot):
			_built.erase(slot)
			return
