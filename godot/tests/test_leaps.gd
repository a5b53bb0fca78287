extends AmbuloWorldTest
## Snap turns, teleports and the height of the eyes.


func test_snaps_wait_for_their_delay() -> void:
	var spec := AmbuloSpec.new()
	spec.snap_turn = 0.5
	var waits: PackedFloat64Array = [0.0, 0.0]
	var turns: PackedFloat64Array = []
	for _k in 7:
		var command: PackedFloat64Array = [0.2, 0.4, 0.8]
		turns.append(AmbuloActions.leap(command, 0, spec, waits, 0)[2])
		check_all_near(command, [0.2, 0.4, 0.0], 0.0, "the stick still walks")
	check_all_near(turns, [-0.5, 0, 0, -0.5, 0, 0, -0.5])
	var weak: PackedFloat64Array = [0.0, 0.0, -0.69]
	waits.fill(0.0)
	check_equal(AmbuloActions.leap(weak, 0, spec, waits, 0)[2], 0.0, "too weak")


func test_command_leaps_once() -> void:
	var spec := AmbuloSpec.new()
	spec.teleport = 3.0
	spec.dead_zone = 0.0
	var command := AmbuloCommand.new(spec)
	check_equal(command.aim([0.0, 1.0, 0.0]), 0.0)
	check_near(command.leap(0.0).distance_to(Vector3(0, 0, -3)), 0.0, 1e-6, "ahead is -Z")
	command.tick()
	check_equal(command.velocity(0.0), Vector3.ZERO, "it does not walk")
	command.aim([0.0, 1.0, 0.0])
	check_equal(command.leap(0.0), Vector3.ZERO, "it waits")


func test_eyes_and_hands_scale() -> void:
	var row := PackedFloat64Array()
	row.resize(AmbuloWorld.RAYS + 4)
	var out := PackedFloat32Array()
	out.resize(AmbuloObservation.published_size(4))
	AmbuloObservation.write(row, [1, 0, 0], [0, 0, 0], 4, true, out, 0.8)
	check_near(out[2], 0.8, 1e-6, "eyes")
	check_all_near(
		PackedFloat64Array(Array(out.slice(17, 20))), [0.175, 0.11, 0.55], 1e-6, "left hand"
	)


func test_bad_settings_are_refused() -> void:
	var rules := {
		"snap_turn": -0.1,
		"snap_delay": 0.0,
		"teleport": 21.0,
		"teleport_delay": -1.0,
		"vignette": 1.5,
		"eye_height": 0.5
	}
	for key: String in rules:
		var errors := PackedStringArray()
		check(AmbuloSpec.from_dict({key: rules[key]}, errors) == null, key)
		check_contains(errors[0], key)


func test_the_rig_has_the_height_of_its_spec() -> void:
	var path := "res://addons/ambulo_rl/rig/player_rig.tscn"
	var rig: AmbuloPlayerRig = (load(path) as PackedScene).instantiate()
	tree.root.add_child(rig)
	var spec := AmbuloSpec.new()
	spec.eye_height = 0.8
	spec.vignette = 0.7
	rig.use_spec(spec)
	check_near((rig.get_node(^"Camera") as Node3D).position.y, 0.8, 1e-6, "eyes")
	check_near((rig.get_node(^"LeftHand") as Node3D).position.y, 0.55, 1e-6, "hand")
	check_near((rig.get_node(^"Camera/Vignette") as AmbuloVignette).amount, 0.7, 1e-9)
	rig.free()
