class_name AmbuloTrackerFoot
extends RefCounted
## A foot that neither slides nor sinks in, from the network's contacts.
##
## The computation is that of `ik/trackers/feet.py`, which explains the constants.

enum Mode { FREE, HEEL, BALL, FLAT }

const ON := 0.6
const OFF := 0.35
const BOTH := 0.5
const NEAR := 0.10
const FAR := 0.12
const ARRIVED := 0.02
const HOLD_RATE := 50.0
const FREE_RATE := 14.0
const STEP_RATE := 18.0
const LIFT_RATE := 25.0
const TURN_RATE := 12.0
const AHEAD := 0.03
const LIFT := 0.35
const HIGHEST := 0.06
const CLEAR := 0.08
const CLEARANCE := 0.045

## World position of the ankle, [m], and orientation of the foot: predicted, then corrected.
var ankle := Vector3.ZERO
var turn := Quaternion.IDENTITY
## Part of the foot that touches the ground.
var mode := Mode.FREE

var _anchor := Vector3.ZERO
var _shift := Vector3.ZERO
var _speed := Vector3.ZERO
var _turned := Quaternion.IDENTITY
var _yaw := 0.0
var _stepping := false
var _way := 0.0
var _pivot := Vector3.ZERO
var _lifted := Vector2.ZERO


## Correct the predicted [member ankle] and [member turn].
func plant(heel: float, ball: float, ground: float, sole: PackedVector3Array, dt: float) -> void:
	var predicted := turn
	var pivot := _contact(heel, ball, ground, sole, dt, predicted)
	var stands := mode != Mode.FREE and not _stepping
	var change := Quaternion.IDENTITY
	if stands and mode == Mode.FLAT:
		change = AmbuloAvatarFoot.about_z(_yaw) * predicted.inverse()
	_turned = AmbuloTrackerState.mix(_turned, change, 1.0 - exp(-TURN_RATE * dt))
	turn = _turned * predicted
	_move(stands, pivot, ground, sole, dt)
	var at := ankle + turn * sole[pivot]
	_pivot = at
	if _stepping and Vector2(_shift.x, _shift.y).length() < ARRIVED:
		_stepping = false
		_anchor = Vector3(at.x, at.y, _anchor.z)
		_yaw = yaw_of(turn)


## The yaw of the twist of [param q] about Z, in [-PI, PI).
static func yaw_of(q: Quaternion) -> float:
	return wrapf(2.0 * atan2(q.z, q.w), -PI, PI)


func _contact(
	heel: float,
	ball: float,
	ground: float,
	sole: PackedVector3Array,
	dt: float,
	predicted: Quaternion
) -> int:
	var was := mode
	var turned := _turned * predicted
	var now := _mode(was, heel, ball)
	var pivot := 0 if now == Mode.HEEL else 1
	var at := ankle + _shift + turned * sole[pivot]
	if was == Mode.FREE and at.z - ground > NEAR:
		now = Mode.FREE
	mode = now
	if now == Mode.FREE:
		_stepping = false
		return pivot
	if was == Mode.FREE:
		_anchor = at + AHEAD / dt * (at - _pivot)
		_yaw = yaw_of(turned)
	elif was != now:
		_anchor = at
		if now == Mode.FLAT:
			_yaw = yaw_of(turned)
	var wanted := ankle + predicted * sole[pivot]
	var away := Vector2(wanted.x - _anchor.x, wanted.y - _anchor.y).length()
	if not _stepping and away > FAR:
		_stepping = true
		_way = away
	return pivot


func _mode(was: Mode, heel: float, ball: float) -> Mode:
	if maxf(heel, ball) < (ON if was == Mode.FREE else OFF):
		return Mode.FREE
	if minf(heel, ball) > (BOTH if was != Mode.FLAT else 0.7 * BOTH):
		return Mode.FLAT
	if was == Mode.HEEL and heel > ball - 0.2:
		return Mode.HEEL
	return Mode.HEEL if heel > ball else Mode.BALL


func _move(stands: bool, pivot: int, ground: float, sole: PackedVector3Array, dt: float) -> void:
	var rate := FREE_RATE
	var goal := Vector3.ZERO
	if stands:
		rate = HOLD_RATE
		goal = Vector3(_anchor.x, _anchor.y, ground) - turn * sole[pivot] - ankle
	elif _stepping:
		rate = STEP_RATE
	var decay := exp(-rate * dt)
	var error := _shift - goal
	var drive := (_speed + rate * error) * dt
	_shift = goal + (error + drive) * decay
	_speed = (_speed - rate * drive) * decay
	ankle += _shift
	var lift := 0.0
	if mode == Mode.FREE:
		lift = _clearance(pivot, ground, sole, dt)
	elif _stepping:
		var left := Vector2(_shift.x, _shift.y).length()
		var part := minf(left / maxf(_way, 1e-6), 1.0)
		lift = 4.0 * part * (1.0 - part) * minf(LIFT * _way, HIGHEST)
	decay = exp(-LIFT_RATE * dt)
	var over := _lifted.x - lift
	var push := (_lifted.y + LIFT_RATE * over) * dt
	_lifted = Vector2(lift + (over + push) * decay, (_lifted.y - LIFT_RATE * push) * decay)
	ankle.z += maxf(_lifted.x, 0.0)
	ankle.z += maxf(ground - _lowest(sole), 0.0)


func _lowest(sole: PackedVector3Array) -> float:
	return ankle.z + minf((turn * sole[0]).z, (turn * sole[1]).z)


func _clearance(pivot: int, ground: float, sole: PackedVector3Array, dt: float) -> float:
	var at := ankle + turn * sole[pivot]
	var speed := Vector2(at.x - _pivot.x, at.y - _pivot.y).length() / dt
	var wanted := minf(CLEAR * speed, CLEARANCE)
	return maxf(wanted - maxf(_lowest(sole) - ground, 0.0), 0.0)
