class_name AmbuloStrictJson
extends RefCounted
## JSON text by the standard: the engine's parser also takes `01`, `1.`, `[1,]` and raw control
## characters, prints to the log on bytes that are not UTF-8, and keeps the last of equal keys. All
## of that is refused here.

const _WINDOW := 1 << 17
const _SPACE := "[ \\t\\r\\n]"
const _STRING := '"(?:[^"\\\\\\x00-\\x1f]++|\\\\(?:["\\\\/bfnrt]|u(?!0000)[0-9a-fA-F]{4}))*+"'
const _NUMBER := (
	"-?+(?:0|[1-9][0-9]*+)(?:\\.[0-9]++)?+(?:[eE][+-]?+(?:[0-3]?[0-9]{1,2}))?+"
	+ "(?![0-9A-Za-z.+_-])"
)
const _COMMA := "," + _SPACE + "*+(?![\\]},])"
const _OTHER := "(?:true|false|null)(?![0-9A-Za-z_])|[\\[\\]{}:]"
const _UTF8 := (
	"\\A([\\x01-\\x7f]++|[\\xc2-\\xdf][\\x80-\\xbf]|\\xe0[\\xa0-\\xbf][\\x80-\\xbf]"
	+ "|[\\xe1-\\xec\\xee\\xef][\\x80-\\xbf]{2}|\\xed[\\x80-\\x9f][\\x80-\\xbf]"
	+ "|\\xf0[\\x90-\\xbf][\\x80-\\xbf]{2}|[\\xf1-\\xf3][\\x80-\\xbf]{3}"
	+ "|\\xf4[\\x80-\\x8f][\\x80-\\xbf]{2})*+"
)

static var _strings := RegEx.create_from_string(_STRING)
static var _tokens := RegEx.create_from_string(
	"\\A(%s++|%s|%s|%s|%s)*+" % [_SPACE, _STRING, _NUMBER, _COMMA, _OTHER]
)
static var _beyond_ascii := RegEx.create_from_string("[^\\x00-\\x7f]")
static var _utf8 := RegEx.create_from_string(_UTF8)

var value: Variant
## One line that says what is wrong; "" when `value` is what the text says.
var error := ""


## The value of the JSON text in `bytes` (UTF-8). All numbers come as floats.
static func parse(bytes: PackedByteArray) -> AmbuloStrictJson:
	var result := AmbuloStrictJson.new()
	if bytes.has(0):
		result.error = "the body is not JSON: it holds a NUL byte"
		return result
	var text := bytes.get_string_from_ascii()
	if _beyond_ascii.search(text) != null:
		if _end_of_run(_utf8, text) != text.length():
			result.error = "the body is not JSON: it is not UTF-8 text"
			return result
	var end := _end_of_run(_tokens, text)
	if end != text.length():
		result.error = (
			"the body is not JSON at byte %d: %s" % [end, text.substr(end, 12).c_escape()]
		)
		return result
	var parser := JSON.new()
	if _parse_text(parser, bytes, text) != OK:
		result.error = "the body is not JSON: %s" % parser.get_error_message()
		return result
	if _has_doubled_keys(text, parser.data):
		result.error = "the body is not JSON: a key is given twice in one object"
		return result
	result.value = parser.data
	return result


# Each key has a colon, and a doubled one is lost in `data`.
static func _has_doubled_keys(text: String, data: Variant) -> bool:
	if not ":" in text:
		return false
	var bare := _strings.sub(text, "", true)
	return bare.count(":") != _count_keys(data, bare.count("{"))


# Keys of all objects in `data`, which holds so many of them.
static func _count_keys(data: Variant, objects: int) -> int:
	var keys := 0
	var left := objects
	var waiting: Array = [data]
	while left > 0 and not waiting.is_empty():
		var item: Variant = waiting.pop_back()
		if item is Dictionary:
			left -= 1
			keys += (item as Dictionary).size()
			item = (item as Dictionary).values()
		for inner: Variant in item:
			if inner is Dictionary or inner is Array:
				waiting.append(inner)
	return keys


# Where the run of what `tokens` matches ends. A long text is looked at in windows, as the matcher
# gives up on long runs; a last token that ends with its window is looked at again in the next.
static func _end_of_run(tokens: RegEx, text: String) -> int:
	var at := 0
	var width := _WINDOW
	while at < text.length():
		var window := text.substr(at, width)
		var is_last := at + window.length() == text.length()
		var found := tokens.search(window)
		var to := 0 if found == null else found.get_end()
		if to == window.length() and not is_last:
			to = found.get_start(1)
		if to > 0:
			at += to
			width = _WINDOW
		elif is_last:
			break
		else:
			width = text.length()
	return at


static func _parse_text(parser: JSON, bytes: PackedByteArray, text: String) -> Error:
	if text.length() == 0:
		return ERR_PARSE_ERROR
	if _beyond_ascii.search(text) != null:
		return parser.parse(bytes.get_string_from_utf8())
	return parser.parse(text)
