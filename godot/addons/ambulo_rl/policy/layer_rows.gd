class_name AmbuloLayerRows
extends RefCounted
## The rows "layers" of the file of a network: their sizes, and where their numbers lie.
##
## A row without a type is dense; the others are those of [constant TYPES]. Numbers of a row
## follow those of the row before it.

## Widest layer, [numbers].
const MAX_WIDTH := 1 << 14
## Most numbers of a file.
const MAX_NUMBERS := 1 << 24
## Names of the activations that [AmbuloMlp] computes.
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

## The rows, checked.
var rows: Array[Dictionary] = []
## Numbers that the last one puts out.
var outputs := 0
## Numbers that the GRU among them remembers; 0: there is none.
var state_size := 0
## Index behind the last of their numbers.
var end := 0


## Reads [param list], whose first row takes [param inputs] numbers and has its own from index
## [param first] on. Only the types [param allowed] may be there. Broken rules go to [param checks].
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


## Height or width of what comes out of the convolution [param row] of a picture with this one.
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


## The index behind the numbers of [param row], which begin at [param at]; -1 if they do not.
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
