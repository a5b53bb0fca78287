extends AmbuloTest
## The remembered grids: hand-made scenes, forgetting, wrapping.

const RAYS := 16
const GOAL: PackedFloat64Array = [6.0, 0.1]


func test_visits_are_seen_where_they_were() -> void:
	var memory := AmbuloMemory.new("visits")
	for i in 3:
		_remember(memory, 0.5, 0.5, 0.0)
	var seen := _remember(memory, 2.5, 0.5, 0.0)
	check_near(seen[4 * 4 + 1], 0.2 * log(4.0), 1e-6, "two metres behind")
	check_near(seen[32], 0.2 * log(2.0), 1e-6, "the own cell")
	seen = _remember(memory, 2.5, 0.5, PI / 2.0)
	check_near(seen[2 * 4 + 1], 0.2 * log(4.0), 1e-6, "to the left after a turn")


func test_staleness_counts_decisions_without_progress() -> void:
	var memory := AmbuloMemory.new("visits")
	for step in 5:
		check_near(_remember(memory, 0.0, 0.0, 0.0, 5.0, 9.0 - step)[33], 0.0, 0.0, "nearer")
	var seen := PackedFloat32Array()
	for step in 400:
		seen = _remember(memory, 0.0, 0.0, 0.0, 5.0, 8.0)
	check_near(seen[33], 3.0, 1e-6)
	check(_remember(memory, 0.0, 0.0, 0.0, 5.0, 4.95)[33] > 2.9, "5 cm is no progress")
	check_near(_remember(memory, 0.0, 0.0, 0.0, 5.0, 4.8)[33], 0.0, 0.0, "20 cm is")
	check_equal(memory.stale_decisions(), 0)


func test_a_wall_is_known_from_afar() -> void:
	var memory := AmbuloMemory.new("map")
	var row := _row(5.0)
	row[AmbuloWorld.RAYS] = 4.0
	_update(memory, 4.0, 0.1, 0.0, row, 9.0)
	var seen := _remember(memory, 0.0, 0.1, 0.0)
	check_near(seen[34], 0.8, 0.03, "blocked ahead")
	check_near(seen[34 + 12], 1.0, 0.0, "nothing known behind")
	check_near(seen[34 + 24], 0.78, 0.05, "free ahead")
	check_near(seen[34 + 24 + 12], 0.5, 0.05, "free behind as far as the ray goes")


func test_sectors_tell_blocked_from_unknown() -> void:
	var memory := AmbuloMemory.new("map")
	var seen := PackedFloat32Array()
	for k in 12:
		seen = _remember(memory, 0.1, 0.1, TAU / RAYS * k / 12.0, 1.8)
	var blocked := 0.0
	for sector in RAYS:
		check_near(seen[106 + 5 * sector], 0.0, 0.0, "inner ring is free")
		check_near(seen[186 + 5 * sector], 0.0, 0.0, "inner ring is known")
		check(seen[186 + 5 * sector + 3] > 0.999, "outer rings are hidden")
		blocked += seen[106 + 5 * sector + 1] / RAYS
	check(blocked > 0.2, "the second ring is blocked")


func test_the_frame_may_lie_anywhere() -> void:
	var features: Array[PackedFloat64Array] = []
	for shift: float in [0.0, 64.0, -640.0]:
		var memory := AmbuloMemory.new("map")
		var seen := PackedFloat32Array()
		for step in 6:
			seen = _remember(memory, shift + 0.3 * step + 0.11, shift - 0.21, 0.2 * step, 2.93)
		features.append(PackedFloat64Array(Array(seen)))
	check_all_near(features[1], features[0], 1e-6)
	check_all_near(features[2], features[0], 1e-6)


func test_reset_forgets() -> void:
	for kind: String in ["visits", "map", "plan", "path", "navigator"]:
		var memory := AmbuloMemory.new(kind)
		var first := _remember(memory, 1.0, 1.0, 0.5, 2.0)
		check(_remember(memory, 1.0, 1.0, 0.5, 2.0) != first, "it remembers")
		memory.reset()
		check_equal(_remember(memory, 1.0, 1.0, 0.5, 2.0), first, kind)


func test_cells_are_unknown_free_or_blocked() -> void:
	var memory := AmbuloMemory.new("map")
	check_equal(memory.cell_states().count(0), AmbuloMemory.GRID * AmbuloMemory.GRID)
	_remember(memory, 0.1, 0.1, 0.0, 1.0)
	var cells := memory.cell_states()
	check_equal(cells[0], 1, "the own cell")
	check_equal(cells[4], 2, "a metre ahead")
	check_equal(cells.count(0) + cells.count(1) + cells.count(2), cells.size())


func test_a_plan_is_seen_from_the_head() -> void:
	var memory := AmbuloMemory.new("plan", 2.5)
	check_equal(memory.size, 274)
	var seen := _remember(memory, 0.1, 0.1, 0.0)
	check_near(seen[266], 0.2 * 2.4, 0.2 * 0.2, "the waypoint is ahead")
	check_near(seen[267], 0.0, 0.2 * 0.05, "and hardly to the left")
	check_near(seen[272], 0.05 * 8.5, 0.05 * 0.5, "length")
	check_near(seen[273], 1.0, 0.0, "found")
	var ahead := seen[266]
	seen = _remember(memory, 0.1, 0.1, PI / 2.0)
	check_near(seen[267], -ahead, 1e-6, "after a turn it is to the right")
	check(AmbuloMemory.new("map").navigator() == null)


func test_none_adds_nothing() -> void:
	var memory := AmbuloMemory.new("none")
	check_equal(memory.size, 0)
	check_equal(AmbuloMemory.fields("none"), {})


func _remember(
	memory: AmbuloMemory, x: float, y: float, yaw: float, reading := 5.0, distance := 9.0
) -> PackedFloat32Array:
	return _update(memory, x, y, yaw, _row(reading), distance)


func _update(
	memory: AmbuloMemory, x: float, y: float, yaw: float, row: PackedFloat64Array, distance: float
) -> PackedFloat32Array:
	var out := PackedFloat32Array()
	out.resize(memory.size)
	row[0] = x
	row[1] = y
	row[2] = 0.0
	row[AmbuloWorld.YAW] = yaw
	var goal: PackedFloat64Array = [x + distance, GOAL[1], 0.0]
	memory.update(row, goal, [0.0, 0.0, 0.0], AmbuloSpec.new(), out, 0)
	return out


func _row(reading: float) -> PackedFloat64Array:
	var row := PackedFloat64Array()
	row.resize(AmbuloWorld.RAYS + RAYS)
	row.fill(reading)
	return row
