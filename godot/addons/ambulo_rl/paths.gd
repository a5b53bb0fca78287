class_name AmbuloPaths
extends RefCounted
## Paths that a user gave on the command line.


## [param path] as the user meant it: a relative one begins in the folder that the engine
## was started from, which `--path` makes it leave.
static func of_user(path: String) -> String:
	var started_from := OS.get_environment("PWD")
	if path.is_absolute_path() or path.contains("://") or started_from == "":
		return path
	return started_from.path_join(path)
