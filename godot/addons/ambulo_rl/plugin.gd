@tool
extends EditorPlugin
## Registers the bridge server as an autoload when the add-on is switched on.

const AUTOLOAD := "AmbuloServer"
const SCRIPT_PATH := "res://addons/ambulo_rl/server/server.gd"


func _enable_plugin() -> void:
	if ResourceLoader.exists(SCRIPT_PATH):
		add_autoload_singleton(AUTOLOAD, SCRIPT_PATH)


func _disable_plugin() -> void:
	remove_autoload_singleton(AUTOLOAD)
