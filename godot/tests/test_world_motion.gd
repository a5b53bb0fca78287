extends AmbuloWorldTest
## Free motion: commands, order of a tick, discrete actions, falling.


func test_layout_covers_the_row() -> void:
	var world := world_at({}, [0, 0, 0])
	var last: Dictionary = AmbuloWorld.state_layout(AmbuloSpec.new()).back()
	check_equal(last["name"], "falling")
	check_equal(int(last["start"]) + int(last["size"]), world.state_width)
	check_equal(world.state_width, 40)


func test_reset_is_at_rest() -> void:
	var world := world_at({}, [1, 2, 0.5])
	check_all_near(part(world, "position"), [1, 2, 0])
	check_near(value(world, "yaw"), 0.5)
	check_near(value(world, "since_contact"), 1 << 30)
	check_near(value(world, "path"), 0.0)


func test_straight_ahead() -> void:
	var world := world_at({}, [0, 0, PI / 6.0])
	world.step([0, 1, 0])
	check_all_near(part(world, "position"), [0.2 * cos(PI / 6.0), 0.1, 0], 1e-12)
	check_all_near(part(world, "velocity"), [2.0 * cos(PI / 6.0), 1, 0], 1e-9)
	check_near(value(world, "path"), 0.2, 1e-12)


func test_strafe_and_rotation_are_to_the_right() -> void:
	var world := world_at({}, [0, 0, 0])
	world.step([1, 0, 0])
	check_all_near(part(world, "position"), [0, -0.2, 0], 1e-12)
	world.step([0, 0, 1])
	check_near(value(world, "yaw"), -PI / 20.0, 1e-12)
	check_near(value(world, "yaw_rate"), -PI / 2.0, 1e-12)


func test_yaw_turns_before_the_body_moves() -> void:
	var spec := plain_spec({"ticks_per_decision": 1})
	var world := world_at({}, [0, 0, 0], spec)
	world.step([0, 1, 1])
	var yaw := -PI / 180.0
	check_all_near(part(world, "position"), [cos(yaw) * 2.0 / 90.0, sin(yaw) * 2.0 / 90.0, 0])


func test_smoothing_leaves_its_share() -> void:
	var world := world_at({}, [0, 0, 0], plain_spec({"smoothing": 0.3}))
	world.step([0, 1, -1])
	check_all_near(part(world, "command"), [0, 0.7, -0.7], 1e-12)
	world.step([0, 0, 0])
	check_all_near(part(world, "command"), [0, 0.21, -0.21], 1e-12)


func test_dead_zone_clip_and_stick_length() -> void:
	var world := world_at({}, [0, 0, 0], plain_spec({"dead_zone": 0.05}))
	world.step([0.05, -0.525, 7.0])
	check_all_near(part(world, "command"), [0, -0.5, 1], 1e-12)
	world.step([1, 1, 0])
	check_all_near(part(world, "command"), [sqrt(0.5), sqrt(0.5), 0], 1e-12)


func test_discrete_actions() -> void:
	var spec := plain_spec({"discrete": true})
	var world := world_at({}, [0, 0, 0], spec)
	var places: Array[PackedFloat64Array] = [
		[1, 0, 0], [0, 0, 0], [0, 1, 0], [0, 0, 0], [0, 0, 0], [0, 0, 0], [0, 0, 0]
	]
	for index in 7:
		world.step([index])
		check_all_near(part(world, "position"), places[index], 1e-12, "action %d" % index)
		check_near(value(world, "moves"), 1.0 if index < 4 else 0.0)
		check_near(value(world, "snaps"), 1.0 if index == 4 or index == 5 else 0.0)
		check_near(value(world, "yaw"), PI / 4.0 if index == 4 else 0.0, 1e-12)
		check_near(value(world, "yaw_rate"), 0.0)
	check_near(value(world, "path"), 0.0)


func test_snap_turns_before_the_move() -> void:
	var world := world_at({}, [0, 0, 0], plain_spec({"discrete": true}))
	world.step([4])
	world.step([0])
	check_all_near(part(world, "position"), [sqrt(0.5), sqrt(0.5), 0], 1e-12)


func test_falling_into_a_hole() -> void:
	# The axis passes the edge at x = 1 in the tick that ends beyond it; then it falls.
	var world := world_at({"holes": [[1, -1, 3, 1]]}, [0.79, 0, 0])
	world.step([0, 1, 0])
	check_near(value(world, "falling"), 0.0)
	world.step([0, 1, 0])
	# 10th tick: x = 1.01222 without floor; 8 ticks of fall.
	check_near(value(world, "falling"), 1.0)
	check_near(part(world, "position")[2], -9.81 / 8100.0 * 36.0, 1e-12)
	check_near(part(world, "velocity")[2], -9.81 * 8.0 / 90.0, 1e-12)
	check_near(part(world, "position")[0], 1.19, 1e-12)
	check_near(value(world, "fell"), 0.0)
	repeat(world, [0, -1, 0], 4)
	check_near(part(world, "velocity")[0], 2.0, 1e-9, "nothing steers the fall")
	check_near(value(world, "fell"), 1.0)
	check_near(part(world, "rays")[3], 5.0, 0.0, "no floor: nothing is seen")


func test_the_border_is_floor() -> void:
	var spec := plain_spec({"ticks_per_decision": 1, "dt": 0.0625, "max_speed": 2.0})
	var world := world_at({"bounds": [-1, -1, 1, 1]}, [0.875, 0, 0], spec)
	world.step([0, 1, 0])
	check_near(part(world, "position")[0], 1.0, 0.0)
	check_near(value(world, "falling"), 0.0)
	world.step([0, 1, 0])
	check_near(value(world, "falling"), 1.0)


func test_bad_batches_are_named() -> void:
	var spec := AmbuloSpec.new()
	check_contains(AmbuloActions.problem([0, 0], spec, 1), "2 numbers, expected 3")
	check_contains(AmbuloActions.problem([0, 0, 0, 0, NAN, 0], spec, 2), "actions[1]")
	spec.discrete = true
	check_contains(AmbuloActions.problem([7], spec, 1), "[0, 6]")
	check_contains(AmbuloActions.problem([1.5], spec, 1), "whole number")
	check_equal(AmbuloActions.problem([6, 0], spec, 2), "")
