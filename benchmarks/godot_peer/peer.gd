extends Node3D
## Root of the scene: reads the command line as godot-rl writes it, and builds the players
## and the node that talks to the trainer.

const Players := preload("players.gd")
const Sync := preload("sync.gd")


func _ready() -> void:
	var arguments := _arguments()
	var setup: Dictionary = JSON.parse_string(FileAccess.get_file_as_string(arguments["setup"]))
	var players := Players.new()
	var sync := Sync.new()
	sync.players = players
	sync.port = int(arguments["port"])
	sync.action_repeat = int(arguments.get("action_repeat", "9"))
	add_child(players)
	players.set_up(setup)
	add_child(sync)


func _arguments() -> Dictionary[String, String]:
	var found: Dictionary[String, String] = {}
	for argument in OS.get_cmdline_args():
		var cut := argument.find("=")
		if cut > 0:
			found[argument.substr(0, cut).trim_prefix("--")] = argument.substr(cut + 1)
	return found
