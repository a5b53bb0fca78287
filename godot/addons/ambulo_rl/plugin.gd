@tool
extends EditorPlugin
## Registers the bridge server as an autoload when the add-on is switched on, and its setting.

const AUTOLOAD := "AmbuloServer"
const SCRIPT_PATH := "res://addons/ambulo_rl/server/server.gd"


func _enter_tree() -> void:
	var setting := AmbuloServerOptions.AUTOSTART
	if not ProjectSettings.has_setting(setting):
		ProjectSettings.set_setting(setting, false)
	ProjectSettings.set_initial_value(setting, false)
	ProjectSettings.set_as_basic(setting, true)
	ProjectSettings.add_property_info({"name": setting, "type": TYPE_BOOL})


func _enable_plugin() -> void:
	if ResourceLoader.exists(SCRIPT_PATH):
		add_autoload_singleton(AUTOLOAD, SCRIPT_PATH)


func _disable_plugin() -> void:
	remove_autoload_singleton(AUTOLOAD)
