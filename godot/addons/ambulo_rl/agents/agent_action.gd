class_name AmbuloAgentAction
extends RefCounted
## A named part of an action: numbers in [-1, 1], or one of some choices.

const _MOST := 4096

var name := ""
## Numbers; 1 where it is discrete.
var size := 1
## Number of choices; 0: continuous.
var choices := 0


## The parts in [param space], the Dictionary of `get_action_space`; {"size"} or {"discrete"}, or
## the "size" and "action_type" of godot-rl. A broken rule is appended to [param errors].
static func read(space: Dictionary, errors: PackedStringArray) -> Array[AmbuloAgentAction]:
	var result: Array[AmbuloAgentAction] = []
	for key: Variant in space:
		var action := AmbuloAgentAction.new()
		action.name = str(key)
		var problem := action._read(space[key])
		if problem != "":
			errors.append("get_action_space(): '%s': %s" % [key, problem])
			return []
		result.append(action)
	if result.is_empty():
		errors.append("get_action_space(): is empty")
	return result


## As JSON data.
func to_dict() -> Dictionary:
	if choices > 0:
		return {"name": name, "discrete": choices}
	return {"name": name, "size": size}


func _read(entry: Variant) -> String:
	if entry is not Dictionary:
		return 'expected {"size": N} or {"discrete": N}, got %s' % AmbuloChecks.shown(entry)
	var table: Dictionary = entry
	var discrete: bool = table.has("discrete") or table.get("action_type", "") == "discrete"
	var count: Variant = table.get("discrete", table.get("size"))
	if count is not int and count is not float:
		return 'expected {"size": N} or {"discrete": N}, got %s' % str(table).left(60)
	var whole := int(count)
	if whole != count or whole < 1 or whole > _MOST:
		var key := "discrete" if discrete else "size"
		return "%s = %s: must be a whole number from 1 to %d" % [key, count, _MOST]
	if discrete:
		choices = whole
	else:
		size = whole
	return ""
