class_name AmbuloPlayerRig
extends XROrigin3D
## The player: origin, camera and two controllers, with or without a headset.
##
## Without one the camera and the hands are where the contract puts them, and keyboard or gamepad
## steer. With one ([method start_xr]) the headset moves camera and hands, and the controllers'
## sticks steer. In both cases the world moves the origin ([method place]).

## Visual layer of the avatar, which the player's own camera does not see.
const AVATAR_LAYER := 2

## Height of the camera without a headset, which scales hands and body, [m].
@export_range(0.6, 2.2) var eye_height := AmbuloContract.EYE_HEIGHT:
	set(value):
		eye_height = value
		if is_node_ready():
			_stand()

## Whether a headset is in use.
var xr_running := false

@onready var _camera: XRCamera3D = $Camera
@onready var _left: XRController3D = $LeftHand
@onready var _right: XRController3D = $RightHand
@onready var _vignette: AmbuloVignette = $Camera/Vignette


func _ready() -> void:
	_stand()
	_camera.cull_mask &= ~(1 << (AVATAR_LAYER - 1))
	_add_part($Avatar, _capsule(), AmbuloPalette.BODY, Vector3.UP * 0.7, AVATAR_LAYER)
	_add_part($Avatar, _ball(0.15), AmbuloPalette.HAND, Vector3.UP * 1.55, AVATAR_LAYER)
	var visor := BoxMesh.new()
	visor.size = Vector3(0.24, 0.11, 0.14)
	_add_part($Avatar, visor, AmbuloPalette.VISOR, Vector3(0, 1.6, -0.12), AVATAR_LAYER)
	for controller: XRController3D in [_left, _right]:
		_add_part(controller, _ball(0.05), AmbuloPalette.HAND, Vector3.ZERO, 1)


## Apply the comfort options of [param spec]: the height of the eyes and the vignette.
func use_spec(spec: AmbuloSpec) -> void:
	eye_height = spec.eye_height
	_vignette.amount = spec.vignette


## Start the headset if the engine has one (`--xr-mode on`); false: continue without.
func start_xr() -> bool:
	var headset := XRServer.find_interface("OpenXR")
	if headset == null or not headset.is_initialized():
		return false
	DisplayServer.window_set_vsync_mode(DisplayServer.VSYNC_DISABLED)
	get_viewport().use_xr = true
	xr_running = true
	return true


## Puts the player at (x, y, z) with heading [param yaw], in the contract's axes.
func place(x: float, y: float, z: float, yaw: float) -> void:
	transform = AmbuloAxes.pose(x, y, z, yaw)


## Show the view of the player's eyes in the viewport.
func look_through() -> void:
	_camera.make_current()


## Commands of keyboard, gamepad or controllers: strafe, forward, rotation in [-1, 1], + is right.
func stick() -> PackedFloat64Array:
	var strafe := _keys(KEY_D, KEY_A)
	var forward := _keys(KEY_W, KEY_S) + _keys(KEY_UP, KEY_DOWN)
	var rotation := _keys(KEY_E, KEY_Q) + _keys(KEY_RIGHT, KEY_LEFT)
	for pad in Input.get_connected_joypads():
		strafe += Input.get_joy_axis(pad, JOY_AXIS_LEFT_X)
		forward -= Input.get_joy_axis(pad, JOY_AXIS_LEFT_Y)
		rotation += Input.get_joy_axis(pad, JOY_AXIS_RIGHT_X)
	if xr_running:
		var walk := _left.get_vector2("primary")
		strafe += walk.x
		forward += walk.y
		rotation += _right.get_vector2("primary").x
	return [clampf(strafe, -1, 1), clampf(forward, -1, 1), clampf(rotation, -1, 1)]


# Put camera, hands and avatar at the contract's places.
func _stand() -> void:
	var scale_up := eye_height / AmbuloContract.EYE_HEIGHT
	var hand_left := AmbuloContract.HAND_LEFT * scale_up
	var hand := AmbuloAxes.to_godot(
		AmbuloContract.HAND_FORWARD * scale_up, hand_left, AmbuloContract.HAND_UP * scale_up
	)
	_camera.position = Vector3.UP * eye_height
	_left.position = hand
	_right.position = hand + Vector3.RIGHT * (2.0 * hand_left)
	($Avatar as Node3D).scale = Vector3(1.0, scale_up, 1.0)


func _keys(plus: Key, minus: Key) -> float:
	var value := 1.0 if Input.is_physical_key_pressed(plus) else 0.0
	return value - (1.0 if Input.is_physical_key_pressed(minus) else 0.0)


static func _capsule() -> CapsuleMesh:
	var mesh := CapsuleMesh.new()
	mesh.radius = AmbuloContract.BODY_RADIUS
	mesh.height = 1.4
	return mesh


static func _ball(radius: float) -> SphereMesh:
	var mesh := SphereMesh.new()
	mesh.radius = radius
	mesh.height = 2.0 * radius
	return mesh


static func _add_part(
	owner_node: Node3D, mesh: Mesh, colour: Color, at: Vector3, layer: int
) -> void:
	var part := MeshInstance3D.new()
	part.mesh = mesh
	part.material_override = AmbuloPalette.matt(colour)
	part.position = at
	part.layers = 1 << (layer - 1)
	owner_node.add_child(part)
