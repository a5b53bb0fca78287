extends AmbuloWorldTest
## Players on what moves in a scene: ferries, lifts, turntables, and what is seen of them.

const DT := 0.1

var _scene: Node3D


func test_a_ferry_carries_and_is_told() -> void:
	await _build()
	var ferry := _body(AnimatableBody3D.new(), Vector3(4, 0, -0.1), Vector3(2, 2, 0.2))
	var world := await _enter([4.5, 0.5, 0])
	for _k in 10:
		await _move(ferry, Vector3(0.1, 0.05, 0))
		world.step([0, 0, 0])
	check_all_near(part(world, "position"), [5.5, 1.0, 0.0], 1e-3, "carried")
	check_all_near(part(world, "velocity"), [1.0, 0.5, 0.0], 1e-3, "at its speed")
	check_near(value(world, "path"), DT * sqrt(1.25), 1e-3, "of the last decision")
	check_near(value(world, "contact_ticks"), 0.0, 0.0)
	var seen := part(world, "movers")
	check_all_near(seen.slice(0, 9), [5, 0.5, 1, 1, 1, 0, -0.2, 0, 1], 1e-3, "its place")
	check_all_near(seen.slice(9, 13), [1, 0.5, 0, 0], 1e-3, "its velocity")
	await _move(ferry, Vector3(0.1, 0, 0))
	world.step([0, 1, 0])
	check_near(part(world, "position")[0], 5.8, 1e-3, "walks on it, and is carried")
	check_near(part(world, "velocity")[0], 3.0, 1e-3)
	_scene.free()


func test_lifts_and_turntables_carry() -> void:
	await _build()
	var lift := _body(AnimatableBody3D.new(), Vector3(4, 0, -0.1), Vector3(2, 2, 0.2))
	var world := await _enter([4, 0, 0])
	for _k in 5:
		await _move(lift, Vector3(0, 0, 0.4))
		world.step([0, 0, 0])
	check_near(part(world, "position")[2], 2.0, 1e-3, "up, faster than a climb in a decision")
	check_near(part(world, "velocity")[2], 4.0, 1e-2)
	for _k in 5:
		await _move(lift, Vector3(0, 0, -0.4))
		world.step([0, 0, 0])
	check_near(part(world, "position")[2], 0.0, 1e-3, "and down")
	check_near(value(world, "fell"), 0.0, 0.0)
	world.reset([0], [0], [4.5, 0, 0], [0.0])
	for _k in 5:
		lift.rotation.y += 0.1 * PI
		await _move(lift, Vector3.ZERO)
		world.step([0, 0, 0])
	check_all_near(part(world, "position"), [4.0, 0.5, 0.0], 1e-3, "half-way around")
	var copy := AmbuloWorld.new()
	copy.configure(1, world.spec)
	copy.use_scene_space(_scene.get_world_3d().space)
	copy.restore([0], [0], world.state_rows([0]))
	await _move(lift, Vector3(0.1, 0, 0))
	for each: AmbuloWorld in [world, copy]:
		each.step([0, 0, 0])
		check_near(part(each, "position")[0], 4.1, 1e-3, "a restored one is carried as well")
	lift.free()
	await tree.physics_frame
	repeat(world, [0, 0, 0], 2)
	check_near(value(world, "falling"), 1.0, 0.0, "what carried is gone")
	_scene.free()


func test_each_shape_of_a_cabin_is_told() -> void:
	await _build()
	var cabin := _body(AnimatableBody3D.new(), Vector3(4, 0, -0.1), Vector3(2, 2, 0.2))
	_shape(cabin, Vector3(0.95, 0, 1.2), Vector3(0.1, 2, 2.4))
	await _enter([4, 0, 0])
	var world := await _enter([4, 0, 0])
	var seen := part(world, "movers")
	check_all_near(seen.slice(0, 9), [4, 0, 1, 1, 1, 0, -0.2, 0, 1], 1e-3, "its floor")
	check_all_near(seen.slice(13, 22), [4.95, 0, 0.05, 1, 1, 0, -0.1, 2.3, 1], 1e-3, "its wall")
	_scene.free()


func test_shapes_of_csg_that_move_are_told() -> void:
	await _build()
	var block := CSGBox3D.new()
	block.use_collision = true
	block.size = Vector3(1, 2, 0.5)
	block.position = AmbuloAxes.to_godot(2, 0, 1)
	_scene.add_child(block)
	var world := await _enter([0, 0, 0])
	check_near(part(world, "ray_ends")[0], AmbuloContract.WALL, 0.0, "at rest")
	await _move(block, Vector3(-0.1, 0, 0))
	world.step([0, 0, 0])
	await _move(block, Vector3(-0.1, 0, 0))
	world.step([0, 0, 0])
	check_near(part(world, "ray_ends")[0], AmbuloContract.MOVER, 0.0, "seen to move")
	check_all_near(part(world, "movers").slice(0, 10), [1.8, 0, 0.25, 0.5, 1, 0, 0, 2, 1, -1], 1e-3)
	_scene.free()


## A floor from x = -10 to 3 with its top at 0.
func _build() -> void:
	_scene = Node3D.new()
	_body(StaticBody3D.new(), Vector3(-3.5, 0, -0.5), Vector3(13, 20, 1))
	tree.root.add_child(_scene)
	await tree.process_frame


func _enter(pose: PackedFloat64Array) -> AmbuloWorld:
	for _k in 2:
		await tree.physics_frame
	var world := AmbuloWorld.new()
	world.configure(1, plain_spec({"surroundings": true}))
	world.use_scene_space(_scene.get_world_3d().space)
	world.reset([0], [0], pose, [0.0])
	return world


## Moves a node along (x, y, z), and the engine with it.
func _move(node: Node3D, way: Vector3) -> void:
	node.position += AmbuloAxes.to_godot(way.x, way.y, way.z)
	for _k in 2:
		await tree.physics_frame


## A box with the middle of its shape at (x, y, z) and its sizes along x, y, z.
func _body(body: PhysicsBody3D, at: Vector3, size: Vector3) -> PhysicsBody3D:
	body.position = AmbuloAxes.to_godot(at.x, at.y, at.z)
	if body is AnimatableBody3D:
		(body as AnimatableBody3D).sync_to_physics = false
	_shape(body, Vector3.ZERO, size)
	_scene.add_child(body)
	return body


func _shape(body: PhysicsBody3D, at: Vector3, size: Vector3) -> void:
	var collision := CollisionShape3D.new()
	var shape := BoxShape3D.new()
	shape.size = Vector3(size.y, size.z, size.x)
	collision.shape = shape
	collision.position = AmbuloAxes.to_godot(at.x, at.y, at.z)
	body.add_child(collision)
