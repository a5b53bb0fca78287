class_name AmbuloThingsMessage
extends RefCounted
## The message of `/rl/things`: rows of an agent and the numbers of an [AmbuloThings] row.


## The rows of each agent, one after the other; not all of them after a refusal in [param fields].
static func read(
	body: PackedByteArray, agents: int, fields: AmbuloFields
) -> Array[PackedFloat64Array]:
	var out: Array[PackedFloat64Array] = []
	out.resize(agents)
	var width := AmbuloThings.ROW + 1
	var values := AmbuloWire.read_rows(body, width, fields)
	for k in range(0, values.size(), width):
		var agent := int(values[k])
		if agent != values[k] or agent < 0 or agent >= agents:
			fields.fail("body", "row %d is of no agent" % (k / width))
			return out
		var row := values.slice(k + 1, k + width)
		var problem := AmbuloThings.problem(row)
		if problem.is_empty() and out[agent].size() >= AmbuloThings.MOST * AmbuloThings.ROW:
			problem = "more than %d things of an agent" % AmbuloThings.MOST
		if not problem.is_empty():
			fields.fail("body", "row %d: %s" % [k / width, problem])
			return out
		out[agent].append_array(row)
	return out
