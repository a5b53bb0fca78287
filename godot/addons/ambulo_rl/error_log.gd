extends Logger
## Errors of the engine, and the first of a script, since this was added with `OS.add_logger`.
##
## It has no class name: the exporter runs in projects that have the add-on, too.

## Most errors that are kept.
const MOST := 100
# The engine only warns of it, and adds the node somewhere else.
const _LOST := "has vanished when instantiating"

## What the engine could not do.
var engine_errors: PackedStringArray = []
## What failed in a script; "": nothing.
var script_error := ""
## How often a script has failed.
var script_errors := 0
## The script at fault, and its line.
var script_path := ""
var script_line := 0
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
	var text := " ".join((rationale if rationale else code).split("\n", false))
	_lock.lock()
	if error_type == Logger.ERROR_TYPE_SCRIPT:
		script_errors += 1
		if script_error == "":
			script_error = text
			script_path = file
			script_line = line
	elif error_type == Logger.ERROR_TYPE_ERROR and engine_errors.size() < MOST:
		engine_errors.append(text)
	elif lost_node == "" and _LOST in text:
		lost_node = text
	_lock.unlock()
