class_name AmbuloMlp
extends RefCounted
## The network of a trained policy: raw observations in, actions out.
##
## Each layer is cut into 4 x 4 blocks stored as [Projection], so that one multiplication of the
## engine performs sixteen of the network. They are packed once, in [method from_file]. Whole groups
## of four zero inputs are skipped. For the state of recurrent networks see [AmbuloGru].

const _TANH := 1
const _ELU := 2
const _SILU := 3
const _RELU := 4
## Codes of the activations for [method layer], by name.
const CODES := {"none": 0, "tanh": _TANH, "elu": _ELU, "silu": _SILU, "relu": _RELU}

## Size of the observation.
var inputs := 0
## Number of outputs of the last layer.
var outputs := 0
## The output stage, see [AmbuloPolicyFile].
var output := "clip"
## For "bound": largest stick length and largest rotation.
var bound := Vector2.ONE

# The recurrent unit and the index of its layer; null, -1 if there is none.
var _gru: AmbuloGru
var _gru_at := -1
# Per layer, rows of four outputs; each row is an Array[Projection].
var _rows: Array[Array] = []
var _biases: Array[PackedVector4Array] = []
var _activations: PackedInt32Array = []
var _values: Array[PackedVector4Array] = []


## The network of [param file], which was loaded without error; null if a weight is not finite.
static func from_file(file: AmbuloPolicyFile) -> AmbuloMlp:
	var total := 0.0
	for weight in file.weights:
		total += absf(weight)
	if not is_finite(total):
		return null
	var mlp := from_layers(file.layers, file.weights)
	mlp.output = file.output
	mlp.bound = file.bound
	return mlp


## The network of dense layers, and at most one GRU, in [param layers], rows of
## [AmbuloLayerRows] with indices of [param weights].
static func from_layers(layers: Array[Dictionary], weights: PackedFloat32Array) -> AmbuloMlp:
	var mlp := AmbuloMlp.new()
	mlp.inputs = layers[0].inputs
	mlp.outputs = layers[-1].outputs
	mlp._values.append(zeros(mlp.inputs))
	for row: Dictionary in layers:
		var columns: int = row.inputs
		var height: int = row.outputs
		var first: int = row.bias
		if row.get("type") == "gru":
			mlp._gru = AmbuloGru.from_layer(weights, row)
			mlp._gru_at = mlp._rows.size()
			mlp._rows.append([])
		else:
			mlp._rows.append(pack(weights, row.weight, height, columns))
		mlp._biases.append(fours(weights.slice(first, first + height)))
		mlp._activations.append(CODES[row.get("activation", "none")])
		mlp._values.append(zeros(height))
	return mlp


## The state of a recurrent network at the start of an episode, for [method act]; empty for others.
func new_state() -> PackedVector4Array:
	return zeros(0 if _gru == null else _gru.units)


## The action for [param observation]: strafe, forward and rotation in [-1, 1], or the index of a
## discrete action. A recurrent network updates [param state]; an empty state starts an episode.
func act(observation: PackedFloat32Array, state := PackedVector4Array()) -> PackedFloat64Array:
	var raw := forward(observation, state)
	if output == "argmax":
		var best := 0
		for i in range(1, outputs):
			if raw[i] > raw[best]:
				best = i
		return PackedFloat64Array([best])
	if output == "bound":
		return bounded(raw[0], raw[1], raw[2], bound.x, bound.y)
	for i in outputs:
		raw[i] = clampf(raw[i], -1.0, 1.0)
	return raw


## A mean action with its stick bounded to length [param stick] and its turn to
## [param turn], smoothly and without a change of the stick's direction.
static func bounded(
	strafe: float, ahead: float, rotation: float, stick: float, turn: float
) -> PackedFloat64Array:
	var length := sqrt(strafe * strafe + ahead * ahead + 1e-12)
	var share := stick * tanh(length / stick) / length
	return PackedFloat64Array([share * strafe, share * ahead, turn * tanh(rotation / turn)])


## Output of the last layer, before the output stage; see [method act].
func forward(observation: PackedFloat32Array, state := PackedVector4Array()) -> PackedFloat64Array:
	assert(observation.size() == inputs, "an observation of another size")
	var x := _values[0]
	_fill(observation, x)
	for index in _rows.size():
		if index == _gru_at:
			var memory := new_state() if state.is_empty() else state
			_gru.step(x, memory)
			x = memory
			continue
		var y := _values[index + 1]
		layer(_rows[index], _biases[index], _activations[index], x, y)
		x = y
	var out := PackedFloat64Array()
	out.resize(outputs)
	for i in outputs:
		out[i] = x[i >> 2][i & 3]
	return out


static func _fill(observation: PackedFloat32Array, x: PackedVector4Array) -> void:
	var size := observation.size()
	var whole := size >> 2
	var at := 0
	for i in whole:
		x[i] = Vector4(
			observation[at], observation[at + 1], observation[at + 2], observation[at + 3]
		)
		at += 4
	if at < size:
		var last := Vector4.ZERO
		for i in size - at:
			last[i] = observation[at + i]
		x[whole] = last


## One layer: [param y] from [param x], both padded with zeros to whole groups of four.
static func layer(
	rows: Array[Array],
	bias: PackedVector4Array,
	activation: int,
	x: PackedVector4Array,
	y: PackedVector4Array
) -> void:
	var active := PackedInt32Array()
	for i in x.size():
		if x[i] != Vector4.ZERO:
			active.append(i)
	for index in bias.size():
		var sum := bias[index]
		var row: Array[Projection] = rows[index]
		for i in active:
			sum += row[i] * x[i]
		if activation == _RELU:
			y[index] = sum.maxf(0.0)
		elif activation == 0:
			y[index] = sum
		else:
			y[index] = Vector4(
				_activate(sum.x, activation),
				_activate(sum.y, activation),
				_activate(sum.z, activation),
				_activate(sum.w, activation)
			)


static func _activate(value: float, activation: int) -> float:
	if activation == _TANH:
		return tanh(value)
	if activation == _ELU:
		return value if value > 0.0 else exp(value) - 1.0
	return value / (1.0 + exp(-value))


## Zeros for [param numbers] numbers in groups of four.
static func zeros(numbers: int) -> PackedVector4Array:
	var out := PackedVector4Array()
	out.resize((numbers + 3) >> 2)
	return out


## Numbers in groups of four, padded with zeros.
static func fours(numbers: PackedFloat32Array) -> PackedVector4Array:
	var out := zeros(numbers.size())
	for i in numbers.size():
		var four := out[i >> 2]
		four[i & 3] = numbers[i]
		out[i >> 2] = four
	return out


## A matrix as rows of blocks, padded with zeros; each row is an Array[Projection].
static func pack(weights: PackedFloat32Array, first: int, rows: int, columns: int) -> Array[Array]:
	var packed: Array[Array] = []
	for row in range(0, rows, 4):
		var blocks: Array[Projection] = []
		for column in range(0, columns, 4):
			var block := Projection(Vector4.ZERO, Vector4.ZERO, Vector4.ZERO, Vector4.ZERO)
			for j in mini(4, columns - column):
				var four := Vector4.ZERO
				for i in mini(4, rows - row):
					four[i] = weights[first + (row + i) * columns + column + j]
				block[j] = four
			blocks.append(block)
		packed.append(blocks)
	return packed
