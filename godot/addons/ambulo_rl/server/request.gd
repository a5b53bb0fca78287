class_name AmbuloRequest
extends RefCounted
## What an endpoint is given: the head and the whole body.

## No body has as many keys.
const MOST_KEYS := 64

var head: AmbuloHttpHead
var body: PackedByteArray


## A request of `with_head` and `with_body`.
static func of(with_head: AmbuloHttpHead, with_body: PackedByteArray) -> AmbuloRequest:
	var request := AmbuloRequest.new()
	request.head = with_head
	request.body = with_body
	return request


## The body as a JSON object; an empty body is an empty object. On failure `fields` holds the
## refusal and the object is empty.
func json_object(fields: AmbuloFields) -> Dictionary:
	if head.binary_body:
		fields.refuse(415, "media_type", "this takes JSON here", "content-type")
		return {}
	if body.is_empty():
		return {}
	var parsed := AmbuloStrictJson.parse(body)
	if parsed.error != "":
		fields.refuse(400, "not_json", parsed.error)
		return {}
	if parsed.value is not Dictionary:
		fields.refuse(
			400, "not_json", "expected a JSON object, got %s" % AmbuloChecks.shown(parsed.value)
		)
		return {}
	var data: Dictionary = parsed.value
	if data.size() > MOST_KEYS:
		fields.refuse(
			400, "bad_value", "expected at most %d keys, got %d" % [MOST_KEYS, data.size()]
		)
		return {}
	return data


## Values of the query by name; the last of equal names counts.
func query_values() -> Dictionary[String, String]:
	var values: Dictionary[String, String] = {}
	for part in head.query.split("&", false):
		var name := part.get_slice("=", 0)
		values[name] = part.substr(name.length() + 1)
	return values
