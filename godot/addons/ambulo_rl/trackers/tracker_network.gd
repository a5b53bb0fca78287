class_name AmbuloTrackerNetwork
extends RefCounted
## The network of a body tracker: one step, as in `ik/trackers/network.py`.

const _SILU := 3

## Size of the state.
var units := 0

var _gru: AmbuloGru
var _rows: Array[Array] = []
var _biases: Array[PackedVector4Array] = []
var _in: PackedVector4Array
var _encoded: PackedVector4Array
var _decoded: PackedVector4Array
var _out: PackedVector4Array


## The network of [param file], which was loaded without error.
func _init(file: AmbuloTrackerFile) -> void:
	var shapes := file.shapes
	units = shapes["states"][1]
	var encoder := shapes["encoder"][0]
	_gru = (
		AmbuloGru
		. from_layer(
			file.numbers,
			{
				"outputs": units,
				"inputs": encoder,
				"weight": file.starts["inputs"],
				"bias": file.starts["inputs_bias"],
				"state_weight": file.starts["states"],
				"state_bias": file.starts["states_bias"],
			}
		)
	)
	for name: String in ["encoder", "decoder", "output"]:
		var shape := shapes[name]
		_rows.append(AmbuloMlp.pack(file.numbers, file.starts[name], shape[0], shape[1]))
		var first := file.starts[name + "_bias"]
		_biases.append(AmbuloMlp.fours(file.numbers.slice(first, first + shape[0])))
	_in = AmbuloMlp.zeros(AmbuloTrackerFile.INPUTS)
	_encoded = AmbuloMlp.zeros(encoder)
	_decoded = AmbuloMlp.zeros(shapes["decoder"][0])
	_out = AmbuloMlp.zeros(AmbuloTrackerFile.OUTPUTS)


## The initial state.
func new_state() -> PackedVector4Array:
	return AmbuloMlp.zeros(units)


## The output for [param input]; updates [param state].
func step(input: PackedFloat32Array, state: PackedVector4Array) -> PackedFloat32Array:
	for i in _in.size():
		var four := Vector4.ZERO
		for k in mini(4, input.size() - 4 * i):
			four[k] = input[4 * i + k]
		_in[i] = four
	AmbuloMlp.layer(_rows[0], _biases[0], _SILU, _in, _encoded)
	_gru.step(_encoded, state)
	var seen := _encoded.duplicate()
	seen.append_array(state)
	AmbuloMlp.layer(_rows[1], _biases[1], _SILU, seen, _decoded)
	AmbuloMlp.layer(_rows[2], _biases[2], 0, _decoded, _out)
	var result := PackedFloat32Array()
	result.resize(AmbuloTrackerFile.OUTPUTS)
	for i in result.size():
		result[i] = _out[i >> 2][i & 3]
	return result
