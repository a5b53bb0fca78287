extends AmbuloTest
## The ribbon behind a player: where it lies, and that it stays small.


func test_the_ribbon_lies_along_the_way() -> void:
	var trail := AmbuloTrailView.new()
	for k in 11:
		trail.extend_to(0.2 * k, 1.0)
	check_equal(trail.points().size(), 11, "points")
	var bounds := trail.mesh.get_aabb()
	var low := AmbuloAxes.from_godot(bounds.end)
	var high := AmbuloAxes.from_godot(bounds.position)
	var half := AmbuloTrailView.HALF_WIDTH
	check_all_near(low.slice(0, 2), [0.0, 1.0 - half], 1e-4, "begin")
	check_all_near(high.slice(0, 2), [2.0, 1.0 + half], 1e-4, "end")
	trail.clear()
	check_equal(trail.points().size(), 0, "cleared")
	trail.free()


func test_short_moves_add_nothing_and_long_ways_are_thinned() -> void:
	var trail := AmbuloTrailView.new()
	for k in 50:
		trail.extend_to(0.001 * k, 0.0)
	check_equal(trail.points().size(), 1, "standing")
	for k in AmbuloTrailView.MOST_POINTS + 10:
		trail.extend_to(0.2 * k, 0.0)
	check(trail.points().size() < AmbuloTrailView.MOST_POINTS, "thinned")
	check_near(trail.points()[0].x, 0.0, 1e-6, "the start is kept")
	trail.free()
