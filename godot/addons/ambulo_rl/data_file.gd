class_name AmbuloDataFile
extends RefCounted
## The container of exported models: data only, read without running anything from it.
##
## Eight bytes that tell the kind and its version, the length of the header (32-bit
## little-endian), the header as UTF-8 JSON, then nothing but 32-bit little-endian floats.

## Longest header, [bytes].
const MAX_HEADER := 1 << 20

## The header, as parsed.
var header: Variant
## What is wrong with the file; empty after a method that returned true.
var problem := ""

var _stream: FileAccess


## Open the file at [param path], which shall begin with [param magic] and hold a [param kind].
func open(path: String, magic: String, kind: String) -> bool:
	_stream = FileAccess.open(path, FileAccess.READ)
	if _stream == null:
		return _fail(open_problem(path))
	var total := _stream.get_length()
	var start := magic.length() + 4
	if total < start or _stream.get_buffer(magic.length()) != magic.to_ascii_buffer():
		return _fail("is no %s file, or one of another version" % kind)
	var size := _stream.get_32()
	if size > MAX_HEADER or start + size > total:
		return _fail("its header of %d bytes does not fit" % size)
	var json := JSON.new()
	if json.parse(_stream.get_buffer(size).get_string_from_utf8()) != OK:
		return _fail("header: %s" % json.get_error_message())
	header = json.data
	return true


## Why the file at [param path], which was just tried, cannot be opened. An [param exported] game
## holds files that are no resources only where its preset lists them.
static func open_problem(path: String, exported := OS.has_feature("template")) -> String:
	var error := FileAccess.get_open_error()
	var reason := error_string(error)
	if not exported or error != ERR_FILE_NOT_FOUND or not path.begins_with("res://"):
		return reason
	var setting := "Resources > Filters to export non-resource files"
	return "%s; list *.%s in the export preset: %s" % [reason, path.get_extension(), setting]


## The [param count] floats after the header, called [param what] in messages, whose SHA-256
## shall be [param digest]; empty, with [member problem] set, if they are not there.
func numbers(count: int, digest: String, what: String) -> PackedFloat32Array:
	var got := _stream.get_length() - _stream.get_position()
	if got != 4 * count:
		_fail("expected %d bytes of %s, got %d" % [4 * count, what, got])
		return []
	var raw := _stream.get_buffer(got)
	var context := HashingContext.new()
	context.start(HashingContext.HASH_SHA256)
	context.update(raw)
	if context.finish().hex_encode() != digest:
		_fail("the %s are damaged: wrong SHA-256" % what)
		return []
	return raw.to_float32_array()


func _fail(reason: String) -> bool:
	problem = reason
	return false
