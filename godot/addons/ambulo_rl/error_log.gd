extends Logger
## Engine errors and the first script error since it was added with `OS.add_logger`.
##
## It has no class name: the exporter runs in projects that have the add-on, too.

## Most errors that are kept.
const MOST := 100
# The engine only warns of it, and adds the node elsewhere.
const _LOST := "has vanished when instantiating"

## Errors of the engine.
var engine_errors: PackedStringArray = []
## The first script error; "": none.
var script_error := ""
## Number of script errors.
var script_errors := 0
## Path and line of the failing script.
var script_path := ""
var script_line := 0
## The engine's warning about a node whose parent is missing in its scene; "": none.
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
