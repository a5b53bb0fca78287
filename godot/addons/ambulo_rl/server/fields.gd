class_name AmbuloFields
extends AmbuloChecks
## Reads a request's values by type and range; the first broken rule becomes the refusal.
##
## After a refusal every reader still returns a usable value, so that an endpoint reads all of
## its fields and looks at `refusal` once.

## Largest number in a request, [m] or [rad].
const MAX_NUMBER := 1e6
## Integers beyond this lose digits in JSON.
const MAX_WHOLE := 9007199254740991

## The answer to send; null while all is well.
var refusal: AmbuloReply


## Notes the first broken rule.
func fail(key: String, rule: String) -> void:
	refuse(400, "bad_value", rule, key)


## Notes a refusal of another kind.
func refuse(status: int, code: String, message: String, field: String = "") -> void:
	if refusal != null:
		return
	problem = "%s: %s" % [field, message]
	refusal = AmbuloReply.fail(status, code, message, _clean(field))


## Notes a problem in the form "key: rule" about what `owner` holds ("levels[2]", or "");
## the key `root` stands for the owner itself.
func fail_line(line: String, owner: String = "", root: String = "") -> void:
	var key := line.get_slice(": ", 0)
	var rule := line.substr(key.length() + 2)
	if key == root:
		fail(owner, rule)
	else:
		fail(key if owner == "" else "%s.%s" % [owner, key], rule)


## A list of `count` entries (-1: at most `most`).
func entries(value: Variant, key: String, count: int = -1, most: int = 1 << 20) -> Array:
	if value is not Array:
		fail(key, "expected a list, got %s" % shown(value))
		return []
	var items: Array = value
	if count >= 0 and items.size() != count:
		fail(key, "expected %d entries, got %d" % [count, items.size()])
		return []
	if items.size() > most:
		fail(key, "expected at most %d entries, got %d" % [most, items.size()])
		return []
	return items


## Whole numbers in [low, high]; `count` of them (-1: any).
func wholes(value: Variant, key: String, low: int, high: int, count: int = -1) -> PackedInt64Array:
	var result := PackedInt64Array()
	for item: Variant in entries(value, key, count):
		result.append(whole(item, "%s[%d]" % [key, result.size()], low, high))
		if refusal != null:
			break
	return result


## `count` rows of `width` numbers in [-limit, limit], one after the other.
func rows(
	value: Variant, key: String, count: int, width: int, limit: float = MAX_NUMBER
) -> PackedFloat64Array:
	var result := PackedFloat64Array()
	var k := 0
	for item: Variant in entries(value, key, count):
		result.append_array(numbers(item, "%s[%d]" % [key, k], width, limit))
		k += 1
		if refusal != null:
			break
	return result


static func _clean(field: String) -> String:
	return field.left(MAX_TEXT).c_escape()
