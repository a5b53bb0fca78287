class_name AmbuloReply
extends RefCounted
## An answer: status, media type and body; `to_bytes` makes the one block that is sent.

const JSON_TYPE := "application/json"
## Status of an answer that comes later.
const LATER := 0
const _REASONS: Dictionary[int, String] = {
	200: "OK",
	202: "Accepted",
	400: "Bad Request",
	401: "Unauthorized",
	403: "Forbidden",
	404: "Not Found",
	405: "Method Not Allowed",
	408: "Request Timeout",
	409: "Conflict",
	411: "Length Required",
	413: "Content Too Large",
	415: "Unsupported Media Type",
	417: "Expectation Failed",
	431: "Request Header Fields Too Large",
	500: "Internal Server Error",
	501: "Not Implemented",
	503: "Service Unavailable",
	505: "HTTP Version Not Supported",
}

static var _control := RegEx.create_from_string("[\\x01-\\x1f]")

var status := 200
var media_type := JSON_TYPE
var body: PackedByteArray
## More header lines, each ending with CR LF.
var extra := ""


## `value` as JSON text, numbers with all their digits.
static func json(value: Variant, with_status: int = 200) -> AmbuloReply:
	var reply := AmbuloReply.new()
	reply.status = with_status
	reply.body = _escaped(JSON.stringify(value, "", false, true)).to_utf8_buffer()
	return reply


## A refusal; `field` names the key or header at fault, "" for none.
static func fail(
	with_status: int, code: String, message: String, field: String = ""
) -> AmbuloReply:
	var at: Variant = null
	if field != "":
		at = field
	return json({"error": {"code": code, "message": message, "field": at}}, with_status)


## `bytes` as they are.
static func raw(bytes: PackedByteArray, with_type: String) -> AmbuloReply:
	var reply := AmbuloReply.new()
	reply.media_type = with_type
	reply.body = bytes
	return reply


## The answer of an endpoint that needs ticks of the engine first: it comes by
## [method AmbuloHttpTransport.answer].
static func later() -> AmbuloReply:
	var reply := AmbuloReply.new()
	reply.status = LATER
	return reply


## The header block up to and including the empty line.
func head_bytes(keep_alive: bool) -> PackedByteArray:
	return (
		(
			(
				"HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n"
				+ "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n%s%s\r\n"
			)
			% [
				status,
				_REASONS.get(status, "Unknown"),
				media_type,
				body.size(),
				extra,
				"" if keep_alive else "Connection: close\r\n",
			]
		)
		. to_ascii_buffer()
	)


## Everything that goes over the wire, in one piece.
func to_bytes(keep_alive: bool) -> PackedByteArray:
	var bytes := head_bytes(keep_alive)
	bytes.append_array(body)
	return bytes


# The engine writes most control characters into JSON text as they are. They can only stand inside
# strings there.
static func _escaped(text: String) -> String:
	if _control.search(text) == null:
		return text
	for code in range(1, 32):
		text = text.replace(char(code), "\\u%04x" % code)
	return text
