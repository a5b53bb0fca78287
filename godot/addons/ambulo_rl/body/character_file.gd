class_name AmbuloCharacterFile
extends RefCounted
## A character as `ambulo export` writes it: skeleton, skin and gait, data only.
##
## An [AmbuloDataFile] that begins with [constant MAGIC]. Loading checks every size and the
## SHA-256, and runs no code from the file.

## The first bytes of the file; the last one is the version of the format.
const MAGIC := "AMBULOC1"
## Most numbers.
const MAX_NUMBERS := 1 << 24
## The joints of human23, which the avatar's sums are made for.
const JOINTS := 23

const _KEYS: PackedStringArray = [
	"kind", "joints", "parents", "bones", "arrays", "numbers", "sha256"
]
const _ARRAYS: PackedStringArray = [
	"offsets",
	"rest",
	"sole",
	"eyes",
	"speeds",
	"rates",
	"rotations",
	"root",
	"stance",
	"homes",
	"heads",
	"stand",
	"stand_root",
	"stand_homes",
	"stand_head",
	"vertices",
	"normals",
	"triangles",
	"vertex_joints",
	"vertex_weights",
	"vertex_colours",
	"colours",
]

## Where it was read from.
var path := ""
## Names of the joints and of their bones in Godot.
var joints: PackedStringArray = []
var bones: PackedStringArray = []
## Parent of each joint.
var parents: PackedInt32Array = []
## Joints from their parents, and at rest with the feet on the ground, in the contract's
## axes, [m].
var offsets: PackedVector3Array = []
var rest: PackedVector3Array = []
## Heel and ball of a foot in the ankle's frame, [m].
var sole: PackedVector3Array = []
## Middle of the eyes in the head's frame, [m].
var eyes := Vector3.ZERO
## The gait.
var table: AmbuloGaitTable
## The skin at rest, in the contract's axes, [m]; triangles are counter-clockwise outside.
var vertices: PackedVector3Array = []
var normals: PackedVector3Array = []
var triangles: PackedInt32Array = []
## Four joints and four weights of each vertex.
var vertex_joints: PackedInt32Array = []
var vertex_weights: PackedFloat32Array = []
## Colour of each vertex.
var vertex_colours: PackedColorArray = []
## What is wrong with the file; empty after [method load_from] returned true.
var error := ""

var _numbers: PackedFloat32Array = []
var _starts: Dictionary[String, int] = {}
var _shapes: Dictionary[String, PackedInt32Array] = {}


## Read the file at [param file_path]; false, with [member error] set, if it is refused.
func load_from(file_path: String) -> bool:
	path = file_path
	var data := AmbuloDataFile.new()
	var problem := _read(data) if data.open(file_path, MAGIC, "character") else data.problem
	error = "" if problem == "" else "%s: %s" % [path, problem]
	return problem == ""


## What is wrong with the file; empty if all was read.
func _read(data: AmbuloDataFile) -> String:
	var checks := AmbuloChecks.new()
	var header := checks.table(data.header, "header", "", _KEYS, _KEYS)
	var count := checks.whole(header.get("numbers"), "numbers", 1, MAX_NUMBERS)
	var digest := checks.text(header.get("sha256"), "sha256")
	_read_joints(checks, header)
	_read_shapes(checks, header, count)
	if checks.problem != "":
		return checks.problem
	_numbers = data.numbers(count, digest, "numbers")
	var sum := 0.0
	for number in _numbers:
		sum += absf(number)
	if data.problem != "" or not is_finite(sum):
		return data.problem if data.problem != "" else "a number is not finite"
	_fill()
	_numbers = []
	return _wrong_indices()


func _read_joints(checks: AmbuloChecks, header: Dictionary) -> void:
	for key: String in ["joints", "bones", "parents"]:
		if checks.list(header, key).size() != JOINTS:
			checks.fail(key, "expected the %d joints of human23" % JOINTS)
	if checks.problem != "":
		return
	for joint: Variant in header["joints"]:
		joints.append(checks.text(joint, "joints"))
	for bone: Variant in header["bones"]:
		bones.append(checks.text(bone, "bones"))
	for parent: Variant in header["parents"]:
		parents.append(checks.whole(parent, "parents", -1, maxi(parents.size() - 1, -1)))
	var body: PackedStringArray = ["Pelvis", "FemurR", "FemurL", "Head", "ShoulderR"]
	var places: PackedInt32Array = [0, 1, 6, 14, 15]
	for k in body.size():
		if joints[places[k]] != body[k]:
			checks.fail("joints", "expected those of human23, in their order")


func _read_shapes(checks: AmbuloChecks, header: Dictionary, count: int) -> void:
	var keys := PackedStringArray(["name", "start", "shape"])
	var at := 0
	for item: Variant in checks.list(header, "arrays"):
		var row := checks.table(item, "arrays", "arrays.", keys, keys)
		var name := checks.text(row.get("name"), "arrays.name")
		var start := checks.whole(row.get("start"), "arrays.start", 0, MAX_NUMBERS)
		var shape := PackedInt32Array()
		var size := 1
		for part: Variant in checks.list(row, "shape"):
			shape.append(checks.whole(part, "arrays.shape", 1, MAX_NUMBERS))
			size = mini(size * shape[-1], MAX_NUMBERS + 1)
		if start != at:
			checks.fail("arrays", "'%s' does not follow the array before it" % name)
		_starts[name] = start
		_shapes[name] = shape
		at += size
	if at != count:
		checks.fail("arrays", "have %d numbers, expected %d" % [at, count])
	for name in _ARRAYS:
		if not _shapes.has(name):
			checks.fail("arrays", "'%s' is missing" % name)
	if checks.problem == "":
		_check_shapes(checks)


func _check_shapes(checks: AmbuloChecks) -> void:
	var rows := _shapes["rotations"]
	if rows.size() != 4:
		checks.fail("rotations", "expected speeds, phases, joints and 4 numbers")
		return
	var k := rows[0]
	var v := _shapes["vertices"][0]
	var expected: Dictionary[String, PackedInt32Array] = {
		"offsets": [JOINTS, 3],
		"rest": [JOINTS, 3],
		"sole": [2, 3],
		"eyes": [3],
		"speeds": [k],
		"rates": [k],
		"rotations": [k, rows[1], JOINTS, 4],
		"root": [k, rows[1], 3],
		"stance": [k, 2, 2],
		"homes": [k, 2, 2],
		"heads": [k, 3],
		"stand": [JOINTS, 4],
		"stand_root": [3],
		"stand_homes": [2, 2],
		"stand_head": [3],
		"vertices": [v, 3],
		"normals": [v, 3],
		"triangles": [_shapes["triangles"][0], 3],
		"vertex_joints": [v, 4],
		"vertex_weights": [v, 4],
		"vertex_colours": [v],
		"colours": [_shapes["colours"][0], 3],
	}
	for name in expected:
		if _shapes[name] != expected[name]:
			checks.fail(name, "expected the shape %s, got %s" % [expected[name], _shapes[name]])
	if k < 2:
		checks.fail("speeds", "expected two or more")


func _fill() -> void:
	offsets = _vectors("offsets")
	rest = _vectors("rest")
	sole = _vectors("sole")
	eyes = _vectors("eyes")[0]
	table = AmbuloGaitTable.new()
	table.speeds = PackedFloat64Array(Array(_flat("speeds")))
	table.rates = PackedFloat64Array(Array(_flat("rates")))
	table.phases = _shapes["rotations"][1]
	table.joints = JOINTS
	table.rotations = _quaternions("rotations")
	table.root = _vectors("root")
	table.stance = _fours("stance")
	table.homes = _fours("homes")
	table.heads = _vectors("heads")
	table.stand = _quaternions("stand")
	table.stand_root = _vectors("stand_root")[0]
	table.stand_homes = _fours("stand_homes")[0]
	table.stand_head = _vectors("stand_head")[0]
	vertices = _vectors("vertices")
	normals = _vectors("normals")
	for number in _flat("triangles"):
		triangles.append(int(number))
	for number in _flat("vertex_joints"):
		vertex_joints.append(int(number))
	vertex_weights = _flat("vertex_weights")
	var palette := _vectors("colours")
	for number in _flat("vertex_colours"):
		var colour := palette[clampi(int(number), 0, palette.size() - 1)]
		vertex_colours.append(Color(colour.x, colour.y, colour.z))


func _wrong_indices() -> String:
	for index in triangles:
		if index < 0 or index >= vertices.size():
			return "a triangle has no vertex %d" % index
	for joint in vertex_joints:
		if joint < 0 or joint >= JOINTS:
			return "a vertex is moved by joint %d, which is not there" % joint
	for k in table.speeds.size():
		if table.speeds[k] <= (table.speeds[k - 1] if k > 0 else 0.0) or table.rates[k] <= 0.0:
			return "speeds must ascend from above 0, and rates be above 0"
	return ""


func _flat(name: String) -> PackedFloat32Array:
	var size := 1
	for part in _shapes[name]:
		size *= part
	return _numbers.slice(_starts[name], _starts[name] + size)


func _vectors(name: String) -> PackedVector3Array:
	var flat := _flat(name)
	var out := PackedVector3Array()
	for k in range(0, flat.size(), 3):
		out.append(Vector3(flat[k], flat[k + 1], flat[k + 2]))
	return out


func _fours(name: String) -> PackedVector4Array:
	var flat := _flat(name)
	var out := PackedVector4Array()
	for k in range(0, flat.size(), 4):
		out.append(Vector4(flat[k], flat[k + 1], flat[k + 2], flat[k + 3]))
	return out


## Quaternions, which files hold as w, x, y, z, as x, y, z, w.
func _quaternions(name: String) -> PackedVector4Array:
	var out := _fours(name)
	for k in out.size():
		out[k] = Vector4(out[k].y, out[k].z, out[k].w, out[k].x)
	return out
