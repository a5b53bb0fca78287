extends AmbuloWorldTest
## Players in a user's own scene: its colliders stop them, its floor carries them.


func test_walls_floor_and_edges_of_a_scene() -> void:
	var scene := Node3D.new()
	# Floor 10 x 10 m, top at 0; a wall ahead from x = 3 on; a beam overhead.
	scene.add_child(_body(Vector3(0, -0.5, 0), Vector3(10, 1, 10)))
	scene.add_child(_body(AmbuloAxes.to_godot(3.5, 0, 1), Vector3(4, 2, 1)))
	scene.add_child(_body(AmbuloAxes.to_godot(0, -2, 2.5), Vector3(1, 0.5, 1)))
	tree.root.add_child(scene)
	await tree.physics_frame
	var world := AmbuloWorld.new()
	world.configure(1, plain_spec())
	var space := world.use_scene_space(scene.get_world_3d().space)
	check(space != null)
	world.reset([0], [0], [0, 0, 0])
	var rays := part(world, "rays")
	check_near(rays[0], 3.0, 2e-3, "wall")
	check_near(rays[4], 5.0, 0.02, "edge to the left")
	check_near(rays[10], 5.0, 0.0, "edge out of reach")
	repeat(world, [0, 1, 0], 20)
	check_all_near(part(world, "position"), [2.75, 0, 0], 1e-3)
	check_near(value(world, "contact_ticks"), 9.0)
	repeat(world, [1, -0.5, 0], 12)
	check(part(world, "position")[1] < -2.0, "walks under the beam")
	check_near(value(world, "since_contact"), 108.0, 0.0, "the floor is no obstacle")
	repeat(world, [1, 0, 0], 30)
	check_near(value(world, "fell"), 1.0, 0.0, "off the edge")
	var bodies: Array[RID] = []
	for child in scene.get_children():
		bodies.append((child as StaticBody3D).get_rid())
	space.excluded = [bodies[1]]
	world.reset([0], [0], [0, 0, 0])
	check_near(part(world, "rays")[0], 5.0, 0.02, "an excluded body is not seen")
	world.use_scene_space(RID())
	check_equal(world.slot_of(0), -1)
	scene.free()


func test_scene_agrees_with_level() -> void:
	var parts := {"bounds": [-6, -6, 6, 6], "boxes": [box(1.5, 0.4, 0.5, 1, 0.4)]}
	var scene := Node3D.new()
	scene.add_child(_body(Vector3(0, -0.5, 0), Vector3(12, 1, 12)))
	var wall := _body(AmbuloAxes.to_godot(1.5, 0.4, 1), Vector3(2, 2, 1))
	wall.rotation.y = 0.4
	scene.add_child(wall)
	tree.root.add_child(scene)
	await tree.physics_frame
	var level_world := world_at(parts, [-1, 0, 0.1])
	var scene_world := AmbuloWorld.new()
	scene_world.configure(1, plain_spec())
	scene_world.use_scene_space(scene.get_world_3d().space)
	scene_world.reset([0], [0], [-1, 0, 0.1])
	check_all_near(part(scene_world, "rays"), part(level_world, "rays"), 0.01, "rays")
	for k in 30:
		for world: AmbuloWorld in [level_world, scene_world]:
			world.step([0.2, 1, 0])
	var expected := part(level_world, "position")
	# A scene's boxes have edges that the engine rounds (margin 0.04 m).
	check_all_near(part(scene_world, "position"), expected, 0.05, "place")
	scene.free()


func _body(at: Vector3, size: Vector3) -> StaticBody3D:
	var shape := BoxShape3D.new()
	shape.size = size
	var collision := CollisionShape3D.new()
	collision.shape = shape
	var body := StaticBody3D.new()
	body.position = at
	body.add_child(collision)
	return body
