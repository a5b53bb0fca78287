extends AmbuloTest
## Heads of requests, byte by byte; who is let in; the answer's bytes.


func test_a_plain_head() -> void:
	var head := _read("POST /rl/step?a=1&b HTTP/1.1\r\nHost: localhost\r\ncontent-LENGTH:  24 \r\n")
	check_equal(head.status, 0)
	check_equal(head.method, "POST")
	check_equal(head.path, "/rl/step")
	check_equal(head.query, "a=1&b")
	check_equal(head.content_length, 24)
	check_equal(head.fields["host"], "localhost")
	check_equal(head.keep_alive, true)
	check_equal(head.binary_body or head.binary_reply, false)


func test_keep_alive_by_version_and_option() -> void:
	check_equal(_read("GET / HTTP/1.0\r\n").keep_alive, false)
	check_equal(_read("GET / HTTP/1.0\r\nConnection: x, Keep-Alive\r\n").keep_alive, true)
	check_equal(_read("GET / HTTP/1.1\r\nConnection: Close\r\n").keep_alive, false)


func test_the_binary_form_is_negotiated() -> void:
	var head := _read("GET / HTTP/1.1\r\nContent-Type: Application/X-Ambulo; v=1\r\n")
	check_equal(head.binary_body, true)
	check_equal(head.binary_reply, false)
	head = _read("GET / HTTP/1.1\r\nAccept: text/html, application/x-ambulo;q=0.9\r\n")
	check_equal(head.binary_reply, true)


func test_lengths_are_digits_only() -> void:
	# String.to_int() would skip what is no digit.
	for text: String in ["", "-1", "+1", "1e3", "0x1", "1 1", "1,1", "1_0"]:
		var head := _read("POST / HTTP/1.1\r\nContent-Length: %s\r\n" % text)
		check_equal([head.status, head.field], [400, "content-length"], text)
	for text: String in ["1001", "9223372036854775808", "9".repeat(400)]:
		var head := _read("POST / HTTP/1.1\r\nContent-Length: %s\r\n" % text)
		check_equal([head.status, head.keep_alive], [413, false], text)
	check_equal(_read("POST / HTTP/1.1\r\nContent-Length: 0001000\r\n").content_length, 1000)


func test_doubled_fields() -> void:
	for name: String in ["Host", "Content-Length", "Authorization", "Origin"]:
		var head := _read("POST / HTTP/1.1\r\n%s: 1\r\n%s: 1\r\n" % [name, name.to_upper()])
		check_equal([head.status, head.field], [400, name.to_lower()])
	check_equal(_read("GET / HTTP/1.1\r\nA: 1\r\na: 2\r\n").fields["a"], "1, 2")


func test_the_gate() -> void:
	var gate := AmbuloGate.new("secret", "box.local")
	check_equal(_passes(gate, "Host: box.local:80\r\nAuthorization: Bearer secret"), 200)
	check_equal(_passes(gate, "Host: 127.0.0.1\r\nauthorization: bearer secret"), 200)
	check_equal(_passes(gate, "Host: 127.0.0.1\r\nAuthorization: Bearer secre"), 401)
	check_equal(_passes(gate, "Host: 127.0.0.1\r\nAuthorization: Basic secret"), 401)
	check_equal(_passes(gate, "Host: 127.0.0.1"), 401)
	check_equal(_passes(gate, "Host: 127.0.0.1:80x"), 403)
	check_equal(_passes(gate, "Host: other.local"), 403)
	check_equal(_passes(gate, "Host: localhost\r\nOrigin: http://localhost:3000"), 401)
	check_equal(_passes(gate, "Host: localhost\r\nOrigin: http://localhost.x"), 403)
	check_equal(_passes(AmbuloGate.new(), "Host: LocalHost:8080"), 200)


func test_answers_are_one_block() -> void:
	var bytes := AmbuloReply.json({"a": [0.1, 2]}).to_bytes(false)
	var text := bytes.get_string_from_utf8()
	check_equal(text.begins_with("HTTP/1.1 200 OK\r\n"), true)
	check_equal(text.ends_with('\r\nConnection: close\r\n\r\n{"a":[0.1,2]}'), true, text)
	check_equal("Content-Length: 13\r\n" in text, true)


func test_texts_in_answers_are_escaped() -> void:
	var text := 'quote" back\\ bell%s line\n esc%s é' % [char(7), char(27)]
	var reply := AmbuloReply.fail(400, "x", text, "a\tb")
	var back := AmbuloStrictJson.parse(reply.body)
	check_equal(back.error, "")
	check_equal(back.value["error"]["message"], text)
	check_equal(back.value["error"]["field"], "a\tb")


func _read(lines: String) -> AmbuloHttpHead:
	return AmbuloHttpHead.read((lines + "\r\n").to_utf8_buffer(), 1000)


func _passes(gate: AmbuloGate, lines: String) -> int:
	var refusal := gate.refusal(_read("GET /status HTTP/1.1\r\n" + lines + "\r\n"))
	return 200 if refusal == null else refusal.status
