extends AmbuloTest
## Level files: the schema's rules, with key and rule in the message.


func test_shortest_level() -> void:
	var level := _parsed({"name": "a", "bounds": [-1, -2, 3, 4]})
	check_equal(level.family, "custom")
	check_equal(level.bounds, PackedFloat64Array([-1, -2, 3, 4]))
	check(level.boxes.is_empty() and level.start.is_empty() and level.goal.is_empty())
	check_equal(_parsed(_with("$schema", "level.schema.json")).to_dict(), _full(), "for editors")


func test_round_trip() -> void:
	var data := _full()
	check_equal(_parsed(data).to_dict(), data)
	var text := JSON.stringify(data, "", false, true)
	var errors: PackedStringArray = []
	check_equal(AmbuloLevel.from_json(text, errors).to_dict(), data, "through JSON text")


func test_schema_refusals() -> void:
	_refused([1], "level: expected an object")
	_refused({"bounds": [0, 0, 1, 1]}, "name: missing")
	_refused({"name": "a"}, "bounds: missing")
	_refused(_with("bound", 1), "bound: unknown key (did you mean 'bounds'?)")
	_refused(_with("name", "  "), "name: expected one line of text")
	_refused(_with("name", "a\nb"), "name: expected one line of text")
	_refused(_with("name", "a".repeat(201)), "name: longer than 200 characters")
	_refused(_with("bounds", [0, 0, 1]), "bounds: expected 4 numbers")
	_refused(_with("bounds", [0, 0, 1, true]), "bounds: expected a number")
	_refused(_with("bounds", [0, 0, 1, INF]), "bounds: must be finite")
	_refused(_with("bounds", [0, 0, 1, 2e6]), "bounds: must be in")
	_refused(_with("holes", {}), "holes: expected a list")
	_refused(_with("boxes", [3]), "boxes[0]: expected an object")
	_refused(_with("boxes", [{"center": [0, 0, 0]}]), "boxes[0].half_size: missing")
	_refused(_with("cylinders", [{"center": [0, 0], "radius": 1}]), "cylinders[0].height: missing")
	_refused(_with("start", {"yaw": 1}), "start.position: missing")
	_refused(_with("goal_distance", [1]), "goal_distance: expected 2 numbers")


func test_shape_refusals() -> void:
	_refused(_with("bounds", [1, 0, 0, 1]), "bounds: need x0 < x1")
	_refused(_with("bounds", [0, 0, 20000, 1]), "bounds: a side over 10000 m")
	_refused(_with("bounds", [0, 0, 5000, 5000]), "bounds: more than 1000000 m^2")
	_refused(_with("holes", [[1, 1, 1, 2]]), "holes[0]: need x0 < x1")
	var flat := {"center": [0, 0, 0], "half_size": [1, 0, 1]}
	_refused(_with("boxes", [flat]), "boxes[0].half_size: must be > 0")
	var thin := {"center": [0, 0], "radius": 0, "height": 1}
	_refused(_with("cylinders", [thin]), "cylinders[0].radius: must be > 0")
	var wide := {"center": [0, 0, 0], "half_size": [1e4, 1e4, 1]}
	var boxes: Array[Dictionary] = []
	boxes.resize(300)
	boxes.fill(wide)
	var data := {"name": "a", "bounds": [-500, -500, 500, 499], "boxes": boxes}
	_refused(data, "boxes: obstacles cover more than")


func test_place_refusals() -> void:
	_refused(_with("goal", [9, 0]), "goal: out of bounds")
	_refused(_with("goal", [2, 2.5]), "goal: in holes[0]")
	_refused(_with("start", {"position": [0.1, 0]}), "start.position: inside an obstacle")
	_refused(_with("goal", [-2.6, 1]), "goal: inside an obstacle")
	_refused(_with("goal_distance", [3, 2]), "goal_distance: need 0 < min <= max")
	_refused(_with("goal", [-3, -3]), "goal: the same place as start")


func test_floor() -> void:
	var level := _parsed(_full())
	check(level.has_floor(-4, 4), "corner of the bounds is floor")
	check(not level.has_floor(-4.001, 0), "outside")
	check(not level.has_floor(2, 2.5), "in the hole")
	check(level.has_floor(1, 2.5), "border of the hole is floor")


func test_paint_and_overhead_do_not_obstruct() -> void:
	var paint := {"center": [0, 0, 0.0], "half_size": [1, 1, 0.01]}
	var beam := {"center": [0, 0, 2.0], "half_size": [1, 1, 0.25]}
	var step := {"center": [0, 0, 0.0], "half_size": [1, 1, 0.011]}
	var low := {"center": [0, 0, 1.99], "half_size": [1, 1, 0.25]}
	var data := {"name": "a", "bounds": [-9, -9, 9, 9], "boxes": [paint, beam, step, low]}
	var level := _parsed(data)
	var blocks: Array[bool] = []
	for k in 4:
		blocks.append(level.box_obstructs(7 * k))
	check_equal(blocks, [false, false, true, true] as Array[bool])


func _full() -> Dictionary:
	return {
		"name": "full",
		"family": "hand",
		"bounds": [-4.0, -4.0, 4.0, 4.0],
		"holes": [[1.0, 2.0, 3.0, 3.0]],
		"boxes": [{"center": [0.0, 0.0, 0.5], "half_size": [1.0, 0.2, 0.5], "yaw": 0.3}],
		"cylinders": [{"center": [-2.0, 1.0], "radius": 0.5, "height": 2.0}],
		"start": {"position": [-3.0, -3.0], "yaw": 0.8},
		"goal": [3.5, 3.5],
		"goal_distance": [5.0, 9.0],
	}


func _with(key: String, value: Variant) -> Dictionary:
	var data := _full()
	data[key] = value
	return data


func _parsed(data: Variant) -> AmbuloLevel:
	var errors: PackedStringArray = []
	var level := AmbuloLevel.from_dict(data, errors)
	check_equal(errors, PackedStringArray(), "errors")
	return level


func _refused(data: Variant, part: String) -> void:
	var errors: PackedStringArray = []
	check(AmbuloLevel.from_dict(data, errors) == null, "is refused: " + part)
	check_contains(", ".join(errors), part)
