class_name AmbuloVignette
extends MeshInstance3D
## Narrows the field of view while the body moves or turns by stick, after Fernandes and Feiner,
## "Combating VR sickness through subtle dynamic field-of-view modification", 3DUI 2016.
##
## Make `vignette.tscn` a child of the camera of any rig. It follows [member tracked], by default
## the XROrigin3D above the camera, so that motion of the head itself has no effect. Without such a
## node call [method drive]. Jumps (teleports and snap turns) have no effect either.

## Speed and turning rate at which the view is narrowest, [m/s] and [rad/s].
const FULL_SPEED := 1.4
const FULL_TURN := PI / 4.0
## Faster motion counts as a jump, [m/s] and [rad/s].
const JUMP_SPEED := 15.0
const JUMP_TURN := 3.0 * PI
## Time constants of narrowing and of widening again, [s].
const NARROW_TIME := 0.15
const WIDEN_TIME := 0.4

## Largest fraction by which the field of view is narrowed.
@export_range(0.0, 1.0) var amount := 0.5
## Node moved by the stick; null: the XROrigin3D above the camera.
@export var tracked: Node3D
## Full field of view that is narrowed, [deg].
@export_range(10.0, 170.0) var field_of_view := 100.0

## Present fraction by which the field of view is narrowed.
var narrowing := 0.0

var _last := Transform3D()
var _known := false
var _material: ShaderMaterial


func _ready() -> void:
	_material = material_override.duplicate()
	material_override = _material
	custom_aabb = AABB(Vector3.ONE * -1e4, Vector3.ONE * 2e4)
	var above := get_parent()
	while tracked == null and above != null:
		tracked = above as XROrigin3D
		above = above.get_parent()
	_show()


func _process(delta: float) -> void:
	if tracked == null or delta <= 0.0:
		return
	var now := tracked.global_transform
	if _known:
		var turn := _last.basis.z.signed_angle_to(now.basis.z, Vector3.UP)
		drive(now.origin.distance_to(_last.origin) / delta, turn / delta, delta)
	_known = true
	_last = now


## Advance by [param delta] [s] in which the body moves at [param speed] [m/s] and turns at [param
## yaw_rate] [rad/s].
func drive(speed: float, yaw_rate: float, delta: float) -> void:
	var motion := 0.0
	if absf(speed) < JUMP_SPEED and absf(yaw_rate) < JUMP_TURN:
		motion = clampf(maxf(absf(speed) / FULL_SPEED, absf(yaw_rate) / FULL_TURN), 0.0, 1.0)
	var target := amount * motion
	var time := NARROW_TIME if target > narrowing else WIDEN_TIME
	narrowing = lerpf(target, narrowing, exp(-delta / time))
	_show()


## Angle from the view axis at which the picture is dark, [rad]; PI: nowhere.
func opening() -> float:
	if narrowing < 1e-3:
		return PI
	return deg_to_rad(0.5 * field_of_view) * (1.0 - narrowing)


func _show() -> void:
	visible = narrowing >= 1e-3 and _is_seen()
	_material.set_shader_parameter(&"opening", opening())


# Whether the camera above this node is the current one.
func _is_seen() -> bool:
	var camera := get_parent() as Camera3D
	return camera == null or camera.current
