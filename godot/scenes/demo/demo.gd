extends Node
## Plays a trained policy in levels, in the engine alone, and tells how it did.
##
## `godot --headless --path godot res://scenes/demo/demo.tscn -- --policy=FILE
## --levels=FOLDER --episodes=N --seed=S [--json=FILE]`: the levels of a folder (or of one
## file) are played in turn, in the order of their file names; the seed draws starts and
## goals that a level leaves open. The exit code is 0 when all episodes were played and
## 2 when an argument or a file is refused.

const _FLAGS: PackedStringArray = ["policy", "levels", "episodes", "seed", "json"]

var _policy_path := "res://policies/vr_navigation.ambulo"
var _levels_path := "res://scenes/demo/levels"
var _episodes := 9
var _seed := 0
var _json_path := ""
var _levels: Array[AmbuloLevel] = []
var _world := AmbuloWorld.new()
var _played: Array[AmbuloEpisode] = []
var _started_usec := 0

var _policy: AmbuloPolicyNode:
	get:
		return $Policy


func _ready() -> void:
	var server := get_tree().root.get_node_or_null(^"AmbuloServer")
	if server != null:
		server.call("disable")
	var problem := prepare(OS.get_cmdline_user_args())
	if problem != "":
		printerr("demo: %s" % problem)
		set_physics_process(false)
		get_tree().quit(2)


func _physics_process(_delta: float) -> void:
	var number := _played.size()
	var level := _levels[number % _levels.size()]
	var rng := RandomNumberGenerator.new()
	rng.seed = hash([_seed, number])
	var problems: PackedStringArray = []
	var places := AmbuloPlaces.in_level(level, rng, _policy.file.goal_distance, problems)
	if places.is_empty():
		printerr("demo: level '%s': %s" % [level.name, problems[0]])
		set_physics_process(false)
		get_tree().quit(2)
		return
	_played.append(AmbuloEpisode.play(_world, _policy, level, places))
	if _played.size() == _episodes:
		set_physics_process(false)
		_report()
		get_tree().quit(0)


## What is wrong with [param arguments] and files; empty when all can be played.
func prepare(arguments: PackedStringArray) -> String:
	var problem := _read_arguments(arguments)
	if problem == "" and not _policy.load_policy(_policy_path):
		problem = _policy.error
	if problem == "" and not _policy.file.tasks.has("navigate"):
		problem = "%s: was not trained to navigate" % _policy_path
	if problem == "":
		var errors: PackedStringArray = []
		_levels = AmbuloLevel.read_files(_levels_path, errors)
		problem = "" if errors.is_empty() else "--levels: %s" % errors[0]
	if problem != "":
		return problem
	_world.configure(1, _policy.file.spec, _policy.file.twin)
	_started_usec = Time.get_ticks_usec()
	return ""


func _read_arguments(arguments: PackedStringArray) -> String:
	for argument in arguments:
		var parts := argument.split("=", true, 1)
		var flag := parts[0].trim_prefix("--")
		if parts.size() != 2 or not parts[0].begins_with("--") or flag not in _FLAGS:
			return "%s: unknown; there are --%s=" % [argument, "=, --".join(_FLAGS)]
		var value := parts[1]
		match flag:
			"policy":
				_policy_path = AmbuloPaths.of_user(value)
			"levels":
				_levels_path = AmbuloPaths.of_user(value)
			"json":
				_json_path = AmbuloPaths.of_user(value)
			"episodes":
				_episodes = value.to_int() if value.is_valid_int() else 0
			"seed":
				if not value.is_valid_int():
					return "--seed=%s: must be a whole number" % value
				_seed = value.to_int()
	if _episodes < 1 or _episodes > 1_000_000:
		return "--episodes: must be a whole number from 1 to 1000000"
	return ""


func _report() -> void:
	var families: Dictionary[String, Array] = {}
	for episode in _played:
		families.get_or_add(episode.family, []).append(episode)
	print("%-14s %8s %8s %10s %6s" % ["family", "episodes", "success", "collisions", "steps"])
	for family in families:
		var group := families[family]
		print(
			(
				"%-14s %8d %8.3f %10.2f %6.0f"
				% [
					family,
					group.size(),
					_mean(group, "success"),
					_mean(group, "collisions"),
					_mean(group, "steps")
				]
			)
		)
	var reached := roundi(_mean(_played, "success") * _played.size())
	print("success rate %.4f (%d of %d)" % [_mean(_played, "success"), reached, _played.size()])
	print("collisions %.4f per episode" % _mean(_played, "collisions"))
	var decisions := _mean(_played, "steps") * _played.size()
	print(
		"policy %.0f us per decision" % (_mean(_played, "policy_usec") * _played.size() / decisions)
	)
	var seconds := (Time.get_ticks_usec() - _started_usec) * 1e-6
	print("%.0f decisions in %.1f s" % [decisions, seconds])
	if _json_path != "":
		_write_json()


func _write_json() -> void:
	var rows: Array[Dictionary] = []
	for episode in _played:
		rows.append(episode.to_dict())
	var file := FileAccess.open(_json_path, FileAccess.WRITE)
	if file == null:
		printerr("demo: --json=%s: %s" % [_json_path, error_string(FileAccess.get_open_error())])
		return
	file.store_string(JSON.stringify({"episodes": rows}, " ") + "\n")


func _mean(group: Array, what: String) -> float:
	var total := 0.0
	for episode: AmbuloEpisode in group:
		total += float(episode.get(what))
	return total / group.size()
