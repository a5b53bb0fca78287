extends AmbuloTest
## The change of axes, by hand.


func test_unit_vectors() -> void:
	check_equal(AmbuloAxes.to_godot(1, 0, 0), Vector3(0, 0, -1), "forward")
	check_equal(AmbuloAxes.to_godot(0, 1, 0), Vector3(-1, 0, 0), "left")
	check_equal(AmbuloAxes.to_godot(0, 0, 1), Vector3(0, 1, 0), "up")


func test_there_and_back() -> void:
	var back := AmbuloAxes.from_godot(AmbuloAxes.to_godot(1.5, -2.25, 3.0))
	check_all_near(back, [1.5, -2.25, 3.0])


func test_yaw_turns_left() -> void:
	# A quarter turn to the left: what was forward is now the contract's +Y.
	var ahead := AmbuloAxes.basis(PI / 2.0) * AmbuloAxes.to_godot(1, 0, 0)
	check(ahead.is_equal_approx(AmbuloAxes.to_godot(0, 1, 0)), "quarter turn")


func test_yaw_of_basis() -> void:
	for yaw: float in [-3.0, -1.2, 0.0, 0.7, 3.1]:
		check_near(AmbuloAxes.yaw_of(AmbuloAxes.basis(yaw)), yaw, 1e-6, "yaw")


func test_pose() -> void:
	var pose := AmbuloAxes.pose(2.0, 1.0, 0.5, PI / 2.0)
	check_equal(pose.origin, Vector3(-1.0, 0.5, -2.0), "origin")
	var hand := pose * AmbuloAxes.to_godot(1.0, 0.0, 0.0)
	check_all_near(AmbuloAxes.from_godot(hand), [2.0, 2.0, 0.5], 1e-6, "one metre ahead")
