extends AmbuloTest
## JSON by the standard, and values read by type and range.


func test_what_is_json() -> void:
	for text: String in [
		"{}",
		' [1, -2.5e-3, 0, -0, 1E+2, true, false, null, ""] \r\n\t',
		'{"a":{"b":[[],{}]},"c":"\\u00e9\\n\\"\\\\\\/"}',
		'"é漢😀"',
		"[%s1%s]" % ["[".repeat(400), "]".repeat(400)],
	]:
		var parsed := AmbuloStrictJson.parse(text.to_utf8_buffer())
		check_equal(parsed.error, "", text.left(60))
	check_equal(_value('{"a": [1, "é😀"]}'), {"a": [1.0, "é😀"]})


func test_what_is_none() -> void:
	for text: String in [
		"",
		" ",
		"[1,]",
		'{"a":1,}',
		"01",
		"1.",
		".5",
		"+1",
		"--1",
		"1e",
		"0x10",
		"1_0",
		"NaN",
		"Infinity",
		"-Infinity",
		"1e999",
		"tr",
		"truefalse",
		"'a'",
		"{a:1}",
		"[1 2]",
		"1 2",
		"/**/1",
		'"a\nb"',
		'"\\x"',
		'"\\u12"',
		'"\\u0000"',
		'"\\ud800"',
		"[",
		"]",
		"[}",
		'{"a"}',
		"[".repeat(5000),
	]:
		var parsed := AmbuloStrictJson.parse(text.to_utf8_buffer())
		check_equal(parsed.error.begins_with("the body is not JSON"), true, text.left(40))
		check_equal(parsed.value, null, text.left(40))


func test_a_key_may_be_given_once() -> void:
	for text: String in [
		'{"a":1,"a":1}',
		'[{"b":{"c":1,"c" : 2}}]',
		'{"a":1,"\\u0061":2}',
		'[[{}],{"a":[1,{"é":1,"é":[]}]}]',
		'{"":0,"":"a:b"}',
	]:
		var parsed := AmbuloStrictJson.parse(text.to_utf8_buffer())
		check_equal(parsed.error, "the body is not JSON: a key is given twice in one object", text)
		check_equal(parsed.value, null, text)
	for text: String in [
		'{"a":{"a":{"a":[]}},"b":[{"a":1},{"a":1}]}',
		'{"a:b":"{\\"a\\":1,\\"a\\":2}","\\\\":":"}',
		'{"a":"%s"}' % ":\\n".repeat(100_000),
	]:
		check_equal(AmbuloStrictJson.parse(text.to_utf8_buffer()).error, "", text.left(60))


func test_bytes_that_are_no_text() -> void:
	for bytes: Array in [
		[0x22, 0xff, 0x22],
		[0x22, 0xc0, 0xaf, 0x22],
		[0x22, 0xed, 0xa0, 0x80, 0x22],
		[0x22, 0xf5, 0x80, 0x80, 0x80, 0x22],
		[0x22, 0xc3, 0x22],
		[0x31, 0x00],
		[0xef, 0xbb, 0xbf, 0x31],
	]:
		var error := AmbuloStrictJson.parse(PackedByteArray(bytes)).error
		check_equal(error.begins_with("the body is not JSON"), true, str(bytes))


func test_the_place_is_named() -> void:
	var parsed := AmbuloStrictJson.parse('{"a": [0, NaN]}'.to_utf8_buffer())
	check_equal(parsed.error, "the body is not JSON at byte 10: NaN]}")


func test_long_texts_are_looked_at_in_windows() -> void:
	for part: String in [
		"0", "-12.5e-3", "[[]]", '"é, \\"]"', "null", '{"a": [1, 2]}', '""', " [ ] "
	]:
		var count := ceili(300_000.0 / part.length())
		var list := (part + ",").repeat(count)
		var text := "[%s%s]" % [list, part]
		var parsed := AmbuloStrictJson.parse(text.to_utf8_buffer())
		check_equal(parsed.error, "", part)
		check_equal((parsed.value as Array).size(), count + 1, part)
		for wrong: String in ["[%s]" % list, "[%s01,%s1]" % [list, list], "[%s,1]" % list]:
			check_equal(AmbuloStrictJson.parse(wrong.to_utf8_buffer()).value, null, part)
	for text: String in ["[1,%s]", "[1,%s2,]", "%s[1]x"]:
		var wrong := text % " ".repeat(1_000_000)
		check_equal(AmbuloStrictJson.parse(wrong.to_utf8_buffer()).value, null, text)
	var long := "x,".repeat(500_000)
	check_equal(_value('["%s", 1]' % long), [long, 1.0])


func test_fields_keep_the_first_refusal() -> void:
	var fields := AmbuloFields.new()
	check_equal(fields.wholes([1.0, 2.0], "a", 0, 9, 2), PackedInt64Array([1, 2]))
	check_equal(fields.refusal, null)
	fields.wholes([1.0, 2.5], "b", 0, 9)
	fields.rows(5.0, "c", 1, 3)
	check_equal(_error(fields)["field"], "b[1]")
	fields = AmbuloFields.new()
	check_equal(fields.rows([[1.0, 2.0]], "c", 1, 2), PackedFloat64Array([1, 2]))
	fields.rows([[1.0, 2.0], [3.0]], "c", 2, 2)
	check_equal(_error(fields)["field"], "c[1]")


func test_lines_of_the_world_become_fields() -> void:
	for pair: Array in [
		["bounds: too small", "levels[2].bounds"],
		["level: expected an object, got 4", "levels[2]"],
		["boxes[1].yaw: a: b", "levels[2].boxes[1].yaw"],
	]:
		var fields := AmbuloFields.new()
		fields.fail_line(pair[0], "levels[2]", "level")
		check_equal(_error(fields)["field"], pair[1])


func _value(text: String) -> Variant:
	return AmbuloStrictJson.parse(text.to_utf8_buffer()).value


func _error(fields: AmbuloFields) -> Dictionary:
	return AmbuloStrictJson.parse(fields.refusal.body).value["error"]
