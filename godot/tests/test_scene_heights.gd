extends AmbuloWorldTest
## Players in a scene with ramps, stairs, floors above one another, tables and beams.

var _scene: Node3D


func test_up_a_ramp_and_down_a_drop() -> void:
	# A ramp of 30 degrees from x = 2 to a floor at 2 m, which ends at x = 12.
	var rise := 2.0
	var run := rise / tan(deg_to_rad(30.0))
	await _build()
	var ramp := _add(Vector3(2.0 + 0.5 * run, 0, 0.5 * rise), Vector3(0.2, 2, 0.2))
	var length := sqrt(run * run + rise * rise)
	_resize(ramp, Vector3(length, 2, 0.2))
	ramp.rotation.x = atan2(rise, run)
	ramp.translate_object_local(Vector3(0, -0.1, 0))
	_add(Vector3(2.0 + run + 2.0, 0, 1.9), Vector3(4, 4, 0.2))
	var world := await _enter([0, 0, 0], 0.0)
	var rays := part(world, "rays")
	check_near(rays[0], 5.0, 0.0, "a ramp does not block")
	check(rays[4] > 4.9, "nothing to the left")
	repeat(world, [0, 1, 0], 15)
	var place := part(world, "position")
	check_near(place[0], 3.0, 0.01, "as fast as on the flat")
	check_near(place[2], tan(deg_to_rad(30.0)), 0.01, "height on the ramp")
	check_near(value(world, "contact_ticks"), 0.0, 0.0)
	check_near(part(world, "velocity")[2], 2.0 * tan(deg_to_rad(30.0)), 0.01)
	repeat(world, [0, 1, 0], 20)
	check_near(part(world, "position")[2], 2.0, 0.001, "above")
	rays = part(world, "rays")
	var edge := 2.0 + run + 4.0 - part(world, "position")[0]
	check_near(rays[0], edge, 0.02, "the edge of the upper floor")
	repeat(world, [0, 1, 0], 25)
	check_near(value(world, "fell"), 1.0, 0.0, "2 m down is a fall")
	check_near(part(world, "position")[2], 0.0, 0.001, "it lands")
	_scene.free()


func test_stairs_and_curbs() -> void:
	await _build()
	for k in 8:
		var top := 0.2 * (k + 1)
		_add(Vector3(2.0 + 0.3 * k + 0.15, 0, 0.5 * top), Vector3(0.3, 2, top))
	_add(Vector3(0, 3, 0.12), Vector3(2, 2, 0.24))
	_add(Vector3(0, -3, 0.15), Vector3(2, 2, 0.3))
	var world := await _enter([0, 0, 0], 0.0)
	var rays := part(world, "rays")
	check(rays[0] > 4.3, "stairs do not block: %.3f" % rays[0])
	check(rays[4] > 4.9, "nor does a curb")
	check_near(rays[12], 2.0, 0.01, "a step of 0.3 m does")
	repeat(world, [0, 1, 0], 18)
	check_near(part(world, "position")[2], 1.2, 0.25, "up the stairs")
	check_near(value(world, "contact_ticks"), 0.0, 0.0)
	world.reset([0], [0], [0, 0, -PI / 2.0], [0.0])
	repeat(world, [0, 1, 0], 15)
	check_near(part(world, "position")[1], -1.785, 0.01, "stopped at the step")
	check_near(part(world, "position")[2], 0.0, 1e-6)
	world.reset([0], [0], [0, 3, 0], [0.5])
	check_near(part(world, "position")[2], 0.24, 1e-4, "placed on the floor below")
	repeat(world, [0, 1, 0], 8)
	check_near(part(world, "position")[2], 0.0, 1e-4, "down a curb")
	check_near(value(world, "fell"), 0.0, 0.0)
	_scene.free()


func test_tables_and_beams() -> void:
	await _build()
	_add(Vector3(2.5, 0, 0.485), Vector3(1, 1, 0.03))
	_add(Vector3(-2.5, 0, 1.7), Vector3(1, 1, 0.2))
	_add(Vector3(0, 2.5, 1.9), Vector3(1, 1, 0.2))
	var world := await _enter([0, 0, 0], 0.0)
	var rays := part(world, "rays")
	check_near(rays[0], 2.0, 0.01, "a table half a metre high")
	check_near(rays[8], 2.0, 0.01, "a beam at 1.6 m")
	check(rays[4] > 4.9, "a beam at 1.8 m")
	repeat(world, [0, 1, 0], 20)
	check_near(part(world, "position")[0], 1.75, 0.01, "the table stops")
	repeat(world, [0, -1, 0], 40)
	check_near(part(world, "position")[0], -1.75, 0.03, "the beam stops")
	world.reset([0], [0], [0, 0, PI / 2.0], [0.0])
	repeat(world, [0, 1, 0], 20)
	check_near(part(world, "position")[1], 4.0, 0.01, "below the high one")
	check_near(value(world, "since_contact"), 1 << 30, 200.0)
	_scene.free()


func test_floors_above_one_another_and_saved_falls() -> void:
	await _build()
	_add(Vector3(0, 0, 2.9), Vector3(4, 4, 0.2))
	var world := await _enter([0, 0, 0], 3.0)
	check_near(part(world, "position")[2], 3.0, 1e-4, "above")
	check_near(part(world, "rays")[0], 2.0, 0.02, "its edge")
	world.reset([0], [0], [0, 0, 0], [0.2])
	check_near(part(world, "position")[2], 0.0, 1e-4, "below")
	check_near(part(world, "rays")[0], 5.0, 0.02, "the edge is overhead")
	world.reset([0], [0], [1.9, 0, 0], [3.0])
	repeat(world, [0, 1, 0], 3)
	var row := world.state_rows([0])
	check_near(value(world, "falling"), 1.0, 0.0)
	var copy := AmbuloWorld.new()
	copy.configure(1, plain_spec())
	copy.use_scene_space(_scene.get_world_3d().space)
	copy.restore([0], [0], row)
	for k in 10:
		repeat(world, [0, 1, 0], 1)
		repeat(copy, [0, 1, 0], 1)
		check_equal(copy.state_rows([0]), world.state_rows([0]), "the same fall")
	check_near(value(world, "fell"), 1.0, 0.0)
	_scene.free()


## A floor of 30 m with its top at 0.
func _build() -> void:
	_scene = Node3D.new()
	_add(Vector3(0, 0, -0.5), Vector3(30, 30, 1))
	tree.root.add_child(_scene)
	await tree.process_frame


func _enter(pose: PackedFloat64Array, height: float) -> AmbuloWorld:
	for _k in 2:
		await tree.physics_frame
	var world := AmbuloWorld.new()
	world.configure(1, plain_spec())
	world.use_scene_space(_scene.get_world_3d().space)
	world.reset([0], [0], pose, [height])
	return world


## A box with its middle at (x, y, z) and its sizes along x, y, z.
func _add(at: Vector3, size: Vector3) -> StaticBody3D:
	var collision := CollisionShape3D.new()
	collision.shape = BoxShape3D.new()
	var body := StaticBody3D.new()
	body.position = AmbuloAxes.to_godot(at.x, at.y, at.z)
	body.add_child(collision)
	_resize(body, size)
	_scene.add_child(body)
	return body


func _resize(body: StaticBody3D, size: Vector3) -> void:
	var collision: CollisionShape3D = body.get_child(0)
	(collision.shape as BoxShape3D).size = Vector3(size.y, size.z, size.x)
