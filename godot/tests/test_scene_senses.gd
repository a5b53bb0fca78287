extends AmbuloWorldTest
## What agents in a user's own scene are told beside the lengths of their rays.

var _scene: Node3D


func test_rays_tell_what_ends_them_and_the_floor_along_them() -> void:
	await _build()
	_add(StaticBody3D.new(), Vector3(3, 0, 1), Vector3(1, 2, 2))  # a wall
	_add(AnimatableBody3D.new(), Vector3(0, 3, 1), Vector3(1, 0.2, 2))  # a door
	for k in 4:  # a flight of steps
		_add(
			StaticBody3D.new(),
			Vector3(-2 - 0.4 * k, 0, 0.1 * k + 0.1),
			Vector3(0.4, 2, 0.2 * k + 0.2)
		)
	var world := await _enter([0, 0, 0])
	var ends := part(world, "ray_ends")
	check_all_near(
		[ends[0], ends[4], ends[8], ends[12]],
		[
			AmbuloContract.WALL,
			AmbuloContract.MOVER,
			AmbuloContract.DROP,
			AmbuloContract.NOTHING,
		]
	)
	var rays := part(world, "rays")
	check_near(rays[8], 3.4, 0.01, "the upper edge of the flight")
	var floors := part(world, "ray_floors").slice(32, 36)
	check_all_near(floors, [0.0, 0.0, 0.4, 0.8], 0.02, "along the flight")
	check_all_near(part(world, "ray_floors").slice(0, 4), [0, 0, 0, 0], 1e-3, "on the level")
	_scene.free()


func test_things_that_move_are_told_unless_walls_hide_them() -> void:
	await _build()
	var door := _add(AnimatableBody3D.new(), Vector3(2, 1, 1), Vector3(0.2, 0.8, 2))
	var plain := _add(StaticBody3D.new(), Vector3(-2.5, 1, 1), Vector3(0.2, 0.6, 2))
	_add(AnimatableBody3D.new(), Vector3(0, -3, 0.5), Vector3(1, 1, 1))
	_add(StaticBody3D.new(), Vector3(0, -2, 1.5), Vector3(6, 0.2, 3))
	var world := await _enter([0, 0, 0])
	check_all_near(
		part(world, "movers"), [2, 1, 0.1, 0.4, 1, 0, 0, 2, 1, 0, 0, 0, 0] + _none(26), 1e-3
	)
	door.position = AmbuloAxes.to_godot(2, 1.05, 1)
	door.rotation.y = 0.1
	plain.position = AmbuloAxes.to_godot(-2.5, 1, 1.1)
	for _k in 2:
		await tree.physics_frame
	world.step([0, 0, 0])  # the plain one is seen to have moved
	world.step([0, 0, 0])
	var seen := part(world, "movers")
	check_near(seen[1], 1.05, 1e-3, "the door")
	check_near(seen[4], cos(0.1), 1e-3, "turned")
	check_all_near(seen.slice(9, 13), [0, 0, 0, 0], 1e-3, "and at rest again")
	check_all_near(seen.slice(13, 22), [-2.5, 1, 0.1, 0.3, 1, 0, 0.1, 2.1, 1], 1e-3, "it moves")
	door.position.x -= 0.05
	for _k in 2:
		await tree.physics_frame
	world.step([0, 0, 0])
	check_near(part(world, "movers")[10], 0.5, 1e-3, "5 cm in a decision")
	_scene.free()


func test_people_are_cylinders() -> void:
	await _build()
	var person := CharacterBody3D.new()
	_add(person, Vector3(2, 0, 0.9), Vector3(0.5, 0.5, 1.8))
	var capsule := CapsuleShape3D.new()
	capsule.radius = 0.3
	capsule.height = 1.8
	(person.get_child(0) as CollisionShape3D).shape = capsule
	var world := await _enter([0, 0, 0])
	check_near(part(world, "ray_ends")[0], AmbuloContract.MOVER, 0.0)
	check_all_near(part(world, "movers").slice(0, 9), [2, 0, 0.3, 0.3, 1, 0, 0, 1.8, 3], 0.01)
	_scene.free()


func _none(count: int) -> Array:
	var zeros := []
	zeros.resize(count)
	zeros.fill(0.0)
	return zeros


## A floor of 30 m with its top at 0.
func _build() -> void:
	_scene = Node3D.new()
	_add(StaticBody3D.new(), Vector3(0, 0, -0.5), Vector3(30, 30, 1))
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


## A box with its middle at (x, y, z) and its sizes along x, y, z.
func _add(body: PhysicsBody3D, at: Vector3, size: Vector3) -> PhysicsBody3D:
	var collision := CollisionShape3D.new()
	var shape := BoxShape3D.new()
	shape.size = Vector3(size.y, size.z, size.x)
	collision.shape = shape
	body.position = AmbuloAxes.to_godot(at.x, at.y, at.z)
	if body is AnimatableBody3D:
		(body as AnimatableBody3D).sync_to_physics = false
	body.add_child(collision)
	_scene.add_child(body)
	return body
