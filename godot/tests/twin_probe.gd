extends SceneTree
## Moves a body by recorded actions as the twin in a policy file says, for the tests of Python.
##
## `godot --headless --path godot -s res://tests/twin_probe.gd -- JOB.json`: {"policy", "level",
## "actions", "output"} with file names, and "pose" (x, y, yaw). Actions are three 64-bit floats
## a decision. The output is, per decision, position (3), yaw, velocity (3), yaw rate and ticks
## in contact.


func _initialize() -> void:
	await process_frame
	var job: Variant = JSON.parse_string(
		FileAccess.get_file_as_string(OS.get_cmdline_user_args()[0])
	)
	var problem := _run(job)
	if problem != "":
		printerr("twin_probe: %s" % problem)
	quit(0 if problem == "" else 1)


func _run(job: Dictionary) -> String:
	var file := AmbuloPolicyFile.new()
	if not file.load_from(str(job.policy)):
		return file.error
	if file.twin == null:
		return "%s: has no twin" % file.path
	var errors: PackedStringArray = []
	var level := AmbuloLevel.from_dict(
		JSON.parse_string(FileAccess.get_file_as_string(str(job.level))), errors
	)
	if level == null:
		return errors[0]
	var world := AmbuloWorld.new()
	world.configure(1, file.spec, file.twin)
	world.set_levels([0], [level])
	world.reset([0], [0], PackedFloat64Array(job.pose as Array))
	var actions := FileAccess.get_file_as_bytes(str(job.actions)).to_float64_array()
	var out := PackedFloat64Array()
	for at in range(0, actions.size(), 3):
		world.step(actions.slice(at, at + 3))
		var row := world.state_rows([0])
		out.append_array(row.slice(0, AmbuloWorld.COMMAND))
		out.append(row[row.size() - AmbuloWorld.TAIL + AmbuloWorld.CONTACT_TICKS])
	var stream := FileAccess.open(str(job.output), FileAccess.WRITE)
	return "" if stream.store_buffer(out.to_byte_array()) else "cannot write"
