extends AmbuloTest
## The network: blocks against plain loops, activations, output stages.


func test_blocks_equal_plain_loops() -> void:
	for activation: String in AmbuloLayerRows.ACTIVATIONS:
		var file := _file([7, 10, 5, 3], activation, "clip")
		var mlp := AmbuloMlp.from_file(file)
		for k in 20:
			var x := _noise(7, 100 + k)
			check_all_near(mlp.forward(x), _plain(file, x), 2e-6, activation)


func test_zero_inputs_are_skipped_rightly() -> void:
	var file := _file([9, 6, 3], "tanh", "clip")
	var mlp := AmbuloMlp.from_file(file)
	var x := _noise(9, 5)
	for i in range(4, 8):
		x[i] = 0.0
	check_all_near(mlp.forward(x), _plain(file, x), 2e-6)
	x.fill(0.0)
	check_all_near(mlp.forward(x), _plain(file, x), 2e-6, "all zero")


func test_the_same_input_twice_is_the_same_output() -> void:
	var mlp := AmbuloMlp.from_file(_file([6, 8, 3], "relu", "clip"))
	var first := mlp.act(_noise(6, 1))
	mlp.act(_noise(6, 2))
	check_equal(mlp.act(_noise(6, 1)), first)


func test_clip() -> void:
	check_equal(_identity("clip").act([2.0, -3.0, 0.25]), PackedFloat64Array([1.0, -1.0, 0.25]))


func test_argmax_takes_the_first_of_the_largest() -> void:
	var mlp := _identity("argmax")
	check_equal(mlp.act([0.5, 2.0, 1.0, 2.0, -1.0, 0.0, 0.0]), PackedFloat64Array([1.0]))


func test_bound_shortens_the_stick_and_keeps_its_direction() -> void:
	var mlp := _identity("bound")
	mlp.bound = Vector2(0.5, 0.25)
	var action := mlp.act([3.0, 4.0, -100.0])
	check_all_near(action, [0.3, 0.4, -0.25], 1e-6)
	action = mlp.act([0.003, -0.004, 0.001])
	check_all_near(action, [0.003, -0.004, 0.001], 1e-6, "small ones stay")
	check_all_near(mlp.act([0.0, 0.0, 0.0]), [0.0, 0.0, 0.0], 1e-12)


func test_weights_that_are_not_finite_are_refused() -> void:
	var file := _file([4, 3], "none", "clip")
	file.weights[5] = NAN
	check(AmbuloMlp.from_file(file) == null)


## A network of one layer that puts out what it gets.
func _identity(output: String) -> AmbuloMlp:
	var size := 7 if output == "argmax" else 3
	var file := _file([size, size], "none", output)
	file.weights.fill(0.0)
	for i in size:
		file.weights[i * size + i] = 1.0
	return AmbuloMlp.from_file(file)


func _file(widths: PackedInt32Array, activation: String, output: String) -> AmbuloPolicyFile:
	var file := AmbuloPolicyFile.new()
	file.observation_size = widths[0]
	file.outputs = widths[widths.size() - 1]
	file.output = output
	var at := 0
	for i in widths.size() - 1:
		var last := i == widths.size() - 2
		var bias := at + widths[i] * widths[i + 1]
		file.layers.append(
			{
				"inputs": widths[i],
				"outputs": widths[i + 1],
				"weight": at,
				"bias": bias,
				"activation": "none" if last else activation
			}
		)
		at = bias + widths[i + 1]
	file.weights = _noise(at, 3)
	return file


func _noise(count: int, seed_value: int) -> PackedFloat32Array:
	var rng := RandomNumberGenerator.new()
	rng.seed = seed_value
	var out := PackedFloat32Array()
	for i in count:
		out.append(rng.randf_range(-1.0, 1.0))
	return out


func _plain(file: AmbuloPolicyFile, observation: PackedFloat32Array) -> PackedFloat64Array:
	var x := PackedFloat64Array(Array(observation))
	for layer in file.layers:
		var y := PackedFloat64Array()
		for row: int in layer.outputs:
			var sum := file.weights[int(layer.bias) + row]
			for column: int in layer.inputs:
				sum += (
					file.weights[int(layer.weight) + row * int(layer.inputs) + column] * x[column]
				)
			match layer.activation:
				"relu":
					sum = maxf(sum, 0.0)
				"tanh":
					sum = tanh(sum)
				"elu":
					sum = sum if sum > 0.0 else exp(sum) - 1.0
				"silu":
					sum = sum / (1.0 + exp(-sum))
			y.append(sum)
		x = y
	return x
