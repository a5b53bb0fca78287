extends "players.gd"
## Players as games have them: CharacterBody3D nodes that the engine slides along the
## colliders of their level, one `move_and_slide` a tick. The levels stand side by side.

const Walker := preload("walker.gd")
const LevelBody := preload("level_body.gd")
## Free space between two levels and the rims around them, [m].
const GAP := 10.0

var _walkers: Array[Walker] = []
var _bodies: Array[LevelBody] = []


func _build() -> void:
	var side := 0.0
	for level in levels:
		var b := level.bounds
		side = maxf(side, maxf(b[2] - b[0], b[3] - b[1]))
	side += 2.0 * LevelBody.RIM + GAP
	var across := ceili(sqrt(levels.size()))
	for k in levels.size():
		var body := LevelBody.new()
		body.position = Vector3(side * (k % across), 0.0, side * floori(k / float(across)))
		add_child(body)
		body.build(levels[k])
		_bodies.append(body)
	for agent in count:
		var walker := Walker.new()
		walker.spec = spec
		add_child(walker)
		_walkers.append(walker)


func _place(agent: int, level: int, pose: PackedFloat64Array) -> void:
	_walkers[agent].place(_bodies[level], pose[0], pose[1], pose[2])


func _command(actions: PackedFloat64Array) -> void:
	for agent in count:
		var k := 3 * agent
		_walkers[agent].command(actions[k], actions[k + 1], actions[k + 2])


func _settle() -> void:
	for walker in _walkers:
		walker.read_rays()


func _has_fallen(agent: int) -> bool:
	return _walkers[agent].fell


func _row(agent: int) -> PackedFloat64Array:
	return _walkers[agent].row()
