class_name AmbuloGru
extends RefCounted
## The gated recurrent unit (GRU) of a recurrent policy, whose state carries information through an
## episode.
##
## With the input x and the state h, each gate has a = W x + b and c = V h + d; then r = sigmoid(a +
## c) and z = sigmoid(a + c) of the first two, n = tanh(a + r c) of the third, and the next state,
## which is also the output, is (1 - z) n + z h.

const _GATES := 3

## Size of the state.
var units := 0

# Per gate: rows of blocks, biases, and space for sums; for the inputs, then for the state.
var _rows: Array[Array] = []
var _biases: Array[PackedVector4Array] = []
var _sums: Array[PackedVector4Array] = []


## The unit of a row of [member AmbuloPolicyFile.layers] of type "gru".
static func from_layer(weights: PackedFloat32Array, layer: Dictionary) -> AmbuloGru:
	var gru := AmbuloGru.new()
	gru.units = layer.outputs
	var sources := [
		[layer.weight, layer.bias, layer.inputs],
		[layer.state_weight, layer.state_bias, layer.outputs],
	]
	for source: Array in sources:
		for gate in _GATES:
			var first: int = source[0] + gate * gru.units * source[2]
			gru._rows.append(AmbuloMlp.pack(weights, first, gru.units, source[2]))
			var at: int = source[1] + gate * gru.units
			gru._biases.append(AmbuloMlp.fours(weights.slice(at, at + gru.units)))
			gru._sums.append(AmbuloMlp.zeros(gru.units))
	return gru


## Update [param state] with the input [param x].
func step(x: PackedVector4Array, state: PackedVector4Array) -> void:
	for index in 2 * _GATES:
		var input := x if index < _GATES else state
		AmbuloMlp.layer(_rows[index], _biases[index], 0, input, _sums[index])
	for i in state.size():
		var reset := _sigmoid(_sums[0][i] + _sums[3][i])
		var keep := _sigmoid(_sums[1][i] + _sums[4][i])
		var sum := _sums[2][i] + reset * _sums[5][i]
		var new := Vector4(tanh(sum.x), tanh(sum.y), tanh(sum.z), tanh(sum.w))
		state[i] = new + keep * (state[i] - new)


static func _sigmoid(x: Vector4) -> Vector4:
	return Vector4(
		1.0 / (1.0 + exp(-x.x)),
		1.0 / (1.0 + exp(-x.y)),
		1.0 / (1.0 + exp(-x.z)),
		1.0 / (1.0 + exp(-x.w))
	)
