extends AmbuloWorldTest
## Ray readings against distances computed by hand.


func test_nothing_in_reach() -> void:
	var world := world_at({}, [0, 0, 0.3])
	var expected: PackedFloat64Array = []
	expected.resize(16)
	expected.fill(5.0)
	check_all_near(part(world, "rays"), expected, 0.0)


func test_order_is_to_the_left_from_the_head() -> void:
	# A wall 2 m to the left of the head: ray 4 of 16.
	var parts := {"boxes": [box(0, 3, 8, 1)]}
	check_near(part(world_at(parts, [0, 0, 0]), "rays")[4], 2.0, 1e-5)
	check_near(part(world_at(parts, [0, 0, PI / 2.0]), "rays")[0], 2.0, 1e-5)
	check_near(part(world_at(parts, [0, 0, -PI / 2.0]), "rays")[8], 2.0, 1e-5)
	var spec := plain_spec({"rays_in_head_frame": false})
	check_near(part(world_at(parts, [0, 0, 1.0], spec), "rays")[4], 2.0, 1e-5, "world frame")
	check_near(part(world_at(parts, [0, 0, 0]), "rays")[2], sqrt(8.0), 1e-5, "45 degrees")


func test_turned_box_and_cylinder() -> void:
	var parts := {"boxes": [box(3, 0, 1, 1, PI / 4.0)], "cylinders": [drum(0, 3, 1)]}
	var rays := part(world_at(parts, [0, 0, 0]), "rays")
	check_near(rays[0], 3.0 - sqrt(2.0), 1e-4, "corner of the box")
	check_near(rays[4], 2.0, 1e-5, "cylinder")
	# Ray 5, 22.5 degrees off: b = 3 cos, distance b - sqrt(b^2 - 8).
	var b := 3.0 * cos(PI / 8.0)
	check(b * b < 8.0, "misses the cylinder")
	check_near(rays[5], 5.0, 0.0)


func test_low_and_high_obstacles_are_prisms() -> void:
	var low := {"center": [2, 0, 0.0], "half_size": [0.5, 1, 0.02]}
	var high := {"center": [-2, 0, 1.8], "half_size": [0.5, 1, 0.06]}
	var rays := part(world_at({"boxes": [low, high]}, [0, 0, 0]), "rays")
	check_near(rays[0], 1.5, 1e-5)
	check_near(rays[8], 1.5, 1e-5)


func test_edges() -> void:
	var parts := {"bounds": [-3, -2, 4, 2], "holes": [[1, -0.5, 2, 0.5]]}
	var rays := part(world_at(parts, [0, 0, 0]), "rays")
	check_near(rays[0], 1.0, 1e-5, "hole")
	check_near(rays[4], 2.0, 1e-5, "border to the left")
	check_near(rays[8], 3.0, 1e-5, "border behind")
	check_near(rays[2], sqrt(8.0), 1e-5, "border at 45 degrees")
	var blind := part(world_at(parts, [0, 0, 0], plain_spec({"rays_see_edges": false})), "rays")
	check_near(blind[0], 5.0, 0.0, "edges are not seen")


func test_inside_an_obstacle_and_off_the_floor() -> void:
	var parts := {"boxes": [box(0, 0, 1, 1)], "holes": [[2, 2, 3, 3]]}
	for reading in part(world_at(parts, [0.2, 0.1, 0]), "rays"):
		check_near(reading, 0.0, 0.0, "inside")
	for reading in part(world_at(parts, [2.5, 2.5, 0]), "rays"):
		check_near(reading, 5.0, 0.0, "over a hole")


func test_number_and_length() -> void:
	var spec := plain_spec({"num_rays": 4, "ray_length": 1.5})
	var parts := {"boxes": [box(2, 0, 1, 1)]}
	check_all_near(part(world_at(parts, [0, 0, 0], spec), "rays"), [1, 1.5, 1.5, 1.5], 1e-5)


func test_far_from_the_origin() -> void:
	var parts := {
		"bounds": [9e5, -9e5, 9e5 + 20, -9e5 + 20],
		"boxes": [box(9e5 + 10, -9e5 + 10, 1, 1, 0.2)],
	}
	var world := world_at(parts, [9e5 + 7, -9e5 + 10, 0])
	# The face of the box at the height of the ray: 3 m minus half the box over cos.
	check_near(part(world, "rays")[0], 3.0 - 1.0 / cos(0.2), 1e-4)


func test_many_turns_do_not_blur() -> void:
	var parts := {"boxes": [box(0, 5, 8, 1)]}
	var world := world_at(parts, [0, 0, 1e4 * TAU])
	check_near(part(world, "rays")[4], 4.0, 1e-4)
