extends SceneTree
## Replays recorded states through a navigator, for the trainer's tests and benchmarks.
##
## `godot --headless --path godot -s res://tests/navigator_probe.gd -- JOBS.json`: a list of
## {"input", "output", "map", "spec", "spreads", "repeats"}: file names, settings of the world,
## whether maps and plans are made between decisions, and how often all is played. The input is
## 64-bit floats: rows of begin (0 or 1), goal x y z and a state row. The output is, per row: points
## of the path, whether there is one, whether it ends at a frontier, waypoint x y, track to board,
## velocity x y, point to look at x y, state, path 1, 2 and 4 m ahead (x y z each) and what is left
## of it, [m]; shortest times that the decision took, and map and plan between it and the next one,
## [us]. The map: its entries at the end (32-bit integers).

const _AHEAD: PackedFloat64Array = [1.0, 2.0, 4.0]


func _init() -> void:
	var arguments := OS.get_cmdline_user_args()
	var jobs: Variant = JSON.parse_string(FileAccess.get_file_as_string(arguments[0]))
	for job: Dictionary in jobs:
		_run(job)
	quit(0)


func _run(job: Dictionary) -> void:
	var errors: PackedStringArray = []
	var spec := AmbuloSpec.from_dict(job.spec, errors)
	var out: PackedFloat64Array = []
	var times: PackedFloat64Array = []
	var width := 4 + AmbuloWorld.RAYS + spec.sensed_size() + AmbuloWorld.TAIL
	var numbers := FileAccess.get_file_as_bytes(str(job.input)).to_float64_array()
	var navigator := AmbuloNavigator.new()
	navigator.spreads = job.spreads
	for _k in int(job.repeats):
		out.clear()
		for at in range(0, numbers.size(), width):
			if numbers[at] != 0.0:
				navigator.reset()
			var row := numbers.slice(at + 4, at + width)
			var goal := numbers.slice(at + 1, at + 4)
			var started := Time.get_ticks_usec()
			navigator.update(row, goal, spec)
			navigator.set_off()
			var usec := Time.get_ticks_usec() - started
			started = Time.get_ticks_usec()
			navigator.collect()
			var waited := Time.get_ticks_usec() - started
			out.append_array(_told(navigator, row))
			var i := out.size()
			out.append_array([usec, waited])
			if times.size() > i:
				out[i] = minf(usec, times[i])
				out[i + 1] = minf(waited, times[i + 1])
		times = out.duplicate()
	_save(str(job.output), out.to_byte_array())
	_save(str(job.map), navigator.columns.entries.to_byte_array())


func _told(navigator: AmbuloNavigator, row: PackedFloat64Array) -> PackedFloat64Array:
	var plan := navigator.plan
	var steering := navigator.steering
	var told: PackedFloat64Array = [
		plan.length,
		1.0 if plan.found else 0.0,
		1.0 if plan.frontier else 0.0,
		plan.waypoint_x,
		plan.waypoint_y,
		plan.boards,
		steering.velocity_x,
		steering.velocity_y,
		steering.look_x,
		steering.look_y,
		steering.state,
	]
	return told + plan.points_ahead(row[0], row[1], _AHEAD)


func _save(path: String, data: PackedByteArray) -> void:
	FileAccess.open(path, FileAccess.WRITE).store_buffer(data)
