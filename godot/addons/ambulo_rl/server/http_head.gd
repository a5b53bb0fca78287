class_name AmbuloHttpHead
extends RefCounted
## The request line and header fields of one HTTP/1.x request, checked.
##
## `read` never fails half-way: a head that breaks a rule has `status` other than 0 and says in
## `message` which rule, and the connection that sent it can no longer be trusted.

## Longest head, [bytes].
const MAX_HEAD := 16384
## Most header fields.
const MAX_FIELDS := 100
const _METHODS: PackedStringArray = [
	"GET", "POST", "PUT", "HEAD", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT"
]
const _LINE := "\\A([A-Z]{1,10}) ([!-~]{1,8000}) HTTP/([0-9])\\.([0-9])\\z"
const _FIELD := "\\A([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \\t]*(.*?)[ \\t]*\\z"

static var _line := RegEx.create_from_string(_LINE)
static var _field := RegEx.create_from_string(_FIELD)
static var _bad := RegEx.create_from_string("[^\\t\\r\\n\\x20-\\x7e]")

## HTTP status of the refusal; 0: the head is fine.
var status := 0
var code := ""
var message := ""
## Name of the header field that broke a rule, or "".
var field := ""
var method := ""
## Path without the query, as sent (nothing is decoded).
var path := ""
## Text after the first `?`, as sent.
var query := ""
## Field values by lower-case name.
var fields: Dictionary[String, String] = {}
var content_length := 0
var keep_alive := true
## The client waits for `100 Continue` before it sends the body.
var expects_continue := false
## Body and reply use the compact binary form.
var binary_body := false
var binary_reply := false
## Filled by the router: who answers. Kept with the head, so that equal heads cost nothing.
var route: AmbuloRoute


## The head in `bytes`, which end with an empty line. `max_body` in bytes.
static func read(bytes: PackedByteArray, max_body: int) -> AmbuloHttpHead:
	var head := AmbuloHttpHead.new()
	if bytes.has(0):
		head._refuse(400, "bad_request", "the head holds a NUL byte")
		return head
	var text := bytes.get_string_from_ascii()
	if _bad.search(text) != null:
		head._refuse(400, "bad_request", "the head holds a byte that is not printable ASCII")
		return head
	var lines := text.substr(0, text.length() - 4).split("\r\n")
	head._read_line(lines[0])
	if head.status == 0 and lines.size() - 1 > MAX_FIELDS:
		head._refuse(431, "too_many_fields", "more than %d header fields" % MAX_FIELDS)
	for k in range(1, lines.size()):
		if head.status != 0:
			return head
		head._read_field(lines[k])
	if head.status == 0:
		head._conclude(max_body)
	return head


## A head that is refused before it is read.
static func refused(new_status: int, new_code: String, text: String) -> AmbuloHttpHead:
	var head := AmbuloHttpHead.new()
	head._refuse(new_status, new_code, text)
	return head


func _read_line(line: String) -> void:
	var found := _line.search(line)
	if found == null:
		_refuse(400, "bad_request", "the request line is not `METHOD /path HTTP/1.1`")
		return
	method = found.get_string(1)
	if found.get_string(3) != "1":
		_refuse(505, "http_version", "only HTTP/1.0 and HTTP/1.1 are spoken here")
	elif method not in _METHODS:
		_refuse(501, "unknown_method", "unknown method %s" % method)
	else:
		var target := found.get_string(2)
		var mark := target.find("?")
		path = target if mark < 0 else target.substr(0, mark)
		query = "" if mark < 0 else target.substr(mark + 1)
		keep_alive = found.get_string(4) != "0"
		if not path.begins_with("/"):
			_refuse(400, "bad_request", "the request target must begin with /")


func _read_field(line: String) -> void:
	var found := _field.search(line)
	if found == null or "\r" in line or "\n" in line:
		_refuse(400, "bad_request", "a header line is not `Name: value`")
		return
	var name := found.get_string(1).to_lower()
	var value := found.get_string(2)
	if not fields.has(name):
		fields[name] = value
	elif name in ["host", "content-length", "transfer-encoding", "authorization", "origin"]:
		_refuse(400, "bad_header", "given twice", name)
	else:
		fields[name] += ", " + value


func _conclude(max_body: int) -> void:
	var connection: String = fields.get("connection", "").to_lower()
	var options := connection.split(",")
	for k in options.size():
		options[k] = options[k].strip_edges()
	if "close" in options:
		keep_alive = false
	elif "keep-alive" in options:
		keep_alive = true
	if fields.has("transfer-encoding"):
		_refuse(
			411,
			"length_required",
			"bodies come with Content-Length here, not with Transfer-Encoding",
			"transfer-encoding"
		)
		return
	var length: String = fields.get("content-length", "0")
	if not is_digits(length):
		_refuse(400, "bad_header", "expected decimal digits", "content-length")
		return
	if length.length() > 15 or length.to_int() > max_body:
		_refuse(413, "body_too_large", "at most %d bytes are accepted" % max_body, "content-length")
		return
	content_length = length.to_int()
	var expect: String = fields.get("expect", "").to_lower()
	if expect == "100-continue":
		expects_continue = true
	elif expect != "":
		_refuse(417, "bad_header", "only 100-continue is understood", "expect")
	binary_body = _media(fields.get("content-type", "")) == AmbuloWire.MEDIA_TYPE
	for part: String in fields.get("accept", "").split(","):
		if _media(part) == AmbuloWire.MEDIA_TYPE:
			binary_reply = true


func _refuse(new_status: int, new_code: String, text: String, name: String = "") -> void:
	status = new_status
	code = new_code
	message = text
	field = name
	keep_alive = false


static func _media(text: String) -> String:
	return text.get_slice(";", 0).strip_edges().to_lower()


## Only decimal digits, at least one.
static func is_digits(text: String) -> bool:
	for k in text.length():
		var at := text.unicode_at(k)
		if at < 48 or at > 57:
			return false
	return text != ""
