class_name AmbuloDataFile
extends RefCounted
## The container format of exported models: data only, no code.
##
## Eight bytes for the kind and version, the length of the header (32-bit little-endian), the header
## as UTF-8 JSON, then only 32-bit little-endian floats.

## Longest header, [bytes].
const MAX_HEADER := 1 << 20
## Most numbers.
const MAX_NUMBERS := 1 << 24

## The header, as parsed.
var header: Variant
## Numbers after the header, set by [method read_arrays].
var floats: PackedFloat32Array = []
## First number and shape of each of its arrays.
var starts: Dictionary[String, int] = {}
var shapes: Dictionary[String, PackedInt32Array] = {}
## The first problem of the file; empty after a method that returned true.
var problem := ""

var _stream: FileAccess


## Open the file at [param path], which must begin with [param magic] and hold a [param kind].
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


## Reason why the file at [param path] cannot be opened. An [param exported] game contains files
## that are not resources only if its export preset lists them.
static func open_problem(path: String, exported := OS.has_feature("template")) -> String:
	var error := FileAccess.get_open_error()
	var reason := error_string(error)
	if not exported or error != ERR_FILE_NOT_FOUND or not path.begins_with("res://"):
		return reason
	var setting := "Resources > Filters to export non-resource files"
	return "%s; list *.%s in the export preset: %s" % [reason, path.get_extension(), setting]


## The [param count] floats after the header, called [param what] in messages, whose SHA-256 must be
## [param digest]; empty, with [member problem] set, if they are missing or wrong.
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


## Reads the rows "arrays" of the header [param table], whose "numbers" and "sha256" give the count
## and digest of the numbers that follow. Broken rules go to [param checks].
func read_shapes(checks: AmbuloChecks, table: Dictionary) -> void:
	var keys := PackedStringArray(["name", "start", "shape"])
	var at := 0
	for item: Variant in checks.list(table, "arrays"):
		var row := checks.table(item, "arrays", "arrays.", keys, keys)
		var name := checks.text(row.get("name"), "arrays.name")
		var start := checks.whole(row.get("start"), "arrays.start", 0, MAX_NUMBERS)
		var shape := PackedInt32Array()
		var size := 1
		for part: Variant in checks.list(row, "shape"):
			shape.append(checks.whole(part, "arrays.shape", 1, MAX_NUMBERS))
			size = mini(size * shape[-1], MAX_NUMBERS + 1)
		if start != at:
			checks.fail("arrays", "'%s' does not follow the array before it" % name)
		starts[name] = start
		shapes[name] = shape
		at += size
	if at != checks.whole(table.get("numbers"), "numbers", 1, MAX_NUMBERS):
		checks.fail("arrays", "have %d numbers, expected %s" % [at, table.get("numbers")])


## Records the first array whose shape differs from [param expected].
func check_shapes(checks: AmbuloChecks, expected: Dictionary[String, PackedInt32Array]) -> void:
	for name in expected:
		if not shapes.has(name):
			checks.fail("arrays", "'%s' is missing" % name)
		elif shapes[name] != expected[name]:
			checks.fail(name, "expected the shape %s, got %s" % [expected[name], shapes[name]])


## Reads the numbers of the arrays that [method read_shapes] has read from [param table]; returns
## the first problem, or "".
func read_arrays(table: Dictionary) -> String:
	floats = numbers(int(table["numbers"]), str(table["sha256"]), "numbers")
	var sum := 0.0
	for number in floats:
		sum += absf(number)
	return problem if problem != "" or is_finite(sum) else "a number is not finite"


## The array [param name].
func flat(name: String) -> PackedFloat32Array:
	var size := 1
	for part in shapes[name]:
		size *= part
	return floats.slice(starts[name], starts[name] + size)


## The array [param name], whose rows have three numbers.
func vectors(name: String) -> PackedVector3Array:
	var all := flat(name)
	var out := PackedVector3Array()
	for k in range(0, all.size(), 3):
		out.append(Vector3(all[k], all[k + 1], all[k + 2]))
	return out


## The array [param name], whose rows have four numbers.
func fours(name: String) -> PackedVector4Array:
	var all := flat(name)
	var out := PackedVector4Array()
	for k in range(0, all.size(), 4):
		out.append(Vector4(all[k], all[k + 1], all[k + 2], all[k + 3]))
	return out


func _fail(reason: String) -> bool:
	problem = reason
	return false
