extends AmbuloTest
## The body of a player under an origin: from devices, from a recording, in Godot's body tracker.

const RECORDING := "res://scenes/demo/walk.trackers"
const EYES := Vector3(0.0, 1.6, 0.0)


func test_a_body_stands_under_the_headset() -> void:
	var origin := _origin()
	var body := _body(origin)
	_step(body, 60)
	var head := body.body.pose.positions[AmbuloTrackerFit.HEAD]
	check_near(head.z, 1.6 - 0.085, 0.03, "height of the head")
	check_near(head.x, -0.09, 0.03, "the head is behind the eyes")
	var hands := _bone(body, "LeftHand")
	check(hands.distance_to(Vector3(-0.25, 1.0, -0.3)) < 0.15, "the left hand is at its grip")
	check(_bone(body, "LeftFoot").y < 0.2, "feet are on the ground")
	origin.free()


func test_the_body_moves_with_the_origin() -> void:
	var origin := _origin()
	var body := _body(origin)
	_step(body, 60)
	var before := _bone(body, "Hips")
	origin.global_transform = Transform3D(Basis(Vector3.UP, PI / 2), Vector3(5.0, 1.0, 2.0))
	_step(body, 1)
	var after := _bone(body, "Hips")
	check(after.distance_to(origin.global_transform * before) < 0.02, "the hips came along")
	origin.free()


func test_a_calibration_measures_the_player() -> void:
	var origin := _origin()
	var body := _body(origin)
	(origin.get_node(^"Head") as Node3D).position = Vector3(0.0, 1.80, 0.0)
	(origin.get_node(^"Left") as Node3D).position = Vector3(-0.9, 1.55, 0.0)
	(origin.get_node(^"Right") as Node3D).position = Vector3(0.9, 1.55, 0.0)
	check(body.calibrate(), "measured")
	check_near(body.body.shape.scale(), 1.80 / AmbuloTrackerDevices.EYE_HEIGHT, 1e-3, "size")
	check_near(body.body.shape.ratios[1], 1.1, 0.06, "arms")
	origin.free()


func test_a_calibration_finds_how_trackers_sit() -> void:
	var origin := _origin()
	for name: String in ["Hips", "LeftFoot"]:
		var node := Node3D.new()
		node.name = name
		origin.add_child(node)
	var body := _body(origin)
	body.hips = ^"../Hips"
	body.left_foot = ^"../LeftFoot"
	body._find_nodes()
	var turned := Basis(Vector3.UP, 0.5)
	var poses: Dictionary[String, Transform3D] = {
		"Head": Transform3D(turned, turned * Vector3(0.0, 1.63, -0.09)),
		"Left": Transform3D(turned, turned * Vector3(-0.81, 1.45, 0.0)),
		"Right": Transform3D(turned, turned * Vector3(0.81, 1.45, 0.0)),
		"Hips": Transform3D(turned * Basis(Vector3.RIGHT, 0.6), turned * Vector3(0.0, 0.9, -0.2)),
		"LeftFoot": Transform3D(Basis(Vector3.FORWARD, 1.2), turned * Vector3(-0.12, 0.15, -0.1)),
	}
	for name in poses:
		(origin.get_node(NodePath(name)) as Node3D).transform = poses[name]
	check(body.calibrate(), "measured")
	var rest := body.body.rest()
	var turn := Quaternion(Vector3(0.0, 0.0, 1.0), 0.5)
	for row: int in [2, 5]:
		var joint := body._devices.joint(row, body._seen(row))
		check(joint.origin.distance_to(turn * rest[row]) < 0.02, "place of row %d" % row)
		check(joint.basis.get_rotation_quaternion().angle_to(turn) < 1e-3, "turn of row %d" % row)
	_step(body, 60)
	check(_bone(body, "RightFoot").y < 0.2, "the other foot stands")
	(origin.get_node(^"Left") as Node3D).position = Vector3(-0.1, 1.0, 0.0)
	check(not body.calibrate(), "no T-pose")
	(origin.get_node(^"Left") as Node3D).position = turned * Vector3(-0.3, 0.75, 0.0)
	(origin.get_node(^"Right") as Node3D).position = turned * Vector3(0.3, 0.85, 0.1)
	check(not body.calibrate(), "hands that hang down")
	origin.free()


func test_the_ground_is_found_by_a_ray() -> void:
	var origin := _origin()
	var body := _body(origin)
	var step := StaticBody3D.new()
	var shape := CollisionShape3D.new()
	shape.shape = BoxShape3D.new()
	step.add_child(shape)
	step.collision_layer = 4
	step.position = Vector3(0.0, -0.2, 0.0)
	Engine.get_main_loop().root.add_child(step)
	await tree.physics_frame
	await tree.physics_frame
	body.ground_mask = 2
	body.find_ground(1.0)
	check_near(body.ground, 0.0, 1e-6, "nothing on this layer")
	body.ground_mask = 4
	body.find_ground(1.0)
	check_near(body.ground, 0.3, 1e-3, "on the box")
	step.free()
	origin.free()


func test_a_lost_controller_has_a_status() -> void:
	var origin := _origin()
	var body := _body(origin)
	_step(body, 30)
	check_equal(body.body.statuses[0], AmbuloTrackerState.Status.OK, "seen")
	(origin.get_node(^"Left") as Node3D).position.x = NAN
	var said: Array[PackedInt32Array] = []
	body.status_changed.connect(
		func(statuses: PackedInt32Array, _frame: int) -> void: said.append(statuses)
	)
	_step(body, 1)
	check_equal(said.size(), 1, "said once")
	check(said[0][0] != AmbuloTrackerState.Status.OK, "lost")
	check(_bone(body, "LeftHand").is_finite(), "no broken skeleton")
	origin.free()


func test_a_recording_walks() -> void:
	var origin := _origin()
	var body := _body(origin)
	check(body.play(RECORDING), body.error)
	_step(body, 30)
	var first := _bone(body, "Hips")
	_step(body, 90)
	var last := _bone(body, "Hips")
	check(first.distance_to(last) > 1.0, "it goes")
	check_near(last.y, 0.95, 0.1, "height of the hips")
	var tracker := XRServer.get_tracker(AmbuloBody.BODY_TRACKER) as XRBodyTracker
	check(tracker != null and tracker.has_tracking_data, "Godot's body tracker has a pose")
	var hips := tracker.get_joint_transform(XRBodyTracker.JOINT_HIPS)
	check(hips.origin.distance_to(last) < 0.01, "with the hips where they are")
	origin.free()
	check(XRServer.get_tracker(AmbuloBody.BODY_TRACKER) == null, "and is gone with the body")


func test_bad_recordings_are_one_line() -> void:
	var good := FileAccess.get_file_as_string(RECORDING).split("\n")
	var cases: Dictionary[String, String] = {
		"no JSON": good[0] + "\n[0.0, [1",
		"no recording of trackers": "{}\n",
		"of another version": good[0].replace('"version": 1', '"version": 2'),
		"convention must be": good[0].replace("openxr", "unity"),
		"unknown or repeated tracker": good[0].replace("LeftHand", "Head"),
		"times must grow": good[0] + "\n" + good[2] + "\n" + good[1],
		"expected a time and 3 poses": good[0] + "\n[0.0, null]",
		"a pose has 7 numbers": good[0] + "\n[0.0, [1, 2], null, null]",
		"no rows": good[0] + "\n",
		"shape of nobody": good[0].replace('"trunk": 1.0', '"trunk": 9.0'),
	}
	var path := "user://bad.trackers"
	for rule in cases:
		var file := FileAccess.open(path, FileAccess.WRITE)
		file.store_string(cases[rule])
		file.close()
		var recording := AmbuloTrackerRecording.new()
		check(not recording.load_from(path), rule)
		check_contains(recording.error, rule, "error")
		check(not recording.error.contains("\n"), "one line")
	DirAccess.remove_absolute(path)


func test_a_wrong_file_is_refused() -> void:
	var body := AmbuloBody.new()
	check(not body.load_tracker("res://policies/vr_navigation.ambulo"), "refused")
	check_contains(body.error, "is no body tracker file", "error")
	body.free()


func _origin() -> XROrigin3D:
	var origin := XROrigin3D.new()
	var places: Dictionary[String, Vector3] = {
		"Head": EYES, "Left": Vector3(-0.25, 1.0, -0.3), "Right": Vector3(0.25, 1.0, -0.3)
	}
	for name in places:
		var node := Node3D.new()
		node.name = name
		node.position = places[name]
		origin.add_child(node)
	Engine.get_main_loop().root.add_child(origin)
	return origin


func _body(origin: XROrigin3D) -> AmbuloBody:
	var body := AmbuloBody.new()
	body.head = ^"../Head"
	body.left_hand = ^"../Left"
	body.right_hand = ^"../Right"
	origin.add_child(body)
	return body


func _step(body: AmbuloBody, count: int) -> void:
	for _i in count:
		body.step(1.0 / 60.0)


func _bone(body: AmbuloBody, name: String) -> Vector3:
	var skeleton := body.character.skeleton
	var pose := skeleton.get_bone_global_pose(skeleton.find_bone(name))
	return skeleton.global_transform * pose.origin
