extends AmbuloTest
## What is drawn: the floor covers exactly its area, shapes stand where the level says, the trail
## behind a player, and the vignette of its camera.

const VIGNETTE := "res://addons/ambulo_rl/view/vignette.tscn"
const FRAME := 1.0 / 90.0


func test_floor_pieces_cover_the_floor_once() -> void:
	var holes := [[1, 1, 3, 2], [2, 1.5, 4, 3], [-9, -4.5, -3, -4], [4.5, 4.5, 9, 9]]
	var level := _level({"holes": holes})
	var area := 0.0
	var random := RandomNumberGenerator.new()
	random.seed = 1
	var rows := AmbuloLevelSolids.floor_rectangles(level)
	var pieces: Array[PackedFloat64Array] = []
	for k in range(0, rows.size(), 4):
		pieces.append(rows.slice(k, k + 4))
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
	var mesh := AmbuloLevelView.floor_mesh(_level({"bounds": [1, 2, 4, 8]}))
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


func test_stairs_and_ramps_are_drawn() -> void:
	var level := _level(
		{
			"heights": true,
			"stairs": [{"from": [0, 0, 0], "to": [2, 0, 1], "width": 1, "steps": 5}],
			"ramps": [{"from": [-3, 0, 0], "to": [-1, 0, 1], "width": 1, "thickness": 0.1}],
		}
	)
	var view := AmbuloLevelView.new()
	tree.root.add_child(view)
	view.show_level(level)
	var boxes: MultiMeshInstance3D = view.get_child(1)
	check_equal(boxes.multimesh.instance_count, 5, "steps")
	var faces: MeshInstance3D = view.get_child(4)
	var low := AmbuloAxes.from_godot(faces.mesh.get_aabb().end)
	var high := AmbuloAxes.from_godot(faces.mesh.get_aabb().position)
	check_all_near([low[0], low[1], high[0], high[1]], [-3, -0.5, -1, 0.5], 1e-4, "the ramp")
	var points := faces.mesh.get_faces()
	var normal := (points[2] - points[0]).cross(points[1] - points[0])
	var middle := faces.mesh.get_aabb().get_center()
	check(normal.dot(points[0] - middle) > 0.0, "faces outwards")
	view.free()


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


func test_it_narrows_smoothly_and_widens_again() -> void:
	var ring := _made()
	var last := 0.0
	for _k in 90:
		ring.drive(2.0, 0.0, FRAME)
		check(ring.narrowing >= last and ring.narrowing - last < 0.05, "smooth")
		last = ring.narrowing
	check_near(ring.narrowing, 0.6, 1e-3, "at full speed")
	check_near(ring.opening(), deg_to_rad(50.0) * 0.4, 1e-3, "opening")
	for _k in 180:
		ring.drive(0.0, 0.0, FRAME)
	check_near(ring.narrowing, 0.0, 5e-3, "at rest")
	ring.free()


func test_slow_motion_and_turns_narrow_in_proportion() -> void:
	var ring := _made()
	for _k in 180:
		ring.drive(0.7, 0.0, FRAME)
	check_near(ring.narrowing, 0.3, 1e-3, "half speed")
	for _k in 180:
		ring.drive(0.0, -PI / 4.0, FRAME)
	check_near(ring.narrowing, 0.6, 1e-3, "turning")
	ring.free()


func test_jumps_narrow_nothing() -> void:
	var ring := _made()
	ring.drive(3.0 / FRAME, 0.0, FRAME)
	ring.drive(0.0, 0.5 / FRAME, FRAME)
	check_near(ring.narrowing, 0.0, 1e-9)
	check_near(ring.opening(), PI, 1e-9)
	ring.free()


func test_it_watches_the_origin_above_its_camera() -> void:
	var origin := XROrigin3D.new()
	var camera := XRCamera3D.new()
	var ring: AmbuloVignette = (load(VIGNETTE) as PackedScene).instantiate()
	tree.root.add_child(origin)
	origin.add_child(camera)
	camera.add_child(ring)
	check_equal(ring.tracked, origin)
	ring.set_process(false)
	ring._process(FRAME)
	for _k in 30:
		origin.position.x += 1.4 * FRAME
		camera.rotation.y += 0.1  # the head's own turn
		ring._process(FRAME)
	check_near(ring.narrowing, 0.5 * (1.0 - exp(-30.0 * FRAME / 0.15)), 5e-3)
	var before := ring.narrowing
	origin.position.x += 3.0
	ring._process(FRAME)
	check(ring.narrowing < before, "a teleport is no motion")
	origin.free()


func _level(parts: Dictionary) -> AmbuloLevel:
	var data := {"name": "view", "bounds": [-5, -5, 5, 5]}
	data.merge(parts, true)
	var errors: PackedStringArray = []
	var level := AmbuloLevel.from_dict(data, errors)
	check_equal(errors, PackedStringArray())
	return level


func _made() -> AmbuloVignette:
	var ring: AmbuloVignette = (load(VIGNETTE) as PackedScene).instantiate()
	ring.amount = 0.6
	tree.root.add_child(ring)
	return ring
