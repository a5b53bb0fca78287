extends SceneTree
## Moves body trackers with recorded samples, for the tests and benchmarks of Python.
##
## `godot --headless --path godot -s res://tests/body_tracker_probe.gd -- JOBS.json`: a list of
## {"model", "input", "output"} with file names. The input is rows of 64-bit floats: begin (0 or
## 1), dt, ground, then of each tracker present (0 or 1), position (3) and orientation (w, x, y,
## z). The output is, per row, the positions of all joints, their local rotations (w, x, y, z), the
## contacts, the statuses of the trackers and of the frame, and the time of the step, [us].

const _WIDTH := 51


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
	var model := AmbuloTrackerFile.new()
	if not model.load_from(str(job.model)):
		printerr("body_tracker_probe: %s" % model.error)
		return false
	var body := AmbuloBodyTracker.new(model)
	var rows := FileAccess.get_file_as_bytes(str(job.input)).to_float64_array()
	var out := PackedFloat64Array()
	for at in range(0, rows.size(), _WIDTH):
		var row := rows.slice(at, at + _WIDTH)
		if row[0] != 0.0:
			body.reset()
		var places := PackedVector3Array()
		var turns: Array[Quaternion] = []
		var present := PackedByteArray()
		for k in 6:
			var from := 3 + 8 * k
			present.append(int(row[from]))
			places.append(Vector3(row[from + 1], row[from + 2], row[from + 3]))
			turns.append(Quaternion(row[from + 5], row[from + 6], row[from + 7], row[from + 4]))
		var before := Time.get_ticks_usec()
		body.step(places, turns, present, row[1], row[2])
		var usec := Time.get_ticks_usec() - before
		for place in body.pose.positions:
			out.append_array([place.x, place.y, place.z])
		for q in body.pose.local:
			out.append_array([q.w, q.x, q.y, q.z])
		for contact in body.contacts:
			out.append(contact)
		for status in body.statuses:
			out.append(status)
		out.append_array([body.status, usec])
	var file := FileAccess.open(str(job.output), FileAccess.WRITE)
	return file != null and file.store_buffer(out.to_byte_array())
