extends AmbuloWorldTest
## Walls, corners, gaps, and what counts as contact.

const WALL := {"center": [2, 0, 1], "half_size": [1, 5, 1]}


func test_a_wall_stops() -> void:
	var world := world_at({"boxes": [WALL]}, [0, 0, 0])
	repeat(world, [0, 1, 0], 6)
	check_all_near(part(world, "position"), [0.75, 0, 0], 1e-4)
	check_all_near(part(world, "velocity"), [0, 0, 0], 1e-2)
	check_near(value(world, "contact_ticks"), 9.0)
	check_near(value(world, "since_contact"), 0.0)


func test_a_wall_lets_slide() -> void:
	# 45 degrees towards the wall: the way along it is kept.
	var world := world_at({"boxes": [WALL]}, [0.7, -3, PI / 4.0])
	repeat(world, [0, 1, 0], 10)
	check_all_near(part(world, "position"), [0.75, -3.0 + 2.0 * sqrt(0.5), 0], 1e-4)
	check_near(part(world, "velocity")[1], 2.0 * sqrt(0.5), 1e-2)


func test_a_turned_wall_lets_slide() -> void:
	var yaw := 0.3
	var world := world_at({"boxes": [box(0, 0, 6, 0.5, yaw)]}, [-2, -3, PI / 2.0])
	repeat(world, [0, 1, 0], 12)
	var place := part(world, "position")
	var off := -sin(yaw) * place[0] + cos(yaw) * place[1]
	check_near(off, -0.75, 2e-4, "distance from the middle of the wall")


func test_a_cylinder_pushes_straight_away() -> void:
	var world := world_at({"cylinders": [drum(0, 0, 0.5)]}, [-1.0, 0.1, 0])
	repeat(world, [0, 1, 0], 3)
	var place := part(world, "position")
	check_near(sqrt(place[0] * place[0] + place[1] * place[1]), 0.75, 5e-4)
	check(place[1] > 0.15, "slides around it")


func test_an_inner_corner_holds() -> void:
	var parts := {"boxes": [box(2, 0, 1, 5), box(0, 2, 5, 1)]}
	var world := world_at(parts, [0.5, 0.6, 0.7])
	repeat(world, [0, 1, 0], 10)
	check_all_near(part(world, "position"), [0.75, 0.75, 0], 2e-4)


func test_a_sharp_inner_corner_holds() -> void:
	# Two walls at 60 degrees; the body ends where it touches both.
	var parts := {"boxes": [box(0, -1, 6, 1), box(0, 0, 6, 0.1, PI / 3.0)]}
	var world := world_at(parts, [2.5, 0.6, PI])
	repeat(world, [0, 1, 0], 20)
	var place := part(world, "position")
	check_near(place[1], 0.25, 1e-3, "on the lower wall")
	var off := sin(PI / 3.0) * place[0] - cos(PI / 3.0) * place[1]
	check_near(off, 0.35, 1e-3, "on the turned wall")


func test_an_outer_corner_is_round() -> void:
	var world := world_at({"boxes": [box(1, 1, 1, 1)]}, [-0.16, -0.16, 0])
	world.step([0, 0, 0])
	check_all_near(part(world, "position"), [-0.25 * sqrt(0.5), -0.25 * sqrt(0.5), 0], 2e-4)
	check_near(value(world, "contact_ticks"), 1.0)


func test_a_gap_that_is_too_narrow() -> void:
	var parts := {"boxes": [box(2, 1.2, 1, 1), box(2, -1.2, 1, 1)]}
	var world := world_at(parts, [0, 0, 0])
	repeat(world, [0, 1, 0], 10)
	var place := part(world, "position")
	# Held by the two corners (1, +-0.2) at 0.25 m.
	check_near(place[0], 1.0 - sqrt(0.25 * 0.25 - 0.04), 3e-3)
	check_near(place[1], 0.0, 1e-3)


func test_a_gap_that_fits() -> void:
	var parts := {"boxes": [box(2, 1.26, 1, 1), box(2, -1.26, 1, 1)]}
	var world := world_at(parts, [0, 0, 0])
	repeat(world, [0, 1, 0], 20)
	check_near(part(world, "position")[0], 4.0, 1e-9)
	check_near(value(world, "since_contact"), (1 << 30) + 180.0)


func test_who_stands_at_a_wall_does_not_touch_it() -> void:
	for x: float in [0.75, -13.123456789, 17.3]:
		var parts := {"boxes": [box(x + 1.25, 0.3, 1, 5)]}
		var world := world_at(parts, [x, 0.1, 0])
		repeat(world, [0, 0, 0], 3)
		check_near(value(world, "since_contact"), (1 << 30) + 27.0, 0.0, "wall at %s" % x)
		repeat(world, [0, 1, 0], 1)
		repeat(world, [0, 0, 0], 3)
		check_near(value(world, "since_contact"), 27.0, 0.0, "after a push")


func test_paint_and_beams_are_walked_through() -> void:
	var paint := {"center": [1, 0, 0.0], "half_size": [0.5, 5, 0.01]}
	var beam := {"center": [2, 0, 2.0], "half_size": [0.5, 5, 0.25]}
	var world := world_at({"boxes": [paint, beam]}, [0, 0, 0])
	repeat(world, [0, 1, 0], 20)
	check_near(part(world, "position")[0], 4.0, 1e-9)
	check_near(part(world, "rays")[8], 5.0, 0.0, "and not seen")


func test_collision_events_rearm() -> void:
	# One decision in contact, one decision (9 ticks) away, and again.
	for rearm: int in [9, 10]:
		var spec := plain_spec({"rearm_ticks": rearm})
		var world := world_at({"boxes": [WALL]}, [0.75, 0, 0], spec)
		world.step([0, 1, 0])
		check_near(value(world, "collisions"), 1.0, 0.0, "the first touch is an event")
		check_near(value(world, "contact_ticks"), 9.0)
		world.step([0, 0, 0])
		check_near(value(world, "collisions"), 0.0)
		world.step([0, 1, 0])
		check_near(value(world, "contact_ticks"), 9.0)
		check_near(value(world, "collisions"), 1.0 if rearm == 9 else 0.0, 0.0, "after 9 ticks")


func test_random_walks_keep_out() -> void:
	var random := RandomNumberGenerator.new()
	random.seed = 4
	var boxes: Array[Dictionary] = []
	var drums: Array[Dictionary] = []
	for k in 25:
		var x := random.randf_range(-6, 6)
		var y := random.randf_range(-6, 6)
		if k % 2 == 0:
			boxes.append(box(x, y, random.randf_range(0.1, 0.8), 0.2, random.randf() * TAU))
		else:
			drums.append(drum(x, y, random.randf_range(0.1, 0.6)))
	var parts := {"boxes": boxes, "cylinders": drums}
	var level := level_of(parts)
	var world := world_at(parts, [-8, -8, 0.8], plain_spec({"smoothing": 0.3}))
	var touched := 0.0
	for k in 400:
		if k % 25 == 0:
			world.reset([0], [0], _free_place(level, random))
		world.step([random.randf_range(-1, 1), random.randf_range(0, 1), random.randfn()])
		var place := part(world, "position")
		touched += value(world, "contact_ticks")
		check(clearance(level, place[0], place[1]) > 0.2485, "decision %d keeps out" % k)
	check(touched > 100.0, "there were contacts")


func _free_place(level: AmbuloLevel, random: RandomNumberGenerator) -> PackedFloat64Array:
	while true:
		var x := random.randf_range(-6, 6)
		var y := random.randf_range(-6, 6)
		if clearance(level, x, y) > 0.25:
			return [x, y, random.randf() * TAU]
	return []
