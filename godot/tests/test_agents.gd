extends AmbuloTest
## Agents as nodes: what they do and observe, sensors, and play by a person.


class Walker:
	extends AmbuloAgent2D
	var steps := 0
	var acted: Dictionary = {}

	func get_observation() -> Dictionary:
		return {"place": position, "steps": steps}

	func get_action_space() -> Dictionary:
		return {"move": {"size": 2}, "gear": {"discrete": 3}}

	func set_action(action: Dictionary) -> void:
		acted = action
		steps += 1
		add_reward(0.5, "step")
		if steps == 2:
			end_episode(true)

	func reset(_episode_seed: int) -> void:
		steps = 0


func test_rows_of_a_kind() -> void:
	var walker := _walker()
	walker.position = Vector2(3, 4)
	var adapter := AmbuloNodeAgent.new(walker)
	var kind := AmbuloAgentKind.new(adapter)
	check_equal([kind.numbers, kind.bytes, kind.action_size], [3, 0, 3])
	var rows := PackedFloat32Array()
	check_equal(kind.append(adapter.observe(), adapter, rows, PackedByteArray()), "")
	check_equal(rows, PackedFloat32Array([3, 4, 0]))
	var action := kind.action_at([9, 0.5, -0.5, 2], 1)
	check_equal(action, {"move": PackedFloat32Array([0.5, -0.5]), "gear": 2})
	adapter.act(action)
	adapter.act(action)
	check_equal([adapter.take_reward(), adapter.take_reward()], [1.0, 0.0])
	check_equal(adapter.outcome(), AmbuloAgentAdapter.TERMINATED)
	check_equal(kind.info_row(adapter.info()), PackedFloat32Array([1, 0.5]))
	check_equal(kind.info_names, PackedStringArray(["success", "reward/step"]))
	adapter.restart(1, true)
	check_equal([walker.steps, adapter.outcome()], [0, 0])
	walker.free()


func test_actions_that_cannot_be() -> void:
	for space: Dictionary in [
		{}, {"a": 2}, {"a": {"size": 0}}, {"a": {"discrete": 1.5}}, {"a": {"size": "2"}}
	]:
		var errors := PackedStringArray()
		check_equal(AmbuloAgentPart.of_actions(space, errors).size(), 0)
		check_equal(errors.size(), 1, str(space))
	var godot_rl := {"a": {"size": 2, "action_type": "continuous"}}
	check_equal(AmbuloAgentPart.of_actions(godot_rl, [])[0].size, 2)
	godot_rl["a"]["action_type"] = "discrete"
	check_equal(AmbuloAgentPart.of_actions(godot_rl, [])[0].choices, 2)


func test_values() -> void:
	check_equal(AmbuloAgentValues.floats([true, 2, [0.5, Vector2(3, 4)]]).size(), 5)
	check_equal(AmbuloAgentValues.floats(Vector3(1, 2, 3)), PackedFloat32Array([1, 2, 3]))
	check_equal(AmbuloAgentValues.floats([1.0, "2"]), null)
	check_equal(AmbuloAgentValues.floats(null), null)


func test_sensors_in_three_dimensions() -> void:
	var root := Node3D.new()
	tree.root.add_child(root)
	var eye := Node3D.new()
	eye.rotation.y = PI / 2  # -Z of it is -X
	root.add_child(eye)
	_wall(root, Vector3(-4.5, 0, 0), "walls")
	var rays := AmbuloRaySensor.new()
	rays.rays = 4
	rays.classes = ["walls", "coins"]
	eye.add_child(rays)
	var grid := AmbuloGridSensor.new()
	grid.classes = ["walls"]
	grid.columns = 1
	grid.rows = 9
	eye.add_child(grid)
	var target := AmbuloTargetSensor.new()
	target.classes = ["walls"]
	target.count = 2
	target.sensor_range = 9.0
	eye.add_child(target)
	await tree.physics_frame
	await tree.physics_frame
	_check_seen(rays, [0.4, 1, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0], 1e-4, "rays")
	check_equal(rays.part().size, 12)
	_check_seen(grid, [1, 0, 0, 0, 0, 0, 0, 0, 0], 0.0, "grid")
	_check_seen(target, [1, 0, 0, -1, 0.5, 0, 0, 0, 0, 0], 1e-6, "targets")
	check_equal(target.part().size, 10)
	root.free()


func test_bodies_are_where_a_reset_puts_them() -> void:
	var root := Node3D.new()
	tree.root.add_child(root)
	var rays := AmbuloRaySensor.new()
	rays.rays = 4
	root.add_child(rays)
	var spare := Node.new()
	spare.add_child(Node.new())
	root.add_child(spare)
	var wall := _wall(root, Vector3(0, 0, -8.5), "walls")
	var walker := _walker()
	var step := AmbuloAgentsStep.new(tree)
	step.choose(AmbuloAgentsStep.NOW, 0)
	await tree.physics_frame
	await tree.physics_frame
	wall.position.z = -6.5
	step.begin_reset(1)
	_check_seen(rays, [0.6, 1, 1, 1], 1e-4, "a body that was there")
	spare.free()
	var other := _wall(root, Vector3(0, 0, -8.5), "walls")  # as many nodes as before
	await tree.physics_frame
	await tree.physics_frame
	other.position.z = -4.5
	step.begin_reset(1)
	_check_seen(rays, [0.4, 1, 1, 1], 1e-4, "a body that has come")
	other.free()
	wall.position.z = -3.5
	step.begin_reset(1)
	_check_seen(rays, [0.3, 1, 1, 1], 1e-4, "without the one that has gone")
	walker.free()
	root.free()


func test_sensors_in_two_dimensions() -> void:
	var root := Node2D.new()
	tree.root.add_child(root)
	var eye := Node2D.new()
	eye.rotation = PI / 2  # +X of it is down
	root.add_child(eye)
	var body := StaticBody2D.new()
	body.position = Vector2(0, 60)
	body.add_to_group("walls")
	var shape := CollisionShape2D.new()
	shape.shape = RectangleShape2D.new()
	(shape.shape as RectangleShape2D).size = Vector2(20, 20)
	body.add_child(shape)
	root.add_child(body)
	var rays := AmbuloRaySensor.new()
	rays.rays = 3
	rays.angle = 90.0
	rays.length = 100.0
	eye.add_child(rays)
	var target := AmbuloTargetSensor.new()
	target.classes = ["walls"]
	target.sensor_range = 30.0
	eye.add_child(target)
	await tree.physics_frame
	await tree.physics_frame
	_check_seen(rays, [1.0, 0.5, 1.0], 1e-4, "rays")
	_check_seen(target, [1, 1, 0, 1], 1e-6, "target")
	root.free()


func test_a_camera_is_off_at_first() -> void:
	var camera := AmbuloCameraSensor.new()
	check_contains(camera.problem(), "is off")
	camera.enabled = true
	check_contains(camera.problem(), "environment.headless=false")
	camera.free()


func test_play_by_a_person_is_recorded() -> void:
	var folder := OS.get_user_data_dir().path_join("test_recordings")
	for file in DirAccess.get_files_at(folder):  # of a run that failed
		DirAccess.remove_absolute(folder.path_join(file))
	var walker := Walker.new()
	walker.mode = AmbuloAgent3D.Mode.RECORD
	walker.record_folder = folder
	tree.root.add_child(walker)
	Input.action_press("ui_right")
	for _k in 4:
		await tree.physics_frame
	Input.action_release("ui_right")
	check_equal(walker.acted["move"], PackedFloat32Array([1, 0]))
	walker.free()
	var files := DirAccess.get_files_at(folder)
	check(files.size() >= 1, "a file for each episode")
	var data: Dictionary = JSON.parse_string(
		FileAccess.get_file_as_string(folder.path_join(files[0]))
	)
	check_equal([data["format"], data["kind"]], ["ambulo-demonstration", "agent"])
	check_equal(data["reward"], [0.5, 0.5])
	check_equal(data["action"]["move"][0], [1.0, 0.0])
	check_equal(data["observation"]["steps"], [[0.0], [1.0]])
	check_equal(data["success"], true)
	for file in files:
		DirAccess.remove_absolute(folder.path_join(file))


func _check_seen(
	sensor: AmbuloSensor, expected: PackedFloat64Array, tolerance: float, what: String
) -> void:
	var seen: PackedFloat32Array = sensor.observe()
	check_all_near(PackedFloat64Array(Array(seen)), expected, tolerance, what)


func _walker() -> Walker:
	var walker := Walker.new()
	tree.root.add_child(walker)
	return walker


func _wall(root: Node3D, at: Vector3, group: String) -> StaticBody3D:
	var body := StaticBody3D.new()
	body.position = at
	body.add_to_group(group)
	var shape := CollisionShape3D.new()
	shape.shape = BoxShape3D.new()
	body.add_child(shape)
	root.add_child(body)
	return body
