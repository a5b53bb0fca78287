class_name AmbuloLayerRows
extends RefCounted
## The rows "layers" of a network's file: sizes and places of their numbers.
##
## A row without a type is dense; the others are those of [constant TYPES]. The numbers of the rows
## follow each other.

## Widest layer, [numbers].
const MAX_WIDTH := 1 << 14
## Most numbers in a file.
const MAX_NUMBERS := 1 << 24
## Names of the activations of [AmbuloMlp].
const ACTIVATIONS: PackedStringArray = ["none", "relu", "tanh", "elu", "silu"]
## Keys of the rows of each type; "" is a dense layer.
const TYPES: Dictionary[String, Array] = {
	"": ["inputs", "outputs", "weight", "bias", "activation"],
	"gru": ["type", "inputs", "outputs", "weight", "bias", "state_weight", "state_bias"],
	"normalize": ["type", "inputs", "outputs", "limit", "mean", "deviation"],
	"conv":
	[
		"type",
		"height",
		"width",
		"channels",
		"outputs",
		"kernel",
		"stride",
		"weight",
		"bias",
		"activation",
	],
}
const _SIZES: PackedStringArray = [
	"inputs", "outputs", "height", "width", "channels", "kernel", "stride"
]

## The checked rows.
var rows: Array[Dictionary] = []
## Number of outputs of the last row.
var outputs := 0
## Size of the GRU's state; 0: no GRU.
var state_size := 0
## Index after the last number of the rows.
var end := 0


## Reads [param list], whose first row has [param inputs] inputs and its numbers from index [param
## first] on. Only the types [param allowed] are valid. Broken rules go to [param checks].
func read(
	checks: AmbuloChecks, list: Array, inputs: int, first: int, allowed: PackedStringArray
) -> void:
	outputs = inputs
	end = first
	for item: Variant in list:
		var type := ""
		if item is Dictionary and (item as Dictionary).has("type"):
			type = str(item["type"])
		if type not in allowed:
			var known := ", ".join(allowed).trim_prefix(", ")
			checks.fail("layers.type", "'%s' is no layer that this add-on has: %s" % [type, known])
			return
		var row := _read_row(checks, item, type)
		if checks.problem != "":
			return
		var taken: int = row.get("inputs", 0)
		if type == "conv":
			taken = row.height * row.width * row.channels
		var after := _end_of(row, end)
		var again := type == "gru" and state_size > 0
		if taken != outputs or after < 0 or again:
			checks.fail("layers", "layer %d does not fit to what is before it" % rows.size())
		rows.append(row)
		outputs = row.outputs
		if type == "conv":
			outputs *= side(row.height, row) * side(row.width, row)
		elif type == "gru":
			state_size = outputs
		end = maxi(after, end)
	if end > MAX_NUMBERS:
		checks.fail("layers", "more than %d numbers" % MAX_NUMBERS)


## Height or width of the output of the convolution [param row] for an image of height or width
## [param length].
static func side(length: int, row: Dictionary) -> int:
	return floori(float(length - int(row.kernel)) / int(row.stride)) + 1


func _read_row(checks: AmbuloChecks, item: Variant, type: String) -> Dictionary:
	var keys := PackedStringArray(TYPES[type])
	var found := checks.table(item, "layers", "layers.", keys, keys)
	var row := {}
	for key in keys:
		var name := "layers." + key
		if key == "type":
			row[key] = type
		elif key == "activation":
			row[key] = checks.text(found.get(key), name)
			if row[key] not in ACTIVATIONS:
				checks.fail(name, "must be one of %s" % ", ".join(ACTIVATIONS))
		elif key == "limit":
			row[key] = checks.number(found.get(key), name, 1e-6, 1e6)
		elif key in _SIZES:
			row[key] = checks.whole(found.get(key), name, 1, MAX_WIDTH)
		else:
			row[key] = checks.whole(found.get(key), name, 0, MAX_NUMBERS)
	if type == "conv" and (row.kernel > row.height or row.kernel > row.width):
		checks.fail("layers.kernel", "is larger than the picture")
	return row


## Index after the numbers of [param row], which begin at [param at]; -1 if the row is invalid.
static func _end_of(row: Dictionary, at: int) -> int:
	var height: int = row.outputs
	var sizes := {}
	match row.get("type", ""):
		"":
			sizes = {"weight": height * int(row.inputs), "bias": height}
		"gru":
			sizes = {
				"weight": 3 * height * int(row.inputs),
				"bias": 3 * height,
				"state_weight": 3 * height * height,
				"state_bias": 3 * height,
			}
		"normalize":
			sizes = {"mean": height, "deviation": height}
		"conv":
			var patch: int = row.kernel * row.kernel * row.channels
			sizes = {"weight": height * patch, "bias": height}
	for key: String in sizes:
		if row[key] != at:
			return -1
		at += int(sizes[key])
	return at
