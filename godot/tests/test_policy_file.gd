extends AmbuloTest
## Policy files: the shipped one loads; every damage is refused with its reason.

const SHIPPED := "res://policies/vr_navigation.ambulo"


func test_the_shipped_file() -> void:
	var file := AmbuloPolicyFile.new()
	check(file.load_from(SHIPPED), file.error)
	check_equal(file.error, "")
	check_equal(file.observation_size, 114)
	check_equal(file.observation["ray_sensors"], 16)
	check_equal(file.frame, "head")
	check_equal(file.memory, "navigator")
	check_equal(file.spec.ticks_per_decision, 9)
	check_near(file.spec.dt, 1.0 / 90.0)
	check_equal(file.tasks, PackedStringArray(["navigate"]))
	check_near(file.goal_radius, 1.0)
	check_equal(file.max_steps, 1000)
	check_equal(file.layers.size(), 3)
	var actor := 114 * 192 + 192 + 192 * 192 + 192 + 192 * 3 + 3
	check_equal(file.weights.size(), actor)


func test_a_network_of_earlier_versions_is_not_read() -> void:
	var data := FileAccess.get_file_as_bytes(SHIPPED)
	var start := 12 + data.decode_u32(8)
	var weights := data.slice(start) + PackedFloat32Array([0.5, -0.5]).to_byte_array()
	var hashing := HashingContext.new()
	hashing.start(HashingContext.HASH_SHA256)
	hashing.update(weights)
	var header: Dictionary = JSON.parse_string(data.slice(12, start).get_string_from_utf8())
	header["weights"] = {"numbers": weights.size() / 4.0, "sha256": hashing.finish().hex_encode()}
	_refuse(_packed(header, weights), "weights.numbers: the layers need")
	header["lost"] = {"layers": []}
	var path := _write(_packed(header, weights))
	var file := AmbuloPolicyFile.new()
	check(file.load_from(path), file.error)
	check_equal(file.layers.size(), 3)
	DirAccess.remove_absolute(path)


func test_what_an_exported_game_lacks_is_named_by_its_filter() -> void:
	var cases: Dictionary[String, String] = {
		"res://policies/agent.ambulo": "File not found; list *.ambulo in the export preset",
		"res://walk.trackers": "File not found; list *.trackers in the export preset",
		"user://agent.ambulo": "File not found",
	}
	for path in cases:
		check(FileAccess.open(path, FileAccess.READ) == null, path)
		check_equal(AmbuloDataFile.open_problem(path, false), "File not found")
		var exported := AmbuloDataFile.open_problem(path, true)
		check_contains(exported, cases[path], path)
		check_equal(exported.contains("preset"), path.begins_with("res://"))


func test_files_that_are_no_policies() -> void:
	_refuse_file("res://policies/nowhere.ambulo", "nowhere.ambulo: File not found")
	_refuse_file("res://project.godot", "is no policy file")
	_refuse("AMBULO".to_ascii_buffer(), "is no policy file")
	_refuse("AMBULOP2____________".to_ascii_buffer(), "or one of another version")


func test_cut_and_changed_bytes() -> void:
	var data := FileAccess.get_file_as_bytes(SHIPPED)
	_refuse(data.slice(0, data.size() - 4), "bytes of weights, got")
	_refuse(data + PackedByteArray([0]), "bytes of weights, got")
	_refuse(data.slice(0, 100), "does not fit")
	data[data.size() - 9] ^= 1
	_refuse(data, "the weights are damaged")


func test_weights_that_are_no_numbers() -> void:
	var data := FileAccess.get_file_as_bytes(SHIPPED)
	var start := 12 + data.decode_u32(8)
	for value: float in [NAN, INF, -INF, 1e38]:
		var weights := data.slice(start)
		weights.encode_float(400, value)
		var hashing := HashingContext.new()
		hashing.start(HashingContext.HASH_SHA256)
		hashing.update(weights)
		var digest := hashing.finish().hex_encode()
		var header := data.slice(12, start).get_string_from_utf8()
		var old := AmbuloPolicyFile.new()
		check(old.load_from(SHIPPED), old.error)
		var stored: Dictionary = JSON.parse_string(header)["weights"]
		header = header.replace(str(stored["sha256"]), digest)
		_refuse(
			data.slice(0, 12) + header.to_utf8_buffer() + weights,
			"a weight is not finite, or larger than"
		)


func test_headers_that_lie() -> void:
	_refuse_header({"layers": []}, "layers: must end in 3 outputs")
	_refuse_header({"layers": 7}, "layers: expected a list")
	_refuse_header({"output": "softmax"}, "output: must be one of clip, bound, argmax")
	_refuse_header({"output": "argmax"}, "layers: must end in 7 outputs")
	_refuse_header({"output": "bound"}, "bound: expected 2 numbers")
	_refuse_header({"output": "bound", "bound": [0.0, 1.0]}, "bound: must be positive")
	_refuse_header({"observation_size": 1e9}, "observation_size: must be in")
	_refuse_header({"observation_size": 106}, "expected 106")
	_refuse_header({"observation": [{"name": "a", "start": 1, "stop": 3}]}, "does not follow")
	_refuse_header({"weights": {"numbers": 5, "sha256": "a"}}, "weights.numbers: the layers need")
	_refuse_header({"world": {"dt": 1}}, "world.ticks_per_decision: missing")
	_refuse_header({"code": "quit()"}, "code: unknown key")
	_refuse_header({"senses": null}, "senses: expected an object")
	_refuse_header({"kind": 3}, "kind: expected one line of text")
	var senses := {"frame": "head", "memory": "mind", "num_rays": 16, "ray_length": 5.0}
	_refuse_header({"senses": senses}, "senses.memory: must be one of none, visits, map, plan")
	senses.memory = "map"
	_refuse_header({"senses": senses.merged({"plan_reach": 0.1})}, "senses.plan_reach: must be in")
	_refuse_header(
		{"senses": senses.merged({"plan_reach": "2"})}, "senses.plan_reach: expected a number"
	)
	senses.num_rays = 8
	_refuse_header({"senses": senses}, "world: its rays are not those of senses")
	_refuse_bytes("[1]".to_utf8_buffer(), "header: expected an object")
	_refuse_bytes("{".to_utf8_buffer(), "header: ")


func test_twins_that_lie() -> void:
	var part := {"gain": 1.0, "offset": 0.0, "lag": 0.4, "change": 1.0, "delay": 0.2}
	var spans := {"speed": [-0.2, 0.6], "side": [0.0, 0.0], "turn": [-60, 60], "lateral": null}
	var twin := {
		"walker": "w", "radius": 0.3, "envelope": spans, "speed": part, "side": part, "turn": part
	}
	var errors: PackedStringArray = []
	check_near(AmbuloTwin.from_dict(twin, errors).fastest(), 0.6, 1e-9, "fastest")
	check_equal(errors, PackedStringArray())
	_refuse_header({"twin": 3}, "twin: expected an object")
	_refuse_header({"twin": twin.merged({"noise": 1.0})}, "twin.noise: unknown key")
	_refuse_header({"twin": twin.merged({"radius": 0.0}, true)}, "twin.radius: must be in")
	_refuse_header(
		{"twin": twin.merged({"speed": {"gain": 1.0}}, true)}, "twin.speed.offset: missing"
	)
	var wrong := spans.merged({"turn": [60, -60]}, true)
	_refuse_header(
		{"twin": twin.merged({"envelope": wrong}, true)}, "twin.envelope.turn: must ascend"
	)


func test_a_body_answers_late_and_slowly() -> void:
	var part := {"gain": 1.0, "offset": 0.0, "lag": 0.01, "change": 1.5, "delay": 0.2}
	var spans := {"speed": [-0.2, 0.5], "side": [0.0, 0.0], "turn": [-60, 60], "lateral": null}
	var errors: PackedStringArray = []
	var twin := (
		AmbuloTwin
		. from_dict(
			{
				"walker": "w",
				"radius": 0.3,
				"envelope": spans,
				"speed": part,
				"side": part,
				"turn": part,
			},
			errors
		)
	)
	var spec := AmbuloSpec.new()
	spec.dt = 0.1
	spec.max_speed = 1.0
	var motion := twin.start()
	var speeds: PackedFloat64Array = []
	for k in 8:
		twin.tick(motion, 0.0, 1.0, 0.0, spec)
		speeds.append(motion.now[0])
	# Two ticks late, then by 1.5 m/s^2 to the fastest that it walks.
	var expected: PackedFloat64Array = [0.0, 0.0, 0.15, 0.3, 0.45, 0.5, 0.5, 0.5]
	for k in 8:
		check_near(speeds[k], expected[k], 1e-9, "tick %d" % k)


func _refuse_header(changes: Dictionary, part: String) -> void:
	var data := FileAccess.get_file_as_bytes(SHIPPED)
	var size := data.decode_u32(8)
	var text := data.slice(12, 12 + size).get_string_from_utf8()
	var header: Dictionary = JSON.parse_string(text)
	header.merge(changes, true)
	_refuse(_packed(header), part)


func _refuse_bytes(header: PackedByteArray, part: String) -> void:
	_refuse(_with_length(header), part)


func _packed(header: Dictionary, weights := PackedByteArray()) -> PackedByteArray:
	return _with_length(JSON.stringify(header).to_utf8_buffer()) + weights


func _with_length(header: PackedByteArray) -> PackedByteArray:
	var data := "AMBULOP1".to_ascii_buffer()
	data.resize(12)
	data.encode_u32(8, header.size())
	return data + header


func _refuse(data: PackedByteArray, part: String) -> void:
	var path := _write(data)
	_refuse_file(path, part)
	DirAccess.remove_absolute(path)


func _write(data: PackedByteArray) -> String:
	var path := OS.get_temp_dir().path_join("ambulo_%d.ambulo" % OS.get_process_id())
	var stream := FileAccess.open(path, FileAccess.WRITE)
	stream.store_buffer(data)
	stream.close()
	return path


func _refuse_file(path: String, part: String) -> void:
	var file := AmbuloPolicyFile.new()
	check(not file.load_from(path), "%s is refused" % part)
	check_contains(file.error, part)
	check(file.error.begins_with(path), "the file is named")
