class_name AmbuloAgentPart
extends RefCounted
## A named part of an observation (numbers, or a picture of bytes) or of an action (numbers in
## [-1, 1], or one of some choices).

const _MOST := 4096

var name := ""
var shape: PackedInt32Array = []
var is_picture := false
## Least and largest value; not finite: unbounded.
var low := -INF
var high := INF
## Numbers: the product of the shape.
var size := 1
## Number of choices; 0: there are none.
var choices := 0


## A part of an observation.
static func of(
	part_name: String, of_shape: PackedInt32Array, picture := false, least := -INF, largest := INF
) -> AmbuloAgentPart:
	var part := AmbuloAgentPart.new()
	part.name = part_name
	part.shape = of_shape
	part.is_picture = picture
	part.low = 0.0 if picture else least
	part.high = 255.0 if picture else largest
	for length in of_shape:
		part.size *= length
	return part


## The parts of the action that `get_action_space` tells: {"size"} or {"discrete"} for each name, or
## "size" and "action_type" as in godot-rl. A broken rule is appended to [param errors].
static func of_actions(space: Dictionary, errors: PackedStringArray) -> Array[AmbuloAgentPart]:
	var result: Array[AmbuloAgentPart] = []
	for key: Variant in space:
		var entry: Dictionary = space[key] if space[key] is Dictionary else {}
		var is_choice: bool = entry.has("discrete") or entry.get("action_type", "") == "discrete"
		var count: Variant = entry.get("discrete", entry.get("size"))
		var is_whole: bool = count is int or (count is float and count == floorf(count))
		if not is_whole or count < 1 or count > _MOST:
			var rule := 'expected {"size": N} or {"discrete": N} with N from 1 to %d, got %s'
			errors.append("'%s': %s" % [key, rule % [_MOST, str(space[key]).left(60)]])
			return []
		var part := of(str(key), [1 if is_choice else int(count)], false, -1.0, 1.0)
		part.choices = int(count) if is_choice else 0
		result.append(part)
	if result.is_empty():
		errors.append("is empty")
	return result


## As JSON data; an absent bound is null.
func to_dict() -> Dictionary:
	return {
		"name": name,
		"shape": Array(shape),
		"dtype": "uint8" if is_picture else "float32",
		"low": low if is_finite(low) else null,
		"high": high if is_finite(high) else null,
		"size": size,
		"discrete": choices,
	}
