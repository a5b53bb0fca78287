@tool
extends EditorPlugin
## Registers the bridge server as an autoload when the add-on is switched on, and its setting;
## adds "Export for Ambulo" and "Play-test" to the 3D editor and to the menu Project > Tools.

const ExportButton := preload("export/editor_export.gd")
const PlaytestMenu := preload("playtest/editor_playtest.gd")
const AUTOLOAD := "AmbuloServer"
const SCRIPT_PATH := "res://addons/ambulo_rl/server/server.gd"

var _export: ExportButton
var _playtest: PlaytestMenu


func _enter_tree() -> void:
	_export = ExportButton.new()
	add_control_to_container(CONTAINER_SPATIAL_EDITOR_MENU, _export)
	add_tool_menu_item(ExportButton.TITLE, _export.export_open_scene)
	_playtest = PlaytestMenu.new()
	add_control_to_container(CONTAINER_SPATIAL_EDITOR_MENU, _playtest)
	add_tool_menu_item(PlaytestMenu.TITLE_SHOW, _playtest.toggle)
	add_tool_menu_item(PlaytestMenu.TITLE_RUN, _playtest.run)
	for key: String in [PlaytestMenu.PROGRAM, PlaytestMenu.ARGUMENTS]:
		if not ProjectSettings.has_setting(key):
			ProjectSettings.set_setting(key, "")
		ProjectSettings.set_initial_value(key, "")
		ProjectSettings.set_as_basic(key, true)
		ProjectSettings.add_property_info({"name": key, "type": TYPE_STRING})
	var setting := AmbuloServerOptions.AUTOSTART
	if not ProjectSettings.has_setting(setting):
		ProjectSettings.set_setting(setting, false)
	ProjectSettings.set_initial_value(setting, false)
	ProjectSettings.set_as_basic(setting, true)
	ProjectSettings.add_property_info({"name": setting, "type": TYPE_BOOL})


func _exit_tree() -> void:
	remove_tool_menu_item(PlaytestMenu.TITLE_RUN)
	remove_tool_menu_item(PlaytestMenu.TITLE_SHOW)
	remove_control_from_container(CONTAINER_SPATIAL_EDITOR_MENU, _playtest)
	_playtest.queue_free()
	remove_tool_menu_item(ExportButton.TITLE)
	remove_control_from_container(CONTAINER_SPATIAL_EDITOR_MENU, _export)
	_export.queue_free()


func _enable_plugin() -> void:
	if ResourceLoader.exists(SCRIPT_PATH):
		add_autoload_singleton(AUTOLOAD, SCRIPT_PATH)


func _disable_plugin() -> void:
	remove_autoload_singleton(AUTOLOAD)
