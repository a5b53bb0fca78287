class_name AmbuloRoute
extends RefCounted
## Who answers a request: a function, and what it accepts.

## `func(request: AmbuloRequest) -> AmbuloReply`; a refusal has none.
var handler: Callable
## Reply of a request that is refused before its body is looked at (a wrong path, host, token...).
var refusal: AmbuloReply
## The endpoint understands the binary form.
var binary := false


## A route to `to`.
static func of(to: Callable, allows_binary: bool = false) -> AmbuloRoute:
	var route := AmbuloRoute.new()
	route.handler = to
	route.binary = allows_binary
	return route


## A route that always answers `reply`.
static func refused(reply: AmbuloReply) -> AmbuloRoute:
	var route := AmbuloRoute.new()
	route.refusal = reply
	return route
