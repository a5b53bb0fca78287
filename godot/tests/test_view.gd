extends AmbuloTest
## What is drawn: the floor covers exactly its area, shapes stand where the level says.


func test_floor_pieces_cover_the_floor_once() -> void:
	var holes := [[1, 1, 3, 2], [2, 1.5, 4, 3], [-9, -4.5, -3, -4], [4.5, 4.5, 9, 9]]
	var level := _level({"holes": holes})
	var area := 0.0
	var random := RandomNumberGenerator.new()
	random.seed = 1
	var pieces := AmbuloFloorMesh.pieces(level)
	for piece in pieces:
		area += (piece[2] - piece[0]) * (piece[3] - piece[1])
	# 100 - (2 + 3 - 0.5 overlap) - 2 x 0.5 of the third - 0.25 of the fourth
	check_near(area, 100.0 - 4.5 - 1.0 - 0.25, 1e-9, "area")
	for _k in 500:
		var x := random.randf_range(-5, 5)
		var y := random.randf_range(-5, 5)
		var covered := 0
		for piece in pieces:
			if piece[0] < x and x < piece[2] and piece[1] < y and y < piece[3]:
				covered += 1
		if covered != (1 if level.has_floor(x, y) else 0):
			check(false, "point %s, %s" % [x, y])
			return


func test_floor_faces_up_and_lies_in_place() -> void:
	var mesh := AmbuloFloorMesh.of(_level({"bounds": [1, 2, 4, 8]}))
	var faces := mesh.surface_get_arrays(0)
	var points: PackedVector3Array = faces[Mesh.ARRAY_VERTEX]
	check_equal(points.size(), 6)
	for point in points:
		check(point.x >= -8 and point.x <= -2 and point.z >= -4 and point.z <= -1, "in place")
	# Godot draws triangles that run clockwise seen from the front.
	var normal := (points[2] - points[0]).cross(points[1] - points[0])
	check(normal.y > 0.0, "faces up")


func test_shapes_stand_in_place() -> void:
	var level := _level(
		{
			"boxes": [{"center": [1, 2, 0.5], "half_size": [1, 0.2, 0.5], "yaw": 0.3}],
			"cylinders": [{"center": [-2, 1], "radius": 0.5, "height": 2}],
		}
	)
	var view := AmbuloLevelView.new()
	tree.root.add_child(view)
	view.show_level(level)
	var boxes: MultiMeshInstance3D = view.get_child(1)
	check_equal(boxes.multimesh.instance_count, 1, "boxes")
	# The headless renderer keeps no instances to look at.
	var pose := AmbuloLevelView.box_pose(level.boxes)
	var corner := pose * AmbuloAxes.to_godot(0.5, 0.5, 0.5)
	var c := cos(0.3)
	var s := sin(0.3)
	var expected: PackedFloat64Array = [1.0 + c - 0.2 * s, 2.0 + s + 0.2 * c, 1.0]
	check_all_near(AmbuloAxes.from_godot(corner), expected, 1e-5, "corner of the box")
	var top := AmbuloLevelView.drum_pose(level.cylinders) * Vector3(0, 0.5, 0)
	check_all_near(AmbuloAxes.from_godot(top), [-2, 1, 2], 1e-6, "top of the cylinder")
	view.free()


func _level(parts: Dictionary) -> AmbuloLevel:
	var data := {"name": "view", "bounds": [-5, -5, 5, 5]}
	data.merge(parts, true)
	var errors: PackedStringArray = []
	var level := AmbuloLevel.from_dict(data, errors)
	check_equal(errors, PackedStringArray())
	return level
