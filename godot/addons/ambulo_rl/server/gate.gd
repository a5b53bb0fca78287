class_name AmbuloGate
extends RefCounted
## Who may ask at all: loopback names only, no foreign web page, and the bearer token.
##
## A web page in the user's browser can reach a loopback port. It is kept out by the Origin and
## Sec-Fetch-Site headers that browsers add, and, if it points its own name at 127.0.0.1, by Host.

const _LOOPBACK: PackedStringArray = ["127.0.0.1", "localhost", "[::1]"]
## Answered without a token: says only that the server is there.
const _OPEN_PATH := "/health"

var _token_digest: PackedByteArray
var _hosts: PackedStringArray


## A gate for `token` ("": none is asked for); `host` is one more name that is let in.
func _init(token: String = "", host: String = "") -> void:
	_hosts = _LOOPBACK.duplicate()
	if host != "":
		_hosts.append(host)
	if token != "":
		_token_digest = token.sha256_buffer()


## The refusal of `head`, or null.
func refusal(head: AmbuloHttpHead) -> AmbuloReply:
	if not head.fields.has("host"):
		return AmbuloReply.fail(400, "bad_header", "missing", "host")
	if _name_of(head.fields["host"].to_lower()) not in _hosts:
		return AmbuloReply.fail(
			403, "foreign_host", "this server answers to loopback names only", "host"
		)
	var origin: String = head.fields.get("origin", "").to_lower()
	if origin != "" and not _is_own(origin):
		return AmbuloReply.fail(
			403, "foreign_origin", "web pages of other sites are refused", "origin"
		)
	if head.fields.get("sec-fetch-site", "") in ["cross-site", "same-site"]:
		return AmbuloReply.fail(
			403, "foreign_origin", "web pages of other sites are refused", "sec-fetch-site"
		)
	if not _token_digest.is_empty() and head.path != _OPEN_PATH and not _knows_token(head):
		var reply := AmbuloReply.fail(
			401, "unauthorized", "expected `Authorization: Bearer <token>`", "authorization"
		)
		reply.extra = 'WWW-Authenticate: Bearer realm="ambulo"\r\n'
		return reply
	return null


func _is_own(origin: String) -> bool:
	for scheme in ["http://", "https://"]:
		if origin.begins_with(scheme):
			return _name_of(origin.trim_prefix(scheme)) in _hosts
	return false


# Both sides are hashed and all 32 bytes compared, so the time says nothing about the token.
func _knows_token(head: AmbuloHttpHead) -> bool:
	var given: String = head.fields.get("authorization", "")
	if given.get_slice(" ", 0).to_lower() != "bearer":
		return false
	var digest := given.substr(7).strip_edges().sha256_buffer()
	var difference := 0
	for k in digest.size():
		difference |= digest[k] ^ _token_digest[k]
	return difference == 0


static func _name_of(authority: String) -> String:
	var colon := authority.rfind(":")
	if colon < 0 or authority.ends_with("]"):
		return authority
	if not AmbuloHttpHead.is_digits(authority.substr(colon + 1)):
		return ""
	return authority.substr(0, colon)
