extends "players.gd"
## Players of our own world code, moved one tick in each physics tick of the engine: what is
## left to compare is the protocol and the way of stepping.

var _world := AmbuloWorld.new()


func _physics_process(_delta: float) -> void:
	_world.advance(1)


func _build() -> void:
	_world.configure(count, spec)
	_world.set_levels(PackedInt64Array(range(levels.size())), levels)


func _place(agent: int, level: int, pose: PackedFloat64Array) -> void:
	_world.reset([agent], [level], pose)


func _command(actions: PackedFloat64Array) -> void:
	_world.begin(actions)


func _settle() -> void:
	_world.finish()


func _has_fallen(agent: int) -> bool:
	return _row(agent)[_world.state_width - AmbuloWorld.TAIL + AmbuloWorld.FELL] > 0.0


func _row(agent: int) -> PackedFloat64Array:
	return _world.state_rows([agent])
