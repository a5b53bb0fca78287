class_name AmbuloErrorLog
extends Logger
## The first error of a script that the engine reported since this was added with
## `OS.add_logger`, and the first of its own.

# The engine only warns of it, and adds the node somewhere else.
const _LOST := "has vanished when instantiating"

## Where and what: "res://x.gd:3: ..."; "": none.
var script_error := ""
## What; "": none.
var engine_error := ""
## The script at fault.
var script_path := ""
## A node whose parent is not in its scene: what the engine says of it; "": none.
var lost_node := ""

var _lock := Mutex.new()


func _log_error(
	_function: String,
	file: String,
	line: int,
	code: String,
	rationale: String,
	_editor_notify: bool,
	error_type: int,
	_backtraces: Array[ScriptBacktrace]
) -> void:
	_lock.lock()
	var text := (rationale if rationale else code).replace("\n", " ")
	if error_type == Logger.ERROR_TYPE_SCRIPT and script_error == "":
		script_error = "%s:%d: %s" % [file, line, text]
		script_path = file
	elif error_type == Logger.ERROR_TYPE_ERROR and engine_error == "":
		engine_error = text
	elif lost_node == "" and _LOST in text:
		lost_node = text
	_lock.unlock()
