extends SceneTree
## Walks avatars through recorded heads, for the tests and benchmarks of Python.
##
## `godot --headless --path godot -s res://tests/avatar_probe.gd -- JOBS.json`: a list of
## {"character", "input", "output", "exact"} with file names. The input is rows of 64-bit
## floats: begin (0 or 1), dt, ground, eyes (3), gaze (w, x, y, z), then for left and right
## hand led (0 or 1), position (3) and orientation (w, x, y, z). The output is, per row, the
## positions of all joints, their local rotations (w, x, y, z), and the positions of the
## bones of an [AmbuloCharacter] that shows the pose.

const _WIDTH := 26


func _initialize() -> void:
	await process_frame
	var jobs: Variant = JSON.parse_string(
		FileAccess.get_file_as_string(OS.get_cmdline_user_args()[0])
	)
	var good := true
	for job: Dictionary in jobs:
		good = _run(job) and good
	quit(0 if good else 1)


func _run(job: Dictionary) -> bool:
	var character := AmbuloCharacter.new()
	root.add_child(character)
	if not character.load_character(str(job.character)):
		printerr("avatar_probe: %s" % character.error)
		return false
	var avatar := AmbuloAvatarPose.new(character.file)
	avatar.exact_head = job.exact
	var rows := FileAccess.get_file_as_bytes(str(job.input)).to_float64_array()
	var out := PackedFloat64Array()
	var usec := 0
	for at in range(0, rows.size(), _WIDTH):
		var row := rows.slice(at, at + _WIDTH)
		if row[0] != 0.0:
			avatar.reset()
		var before := Time.get_ticks_usec()
		avatar.step(
			_vector(row, 3), _quaternion(row, 6), row[1], row[2], [_hand(row, 10), _hand(row, 18)]
		)
		character.show_avatar(avatar)
		usec += Time.get_ticks_usec() - before
		for place in avatar.positions:
			out.append_array([place.x, place.y, place.z])
		for q in avatar.local:
			out.append_array([q.w, q.x, q.y, q.z])
		for place in character.joint_positions():
			out.append_array([place.x, place.y, place.z])
	print("%d steps, %.0f us each" % [rows.size() / _WIDTH, usec * _WIDTH / float(rows.size())])
	var file := FileAccess.open(str(job.output), FileAccess.WRITE)
	character.free()
	return file != null and file.store_buffer(out.to_byte_array())


static func _vector(row: PackedFloat64Array, at: int) -> Vector3:
	return Vector3(row[at], row[at + 1], row[at + 2])


static func _quaternion(row: PackedFloat64Array, at: int) -> Quaternion:
	return Quaternion(row[at + 1], row[at + 2], row[at + 3], row[at]).normalized()


static func _hand(row: PackedFloat64Array, at: int) -> Variant:
	if row[at] == 0.0:
		return null
	return Transform3D(Basis(_quaternion(row, at + 4)), _vector(row, at + 1))
