class_name AmbuloRouter
extends RefCounted
## Finds who answers a request: first the gate, then path and method.

## Lets requests in or not.
var gate := AmbuloGate.new()

var _routes: Dictionary[String, Dictionary] = {}


## `handler` answers `method` on `path`; it is `func(request: AmbuloRequest) -> AmbuloReply`.
func add(method: String, path: String, handler: Callable, binary: bool = false) -> void:
	if not _routes.has(path):
		_routes[path] = {}
	_routes[path][method] = AmbuloRoute.of(handler, binary)


## The route of a request; refusals are routes too.
func find(head: AmbuloHttpHead) -> AmbuloRoute:
	if head.status != 0:
		return AmbuloRoute.refused(
			AmbuloReply.fail(head.status, head.code, head.message, head.field)
		)
	var refusal := gate.refusal(head)
	if refusal != null:
		return AmbuloRoute.refused(refusal)
	if not _routes.has(head.path):
		return AmbuloRoute.refused(
			AmbuloReply.fail(404, "not_found", "no such path; see docs/godot_api.md", "path")
		)
	var methods: Dictionary = _routes[head.path]
	if not methods.has(head.method):
		var allowed := ", ".join(PackedStringArray(methods.keys()))
		var reply := AmbuloReply.fail(
			405, "method_not_allowed", "%s takes %s" % [head.path, allowed], "method"
		)
		reply.extra = "Allow: %s\r\n" % allowed
		return AmbuloRoute.refused(reply)
	var route: AmbuloRoute = methods[head.method]
	if head.binary_body and not route.binary:
		return AmbuloRoute.refused(
			AmbuloReply.fail(415, "media_type", "this endpoint takes JSON", "content-type")
		)
	return route
