class_name AmbuloCharacterFile
extends RefCounted
## A character file as written by `ambulo export`: skeleton, skin and gait, data only.
##
## An [AmbuloDataFile] that begins with [constant MAGIC]. Loading checks every size and the SHA-256,
## and runs no code from the file.

## The first bytes of the file; the last one is the version of the format.
const MAGIC := "AMBULOC1"
## Number of joints of human23, the only supported skeleton.
const JOINTS := 23

const _KEYS: PackedStringArray = [
	"kind", "joints", "parents", "bones", "arrays", "numbers", "sha256"
]

## Path of the loaded file.
var path := ""
## Names of the joints and of their bones in Godot.
var joints: PackedStringArray = []
var bones: PackedStringArray = []
## Parent of each joint.
var parents: PackedInt32Array = []
## Offsets of the joints from their parents, and positions at rest with the feet on the ground, in
## the contract's axes, [m].
var offsets: PackedVector3Array = []
var rest: PackedVector3Array = []
## Heel and ball of a foot in the ankle's frame, [m].
var sole: PackedVector3Array = []
## Middle of the eyes in the head's frame, [m].
var eyes := Vector3.ZERO
## The gait.
var table: AmbuloGaitTable
## Vertices of the skin at rest, in the contract's axes, [m]; triangles are counter-clockwise seen
## from outside.
var vertices: PackedVector3Array = []
var normals: PackedVector3Array = []
var triangles: PackedInt32Array = []
## Four joints and four weights of each vertex.
var vertex_joints: PackedInt32Array = []
var vertex_weights: PackedFloat32Array = []
## Colour of each vertex.
var vertex_colours: PackedColorArray = []
## The first problem of the file; empty after [method load_from] returned true.
var error := ""


## Read the file at [param file_path]; false, with [member error] set, if it is refused.
func load_from(file_path: String) -> bool:
	path = file_path
	var data := AmbuloDataFile.new()
	var problem := _read(data) if data.open(file_path, MAGIC, "character") else data.problem
	error = "" if problem == "" else "%s: %s" % [path, problem]
	return problem == ""


## The first problem of the file; empty if all was read.
func _read(data: AmbuloDataFile) -> String:
	var checks := AmbuloChecks.new()
	var header := checks.table(data.header, "header", "", _KEYS, _KEYS)
	checks.text(header.get("sha256"), "sha256")
	_read_joints(checks, header)
	data.read_shapes(checks, header)
	if checks.problem == "":
		_check_shapes(checks, data)
	if checks.problem != "":
		return checks.problem
	var problem := data.read_arrays(header)
	if problem != "":
		return problem
	_fill(data)
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


func _check_shapes(checks: AmbuloChecks, data: AmbuloDataFile) -> void:
	for name: String in ["rotations", "vertices", "triangles", "colours"]:
		if data.shapes.get(name, PackedInt32Array()).is_empty():
			checks.fail("arrays", "'%s' is missing" % name)
			return
	var rows := data.shapes["rotations"]
	if rows.size() != 4:
		checks.fail("rotations", "expected speeds, phases, joints and 4 numbers")
		return
	var k := rows[0]
	var v := data.shapes["vertices"][0]
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
		"triangles": [data.shapes["triangles"][0], 3],
		"vertex_joints": [v, 4],
		"vertex_weights": [v, 4],
		"vertex_colours": [v],
		"colours": [data.shapes["colours"][0], 3],
	}
	data.check_shapes(checks, expected)
	if k < 2:
		checks.fail("speeds", "expected two or more")


func _fill(data: AmbuloDataFile) -> void:
	offsets = data.vectors("offsets")
	rest = data.vectors("rest")
	sole = data.vectors("sole")
	eyes = data.vectors("eyes")[0]
	table = AmbuloGaitTable.new()
	table.speeds = PackedFloat64Array(Array(data.flat("speeds")))
	table.rates = PackedFloat64Array(Array(data.flat("rates")))
	table.phases = data.shapes["rotations"][1]
	table.joints = JOINTS
	table.rotations = _quaternions(data, "rotations")
	table.root = data.vectors("root")
	table.stance = data.fours("stance")
	table.homes = data.fours("homes")
	table.heads = data.vectors("heads")
	table.stand = _quaternions(data, "stand")
	table.stand_root = data.vectors("stand_root")[0]
	table.stand_homes = data.fours("stand_homes")[0]
	table.stand_head = data.vectors("stand_head")[0]
	vertices = data.vectors("vertices")
	normals = data.vectors("normals")
	for number in data.flat("triangles"):
		triangles.append(int(number))
	for number in data.flat("vertex_joints"):
		vertex_joints.append(int(number))
	vertex_weights = data.flat("vertex_weights")
	var palette := data.vectors("colours")
	for number in data.flat("vertex_colours"):
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


# Quaternions as x, y, z, w; files store w, x, y, z.
static func _quaternions(data: AmbuloDataFile, name: String) -> PackedVector4Array:
	var out := data.fours(name)
	for k in out.size():
		out[k] = Vector4(out[k].y, out[k].z, out[k].w, out[k].x)
	return out
