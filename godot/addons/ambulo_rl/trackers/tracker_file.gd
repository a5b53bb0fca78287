class_name AmbuloTrackerFile
extends RefCounted
## A body tracker's file as written by `ambulo export`: network and body measures, data only.
##
## An [AmbuloDataFile] that begins with [constant MAGIC]. Loading checks every size and the SHA-256,
## and runs no code from the file.

## The first bytes of the file; the last one is the version of the format.
const MAGIC := "AMBULOB1"
## Number of joints of human23.
const JOINTS := 23
## Sizes of the network's input and output.
const INPUTS := 106
const OUTPUTS := 151

const _KEYS: PackedStringArray = [
	"kind",
	"input_size",
	"output_size",
	"lead",
	"parents",
	"parts",
	"bones",
	"arrays",
	"numbers",
	"sha256",
]

## Time by which the network's pose is ahead of its input, [s].
var lead := 0.0
## Parent of each joint, and the body part whose length scales its offset.
var parents: PackedInt32Array = []
var parts: PackedInt32Array = []
## Names of the joints' bones in Godot.
var bones: PackedStringArray = []
## Offsets of the joints from their parents at rest, [m]; heel and ball of a foot in the ankle's
## frame, [m].
var offsets: PackedVector3Array = []
var sole: PackedVector3Array = []
## Numbers of the network, and first index and shape of each array.
var numbers: PackedFloat32Array = []
var starts: Dictionary[String, int] = {}
var shapes: Dictionary[String, PackedInt32Array] = {}
## The first problem of the file; empty after [method load_from] returned true.
var error := ""


## Read the file at [param path]; false, with [member error] set, if it is refused.
func load_from(path: String) -> bool:
	var data := AmbuloDataFile.new()
	var problem := _read(data) if data.open(path, MAGIC, "body tracker") else data.problem
	error = "" if problem == "" else "%s: %s" % [path, problem]
	return problem == ""


func _read(data: AmbuloDataFile) -> String:
	var checks := AmbuloChecks.new()
	var header := checks.table(data.header, "header", "", _KEYS, _KEYS)
	checks.text(header.get("sha256"), "sha256")
	checks.whole(header.get("input_size"), "input_size", INPUTS, INPUTS)
	checks.whole(header.get("output_size"), "output_size", OUTPUTS, OUTPUTS)
	lead = checks.number(header.get("lead"), "lead", 0.0, 0.3)
	for key: String in ["parents", "parts", "bones"]:
		if checks.list(header, key).size() != JOINTS:
			checks.fail(key, "expected the %d joints of human23" % JOINTS)
	if checks.problem == "":
		for joint in JOINTS:
			parents.append(
				checks.whole(header["parents"][joint], "parents", -1, maxi(joint - 1, -1))
			)
			parts.append(checks.whole(header["parts"][joint], "parts", 0, 2))
			bones.append(checks.text(header["bones"][joint], "bones"))
	data.read_shapes(checks, header)
	if checks.problem == "":
		_check_shapes(checks, data)
	if checks.problem != "":
		return checks.problem
	var problem := data.read_arrays(header)
	if problem != "":
		return problem
	numbers = data.floats
	starts = data.starts
	shapes = data.shapes
	offsets = data.vectors("offsets")
	sole = data.vectors("sole")
	return ""


func _check_shapes(checks: AmbuloChecks, data: AmbuloDataFile) -> void:
	var found := data.shapes
	for name: String in ["encoder", "states", "decoder"]:
		if found.get(name, PackedInt32Array()).size() != 2 or found[name][0] % 4 != 0:
			checks.fail(name, "expected a matrix of a multiple of four rows")
	if checks.problem != "":
		return
	var encoder := found["encoder"][0]
	var units := found["states"][1]
	var decoder := found["decoder"][0]
	var expected: Dictionary[String, PackedInt32Array] = {
		"encoder": [encoder, INPUTS],
		"encoder_bias": [encoder],
		"inputs": [3 * units, encoder],
		"inputs_bias": [3 * units],
		"states": [3 * units, units],
		"states_bias": [3 * units],
		"decoder": [decoder, encoder + units],
		"decoder_bias": [decoder],
		"output": [OUTPUTS, decoder],
		"output_bias": [OUTPUTS],
		"offsets": [JOINTS, 3],
		"sole": [2, 3],
	}
	data.check_shapes(checks, expected)
