class_name AmbuloErrorLog
extends Logger
## The first error of a script that the engine reported since this was added with
## `OS.add_logger`, and the first of its own.

## Where and what: "res://x.gd:3: ..."; "": none.
var script_error := ""
## What; "": none.
var engine_error := ""
## The script at fault.
var script_path := ""

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
	_lock.unlock()
