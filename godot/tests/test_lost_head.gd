extends AmbuloTest
## The head that says when an agent is lost: numbers, thresholds, files, the node's signal.

const SHIPPED := "res://policies/vr_navigation.ambulo"

var _changes: Array = []


func test_it_computes_its_layers() -> void:
	var file := AmbuloPolicyFile.new()
	file.weights = [0.5, -1.0, 2.0, 0.1, -0.3, 0.25, 3.0, -2.0, 1.5, 0.5, -0.2]
	file.lost_layers = [
		{"inputs": 3, "outputs": 2, "weight": 0, "bias": 6, "activation": "relu"},
		{"inputs": 2, "outputs": 1, "weight": 8, "bias": 10, "activation": "none"},
	]
	var head := AmbuloLostHead.from_file(file)
	var latent: PackedVector4Array = [Vector4(1.0, 2.0, -0.5, 0.0)]
	# 0.5 - 2 - 1 + 3 = 0.5; 0.1 - 0.6 - 0.125 - 2 < 0; 1.5 * 0.5 + 0 - 0.2 = 0.55
	check_near(head.probability(latent), 1.0 / (1.0 + exp(-0.55)), 1e-6)


func test_a_file_without_a_head_has_none() -> void:
	check(AmbuloLostHead.from_file(AmbuloPolicyFile.new()) == null)
	var node := AmbuloPolicyNode.new()
	check(node.load_policy(SHIPPED), node.error)
	if node.file.lost_layers.is_empty():
		node.act_on_observation(_nothing(node))
		check_equal(node.lost, -1.0)
		check_equal(node.lost_of(0), -1.0)
		check(not node.is_lost(0))
	node.free()


func test_it_is_said_with_hysteresis() -> void:
	var head := AmbuloLostHead.new()
	var said: Array[bool] = []
	for chance: float in [0.5, 0.61, 0.5, 0.41, 0.39, 0.59, 0.7]:
		head.take(2, chance, 0.6, 0.4)
		said.append(head.is_lost(2))
	check_equal(said, [false, true, true, true, false, false, true] as Array[bool])
	check(not head.is_lost(3), "another agent")
	check_near(head.chance_of(2), 0.7)
	check(head.forget(2), "it said so")
	check_equal(head.chance_of(2), -1.0)
	check(not head.forget(2), "forgotten")


func test_the_node_tells_changes_alone() -> void:
	var path := _write(0.0)
	var node := AmbuloPolicyNode.new()
	check(node.load_policy(path), node.error)
	node.lost_changed.connect(func(agent: int, is_lost: bool) -> void: _note(agent, is_lost))
	check_equal(node.lost, -1.0, "before the first decision")
	node.act_on_observation(_nothing(node), 1)
	check_near(node.lost, 0.5, 1e-6)
	check_equal(_changes, [], "below the threshold")
	node.lost_above = 0.45
	node.act_on_observation(_nothing(node), 1)
	node.act_on_observation(_nothing(node), 1)
	check_equal(_changes, [[1, true]])
	check(node.is_lost(1) and not node.is_lost(0))
	node.lost_below = 0.55
	node.lost_above = 0.6
	node.act_on_observation(_nothing(node), 1)
	check_equal(_changes, [[1, true], [1, false]])
	node.lost_above = 0.45
	node.lost_below = 0.4
	node.act_on_observation(_nothing(node), 4)
	node.reset(4)
	check_equal(_changes.slice(2), [[4, true], [4, false]], "a reset takes it back")
	check_equal(node.lost_of(4), -1.0)
	node.free()
	DirAccess.remove_absolute(path)


func test_damaged_heads_are_refused() -> void:
	for rows: Array in [
		[],
		[_row(256, 1, 0, "relu")],
		[_row(256, 2, 0, "none")],
		[_row(255, 1, 0, "none")],
		[_row(256, 1, 1, "none")],
		[_row(256, 1, 0, "tanh")],
	]:
		var path := _write(0.0, rows)
		var file := AmbuloPolicyFile.new()
		check(not file.load_from(path), "%s is refused" % [rows])
		check_contains(file.error, "lost.layers")
		DirAccess.remove_absolute(path)


func _note(agent: int, is_lost: bool) -> void:
	_changes.append([agent, is_lost])


func _nothing(node: AmbuloPolicyNode) -> PackedFloat32Array:
	var out := PackedFloat32Array()
	out.resize(node.file.observation_size)
	return out


## A row of a head, whose weights begin [param shift] behind those of the policy.
func _row(columns: int, rows: int, shift: int, activation: String) -> Dictionary:
	var at := _actor().size() + shift
	return {
		"inputs": columns,
		"outputs": rows,
		"weight": at,
		"bias": at + rows * columns,
		"activation": activation
	}


## Weights of the shipped policy, without those of its head.
func _actor() -> PackedFloat32Array:
	var file := AmbuloPolicyFile.new()
	check(file.load_from(SHIPPED), file.error)
	var last: Variant = file.layers[-1]
	return file.weights.slice(0, last.bias + last.outputs)


## The shipped policy with a head that always has the logit [param bias], or with [param rows];
## its path.
func _write(bias: float, rows: Variant = null) -> String:
	var file := AmbuloPolicyFile.new()
	check(file.load_from(SHIPPED), file.error)
	var width: int = file.layers[-1].inputs
	var data := FileAccess.get_file_as_bytes(SHIPPED)
	var start := 12 + data.decode_u32(8)
	var header: Dictionary = JSON.parse_string(data.slice(12, start).get_string_from_utf8())
	var weights := _actor()
	weights.resize(weights.size() + width)
	weights.append(bias)
	header["lost"] = {"layers": [_row(width, 1, 0, "none")] if rows == null else rows}
	var hashing := HashingContext.new()
	hashing.start(HashingContext.HASH_SHA256)
	hashing.update(weights.to_byte_array())
	var digest := hashing.finish().hex_encode()
	header["weights"] = {"numbers": weights.size(), "sha256": digest}
	var text := JSON.stringify(header).to_utf8_buffer()
	var out := "AMBULOP1".to_ascii_buffer()
	out.resize(12)
	out.encode_u32(8, text.size())
	var path := OS.get_temp_dir().path_join("ambulo_lost_%d.ambulo" % OS.get_process_id())
	var stream := FileAccess.open(path, FileAccess.WRITE)
	stream.store_buffer(out + text + weights.to_byte_array())
	stream.close()
	return path
