class_name AmbuloHttpConnection
extends RefCounted
## One client: bytes in, whole requests out, replies back; keep-alive, pipelining, partial reads.
##
## A head equal to the one before is not parsed again (a trainer sends the same head with every
## step). Nothing here blocks: what the socket does not take at once waits in a buffer, and while
## it waits no further request is read.

## How long a head or a body may take to arrive, [ms].
const REQUEST_TIMEOUT := 15000
## How long a client may leave a reply untouched, [ms].
const WRITE_TIMEOUT := 15000
## How long a silent client is waited for after its last reply, so that it sees no reset, [ms].
const LINGER := 3000
## How long a client may go on sending after its last reply, [ms].
const MAX_DRAIN := 30000
## Most bytes that are read and thrown away after the last reply.
const MAX_DISCARDED := 1 << 28
const _READ_AT_ONCE := 1 << 18
const _END_OF_HEAD: PackedByteArray = [13, 10, 13, 10]

var peer: StreamPeerTCP
var closed := false
## When this client was last heard, [ms].
var heard_at := 0
## Body of the request that `take` returned.
var body: PackedByteArray
## `func(head: AmbuloHttpHead) -> AmbuloRoute`, asked once per new head; unset: routes are not
## looked for.
var find_route: Callable
## `func(connection: AmbuloHttpConnection, bytes: int) -> bool`: whether a body of so many bytes
## may be waited for.
var has_room: Callable

var _in: PackedByteArray
var _out: PackedByteArray
var _head: AmbuloHttpHead
var _searched := 0
var _known_bytes: PackedByteArray
var _known_size := 0
var _known_head: AmbuloHttpHead
var _waiting_since := 0
var _draining := false
var _stalled := false
var _discarded := 0
var _max_body := 0


## A connection over `to_peer`; `max_body` in bytes, `now` in ms.
static func over(to_peer: StreamPeerTCP, max_body: int, now: int) -> AmbuloHttpConnection:
	var connection := AmbuloHttpConnection.new()
	connection.peer = to_peer
	connection._max_body = max_body
	connection.heard_at = now
	to_peer.set_no_delay(true)
	return connection


## Nothing is half-read and nothing waits to be sent.
func is_idle() -> bool:
	return _in.is_empty() and _out.is_empty() and _head == null and not _draining


## Requests that have arrived must wait.
func wait() -> void:
	_stalled = true


## Requests have arrived that had to wait, until a reply was sent for example.
func has_more() -> bool:
	return _stalled and _out.is_empty() and not _draining


## The client has not taken all of its answer yet.
func is_sending() -> bool:
	return not _out.is_empty()


## Memory that this client takes, or will take once its body is here, [bytes].
func held() -> int:
	var length := _head.content_length if _head != null else 0
	return maxi(_in.size(), length) + _out.size()


## What the head of a request has announced and has not come yet, [bytes].
func missing() -> int:
	return maxi(0, _head.content_length - _in.size()) if _head != null else 0


## Read what has arrived; true if anything has. `now` in ms.
func receive(now: int) -> bool:
	var available := 0 if closed else peer.get_available_bytes()
	if available <= 0 or not _out.is_empty() or (_stalled and not _in.is_empty()):
		return false
	var got := peer.get_partial_data(mini(available, _READ_AT_ONCE))
	if got[0] != OK:
		close()
		return false
	heard_at = now
	var bytes: PackedByteArray = got[1]
	if _draining:
		_discarded += bytes.size()
	elif _in.is_empty():
		_in = bytes
		_waiting_since = now
	else:
		_in.append_array(bytes)
	return true


## Look after closed sockets, unsent replies and clients that stopped half-way. `now` in ms.
## Returns the refusal to send before the end, if there is one.
func tend(now: int) -> AmbuloReply:
	if not _out.is_empty():
		_flush(now)  # shows whether the client is gone
		return null
	if has_more():
		return null  # polling would end a client that has closed its side
	peer.poll()
	if peer.get_status() != StreamPeerTCP.STATUS_CONNECTED:
		close()
	elif _draining:
		var silent := now - heard_at > LINGER and now - _waiting_since > LINGER
		if silent or now - _waiting_since > MAX_DRAIN or _discarded > MAX_DISCARDED:
			close()
	elif (_head != null or not _in.is_empty()) and now - _waiting_since > REQUEST_TIMEOUT:
		return AmbuloReply.fail(
			408,
			"timeout",
			"the request did not arrive whole within %d s" % (REQUEST_TIMEOUT / 1000)
		)
	return null


## The next whole request's head (its body is in `body`), or null. A head with a `status` is a
## refusal: answer it and `end`.
func take() -> AmbuloHttpHead:
	_stalled = not _out.is_empty()
	if _draining or _stalled:
		return null
	if _head == null:
		if _in.is_empty() or not _find_head():
			return null
		if _head.status != 0 or _is_refused():
			return _head
		if _head.expects_continue and _in.size() < _head.content_length:
			_send_now("HTTP/1.1 100 Continue\r\n\r\n".to_ascii_buffer())
	var length := _head.content_length
	if _in.size() < length:
		return null
	var head := _head
	_head = null
	if length == _in.size():
		body = _in
		_in = PackedByteArray()
	else:
		body = _in.slice(0, length)
		_in = _in.slice(length)
		_waiting_since = heard_at
	return head


## Send `bytes` (one write if the socket takes them). `now` in ms.
func send(bytes: PackedByteArray, now: int) -> void:
	if closed:
		return
	_out = bytes
	_waiting_since = now
	_flush(now)


## No more requests are taken; the socket closes once the client has, or after a moment.
func end(now: int) -> void:
	_draining = true
	_in = PackedByteArray()
	_head = null
	_waiting_since = now


## Close at once.
func close() -> void:
	if not closed:
		closed = true
		peer.disconnect_from_host()


func _find_head() -> bool:
	if _known_size > 0 and _searched == 0 and _in.size() >= _known_size:
		if _in.slice(0, _known_size) == _known_bytes:
			_head = _known_head
			_in = _in.slice(_known_size)
			return true
	var end_at := _search_end()
	if end_at < 0 and _in.size() <= AmbuloHttpHead.MAX_HEAD:
		return false
	_searched = 0
	if end_at < 0 or end_at > AmbuloHttpHead.MAX_HEAD:
		_head = AmbuloHttpHead.refused(
			431, "head_too_large", "more than %d bytes of header fields" % AmbuloHttpHead.MAX_HEAD
		)
		return true
	var bytes := _in.slice(0, end_at)
	_in = _in.slice(end_at)
	_head = AmbuloHttpHead.read(bytes, _max_body)
	if _head.status == 0:
		_known_bytes = bytes
		_known_size = end_at
		_known_head = _head
	return true


# Whether the head says enough to refuse the request: its body is not waited for.
func _is_refused() -> bool:
	if _head.route == null and find_route.is_valid():
		_head.route = find_route.call(_head)
	if _in.size() >= _head.content_length:
		return false
	if _head.route == null or _head.route.refusal == null:
		if not has_room.is_valid() or has_room.call(self, _head.content_length):
			return false
		_head.route = AmbuloRoute.refused(
			AmbuloReply.fail(503, "busy", "too many bytes of other requests wait")
		)
	_head.keep_alive = false
	return true


func _search_end() -> int:
	var at := maxi(0, _searched - 3)
	while true:
		at = _in.find(13, at)
		if at < 0 or at + 4 > _in.size():
			break
		if _in[at + 1] == 10 and _in[at + 2] == 13 and _in[at + 3] == 10:
			return at + 4
		at += 1
	_searched = _in.size()
	return -1


func _send_now(bytes: PackedByteArray) -> void:
	_out = bytes
	_flush(heard_at)


func _flush(now: int) -> void:
	var put := peer.put_partial_data(_out)
	if put[0] != OK:
		close()
		return
	var sent: int = put[1]
	if sent == _out.size():
		_out = PackedByteArray()
		_waiting_since = now
	elif sent > 0:
		_out = _out.slice(sent)
		_waiting_since = now
	elif now - _waiting_since > WRITE_TIMEOUT:
		close()
