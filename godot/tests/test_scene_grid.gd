extends AmbuloTest
## The shipped policy in a scene out of GridMap cells: two floors, a ramp between them, and behind a
## door that a script swings.

const CELL := Vector3(2.0, 1.5, 2.0)
## Items of the library.
const TILE := 0
const WALL := 1
const RAMP := 2
## The door swings by this, [rad], in a second, 2 s after it has closed, and stays open for 4 s.
const OPEN := 1.7
const PERIOD := 8.0

var _scene: Node3D
var _door: AnimatableBody3D


func test_the_policy_goes_through_the_door_and_up_the_ramp() -> void:
	_build()
	for _k in 3:
		await tree.physics_frame
	var node := AmbuloPolicyNode.new()
	check(node.load_policy("res://policies/vr_navigation.ambulo"), node.error)
	var world := AmbuloWorld.new()
	world.configure(1, node.file.spec)
	world.use_scene_space(_scene.get_world_3d().space)
	var goal := AmbuloAxes.from_godot(Vector3(10.0, 3.0, 1.5))
	world.reset([0], [0], [-5.0, -1.0, -0.5 * PI], [0.0])
	var row := world.state_rows([0])
	check_near(row[2], 0.0, 1e-3, "below")
	var touched := 0.0
	var steps := 0
	while steps < 700 and not _is_at(goal, row):
		steps += 1
		_swing(steps * world.spec.decision_dt())
		await tree.physics_frame
		world.step(node.act(world, 0, Vector2(goal[0], goal[1]), goal[2]))
		row = world.state_rows([0])
		touched += row[row.size() - AmbuloWorld.TAIL + AmbuloWorld.COLLISIONS]
	check(_is_at(goal, row), "on the upper floor after %d decisions: %s" % [steps, row.slice(0, 3)])
	check(touched <= 4.0, "%d collisions" % touched)
	node.free()
	_scene.free()


func _is_at(goal: PackedFloat64Array, row: PackedFloat64Array) -> bool:
	return Vector3(row[0], row[1], row[2]).distance_to(Vector3(goal[0], goal[1], goal[2])) < 1.0


## The door as its time has it, [s].
func _swing(time: float) -> void:
	var at := fmod(time, PERIOD)
	_door.rotation.y = OPEN * clampf(minf(at - 2.0, PERIOD - at), 0.0, 1.0)


## A floor of 12 x 8 m, above its far third another one, and a wall with the door.
func _build() -> void:
	_scene = Node3D.new()
	var map := GridMap.new()
	map.cell_size = CELL
	map.mesh_library = _library()
	for z in 4:
		for x in 6:
			map.set_cell_item(Vector3i(x, 0, z), TILE)
		for x: int in [4, 5]:
			map.set_cell_item(Vector3i(x, 2, z), TILE)
	_scene.add_child(map)
	var walls := GridMap.new()
	walls.cell_size = CELL
	walls.mesh_library = map.mesh_library
	for z: int in [0, 1, 3]:
		walls.set_cell_item(Vector3i(1, 0, z), WALL)
	for k in 2:
		walls.set_cell_item(Vector3i(2 + k, k, 3), RAMP)
	_scene.add_child(walls)
	_door = AnimatableBody3D.new()
	_door.sync_to_physics = false
	_door.position = Vector3(3.0, 1.1, 4.05)
	var collision := CollisionShape3D.new()
	collision.shape = BoxShape3D.new()
	(collision.shape as BoxShape3D).size = Vector3(0.08, 2.2, 1.85)
	collision.position.z = 0.975
	_door.add_child(collision)
	_scene.add_child(_door)
	tree.root.add_child(_scene)


## Tile: its top is the bottom of its cell. Wall: across the cell, two cells high. Ramp: up to +X.
func _library() -> MeshLibrary:
	var tile := BoxShape3D.new()
	tile.size = Vector3(2.0, 0.2, 2.0)
	var wall := BoxShape3D.new()
	wall.size = Vector3(0.2, 3.0, 2.0)
	var ramp := ConvexPolygonShape3D.new()
	var corners := PackedVector3Array()
	for z: float in [-1.0, 1.0]:
		corners.append_array([Vector3(-1, -0.75, z), Vector3(1, -0.75, z), Vector3(1, 0.75, z)])
	ramp.points = corners
	var library := MeshLibrary.new()
	var shapes: Array[Shape3D] = [tile, wall, ramp]
	var heights: PackedFloat64Array = [-0.85, 0.75, 0.0]
	for k in shapes.size():
		library.create_item(k)
		var place := Transform3D(Basis.IDENTITY, Vector3(0.0, heights[k], 0.0))
		library.set_item_shapes(k, [shapes[k], place])
	return library
