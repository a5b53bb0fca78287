class_name AmbuloRlPlacement
extends RefCounted
## Which agents go into which slots, and a row of numbers for each: what the training form of
## reset (poses) and restore (states) are given, as JSON or in the compact binary form.

var agents: PackedInt64Array = []
var slots: PackedInt64Array = []
## The rows, one after the other.
var rows: PackedFloat64Array = []


## Numbers of a pose in a reset: 4 where the first one has a height, else 3.
static func pose_width(request: AmbuloRequest, data: Dictionary) -> int:
	if request.head.binary_body:
		var body := request.body
		return 4 if body.size() >= AmbuloWire.HEADER_SIZE and body.decode_u32(8) == 6 else 3
	var poses: Variant = data.get("poses")
	if poses is not Array or (poses as Array).is_empty():
		return 3
	var first: Variant = (poses as Array)[0]
	return 4 if first is Array and (first as Array).size() == 4 else 3


## Read {"agents", "slots", `key`: rows of `width` numbers in [-`limit`, `limit`]}.
static func from_json(
	data: Dictionary,
	key: String,
	width: int,
	limit: float,
	world: AmbuloWorld,
	fields: AmbuloFields
) -> AmbuloRlPlacement:
	var placement := AmbuloRlPlacement.new()
	var keys: PackedStringArray = ["agents", "slots", key]
	fields.table(data, "body", "", keys, keys)
	var most := AmbuloFields.MAX_WHOLE
	placement.agents = fields.wholes(data.get("agents"), "agents", 0, most)
	var count := placement.agents.size()
	placement.slots = fields.wholes(data.get("slots"), "slots", 0, most, count)
	placement.rows = fields.rows(data.get(key), key, count, width, limit)
	placement._check(world, fields)
	return placement


## Read a binary message whose rows are agent, slot, then `width` numbers.
static func from_binary(
	body: PackedByteArray, width: int, limit: float, world: AmbuloWorld, fields: AmbuloFields
) -> AmbuloRlPlacement:
	var placement := AmbuloRlPlacement.new()
	var values := AmbuloWire.read_rows(body, width + 2, fields)
	for at in range(0, values.size(), width + 2):
		var k := placement.agents.size()
		var most := AmbuloFields.MAX_WHOLE
		placement.agents.append(fields.whole(values[at], "agents[%d]" % k, 0, most))
		placement.slots.append(fields.whole(values[at + 1], "slots[%d]" % k, 0, most))
		for x in values.slice(at + 2, at + 2 + width):
			placement.rows.append(fields.number(x, "body", -limit, limit))
		if fields.refusal != null:
			break
	placement._check(world, fields)
	return placement


func _check(world: AmbuloWorld, fields: AmbuloFields) -> void:
	var seen: Dictionary[int, bool] = {}
	for k in agents.size():
		if fields.refusal != null:
			return
		if agents[k] >= world.num_agents:
			fields.fail(
				"agents[%d]" % k, "agent %d of %d does not exist" % [agents[k], world.num_agents]
			)
		elif seen.has(agents[k]):
			fields.fail("agents[%d]" % k, "agent %d is named twice" % agents[k])
		elif not world.has_slot(slots[k]):
			fields.fail("slots[%d]" % k, "slot %d holds no level" % slots[k])
		seen[agents[k]] = true
