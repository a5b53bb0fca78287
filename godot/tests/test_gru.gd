extends AmbuloTest
## The memory of a recurrent policy: equations, states of several agents, refused files.

const _INPUTS := 5
const _UNITS := 6
const _GATES := 3 * _UNITS


func test_steps_equal_plain_loops() -> void:
	var weights := _noise(_numbers(), 1)
	var gru := AmbuloGru.from_layer(weights, _layer())
	var state := AmbuloMlp.zeros(_UNITS)
	var plain := PackedFloat64Array()
	plain.resize(_UNITS)
	for k in 30:
		var x := _noise(_INPUTS, 10 + k)
		gru.step(AmbuloMlp.fours(x), state)
		plain = _plain(weights, PackedFloat64Array(Array(x)), plain)
		var got := PackedFloat64Array()
		for i in _UNITS:
			got.append(state[i >> 2][i & 3])
		check_all_near(got, plain, 2e-6, "step %d" % k)
	check_equal(state[1].z, 0.0, "what fills up stays zero")


func test_a_network_replaces_the_state_that_it_is_given() -> void:
	var mlp := AmbuloMlp.from_file(_file())
	var first := mlp.new_state()
	check_equal(first, AmbuloMlp.zeros(_UNITS))
	var x := _noise(_INPUTS, 3)
	var begins := mlp.act(x, first)
	check(first != mlp.new_state())
	check_equal(mlp.act(x), begins, "no state: an episode begins")
	check(mlp.act(x, first) != begins)
	var other := mlp.new_state()
	check_equal(mlp.act(x, other), begins, "another agent")


func test_layers_that_do_not_fit_are_refused() -> void:
	var good: Array = _file().layers
	check_equal(_problem(good), "")
	for key: String in ["weight", "bias", "state_weight", "state_bias", "outputs", "inputs"]:
		var rows: Array = good.duplicate(true)
		rows[0][key] += 1
		check_contains(_problem(rows), "layers", key)
	var other: Array = good.duplicate(true)
	other[0].type = "lstm"
	check_contains(_problem(other), "layers.type: 'lstm' is no layer")
	other[0].erase("type")
	check_contains(_problem(other), "layers")


func _problem(rows: Array) -> String:
	var checks := AmbuloChecks.new()
	AmbuloLayerRows.new().read(checks, rows, _INPUTS, 0, ["", "gru"])
	return checks.problem


func _numbers() -> int:
	return _GATES * (_INPUTS + 1 + _UNITS + 1)


func _layer() -> Dictionary:
	var bias := _GATES * _INPUTS
	return {
		"type": "gru",
		"inputs": _INPUTS,
		"outputs": _UNITS,
		"weight": 0,
		"bias": bias,
		"state_weight": bias + _GATES,
		"state_bias": bias + _GATES + _GATES * _UNITS,
	}


func _file() -> AmbuloPolicyFile:
	var file := AmbuloPolicyFile.new()
	file.observation_size = _INPUTS
	file.outputs = 3
	file.state_size = _UNITS
	var at := _numbers()
	var head := {"inputs": _UNITS, "outputs": 3, "weight": at, "bias": at + 3 * _UNITS}
	head["activation"] = "none"
	file.layers = [_layer(), head]
	file.weights = _noise(at + 3 * _UNITS + 3, 2)
	return file


func _noise(count: int, seed_value: int) -> PackedFloat32Array:
	var rng := RandomNumberGenerator.new()
	rng.seed = seed_value
	var out := PackedFloat32Array()
	for i in count:
		out.append(rng.randf_range(-1.0, 1.0))
	return out


func _plain(
	weights: PackedFloat32Array, x: PackedFloat64Array, h: PackedFloat64Array
) -> PackedFloat64Array:
	var layer := _layer()
	var a := _product(weights, layer.weight, layer.bias, x)
	var c := _product(weights, layer.state_weight, layer.state_bias, h)
	var out := PackedFloat64Array()
	for i in _UNITS:
		var reset := 1.0 / (1.0 + exp(-a[i] - c[i]))
		var keep := 1.0 / (1.0 + exp(-a[_UNITS + i] - c[_UNITS + i]))
		var new := tanh(a[2 * _UNITS + i] + reset * c[2 * _UNITS + i])
		out.append((1.0 - keep) * new + keep * h[i])
	return out


func _product(
	weights: PackedFloat32Array, first: int, bias: int, x: PackedFloat64Array
) -> PackedFloat64Array:
	var out := PackedFloat64Array()
	for row in _GATES:
		var sum := weights[bias + row]
		for column in x.size():
			sum += weights[first + row * x.size() + column] * x[column]
		out.append(sum)
	return out
