extends Node3D
## Root of the scene: reads the command line as godot-rl writes it, and builds the players
## and the node that talks to the trainer.

const Players := preload("players.gd")
const Controllers := preload("controllers.gd")
const Sync := preload("sync.gd")


func _ready() -> void:
	var arguments := _arguments()
	if arguments.has("setup"):
		var text := FileAccess.get_file_as_string(arguments["setup"])
		var players := Players.new()
		add_child(players)
		players.set_up(JSON.parse_string(text) as Dictionary)
		_talk_for(players, arguments)
	elif arguments.has("env_seed"):
		_talk_for(Controllers.new(get_tree().get_nodes_in_group("AGENT")), arguments)


func _talk_for(players: Node, arguments: Dictionary[String, String]) -> void:
	var sync := Sync.new()
	sync.players = players
	sync.port = int(arguments["port"])
	sync.action_repeat = int(arguments.get("action_repeat", "9"))
	# As godot-rl's own node: a frame has as many ticks, of the same duration.
	var speed_up := int(arguments.get("speedup", "1"))
	Engine.physics_ticks_per_second *= speed_up
	Engine.time_scale = speed_up
	if not players.is_inside_tree():
		add_child(players)
	add_child(sync)


func _arguments() -> Dictionary[String, String]:
	var found: Dictionary[String, String] = {}
	for argument in OS.get_cmdline_args():
		var cut := argument.find("=")
		if cut > 0:
			found[argument.substr(0, cut).trim_prefix("--")] = argument.substr(cut + 1)
	return found
