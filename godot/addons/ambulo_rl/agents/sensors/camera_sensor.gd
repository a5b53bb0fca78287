class_name AmbuloCameraSensor
extends AmbuloSensor
## A small picture of what the parent sees, as bytes (height, width, 3). It is off unless it is
## switched on: it needs an engine that draws (not --headless) and costs a drawn frame for each
## step, 5 to 40 ms where the graphics card is emulated.

@export var enabled := false
@export_range(8, 256) var width := 36
@export_range(8, 256) var height := 36
## 3D: vertical opening, [degrees].
@export_range(1.0, 179.0) var fov := 75.0
## 2D: pixels of the scene for one of the picture.
@export_range(0.1, 100.0) var pixels := 10.0

var _view: SubViewport


func problem() -> String:
	if not enabled:
		return "is off: set enabled (it costs a drawn frame for each step), or remove it"
	if DisplayServer.get_name() == "headless":
		return "needs an engine that draws: environment.headless=false, not --headless"
	return super()


func part() -> AmbuloAgentPart:
	return AmbuloAgentPart.of(str(name), [height, width, 3], true)


func observe() -> Variant:
	if problem() != "":
		var empty := PackedByteArray()
		empty.resize(width * height * 3)
		return empty
	if _view == null:
		_set_up()
	var camera := _view.get_child(0)
	if camera is Camera3D:
		(camera as Camera3D).global_transform = (get_parent() as Node3D).global_transform
	else:
		(camera as Camera2D).global_transform = (get_parent() as Node2D).global_transform
	RenderingServer.force_draw(false)
	var picture := _view.get_texture().get_image()
	picture.convert(Image.FORMAT_RGB8)
	return picture.get_data()


func _set_up() -> void:
	_view = SubViewport.new()
	_view.size = Vector2i(width, height)
	_view.render_target_update_mode = SubViewport.UPDATE_ALWAYS
	add_child(_view)
	if get_parent() is Node3D:
		var camera := Camera3D.new()
		camera.fov = fov
		_view.world_3d = (get_parent() as Node3D).get_world_3d()
		_view.add_child(camera)
	else:
		var camera := Camera2D.new()
		camera.zoom = Vector2.ONE / pixels
		camera.ignore_rotation = false
		_view.world_2d = (get_parent() as Node2D).get_world_2d()
		_view.add_child(camera)
