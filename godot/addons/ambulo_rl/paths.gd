class_name AmbuloPaths
extends RefCounted
## Paths given on the command line.


## Resolves a relative [param path] against the folder from which the engine was started, which
## `--path` makes it leave.
static func of_user(path: String) -> String:
	var started_from := OS.get_environment("PWD")
	if path.is_absolute_path() or path.contains("://") or started_from == "":
		return path
	return started_from.path_join(path)
