extends AmbuloTest
## Connections over a real loopback socket, with a clock of our own: pieces, pipelines, timeouts.

const HEALTH := "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"

var _server := TCPServer.new()
var _client := StreamPeerTCP.new()
var _connection: AmbuloHttpConnection


func test_a_head_in_pieces_and_a_body() -> void:
	_connect(1000)
	_say("POST /x HTTP/1.1\r\nContent-Le")
	check_equal(_take(), null)
	_say("ngth: 5\r\n\r")
	check_equal(_take(), null)
	_say("\nabc")
	check_equal(_take(), null)
	_say("deGET")
	check_equal(_take().path, "/x")
	check_equal(_connection.body.get_string_from_ascii(), "abcde")
	check_equal(_take(), null)
	check_equal(_connection.is_idle(), false)
	_say(HEALTH.trim_prefix("GET"))
	check_equal(_take().path, "/health")
	check_equal(_connection.is_idle(), true)


func test_an_equal_head_is_not_parsed_again() -> void:
	_connect(1000)
	_say(HEALTH + HEALTH + HEALTH.replace("health", "status"))
	var first := _take()
	check_equal(_take(), first)
	check_equal(_take().path, "/status")
	check_equal(_take(), null)


func test_a_request_that_stops_half_way_times_out() -> void:
	var limit := AmbuloHttpConnection.REQUEST_TIMEOUT
	for text: String in ["GET /he", "POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\nabc"]:
		_connect(1000)
		_say(text, 5000)
		check_equal(_take(), null)
		check_equal(_connection.tend(5000 + limit), null)
		check_equal(_connection.tend(5001 + limit).status, 408)


func test_a_drip_of_bytes_does_not_put_the_timeout_off() -> void:
	_connect(1000)
	_say("GET /he", 5000)
	_say("al", 15000)
	check_equal(_connection.tend(20001).status, 408)


func test_a_silent_connection_may_stay() -> void:
	_connect(1000)
	check_equal(_connection.tend(10_000_000), null)
	check_equal(_connection.closed, false)


func test_a_head_without_end_is_refused() -> void:
	_connect(1000)
	_say("GET / HTTP/1.1\r\nX: " + "a".repeat(AmbuloHttpHead.MAX_HEAD))
	check_equal(_take().status, 431)


func test_after_the_end_bytes_are_thrown_away_for_a_while() -> void:
	_connect(1000)
	_say("nonsense\r\n\r\n")
	check_equal(_take().status, 400)
	_connection.end(2000)
	_say(HEALTH, 3000)
	check_equal(_take(), null)
	_connection.tend(3000 + AmbuloHttpConnection.LINGER)
	check_equal(_connection.closed, false)
	_connection.tend(3001 + AmbuloHttpConnection.LINGER)
	check_equal(_connection.closed, true)


func test_a_client_that_hangs_up_is_noticed() -> void:
	_connect(1000)
	_client.disconnect_from_host()
	OS.delay_msec(20)
	_connection.receive(1000)
	_connection.tend(1000)
	check_equal(_connection.closed, true)


func test_requests_of_a_client_that_has_closed_its_side_are_answered() -> void:
	_connect(1000)
	_say(HEALTH.repeat(2) + HEALTH.substr(0, 9))
	check_equal(_take().path, "/health")
	_connection.wait()
	_client.disconnect_from_host()
	OS.delay_msec(20)
	check_equal(_connection.tend(1000), null)
	check_equal(_connection.closed, false)
	check_equal(_take().path, "/health")
	check_equal(_take(), null)
	_connection.tend(1000)
	check_equal(_connection.closed, true)


func test_a_client_that_died_before_its_answer_is_noticed() -> void:
	_connect(1000)
	_say(HEALTH.repeat(3))
	_connection.wait()
	_client.disconnect_from_host()
	for k in 3:
		OS.delay_msec(20)
		_connection.tend(1000)
		if _take() != null:
			_connection.send(HEALTH.to_ascii_buffer(), 1000)
	check_equal(_connection.closed, true)
	check_equal(_connection.receive(1000), false)


func test_a_large_answer_waits_for_its_reader() -> void:
	_connect(1000)
	var large := PackedByteArray()
	large.resize(20_000_000)
	_connection.send(large, 1000)
	check_equal(_connection.is_idle(), false, "the socket took 20 MB at once")
	_say(HEALTH)
	check_equal(_take(), null)
	var got := 0
	while got < large.size() and not _connection.closed:
		_client.poll()
		got += (_client.get_partial_data(1 << 22)[1] as PackedByteArray).size()
		_connection.tend(1000)
	check_equal(got, large.size())
	check_equal(_connection.receive(1000), true)
	check_equal(_take().path, "/health")


func test_an_answer_nobody_reads_ends_the_connection() -> void:
	_connect(1000)
	var large := PackedByteArray()
	large.resize(20_000_000)
	_connection.send(large, 1000)
	for k in 100:
		_connection.tend(1000)
	_connection.tend(1001 + AmbuloHttpConnection.WRITE_TIMEOUT)
	check_equal(_connection.closed, true)


func test_what_the_head_refuses_is_refused_without_its_body() -> void:
	var transport := _transport(func(_request: AmbuloRequest) -> AmbuloReply: return null)
	var router := AmbuloRouter.new()
	transport.find_route = router.find
	for case: Array in [
		["POST /x HTTP/1.1\r\nHost: evil\r\nContent-Length: 8000000\r\n\r\nabc", 403, true],
		["POST /x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nabc", 404, true],
		["POST /x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc", 404, false],
		[
			(
				"POST /x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n"
				+ "Expect: 100-continue\r\n\r\n"
			),
			404,
			true
		],
	]:
		_join(transport)
		_client.put_data((case[0] as String).to_ascii_buffer())
		var text := _answer_of(transport)
		check_equal(text.begins_with("HTTP/1.1 %d " % case[1]), true, text)
		check_equal("Connection: close" in text, case[2], text)
	transport.stop()


func test_bodies_have_a_limit_in_all() -> void:
	var transport := _transport(
		func(_request: AmbuloRequest) -> AmbuloReply: return AmbuloReply.json({})
	)
	transport.max_held = 1000
	transport.max_body = 900
	var post := "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\na"
	var clients: Array[StreamPeerTCP] = []
	var sizes: Array[int] = [400, 100, 400, 500, 300]
	for size in sizes:
		_join(transport)
		clients.append(_client)
		_client.put_data((post % size).to_ascii_buffer())
		for k in 20:
			OS.delay_msec(1)
			transport.poll()
	# 500 takes the room of the first 400, which is silent for longest; 300 that of 500.
	for k in sizes.size():
		_client = clients[k]
		_client.put_data("a".repeat(sizes[k] - 1).to_ascii_buffer())
		var status := 503 if k in [0, 3] else 200
		check_equal(_answer_of(transport).begins_with("HTTP/1.1 %d " % status), true, str(k))
	transport.stop()


func test_announced_bytes_make_no_room_where_others_are_held() -> void:
	var large := "a".repeat(20_000_000)
	var transport := _transport(
		func(_request: AmbuloRequest) -> AmbuloReply: return AmbuloReply.json(large)
	)
	transport.max_held = 20_000_000
	transport.max_body = 19_000_000
	_join(transport)
	var reader := _client
	_client.put_data(HEALTH.to_ascii_buffer())
	_answer_of(transport)
	var post := "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\na"
	var clients: Array[StreamPeerTCP] = []
	for size: int in [9, 19_000_000]:
		_join(transport)
		clients.append(_client)
		_client.put_data((post % size).to_ascii_buffer())
		for k in 20:
			OS.delay_msec(1)
			transport.poll()
	check_equal(_answer_of(transport).begins_with("HTTP/1.1 503 "), true)
	reader.disconnect_from_host()
	_client = clients[0]
	_client.put_data("a".repeat(8).to_ascii_buffer())
	check_equal(_answer_of(transport).begins_with("HTTP/1.1 200 "), true)
	transport.stop()


func test_a_poll_answers_so_many_requests() -> void:
	var transport := _transport(
		func(_request: AmbuloRequest) -> AmbuloReply: return AmbuloReply.json({})
	)
	_join(transport)
	_client.put_data(HEALTH.repeat(1000).to_ascii_buffer())
	var most: Array[int] = [0]
	_until(
		func() -> bool:
			var before := transport.served
			transport.poll()
			most[0] = maxi(most[0], transport.served - before)
			return transport.served == 1000
	)
	check_equal(transport.served, 1000)
	check(most[0] > 1 and most[0] < 100, "%d in a poll" % most[0])
	transport.stop()


func test_a_long_pipeline_does_not_stop_others() -> void:
	var transport := _transport(
		func(_request: AmbuloRequest) -> AmbuloReply: return AmbuloReply.json({})
	)
	_join(transport)
	var busy := _client
	busy.put_data(HEALTH.repeat(5000).to_ascii_buffer())
	_answer_of(transport)
	_join(transport)
	_client.put_data(HEALTH.to_ascii_buffer())
	check_equal(_answer_of(transport).begins_with("HTTP/1.1 200 "), true)
	check(transport.served < 3000, "%d before it" % transport.served)
	transport.stop()


func test_a_handler_that_fails_is_a_500() -> void:
	var transport := _transport(func(_request: AmbuloRequest) -> AmbuloReply: return null)
	_join(transport)
	for k in 2:
		_client.put_data(HEALTH.to_ascii_buffer())
		var text := _answer_of(transport)
		check_equal(text.begins_with("HTTP/1.1 500 "), true, text)
	check_equal(transport.served, 2)
	transport.stop()
	check_equal(transport.connection_count(), 0)


# A transport that listens and answers everything with `handler`.
func _transport(handler: Callable) -> AmbuloHttpTransport:
	var transport := AmbuloHttpTransport.new()
	var route := AmbuloRoute.of(handler)
	transport.find_route = func(_head: AmbuloHttpHead) -> AmbuloRoute: return route
	check_equal(transport.listen(0), OK)
	return transport


func _join(transport: AmbuloHttpTransport) -> void:
	_client = StreamPeerTCP.new()
	_client.connect_to_host("127.0.0.1", transport.port())
	_until(func() -> bool: return _client.get_status() == StreamPeerTCP.STATUS_CONNECTED)


func _answer_of(transport: AmbuloHttpTransport) -> String:
	_until(
		func() -> bool:
			transport.poll()
			return _client.get_available_bytes() > 0
	)
	return _client.get_string(_client.get_available_bytes())


func _connect(now: int) -> void:
	if not _server.is_listening():
		_server.listen(0, "127.0.0.1")
	_client = StreamPeerTCP.new()
	_client.connect_to_host("127.0.0.1", _server.get_local_port())
	_until(func() -> bool: return _server.is_connection_available())
	_connection = AmbuloHttpConnection.over(_server.take_connection(), 1000, now)
	_until(func() -> bool: return _client.get_status() == StreamPeerTCP.STATUS_CONNECTED)


func _say(text: String, now: int = 1000) -> void:
	_client.put_data(text.to_ascii_buffer())
	_until(func() -> bool: return _connection.peer.get_available_bytes() > 0)
	OS.delay_msec(2)
	_connection.receive(now)


func _take() -> AmbuloHttpHead:
	return _connection.take()


func _until(condition: Callable) -> void:
	for k in 5000:
		_client.poll()
		if condition.call():
			return
		OS.delay_msec(1)
	check_equal(false, true, "it did not come true")
