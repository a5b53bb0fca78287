extends Node
## The scene in which an engine starts that is to serve a scene (`--scene=res://...`): it brings
## the server along where the add-on is not switched on, and gives way to the scene.

const _SERVER := "AmbuloServer"


func _ready() -> void:
	if not get_tree().root.has_node(NodePath(_SERVER)):
		var server := Node.new()
		server.set_script(load("res://addons/ambulo_rl/server/server.gd"))
		server.name = _SERVER
		get_tree().root.add_child.call_deferred(server)
