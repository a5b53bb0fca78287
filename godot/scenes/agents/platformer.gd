extends Node3D
## Players that jump for coins, each on islands of its own (sample of docs/godot_tasks.md).

const PLAYERS := 16
const ISLANDS := 5
const COINS := 10
const SIDE := 4.0
const GAP := 2.0
const HEIGHTS: Array[float] = [0.0, 0.6, 0.0, 0.9, 0.3]


func _ready() -> void:
	for k in PLAYERS:
		var world := Node3D.new()
		world.position.x = 30.0 * k
		add_child(world)
		for island in ISLANDS:
			_add_island(world, island)
		var player := CharacterBody3D.new()
		player.name = "Player%d" % k
		player.set_script(preload("platformer_player.gd"))
		var shape := CollisionShape3D.new()
		var capsule := CapsuleShape3D.new()
		capsule.radius = 0.3
		capsule.height = 1.6
		shape.shape = capsule
		shape.position.y = 0.8
		player.add_child(shape)
		var agent := AmbuloAgent3D.new()
		agent.kind = "player"
		agent.max_steps = 200
		agent.action_repeat = 9
		player.add_child(agent)
		world.add_child(player)


## A place [param aside] and [param ahead] of the middle of an island, on its floor.
static func place(island: int, aside: float, ahead: float) -> Vector3:
	return Vector3(aside, HEIGHTS[island], -island * (SIDE + GAP) - ahead)


func _add_island(world: Node3D, island: int) -> void:
	var box := CSGBox3D.new()
	box.use_collision = true
	box.size = Vector3(SIDE, 2.0, SIDE)
	box.position = place(island, 0.0, 0.0) + Vector3.DOWN
	world.add_child(box)
