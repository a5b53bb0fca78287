class_name AmbuloAgentKind
extends RefCounted
## All agents of one name: the parts of their observations and actions, and rows of them.

## Columns of a row before the infos: reward, and how the step ended.
const HEAD := 2

static var _is_blind := DisplayServer.get_name() == "headless"

var name := ""
var agents: Array[AmbuloAgentAdapter] = []
var parts: Array[AmbuloAgentPart] = []
var actions: Array[AmbuloAgentPart] = []
## Numbers of an observation, without pictures, and bytes of its pictures.
var numbers := 0
var bytes := 0
## Numbers of an action.
var action_size := 0
## Names of the infos, which grow while agents give new ones.
var info_names: PackedStringArray = []


## The kind of `first`, whose observation and action are those of all.
func _init(first: AmbuloAgentAdapter) -> void:
	name = first.kind
	parts = first.parts()
	actions = first.actions()
	for part in parts:
		if part.is_picture:
			bytes += part.size
		else:
			numbers += part.size
	for action in actions:
		action_size += action.size


## The rule that `agent`, another of this name, breaks; "": it is like the first.
func difference(agent: AmbuloAgentAdapter) -> String:
	var its_parts := agent.parts()
	var its_actions := agent.actions()
	if agent.problem != "":
		return agent.problem
	var ours := "%s -> %s" % [_rows(parts), _rows(actions)]
	var theirs := "%s -> %s" % [_rows(its_parts), _rows(its_actions)]
	if ours == theirs:
		return ""
	return (
		"is of the kind '%s' like %s, but has %s, not %s: name another kind"
		% [name, agents[0].path, theirs, ours]
	)


## Appends the observation `seen` of `agent` to `rows` and `pictures`; the rule it breaks, or "".
func append(
	seen: Dictionary, agent: AmbuloAgentAdapter, rows: PackedFloat32Array, pictures: PackedByteArray
) -> String:
	for part in parts:
		var value: Variant = seen.get(part.name)
		if part.is_picture:
			if value is not PackedByteArray or (value as PackedByteArray).size() != part.size:
				var why := " (headless: nothing is drawn)" if _is_blind else ""
				return "observation '%s': expected a picture of %s%s" % [part.name, part.shape, why]
			pictures.append_array(value as PackedByteArray)
			continue
		if value is not PackedFloat32Array:
			value = AmbuloAgentValues.floats(value)
			if value == null:
				return (
					"observation '%s': expected %d numbers, got %s"
					% [part.name, part.size, AmbuloChecks.shown(seen.get(part.name))]
				)
		var values: PackedFloat32Array = value
		if values.size() != part.size:
			return (
				"observation '%s': expected %d numbers, got %d"
				% [part.name, part.size, values.size()]
			)
		rows.append_array(values)
	return agent.problem


## The action of the row that begins at `at` of `values`, by name.
func action_at(values: PackedFloat32Array, at: int) -> Dictionary:
	var result := {}
	for action in actions:
		if action.choices > 0:
			result[action.name] = clampi(int(values[at]), 0, action.choices - 1)
		else:
			result[action.name] = values.slice(at, at + action.size)
		at += action.size
	return result


## Values of the infos `said`, in the order of their names; new names are added.
func info_row(said: Dictionary) -> PackedFloat32Array:
	var row := PackedFloat32Array()
	row.resize(info_names.size())
	for key: Variant in said:
		if key is String and key == "reward_terms" and said[key] is Dictionary:
			for term: Variant in said[key]:
				_put(row, "reward/%s" % term, said[key][term])
		else:
			_put(row, str(key), said[key])
	return row


## As JSON data.
func to_dict() -> Dictionary:
	var paths := PackedStringArray()
	for agent in agents:
		paths.append(agent.path)
	return {
		"name": name,
		"agents": Array(paths),
		"observation": parts.map(_part_data),
		"action": actions.map(_part_data),
		"info": Array(info_names),
		"scripted": agents[0].has_script(),
	}


static func _part_data(part: AmbuloAgentPart) -> Dictionary:
	return part.to_dict()


func _put(row: PackedFloat32Array, key: String, value: Variant) -> void:
	var type := typeof(value)
	if type != TYPE_FLOAT and type != TYPE_INT and type != TYPE_BOOL:
		return
	var at := info_names.find(key)
	if at < 0:
		at = info_names.size()
		info_names.append(key)
		row.resize(at + 1)
	row[at] = float(value)


static func _rows(items: Array[AmbuloAgentPart]) -> String:
	var texts := PackedStringArray()
	for part in items:
		texts.append("%s[%d]" % [part.name, maxi(part.size, part.choices)])
	return ", ".join(texts)
