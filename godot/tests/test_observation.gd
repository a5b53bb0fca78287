extends AmbuloTest
## The published numbers of hand-made states, in both frames.

const RAYS := 4


func test_at_rest_at_the_start() -> void:
	var out := _observed(_row([3.0, 4.0, 0.0], PI / 2.0), [3.0, 9.0, 0.0], true)
	check_all_near(out.slice(0, 3), [0.0, 0.0, 1.6], 1e-6, "camera position")
	check_all_near(out.slice(3, 7), [0.0, 0.0, 0.0, 1.0], 1e-6, "camera rotation")
	check_all_near(out.slice(13, 17), [1.0, 2.0, 3.0, 4.0], 1e-6, "rays")
	check_all_near(out.slice(17, 23), [0.35, 0.22, 1.1, 0.35, -0.22, 1.1], 1e-6, "hands")
	check_all_near(out.slice(29, 32), [5.0, 0.0, 0.0], 1e-6, "goal ahead")
	check_near(out[32], 5.0, 1e-6, "goal distance")
	check_all_near(out.slice(33, 36), [1.0, 0.0, 0.0], 1e-6, "goal direction")


func test_motion_in_the_frame_of_the_head() -> void:
	var row := _row([3.0, 5.0, 0.0], PI)
	row[AmbuloWorld.VELOCITY] = -2.0
	row[AmbuloWorld.YAW_RATE] = 0.5
	var out := _observed(row, [3.0, 9.0, 0.0], true)
	check_all_near(out.slice(0, 2), [1.0, 0.0], 1e-6, "a metre ahead of the start")
	check_all_near(out.slice(5, 7), [sin(PI / 4.0), cos(PI / 4.0)], 1e-6, "turned left")
	check_all_near(out.slice(7, 10), [2.0, 0.0, 0.0], 1e-6, "walks ahead")
	check_near(out[12], 0.5, 1e-6, "turn rate")
	check_all_near(out.slice(23, 26), [2.0 - 0.5 * 0.22, 0.5 * 0.35, 0.0], 1e-6, "left hand")
	check_all_near(out.slice(26, 29), [2.0 + 0.5 * 0.22, 0.5 * 0.35, 0.0], 1e-6, "right hand")
	check_all_near(out.slice(29, 31), [0.0, -4.0], 1e-5, "goal to the right")


func test_world_axes() -> void:
	var row := _row([3.0, 5.0, -0.5], -3.0 * PI)
	row[AmbuloWorld.VELOCITY + 1] = 1.5
	var out := _observed(row, [4.0, 5.0, 0.5], false)
	check_all_near(out.slice(0, 3), [3.0, 5.0, 1.1], 1e-6, "camera position")
	check_all_near(out.slice(7, 10), [0.0, 1.5, 0.0], 1e-6, "velocity")
	check_all_near(out.slice(17, 20), [-0.35, -0.22, 1.1], 1e-6, "left hand")
	check_all_near(out.slice(29, 33), [1.0, 0.0, 1.0, 1.0], 1e-6, "goal")
	check_all_near(out.slice(33, 36), [sqrt(0.5), 0.0, sqrt(0.5)], 1e-6, "direction in 3D")
	check(absf(out[5]) > 0.999999, "half a turn")


func test_at_the_goal_the_direction_is_zero() -> void:
	var out := _observed(_row([1.0, 1.0, 0.0], 0.3), [1.0, 1.0, 0.0], true)
	check_all_near(out.slice(32, 36), [0.0, 0.0, 0.0, 0.0], 1e-12)


func test_layout_has_the_published_size() -> void:
	var parts := AmbuloObservation.layout(16, false, "none")
	var total := 0
	for size: int in parts.values():
		total += size
	check_equal(total, 48)
	check_equal(AmbuloObservation.published_size(16), 48)
	check_equal(AmbuloObservation.layout(16, true, "visits").keys().slice(-2), ["task", "visits"])


func _row(position: PackedFloat64Array, yaw: float) -> PackedFloat64Array:
	var row := position.duplicate()
	row.append(yaw)
	row.append_array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])
	row.append_array([1.0, 2.0, 3.0, 4.0])
	return row


## The observation of [param row] in an episode that began at (3, 4), looking along +Y.
func _observed(row: PackedFloat64Array, goal: PackedFloat64Array, head: bool) -> PackedFloat64Array:
	var out := PackedFloat32Array()
	out.resize(AmbuloObservation.published_size(RAYS))
	out.fill(NAN)
	AmbuloObservation.write(row, goal, [3.0, 4.0, PI / 2.0], RAYS, head, out)
	return PackedFloat64Array(Array(out))
