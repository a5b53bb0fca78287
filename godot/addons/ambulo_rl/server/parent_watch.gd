class_name AmbuloParentWatch
extends RefCounted
## Whether a process that started this engine is still there.
##
## Linux: `/proc/<pid>/stat` with the process's start time, so that a reused number is not taken
## for it; a zombie counts as gone. Other Unix systems: `kill -0`, every 5 s. Windows offers
## nothing cheap to a script: `can_watch` is false there; use `--idle-exit`.

const _PERIOD := 1000
const _SLOW_PERIOD := 5000

var _pid := 0
var _born := ""
var _next := 0
var _by_signal := false


## Watch process `pid`; `by_signal` forces the way without /proc.
func _init(pid: int, by_signal: bool = false) -> void:
	_pid = pid
	_by_signal = by_signal or not DirAccess.dir_exists_absolute("/proc/self")
	if not _by_signal:
		_born = _start_time()


## Whether this system lets a script look at other processes.
func can_watch() -> bool:
	return OS.get_name() != "Windows"


## True once the process is gone; looks at most once a second. `now` in ms.
func is_gone(now: int) -> bool:
	if not can_watch() or now < _next:
		return false
	_next = now + (_SLOW_PERIOD if _by_signal else _PERIOD)
	if _by_signal:
		return OS.execute("kill", ["-0", str(_pid)]) != 0
	return _born == "" or _start_time() != _born


# The 22nd field of stat; "" if there is no such process or it is a zombie. The second field is
# the program's name in brackets and may hold anything, so fields are counted from its end.
func _start_time() -> String:
	var file := FileAccess.open("/proc/%d/stat" % _pid, FileAccess.READ)
	if file == null:
		return ""
	var text := file.get_buffer(1024).get_string_from_ascii()
	var fields := text.substr(text.rfind(")") + 2).split(" ")
	if fields.size() < 20 or fields[0] in ["Z", "X"]:
		return ""
	return fields[19]
