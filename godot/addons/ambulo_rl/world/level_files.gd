class_name AmbuloLevelFiles
extends RefCounted
## Level files, as the trainer writes them.


## The levels of the file or folder [param path], in the order of the file names. For each file
## that is refused, and where there is none, a line is appended to [param errors].
static func read(path: String, errors: PackedStringArray) -> Array[AmbuloLevel]:
	var files: PackedStringArray = []
	if FileAccess.file_exists(path):
		files.append(path)
	elif DirAccess.dir_exists_absolute(path):
		for name in DirAccess.get_files_at(path):
			if name.get_extension() == "json":
				files.append(path.path_join(name))
	files.sort()
	if files.is_empty():
		errors.append("no *.json level file there: %s" % path)
	var levels: Array[AmbuloLevel] = []
	for file in files:
		var problems: PackedStringArray = []
		var level := AmbuloLevel.from_json(FileAccess.get_file_as_string(file), problems)
		if level != null:
			levels.append(level)
		else:
			errors.append("%s: %s" % [file, problems[0]])
	return levels
