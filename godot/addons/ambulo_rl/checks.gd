class_name AmbuloChecks
extends RefCounted
## Reads values out of parsed JSON and keeps the first broken rule as "key: rule".
##
## Every reader returns a usable value even after a failure, so that parsing code can continue and
## read [member problem] once at the end.

## Longest text, [characters].
const MAX_TEXT := 200

## The first broken rule as "key: rule"; empty if there is none.
var problem := ""


## Records the first broken rule.
func fail(key: String, rule: String) -> void:
	if problem.is_empty():
		problem = "%s: %s" % [key, rule]


## [param data] as an object that has only [param allowed] keys and all [param required].
## [param prefix] goes before the names of its keys ("boxes[2]." or nothing).
func table(
	data: Variant,
	key: String,
	prefix: String,
	allowed: PackedStringArray,
	required: PackedStringArray
) -> Dictionary:
	if not data is Dictionary:
		fail(key, "expected an object, got %s" % shown(data))
		return {}
	var found: Dictionary = data
	for name: Variant in found:
		if not str(name) in allowed:
			fail(prefix + str(name).left(MAX_TEXT), "unknown key" + _hint(str(name), allowed))
	for name in required:
		if not found.has(name):
			fail(prefix + name, "missing")
	return found


## A list under [param key] of [param data]; empty if absent.
func list(data: Dictionary, key: String) -> Array:
	var value: Variant = data.get(key, [])
	if not value is Array:
		fail(key, "expected a list, got %s" % shown(value))
		return []
	return value


## A finite number in [[param low], [param high]].
func number(value: Variant, key: String, low: float, high: float) -> float:
	if not (value is float or value is int):
		fail(key, "expected a number, got %s" % shown(value))
		return low
	var result := float(value)
	if not is_finite(result):
		fail(key, "must be finite, got %s" % shown(value))
		return low
	if result < low or result > high:
		fail(key, "must be in [%s, %s], got %s" % [shown(low), shown(high), shown(value)])
		return low
	return result


## A whole number in [[param low], [param high]].
func whole(value: Variant, key: String, low: int, high: int) -> int:
	var result := number(value, key, low, high)
	if result != floorf(result):
		fail(key, "expected a whole number, got %s" % shown(value))
	return int(result)


## A boolean.
func flag(value: Variant, key: String) -> bool:
	if not value is bool:
		fail(key, "expected true or false, got %s" % shown(value))
		return false
	return value


## A list of exactly [param count] finite numbers, each at most [param limit] in size.
func numbers(value: Variant, key: String, count: int, limit: float) -> PackedFloat64Array:
	var result := PackedFloat64Array()
	result.resize(count)
	if not value is Array or (value as Array).size() != count:
		fail(key, "expected %d numbers, got %s" % [count, shown(value)])
		return result
	var items: Array = value
	for k in count:
		result[k] = number(items[k], key, -limit, limit)
	return result


## One line of text.
func text(value: Variant, key: String) -> String:
	if not value is String or (value as String).strip_edges().is_empty() or not _prints(value):
		fail(key, "expected one line of text, got %s" % shown(value))
		return ""
	var result: String = value
	if result.length() > MAX_TEXT:
		fail(key, "longer than %d characters" % MAX_TEXT)
	return result


## [param value] as one short line for a message.
static func shown(value: Variant) -> String:
	if value is Dictionary:
		return "an object"
	if value is Array and (value as Array).size() > 8:
		return "a list of %d" % (value as Array).size()
	var result := JSON.stringify(value) if value is String or value is Array else str(value)
	return result if result.length() <= 60 else result.left(57) + "..."


func _prints(value: String) -> bool:
	for k in value.length():
		var code := value.unicode_at(k)
		if code < 0x20 or (code >= 0x7f and code <= 0xa0) or code == 0xad:
			return false
		if (code >= 0x2000 and code <= 0x200f) or (code >= 0x2028 and code <= 0x202f):
			return false
	return true


func _hint(name: String, allowed: PackedStringArray) -> String:
	var best := ""
	var score := 0.6
	for candidate in allowed:
		var similarity := name.similarity(candidate)
		if similarity > score:
			best = candidate
			score = similarity
	if best.is_empty():
		return " (valid: %s)" % ", ".join(allowed)
	return " (did you mean '%s'?)" % best
