class_name AmbuloAgentNetwork
extends RefCounted
## The policy of one kind of agent: maps a named observation to a named action.
##
## Vector inputs are normalised, images go through convolutions; the rest is an [AmbuloMlp].

## Name of the agent kind.
var name := ""
## Sizes of the parts of the observation by name, in order.
var observation: Dictionary[String, int] = {}
## Size of the recurrent state of an agent; 0: not recurrent.
var state_size := 0
## The problem of the last observation; "": none.
var error := ""

var _actions: Array[Dictionary] = []
var _mean: PackedFloat32Array = []
var _deviation: PackedFloat32Array = []
var _limit := 0.0
var _log_std: PackedFloat32Array = []
# By name of the image input: convolutions, then the dense layers behind them.
var _convolutions: Dictionary[String, Array] = {}
var _dense: Dictionary[String, AmbuloMlp] = {}
var _trunk: AmbuloMlp


## The network of [param kind], an entry of [member AmbuloGameFile.agents].
static func from_kind(kind: Dictionary, weights: PackedFloat32Array) -> AmbuloAgentNetwork:
	var network := AmbuloAgentNetwork.new()
	network.name = kind.name
	network._actions = kind.action
	network.state_size = kind.state_size
	for part: Dictionary in kind.observation:
		network.observation[part.name] = part.size
		if not part.layers.is_empty():
			network._add_picture(part.name, part.layers, weights)
	if not kind.numbers.is_empty():
		var row: Dictionary = kind.numbers
		network._mean = weights.slice(row.mean, row.mean + row.inputs)
		network._deviation = weights.slice(row.deviation, row.deviation + row.inputs)
		network._limit = row.limit
	network._log_std = weights.slice(kind.log_std, kind.log_std + kind.continuous)
	network._trunk = AmbuloMlp.from_layers(kind.layers, weights)
	return network


## The recurrent state at the start of an episode.
func new_state() -> PackedVector4Array:
	return _trunk.new_state()


## The action for the named observation [param seen]: a [PackedFloat32Array] of numbers in [-1, 1],
## or an int for a discrete action. Updates [param state]. Without [param deterministic] the action
## is sampled as in training. Empty, with [member error] set, if the observation does not fit.
func act(seen: Dictionary, state: PackedVector4Array, deterministic := true) -> Dictionary:
	var input := _encoded(seen)
	if error != "":
		return {}
	var raw := _trunk.forward(input, state)
	var action := {}
	var at := 0
	var number := 0
	for part in _actions:
		if part.has("choices"):
			action[part.name] = _choose(raw.slice(at, at + part.choices), deterministic)
			at += part.choices
			continue
		var values := PackedFloat32Array()
		for k: int in part.size:
			var value := raw[at + k]
			if not deterministic:
				value += exp(_log_std[number + k]) * randfn(0.0, 1.0)
			values.append(clampf(value, -1.0, 1.0))
		action[part.name] = values
		at += part.size
		number += part.size
	return action


func _encoded(seen: Dictionary) -> PackedFloat32Array:
	error = ""
	var numbers := PackedFloat32Array()
	var features := PackedFloat32Array()
	for part in observation:
		var values: Variant = _floats(seen.get(part))
		if values == null or (values as PackedFloat32Array).size() != observation[part]:
			var got := AmbuloChecks.shown(seen.get(part))
			error = (
				"%s: observation '%s': expected %d numbers, got %s"
				% [name, part, observation[part], got]
			)
			return []
		if not _convolutions.has(part):
			numbers.append_array(values as PackedFloat32Array)
			continue
		var picture: PackedFloat32Array = values
		for conv: AmbuloConvolution in _convolutions[part]:
			picture = conv.forward(picture)
		features.append_array(PackedFloat32Array(Array(_dense[part].forward(picture))))
	for k in numbers.size():
		numbers[k] = clampf((numbers[k] - _mean[k]) / _deviation[k], -_limit, _limit)
	numbers.append_array(features)
	return numbers


func _add_picture(part: String, layers: Array[Dictionary], weights: PackedFloat32Array) -> void:
	var convolutions := []
	var dense: Array[Dictionary] = []
	for row in layers:
		if row.get("type") == "conv":
			convolutions.append(AmbuloConvolution.from_row(weights, row))
		else:
			dense.append(row)
	_convolutions[part] = convolutions
	_dense[part] = AmbuloMlp.from_layers(dense, weights)


static func _choose(scores: PackedFloat64Array, deterministic: bool) -> int:
	var best := 0
	for k in range(1, scores.size()):
		if scores[k] > scores[best]:
			best = k
	if deterministic:
		return best
	var sum := 0.0
	for score in scores:
		sum += exp(score - scores[best])
	var left := randf() * sum
	for k in scores.size():
		left -= exp(scores[k] - scores[best])
		if left <= 0.0:
			return k
	return best


# Numbers, lists of numbers and bytes of images as floats; null for anything else.
static func _floats(value: Variant) -> Variant:
	if value is PackedByteArray:
		return PackedFloat32Array(Array(value as PackedByteArray))
	return AmbuloAgentValues.floats(value)
