class_name AmbuloCommand
extends RefCounted
## Turns the actions of a policy into the motion of a body that your own code moves.
##
## It is the steering of docs/vr_world.md: dead zone, stick circle and smoothing per physics tick.
## [AmbuloWorld] has this built in; use this one with [method AmbuloPolicyNode.act_in_scene]:
## [method aim] at each decision, then at each tick [method tick], and move the body by [method
## velocity] and [member yaw_rate]. Where the spec has teleports, sweep it by [method leap] after
## [method aim], too, as far as it comes.

## Turning rate of the body about +Y, [rad/s].
var yaw_rate := 0.0

var _spec: AmbuloSpec
var _target: PackedFloat64Array = [0.0, 0.0, 0.0]
var _command: PackedFloat64Array = [0.0, 0.0, 0.0]
var _jump: PackedFloat64Array = [0.0, 0.0, 0.0]
var _leap: PackedFloat64Array = [0.0, 0.0, 0.0]
var _waits: PackedFloat64Array = [0.0, 0.0]


## The steering for the settings [param spec], such as those of the policy's [AmbuloPolicyFile].
func _init(spec: AmbuloSpec) -> void:
	_spec = spec


## Apply the action of a new decision. Returns the angle [rad] about +Y of an immediate turn, which
## only discrete and snap turns have. [param comfort] is the dial of [method AmbuloPolicyNode.dial],
## which scales the limits of the stick.
func aim(action: PackedFloat64Array, comfort := 1.0) -> float:
	if _spec.discrete:
		_jump = AmbuloActions.jump(int(action[0]), _spec)
		return _jump[2]
	_target = AmbuloActions.target(action[0], action[1], action[2], _spec.dead_zone)
	_leap.fill(0.0)
	if _spec.has_leaps():
		AmbuloActions.shape_stick(_target, 0, _spec, comfort)
		_leap = AmbuloActions.leap(_target, 0, _spec, _waits, 0)
	if _spec.has_limits():
		AmbuloActions.limit(_target, 0, _spec, _command, 0, comfort)
	return _leap[2]


## Displacement of this decision's teleport for a body with heading [param yaw] (after its turn), in
## Godot's axes, [m]; zero: no teleport.
func leap(yaw: float) -> Vector3:
	return _in_godot(_leap[1], _leap[0], yaw)


## Advance by one physics tick.
func tick() -> void:
	var decay := _spec.tick_decay()
	for i in 3:
		_command[i] = decay * _command[i] + (1.0 - decay) * _target[i]
	yaw_rate = -_command[2] * _spec.max_yaw_rate


## Commanded velocity of a body with heading [param yaw], in Godot's axes, [m/s].
func velocity(yaw: float) -> Vector3:
	var left := _jump[0] / _spec.decision_dt() - _command[0] * _spec.max_speed
	var ahead := _jump[1] / _spec.decision_dt() + _command[1] * _spec.max_speed
	return _in_godot(ahead, left, yaw)


static func _in_godot(ahead: float, left: float, yaw: float) -> Vector3:
	var c := cos(yaw)
	var s := sin(yaw)
	return AmbuloAxes.to_godot(c * ahead - s * left, s * ahead + c * left, 0.0)
