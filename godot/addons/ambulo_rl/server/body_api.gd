class_name AmbuloBodyApi
extends RefCounted
## The endpoints of bodies: poses of human23 that a program streams to rigged characters.
##
## A character is made for each body that a pose comes for; it stands in the tree beside the
## scene, so it stays when scenes change.

## Most bodies of one engine.
const MAX_BODIES := 256
## The character of bodies; the project setting names another file.
const CHARACTER := "res://policies/vr_navigation_body.ambulo"
const SETTING := "ambulo/body/character"
## A quaternion's length may differ from 1 by this.
const UNIT := 1e-3

var _tree: SceneTree
var _bodies: Array[AmbuloCharacter] = []


## The endpoints of the characters in `tree`.
func _init(tree: SceneTree) -> void:
	_tree = tree


## Put the endpoints on `router`.
func register(router: AmbuloRouter) -> void:
	router.add("GET", "/body", _get_body)
	router.add("POST", "/body", _set_poses, true)


## Numbers of a pose: the pelvis' place, then a quaternion for each joint.
static func pose_width() -> int:
	return 3 + 4 * AmbuloCharacterFile.JOINTS


func _set_poses(request: AmbuloRequest) -> AmbuloReply:
	var fields := AmbuloFields.new()
	var numbers: PackedInt64Array = []
	var rows: PackedFloat64Array = []
	if request.head.binary_body:
		var values := AmbuloWire.read_rows(request.body, 1 + pose_width(), fields)
		for at in range(0, values.size(), 1 + pose_width()):
			var key := "bodies[%d]" % numbers.size()
			numbers.append(fields.whole(values[at], key, 0, MAX_BODIES - 1))
			for value in values.slice(at + 1, at + 1 + pose_width()):
				rows.append(fields.number(value, "body", -AmbuloFields.MAX_NUMBER, 1e6))
	else:
		var keys: PackedStringArray = ["bodies", "poses"]
		var data := fields.table(request.json_object(fields), "body", "", keys, keys)
		numbers = fields.wholes(data.get("bodies"), "bodies", 0, MAX_BODIES - 1)
		rows = fields.rows(data.get("poses"), "poses", numbers.size(), pose_width())
	_check_units(rows, fields)
	for body in numbers:
		if fields.refusal == null:
			_make(body, fields)
	if fields.refusal != null:
		return fields.refusal
	for k in numbers.size():
		_bodies[numbers[k]].show_numbers(rows.slice(k * pose_width(), (k + 1) * pose_width()))
	return AmbuloReply.json({"bodies": Array(numbers)})


func _get_body(request: AmbuloRequest) -> AmbuloReply:
	var fields := AmbuloFields.new()
	var values := request.query_values()
	for name in values:
		if name != "body":
			fields.refuse(400, "unknown_key", "unknown query; known is body", name)
	var text: String = values.get("body", "0")
	if not text.is_valid_int():
		fields.fail("body", "expected a whole number, got %s" % AmbuloChecks.shown(text))
	var number := fields.whole(text.to_int(), "body", 0, MAX_BODIES - 1)
	if fields.refusal != null:
		return fields.refusal
	var character := _bodies[number] if number < _bodies.size() else null
	if character == null:
		return AmbuloReply.fail(409, "no_body", "no pose has come for body %d" % number, "body")
	var positions: Array[Array] = []
	for place in character.joint_positions():
		positions.append([place.x, place.y, place.z])
	return (
		AmbuloReply
		. json(
			{
				"body": number,
				"character": character.file.path,
				"joints": Array(character.file.joints),
				"bones": Array(character.file.bones),
				"positions": positions,
			}
		)
	)


func _check_units(rows: PackedFloat64Array, fields: AmbuloFields) -> void:
	for k in range(0, rows.size(), pose_width()):
		for at in range(k + 3, k + pose_width(), 4):
			var q := Vector4(rows[at], rows[at + 1], rows[at + 2], rows[at + 3])
			if absf(q.length() - 1.0) > UNIT:
				var joint := floori((at - k - 3) / 4.0)
				var key := "poses[%d]" % floori(k / float(pose_width()))
				fields.fail(key, "the quaternion of joint %d is not of length 1" % joint)
				return


## See that `body` has a character.
func _make(body: int, fields: AmbuloFields) -> void:
	while _bodies.size() <= body:
		_bodies.append(null)
	if _bodies[body] != null:
		return
	var path: String = ProjectSettings.get_setting(SETTING, CHARACTER)
	var character := AmbuloCharacter.new()
	if not character.load_character(path):
		fields.refuse(409, "no_character", character.error, "bodies")
		character.free()
		return
	character.name = "AmbuloBody%d" % body
	_tree.root.add_child(character)
	_bodies[body] = character
