extends SceneTree
## Replays recorded states through a policy, for the trainer's tests and benchmarks.
##
## `godot --headless --path godot -s res://tests/policy_probe.gd -- JOBS.json`: a list of
## {"policy", "input", "output", "grids", "times", "observations"} with file names, and "comfort"
## where the dial is not in the middle. The input is
## 64-bit floats: with "observations" true rows of raw observations, else rows of begin (0
## or 1), task, goal x y z and the front of a state row up to what is sensed. The output is,
## per row, the observation and the action, and after raw observations the probability of being
## lost of a policy with a memory; "grids" takes visits (32-bit integers) and
## cells (bytes) that are remembered at the end, "times" what each observation of a state, or
## action for a raw one, took [us] (64-bit floats), or they are null.

const _HEAD := 5

var _failed := false


func _init() -> void:
	var arguments := OS.get_cmdline_user_args()
	if arguments.size() != 1:
		_fail("expected the name of one file")
	else:
		var jobs: Variant = JSON.parse_string(FileAccess.get_file_as_string(arguments[0]))
		for job: Dictionary in jobs:
			_run(job)
	quit(1 if _failed else 0)


func _run(job: Dictionary) -> void:
	var node := AmbuloPolicyNode.new()
	if not node.load_policy(str(job.policy)):
		_fail(node.error)
		node.free()
		return
	node.comfort = job.get("comfort", node.comfort)
	var numbers := FileAccess.get_file_as_bytes(str(job.input)).to_float64_array()
	var out := PackedFloat64Array()
	var started := Time.get_ticks_usec()
	var times := PackedFloat64Array()
	var rows := 0
	if job.observations:
		rows = _feed_observations(node, numbers, out, times)
	else:
		rows = _feed_states(node, numbers, out, times)
	var usec := Time.get_ticks_usec() - started
	print("%s: %d decisions, %.0f us each" % [job.policy, rows, float(usec) / maxi(rows, 1)])
	_save(str(job.output), out.to_byte_array())
	if job.times != null:
		_save(str(job.times), times.to_byte_array())
	if job.grids != null:
		var memory := node.memory_of(0)
		var visits := memory.visit_counts().to_byte_array()
		_save(str(job.grids), visits + memory.cell_states())
	node.free()


func _feed_observations(
	node: AmbuloPolicyNode,
	numbers: PackedFloat64Array,
	out: PackedFloat64Array,
	times: PackedFloat64Array
) -> int:
	var width := node.file.observation_size
	for at in range(0, numbers.size(), width):
		var row := PackedFloat32Array(Array(numbers.slice(at, at + width)))
		var started := Time.get_ticks_usec()
		var action := node.act_on_observation(row)
		times.append(Time.get_ticks_usec() - started)
		out.append_array(action)
		if node.file.memory != "none":
			out.append(node.lost)
	return floori(numbers.size() / float(width))


func _feed_states(
	node: AmbuloPolicyNode,
	numbers: PackedFloat64Array,
	out: PackedFloat64Array,
	times: PackedFloat64Array
) -> int:
	var width := _HEAD + AmbuloWorld.RAYS + node.file.spec.sensed_size()
	for at in range(0, numbers.size(), width):
		if numbers[at] != 0.0:
			node.reset(0)
		node.task = int(numbers[at + 1])
		var goal := numbers.slice(at + 2, at + 5)
		var row := numbers.slice(at + _HEAD, at + width)
		var started := Time.get_ticks_usec()
		var seen := node.observe(0, row, goal)
		times.append(Time.get_ticks_usec() - started)
		for value in seen:
			out.append(value)
		out.append_array(node.act_on_observation(seen))
	return floori(numbers.size() / float(width))


func _save(path: String, data: PackedByteArray) -> void:
	var file := FileAccess.open(path, FileAccess.WRITE)
	if file == null or not file.store_buffer(data):
		_fail("%s: cannot be written" % path)


func _fail(reason: String) -> void:
	printerr("policy_probe: %s" % reason)
	_failed = true
