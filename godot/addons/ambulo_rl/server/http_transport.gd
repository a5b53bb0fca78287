class_name AmbuloHttpTransport
extends RefCounted
## The listening socket and its connections. `poll` never blocks.
##
## The connection that was served last is looked at on every poll, all others in turn, a few per
## poll: a trainer's requests cost little however many other sockets are open.

const _OTHERS_PER_POLL := 8
const _MOST_IN_A_ROW := 16
const _REQUESTS_PER_POLL := 32
const _CLIENTS_PER_POLL := 64
# Length of a series of short naps, [us], during which only the last client is polled.
const _NAPS := 160
# Looks at that client instead where there are none.
const _LOOKS := 100

## Most connections at a time. When they are all taken, the one that has been idle longest goes.
var max_connections := 512
## Largest request body, [bytes].
var max_body := 1 << 23
## Most bytes that all connections together hold, of requests and of answers that are not taken.
## One body of the largest size always fits.
var max_held := 1 << 26
## Whether requests must wait for a frame of the engine: `func() -> bool`.
var is_held := func() -> bool: return false
## `func(head: AmbuloHttpHead) -> AmbuloRoute`, asked once per new head, before its body.
var find_route: Callable
## Requests answered so far, refusals included.
var served := 0
## When the last connection came, [us].
var accepted_at := -1_000_000_000

var _tcp := TCPServer.new()
var _connections: Array[AmbuloHttpConnection] = []
var _hot: AmbuloHttpConnection
var _next := 0
var _in_a_row := 0
# Requests that may still be answered in this poll.
var _left := 0
var _last_size := -1
var _last_head: PackedByteArray
# Who waits for an answer that comes later, and for which request.
var _asking: AmbuloHttpConnection
var _asked: AmbuloHttpHead


## Listen on loopback; `port` 0 takes any free one. The error of the socket, or OK.
func listen(port: int) -> Error:
	return _tcp.listen(port, "127.0.0.1")


## The port listened on.
func port() -> int:
	return _tcp.get_local_port()


## How many clients are connected.
func connection_count() -> int:
	return _connections.size()


## Close everything.
func stop() -> void:
	_tcp.stop()
	for connection in _connections:
		connection.close()
	_connections.clear()
	_hot = null


## Serve what has arrived; true if anything was done. One pass, bounded work.
func poll() -> bool:
	var now := Time.get_ticks_msec()
	var busy := false
	_left = _REQUESTS_PER_POLL
	if _hot != null and (_hot.receive(now) or _hot.has_more()):
		_serve(_hot, now)
		_in_a_row += 1
		if _in_a_row < _MOST_IN_A_ROW:
			return true
		busy = true
	_in_a_row = 0
	for k in _CLIENTS_PER_POLL:
		if not _tcp.is_connection_available():
			break
		busy = true
		_accept(_tcp.take_connection(), now)
	for k in mini(_OTHERS_PER_POLL, _connections.size()):
		_next = (_next + 1) % _connections.size()
		var connection := _connections[_next]
		_left = _REQUESTS_PER_POLL / _OTHERS_PER_POLL  # whatever the ones before have sent
		if _visit(connection, now):
			busy = true
		if connection.closed:
			_remove(_next)
			if _connections.is_empty():
				break
	return busy


## Sleep for `usec`, and again if that is short and the client that was served last sends nothing;
## 0: look out for it.
func nap(usec: int) -> void:
	for _k in maxi(1, _NAPS / usec) if usec > 0 else _LOOKS:
		if usec > 0:
			OS.delay_usec(usec)
		if _hot == null or _hot.peer.get_available_bytes() > 0:
			return


## Send the answer that was to come later.
func answer(reply: AmbuloReply) -> void:
	_send(_asking, _asked, reply, Time.get_ticks_msec())
	_asking = null
	_asked = null


## Poll until the clients have gone, at most `limit_ms`; for the last replies before the end.
func finish(limit_ms: int) -> void:
	var deadline := Time.get_ticks_msec() + limit_ms
	while Time.get_ticks_msec() < deadline and not _connections.is_empty():
		if not poll():
			OS.delay_usec(500)


func _accept(peer: StreamPeerTCP, now: int) -> void:
	if peer == null:
		return
	accepted_at = Time.get_ticks_usec()
	var connection := AmbuloHttpConnection.over(peer, max_body, now)
	connection.find_route = find_route
	connection.has_room = _has_room
	if _connections.size() >= max_connections and not _evict():
		connection.send(AmbuloReply.fail(503, "busy", "too many connections").to_bytes(false), now)
		connection.close()
		return
	_connections.append(connection)
	if _visit(connection, now) and connection.closed:
		_remove(_connections.size() - 1)


func _evict() -> bool:
	var oldest := -1
	for k in _connections.size():
		var connection := _connections[k]
		if connection != _hot and connection.is_idle():
			if oldest < 0 or connection.heard_at < _connections[oldest].heard_at:
				oldest = k
	if oldest < 0:
		return false
	_connections[oldest].close()
	_remove(oldest)
	return true


# Whether `connection` may hold so many bytes beside what the others hold. Those that have
# announced most without sending it are refused to make room, the longest silent first.
func _has_room(connection: AmbuloHttpConnection, bytes: int) -> bool:
	var over := bytes - maxi(max_held, max_body)
	var late: Array[AmbuloHttpConnection] = []
	var announced := 0
	for other in _connections:
		if other != connection:
			over += other.held()
			if other.missing() > 0:
				late.append(other)
				announced += other.held()
	if over <= 0 or over > announced:
		return over <= 0
	late.sort_custom(
		func(a: AmbuloHttpConnection, b: AmbuloHttpConnection) -> bool:
			if a.missing() == b.missing():
				return a.heard_at < b.heard_at
			return a.missing() > b.missing()
	)
	var reply := AmbuloReply.fail(503, "busy", "others need the room of what has not come")
	for other in late:
		if over > 0:
			over -= other.held()
			_refuse(other, reply, Time.get_ticks_msec())
	return true


func _refuse(connection: AmbuloHttpConnection, reply: AmbuloReply, now: int) -> void:
	connection.send(reply.to_bytes(false), now)
	connection.end(now)


func _remove(at: int) -> void:
	if _connections[at] == _hot:
		_hot = null
	_connections[at] = _connections[-1]
	_connections.resize(_connections.size() - 1)
	_next = mini(_next, maxi(0, _connections.size() - 1))


func _visit(connection: AmbuloHttpConnection, now: int) -> bool:
	# Data first: a client may send a request and close its side at once.
	var busy := connection.receive(now)
	if busy:
		_serve(connection, now)
	if connection.closed:
		return busy
	var refusal := connection.tend(now)
	if refusal != null:
		_refuse(connection, refusal, now)
	elif not busy and connection.has_more():
		_serve(connection, now)
		busy = true
	return busy


func _serve(connection: AmbuloHttpConnection, now: int) -> void:
	while not connection.closed:
		if _left <= 0 or is_held.call():
			connection.wait()
			return
		var head := connection.take()
		if head == null:
			return
		served += 1
		_left -= 1
		if head.route == null:
			head.route = find_route.call(head)
		var reply := _answer(head, connection.body)
		if reply.status == AmbuloReply.LATER:
			_asking = connection
			_asked = head
			connection.wait()
			return
		_send(connection, head, reply, now)


func _send(
	connection: AmbuloHttpConnection, head: AmbuloHttpHead, reply: AmbuloReply, now: int
) -> void:
	if reply.status == 200 and head.keep_alive:
		connection.send(_ok_bytes(reply), now)
		_hot = connection
	else:
		connection.send(reply.to_bytes(head.keep_alive), now)
		if not head.keep_alive:
			connection.end(now)
	if connection.is_sending() and not _has_room(connection, 0):
		connection.close()


func _answer(head: AmbuloHttpHead, body: PackedByteArray) -> AmbuloReply:
	var route := head.route
	if route.refusal != null:
		return route.refusal
	var reply: AmbuloReply = route.handler.call(AmbuloRequest.of(head, body))
	if reply == null:
		return AmbuloReply.fail(500, "internal", "the engine's log says what went wrong")
	return reply


# The header block of the most frequent answer, a binary one of the same size, is kept.
func _ok_bytes(reply: AmbuloReply) -> PackedByteArray:
	if reply.media_type != AmbuloWire.MEDIA_TYPE:
		return reply.to_bytes(true)
	if reply.body.size() != _last_size:
		_last_size = reply.body.size()
		_last_head = reply.head_bytes(true)
	return _last_head + reply.body
