extends AmbuloTest
## The planner and its map: hand-made walls, margins, gaps, forgetting.

const RAYS := 16
const RANGE := 5.0


func test_an_open_way_is_straight() -> void:
	var planner := AmbuloGridPlanner.new()
	_update(planner, 0.1, 0.1, [6.1, 0.1])
	check(planner.found)
	check_near(planner.length, 6.0, 1e-9)
	check_all_near(planner.points, [2.625, 0.125, 2.125, 0.125, 4.125, 0.125], 1e-9)
	planner.reset()
	_update(planner, 0.1, 0.1, [3.1, 3.1])
	check_near(planner.length, 3.0 * sqrt(2.0), 1e-9, "twelve diagonal moves")


func test_at_the_goal_every_point_is_the_goal() -> void:
	var planner := AmbuloGridPlanner.new()
	_update(planner, 0.1, 0.1, [0.2, 0.15])
	check(planner.found)
	check_near(planner.length, 0.0, 0.0)
	check_all_near(planner.points, [0.2, 0.15, 0.2, 0.15, 0.2, 0.15], 0.0)


func test_a_plan_lasts_three_decisions() -> void:
	var planner := AmbuloGridPlanner.new()
	var lengths: PackedFloat64Array = []
	for x: float in [0.1, 1.1, 2.1, 3.1, 4.1]:
		_update(planner, x, 0.1, [6.1, 0.1])
		lengths.append(planner.length)
	check_all_near(lengths, [6.0, 6.0, 6.0, 3.0, 3.0], 1e-9)


func test_a_ray_marks_where_it_ends() -> void:
	var map := _wall(AmbuloHitMap.new(2.0), 8, -12, 12)
	var planner := AmbuloGridPlanner.new()
	var row := _row()
	row[AmbuloWorld.RAYS] = 1.9  # 0.1 + 1.9 + 0.02 lies in the cell from 2 m on
	row[AmbuloWorld.RAYS + 1] = RANGE - 5e-5
	planner.update([0.1, 0.1, 0.0], row, RAYS, 0.0, RANGE, [6.1, 0.1])
	check(planner.length > 6.1, "the hit is walked around")
	check(planner.length < 6.8, "and no more than that")
	check(map.is_hit(Vector2i(8, 0)) and not map.is_hit(Vector2i(7, 0)))


func test_a_wall_is_walked_around() -> void:
	var map := _wall(AmbuloHitMap.new(), 8, -12, 12)
	var path := map.path(Vector2i(0, 0), Vector2i(24, 0), true)
	check_equal(path[0], Vector2(24, 0), "from the goal")
	check_equal(path[path.size() - 1], Vector2(0, 0), "to the player")
	check(_reach(path) == 14, "one cell is kept free beside the wall")
	check(map.is_blocked(Vector2i(7, 0), true) and not map.is_blocked(Vector2i(7, 0), false))
	path = map.path(Vector2i(0, 0), Vector2i(24, 0), false)
	check(_reach(path) == 13, "a narrow one passes close by")
	check(map.is_blocked(Vector2i(7, 0), true), "and leaves the map as it was")


func test_a_margin_keeps_clear_where_there_is_room() -> void:
	for margin: float in [1.0, 3.0]:
		var map := AmbuloHitMap.new(margin)
		map.add(Vector2i(10, 0))
		var path := map.path(Vector2i(0, 2), Vector2i(20, 2), true)
		var close := 0
		for cell in path:
			close += int(absf(cell.x - 10.0) <= 2.0 and absf(cell.y) <= 2.0)
		check(close > 0 if margin == 1.0 else close == 0, "margin %s" % margin)
	var beside := AmbuloHitMap.new(2.0)
	beside.add(Vector2i(10, 0))
	beside.path(Vector2i.ZERO, Vector2i(20, 0), true)
	check(beside.is_beside(Vector2i(12, 2)) and not beside.is_beside(Vector2i(13, 0)))


func test_a_gap_that_no_ray_has_passed_costs_more() -> void:
	for passed: bool in [true, false]:
		var map := AmbuloHitMap.new(1.0, 4.0)
		map.path(Vector2i(0, 0), Vector2i(24, 0), true)
		for y: int in [-4, -5, 4, 5]:
			map.add(Vector2i(12, y))
		for x in range(25 if passed else 0):
			for y in range(-1, 2):
				map.pass_through(Vector2i(x, y))
		var side := _reach(map.path(Vector2i(0, 0), Vector2i(24, 0), true))
		check(side <= 1 if passed else side > 5, "passed: %s, aside: %s" % [passed, side])


func test_a_gap_is_entered_only_without_another_way() -> void:
	var map := AmbuloHitMap.new()
	_wall(_wall(map, 12, -40, -1), 12, 1, 40)
	check(map.path(Vector2i(0, 0), Vector2i(24, 0), true).size() > 30, "around")
	for x in range(-20, 40):
		map.add(Vector2i(x, -40))
		map.add(Vector2i(x, 40))
	_wall(_wall(map, -20, -40, 40), 40, -40, 40)
	check(map.path(Vector2i(0, 0), Vector2i(24, 0), true).is_empty(), "shut in")
	check_equal(map.path(Vector2i(0, 0), Vector2i(24, 0), false).size(), 25, "through the gap")


func test_cells_around_both_ends_are_open() -> void:
	var map := _wall(AmbuloHitMap.new(), 1, -8, 8)
	check(not map.path(Vector2i(0, 0), Vector2i(-10, 0), true).is_empty(), "next to a wall")
	check(not map.path(Vector2i(-10, 0), Vector2i(0, 0), true).is_empty(), "the goal is")
	check(map.path(Vector2i(1, 0), Vector2i(-10, 0), true).is_empty(), "inside of a hit")
	check(map.is_blocked(Vector2i(0, 0), true), "shut again")


func test_without_a_way_the_points_are_the_goal() -> void:
	var planner := AmbuloGridPlanner.new()
	var row := _row()
	for step in 120:
		row.fill(1.5 if step & 1 else 1.7)  # a thin ring leaks where cells touch by corners
		var angle := TAU * step / 120.0 / RAYS
		planner.update([0.1, 0.1, 0.0], row, RAYS, angle, RANGE, [6.0, 1.0])
	check(not planner.found)
	check_near(planner.length, sqrt(5.9 * 5.9 + 0.9 * 0.9), 1e-9, "the straight distance")
	check_all_near(planner.points, [6.0, 1.0, 6.0, 1.0, 6.0, 1.0], 0.0)
	planner.reset()
	_update(planner, 0.1, 0.1, [6.0, 1.0])
	check(planner.found, "forgotten")


func test_the_region_grows_with_the_map() -> void:
	var map := _wall(AmbuloHitMap.new(2.0), 8, -12, 12)
	var length := map.path(Vector2i(0, 0), Vector2i(24, 0), true).size()
	map.add(Vector2i(-100, 90))
	check_equal(map.path(Vector2i(0, 0), Vector2i(24, 0), true).size(), length)
	check(not map.path(Vector2i(0, 0), Vector2i(200, -150), true).is_empty(), "a far goal")


func test_wide_maps_forget_what_is_far() -> void:
	var map := AmbuloHitMap.new()
	_wall(_wall(map, 8, -12, 12), 600, -12, 12)
	map.path(Vector2i(590, 0), Vector2i(610, 0), true)
	check(map.is_hit(Vector2i(600, 0)), "near")
	check(not map.is_hit(Vector2i(8, 0)), "590 cells away")


func test_who_is_stuck_takes_another_way() -> void:
	var planner := AmbuloGridPlanner.new()
	_update(planner, 0.1, 0.1, [6.1, 0.1])
	var before := planner.length
	for i in 31:
		_update(planner, 0.1, 0.1, [6.1, 0.1])
	check(planner.found and planner.length > before, "the cell ahead is blocked")
	_update(planner, 5.6, 0.1, [6.1, 0.1])
	for i in 100:
		_update(planner, 5.6, 0.1, [6.1, 0.1])
	check_near(planner.length, 0.5, 1e-9, "who stands at the goal is not stuck")


func test_bumps_are_forgotten() -> void:
	var map := AmbuloHitMap.new()
	check(not map.forget_bumps(), "there was none")
	for y in range(-1, 2):
		for x in range(-1, 2):
			if x != 0 or y != 0:
				map.bump(Vector2i(x, y))
	check(map.path(Vector2i(0, 0), Vector2i(8, 0), false).is_empty(), "walled in")
	check(map.is_hit(Vector2i(1, 0)) and map.forget_bumps() and not map.is_hit(Vector2i(1, 0)))
	check_equal(map.path(Vector2i(0, 0), Vector2i(8, 0), true).size(), 9)


func test_far_goals_are_moved_nearer() -> void:
	var planner := AmbuloGridPlanner.new()
	_update(planner, 0.1, 0.1, [500.0, 0.1])
	check(planner.found)
	check_near(planner.length, AmbuloHitMap.MOST_CELLS / 4.0, 1e-9)


## Hits in one column of cells.
func _wall(map: AmbuloHitMap, x: int, from: int, to: int) -> AmbuloHitMap:
	for y in range(from, to + 1):
		map.add(Vector2i(x, y))
	return map


## How far a path leads to the side.
func _reach(path: PackedVector2Array) -> int:
	var most := 0.0
	for cell in path:
		most = maxf(most, absf(cell.y))
	return int(most)


func _update(planner: AmbuloGridPlanner, x: float, y: float, goal: PackedFloat64Array) -> void:
	planner.update([x, y, 0.0], _row(), RAYS, 0.0, RANGE, goal)


## A state row whose rays hit nothing.
func _row() -> PackedFloat64Array:
	var row := PackedFloat64Array()
	row.resize(AmbuloWorld.RAYS + RAYS)
	row.fill(RANGE)
	return row
