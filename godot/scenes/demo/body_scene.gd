extends Node3D
## A player before a mirror: with a headset you, without one a recording.
##
## `godot/run.sh res://scenes/demo/body_scene.tscn`, with a headset `godot/run.sh --xr-mode on
## res://scenes/demo/body_scene.tscn`. Stand upright with your arms to the sides and press the
## trigger, or C on the keyboard, to measure you.

const RECORDING := "res://scenes/demo/walk.trackers"

@onready var _body: AmbuloBody = $Origin/Body
@onready var _camera: Camera3D = $Camera
@onready var _eye: Camera3D = $Mirror/View/Camera


func _ready() -> void:
	var xr := XRServer.find_interface("OpenXR")
	if xr != null and xr.is_initialized():
		get_viewport().use_xr = true
		_body.first_person = true
		for hand: XRController3D in [$Origin/Left, $Origin/Right]:
			hand.button_pressed.connect(_on_button)
	else:
		_camera.current = true
		if not _body.play(RECORDING):
			push_error(_body.error)


func _unhandled_key_input(event: InputEvent) -> void:
	if event.is_pressed() and (event as InputEventKey).keycode == KEY_C:
		_body.calibrate()


func _process(_delta: float) -> void:
	if _body.body == null or not _camera.current:
		return
	var hips := _body.body.pose.positions[0]
	var at := AmbuloAxes.to_godot(hips.x, hips.y, 0.0)
	_camera.position = at + Vector3(-1.6, 1.9, 2.4)
	_camera.look_at(at + Vector3(0.3, 1.0, -0.6))
	$Mirror.position = at + Vector3(0.0, 1.2, -2.0)
	_eye.global_transform = Transform3D(Basis(Vector3.UP, PI), $Mirror.position)


func _on_button(name: String) -> void:
	if name == "trigger_click":
		_body.calibrate()
