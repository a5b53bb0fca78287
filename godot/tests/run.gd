extends SceneTree
## Runs every `test_*` method of every `tests/test_*.gd`:
##
##     godot --headless --path godot -s tests/run.gd [-- --only=PART]
##
## `--only` takes part of a "file.method" name. Exit code 0: all passed, 1: some failed,
## 2: nothing was found.

const FOLDER := "res://tests"


class ErrorLog:
	extends Logger
	## Errors that the engine reported since [method take].

	var _lock := Mutex.new()
	var _errors: PackedStringArray = []

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
		if error_type == Logger.ERROR_TYPE_WARNING:
			return
		var text := rationale if rationale else code
		_lock.lock()
		_errors.append("%s (%s:%d)" % [text, file.get_file(), line])
		_lock.unlock()

	func take() -> PackedStringArray:
		_lock.lock()
		var errors := _errors.duplicate()
		_errors.clear()
		_lock.unlock()
		return errors


var _log := ErrorLog.new()
var _passed := 0
var _failed := 0


func _initialize() -> void:
	OS.add_logger(_log)
	var only := ""
	for argument in OS.get_cmdline_user_args():
		if argument.begins_with("--only="):
			only = argument.trim_prefix("--only=")
	await process_frame  # from now on nodes enter the tree
	for file in _test_files():
		await _run_file(file, only)
	OS.remove_logger(_log)
	print("%d passed, %d failed" % [_passed, _failed])
	if _passed + _failed == 0:
		quit(2)
	else:
		quit(1 if _failed > 0 else 0)


func _test_files() -> PackedStringArray:
	var files: PackedStringArray = []
	for file in DirAccess.get_files_at(FOLDER):
		if file.begins_with("test_") and file.ends_with(".gd") and file != "test_case.gd":
			files.append(file)
	files.sort()
	return files


func _run_file(file: String, only: String) -> void:
	var script: GDScript = load(FOLDER.path_join(file))
	if script == null or not script.can_instantiate():
		_report(file, ["the script does not load: " + ", ".join(_log.take())])
		return
	for method: Dictionary in script.get_script_method_list():
		var method_name: String = method["name"]
		var label := "%s.%s" % [file.get_basename(), method_name]
		if not method_name.begins_with("test_") or (only and not only in label):
			continue
		var case: AmbuloTest = script.new()
		case.tree = self
		_log.take()
		await case.call(method_name)
		for error in _log.take():
			if not _is_expected(error, case.expected_errors):
				case.failures.append("engine error: " + error)
		if case.checks == 0:
			case.failures.append("made no check")
		_report(label, case.failures)


func _is_expected(error: String, parts: PackedStringArray) -> bool:
	for part in parts:
		if part in error:
			return true
	return false


func _report(label: String, failures: PackedStringArray) -> void:
	if failures.is_empty():
		_passed += 1
		return
	_failed += 1
	for line in failures:
		print("FAILED %s: %s" % [label, line])
