extends AmbuloTest
## The playable scene and its rig, without a headset and without a screen.

const SCENE := "res://scenes/features/vr_locomotion_test.tscn"
const RIG := "res://addons/ambulo_rl/rig/player_rig.tscn"


func test_rig_without_headset() -> void:
	var rig: AmbuloPlayerRig = (load(RIG) as PackedScene).instantiate()
	tree.root.add_child(rig)
	check(not rig.start_xr(), "there is no headset")
	rig.place(2.0, 1.0, 0.0, PI / 2.0)
	var eye := AmbuloAxes.from_godot((rig.get_node(^"Camera") as Node3D).global_position)
	check_all_near(eye, [2, 1, 1.6], 1e-5, "eye")
	# Facing +Y: ahead is +Y, left is -X.
	var left := AmbuloAxes.from_godot((rig.get_node(^"LeftHand") as Node3D).global_position)
	check_all_near(left, [1.78, 1.35, 1.1], 1e-5, "left hand")
	var right := AmbuloAxes.from_godot((rig.get_node(^"RightHand") as Node3D).global_position)
	check_all_near(right, [2.22, 1.35, 1.1], 1e-5, "right hand")
	check_all_near(rig.stick(), [0, 0, 0], 0.0, "nothing is pressed")
	rig.free()


func test_keys_steer() -> void:
	var rig: AmbuloPlayerRig = (load(RIG) as PackedScene).instantiate()
	tree.root.add_child(rig)
	await _press(KEY_W, true)
	await _press(KEY_D, true)
	await _press(KEY_Q, true)
	check_all_near(rig.stick(), [1, 1, -1], 0.0, "right, ahead, turn left")
	for key: Key in [KEY_W, KEY_D, KEY_Q]:
		await _press(key, false)
	check_all_near(rig.stick(), [0, 0, 0], 0.0, "released")
	rig.free()


func test_the_player_walks_by_keys() -> void:
	var scene := _open()
	var rig: AmbuloPlayerRig = scene.get_node(^"PlayerRig")
	var start := rig.position
	await _frames(5)
	check_equal(rig.position, start, "stands still")
	await _press(KEY_S, true)
	await _frames(30)
	await _press(KEY_S, false)
	check(rig.position.distance_to(start) > 0.02, "moved")
	scene.free()


func test_the_policy_walks() -> void:
	var scene := _open()
	var rig: AmbuloPlayerRig = scene.get_node(^"PlayerRig")
	var marker: Node3D = scene.get_node(^"GoalMarker")
	var before := rig.position.distance_to(marker.position)
	scene.set_physics_process(false)
	scene.call("set_policy_enabled", true)
	var nearest := before
	for _k in 40:
		for _tick in 9:
			scene.call("_physics_process", 1.0 / 90.0)
		nearest = minf(nearest, rig.position.distance_to(marker.position))
	check(nearest < before - 1.0, "comes nearer: %.2f, then %.2f" % [before, nearest])
	scene.free()


func test_a_missing_policy_is_told() -> void:
	var scene: Node = (load(SCENE) as PackedScene).instantiate()
	scene.set("policy_node", ^"Nowhere")
	tree.root.add_child(scene)
	scene.call("set_policy_enabled", true)
	await _frames(2)
	var label: Label = scene.get_node(^"Hud/Label")
	check_contains(label.text, "no policy")
	scene.free()


func test_without_levels_it_says_so_and_lives() -> void:
	var broken := "user://broken_level.json"
	FileAccess.open(broken, FileAccess.WRITE).store_string('{"name": "a", "bounds": [0, 0, 0, 9]}')
	var told: Dictionary[String, String] = {
		"res://no/where": "no *.json level file",
		"res://policies": "no *.json level file",
		broken: "broken_level.json: bounds: need x0 < x1",
	}
	for path in told:
		var scene: Node = (load(SCENE) as PackedScene).instantiate()
		scene.set("level_path", path)
		tree.root.add_child(scene)
		for key: Key in [KEY_N, KEY_R, KEY_P, KEY_P, KEY_C]:
			await _press(key, true)
			await _press(key, false)
		await _frames(2)
		var label: Label = scene.get_node(^"Hud/Label")
		check_contains(label.text, "no level in " + path)
		check_contains(label.text, told[path])
		scene.free()
	DirAccess.remove_absolute(broken)


func test_a_bad_level_among_good_ones_is_told() -> void:
	var folder := "user://some_levels"
	DirAccess.make_dir_absolute(folder)
	var good := '{"name": "good", "bounds": [0, 0, 9, 9]}'
	for file: Array in [["b.json", good], ["a.json", "{"], ["c.txt", "no level"]]:
		FileAccess.open(folder.path_join(file[0]), FileAccess.WRITE).store_string(file[1])
	var scene: Node = (load(SCENE) as PackedScene).instantiate()
	scene.set("level_path", folder)
	tree.root.add_child(scene)
	await _frames(2)
	var label: Label = scene.get_node(^"Hud/Label")
	check_contains(label.text, "good   driven by: you")
	check_contains(label.text, "a.json: level: not JSON")
	scene.free()
	var errors: PackedStringArray = []
	check_equal(AmbuloLevel.read_files(folder, errors).size(), 1)
	check_equal(errors.size(), 1)
	for file: String in ["a.json", "b.json", "c.txt"]:
		DirAccess.remove_absolute(folder.path_join(file))
	DirAccess.remove_absolute(folder)


func test_goal_rules_come_from_the_policy_file() -> void:
	var file := "user://open_level.json"
	FileAccess.open(file, FileAccess.WRITE).store_string('{"name": "a", "bounds": [0, 0, 40, 40]}')
	var scene: Node = (load(SCENE) as PackedScene).instantiate()
	scene.set("level_path", file)
	tree.root.add_child(scene)
	var policy: AmbuloPolicyNode = scene.get_node(^"Policy")
	policy.file.goal_distance = Vector2(6.0, 6.5)
	policy.file.goal_radius = 7.0
	scene.set_physics_process(false)
	scene.call("restart")
	var rig: AmbuloPlayerRig = scene.get_node(^"PlayerRig")
	var marker: Node3D = scene.get_node(^"GoalMarker")
	var away := rig.position - marker.position
	var distance := Vector2(away.x, away.z).length()
	check(distance > 5.99 and distance < 6.51, "drawn at %.2f m" % distance)
	for _tick in 10:
		scene.call("_physics_process", 1.0 / 90.0)
	var label: Label = scene.get_node(^"Hud/Label")
	check_contains(label.text, "reached the goal")
	scene.free()
	DirAccess.remove_absolute(file)


func test_it_is_as_fast_at_any_tick_rate() -> void:
	var places: Array[Vector3] = []
	for rate: float in [90.0, 60.0]:
		var scene := _open()
		scene.set_physics_process(false)
		scene.call("set_policy_enabled", true)
		for tick in int(rate):
			scene.call("_physics_process", 1.0 / rate)
		places.append((scene.get_node(^"PlayerRig") as Node3D).position)
		scene.free()
	check_equal(places[1], places[0])


func _open() -> Node:
	var scene: Node = (load(SCENE) as PackedScene).instantiate()
	tree.root.add_child(scene)
	return scene


func _frames(count: int) -> void:
	for _k in count:
		await tree.physics_frame


func _press(key: Key, pressed: bool) -> void:
	var event := InputEventKey.new()
	event.physical_keycode = key
	event.keycode = key
	event.pressed = pressed
	Input.parse_input_event(event)
	Input.flush_buffered_events()
	await tree.process_frame
