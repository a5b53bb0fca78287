extends AmbuloTest
## Drawn starts and goals: in levels of any size, the same for a seed, found in bounded work.

const REACH := Vector2(5.0, 30.0)


func test_an_empty_level_of_any_size() -> void:
	var level := _level({"bounds": [0, 0, 1000, 1000]})
	var far := _level({"bounds": [0, 0, 1000, 1000], "goal_distance": [900, 1200]})
	for i in 20:
		check_equal(_draw(level, i).size(), 7, "near, seed %d" % i)
		var places := _draw(far, i)
		check_equal(places.size(), 7, "far, seed %d" % i)
		check(Vector2(places[0] - places[4], places[1] - places[5]).length() >= 899.99)
		check_equal(_draw(far, i), places, "the seed repeats")


func test_ways_around() -> void:
	# The goal is behind a wall as wide as the floor but for a metre.
	var wall := {"center": [0, 0, 1], "half_size": [0.1, 19, 1]}
	var start := {"position": [-3, 0]}
	var data := {"bounds": [-20, -20, 20, 20], "boxes": [wall], "start": start}
	data["goal_distance"] = [5.5, 6.5]
	var level := _level(data)
	var behind := 0
	for i in 30:
		var places := _draw(level, i)
		check_equal(places.size(), 7, "seed %d" % i)
		behind += int(places[4] > 0.0)
	check(behind > 0, "some goals are behind the wall")


func test_what_cannot_be_reached_is_not_drawn() -> void:
	# A floor cut in two by a gap, with the start on one side.
	var data := {"bounds": [-15, -15, 15, 15], "holes": [[-1, -20, 1, 20]]}
	data["start"] = {"position": [-5, 0]}
	var level := _level(data)
	for i in 20:
		check(_draw(level, i)[4] < -1.0, "on the start's side")
	data["goal_distance"] = [24, 25]
	var problems := PackedStringArray()
	check_equal(_draw(_level(data), 3, problems).size(), 0, "all of them are beyond the gap")
	check_equal(problems.size(), 1)
	check_contains(problems[0], "found no free start and goal")


func test_a_trench_and_holes_keep_places_away() -> void:
	# Narrower than the cells of a walk, and wider than a seam.
	var data := {"bounds": [-15, -15, 15, 15], "holes": [[0.02, -15, 0.12, 15]]}
	data["start"] = {"position": [-5, 0]}
	data["goal_distance"] = [5, 9]
	for i in 30:
		var places := _draw(_level(data), i)
		if not places.is_empty():
			check(places[4] < -0.27, "on the start's side, seed %d" % i)
	data = {"bounds": [-2, -2, 2, 2], "holes": [[-0.1, -0.1, 0.1, 0.1]], "goal_distance": [0.5, 2]}
	for i in 60:
		var places := _draw(_level(data), i)
		for at: Vector2 in [Vector2(places[0], places[1]), Vector2(places[4], places[5])]:
			var away := (at.abs() - Vector2(0.1, 0.1)).clampf(0.0, INF).length()
			check(away > 0.27, "%s keeps away from the hole" % at)


func test_no_way_through_a_gap_that_is_too_narrow() -> void:
	for gap: float in [0.5, 0.62]:
		var boxes: Array[Dictionary] = []
		for side: float in [-1.0, 1.0]:
			var y := side * (0.5 * gap + 5.0)
			boxes.append({"center": [0, y, 1], "half_size": [0.1, 5, 1]})
		var data := {"bounds": [-9, -9, 9, 9], "boxes": boxes, "goal_distance": [5.9, 6.1]}
		data["start"] = {"position": [-3, 0.0]}
		var through := 0
		for i in 80:
			var places := _draw(_level(data), i)
			through += int(not places.is_empty() and places[4] > 0.0)
		check_equal(through > 0, gap > 0.56, "gap of %.2f m" % gap)


func test_a_search_that_is_given_up_is_told_and_repeats() -> void:
	# The goal is on an island; the floor around it is too large to be searched.
	var moat: Array[Array] = [[5, 490, 6, 510], [14, 490, 15, 510], [5, 490, 15, 491]]
	moat.append([5, 509, 15, 510])
	var data := {"bounds": [0, 0, 1000, 1000], "goal": [10, 500], "holes": moat}
	data["goal_distance"] = [50, 500]
	for _k in 2:
		var problems := PackedStringArray()
		check_equal(_draw(_level(data), 1, problems).size(), 0)
		check_equal(problems, PackedStringArray(["gave up looking for a free start and goal"]))


func _draw(level: AmbuloLevel, number: int, problems := PackedStringArray()) -> PackedFloat64Array:
	var random := RandomNumberGenerator.new()
	random.seed = number
	return AmbuloPlaces.in_level(level, random, REACH, problems)


func _level(data: Dictionary) -> AmbuloLevel:
	var errors := PackedStringArray()
	data["name"] = "test"
	var level := AmbuloLevel.from_dict(data, errors)
	check_equal(errors, PackedStringArray(), "level errors")
	return level
