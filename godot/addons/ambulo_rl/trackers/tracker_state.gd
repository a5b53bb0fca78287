class_name AmbuloTrackerState
extends RefCounted
## State of one tracker: validity of its samples, and its filtered pose.
##
## The computation is that of `ik/trackers/guard.py`, which explains the constants.

enum Status { OK, ABSENT, LOST, NOT_FINITE, NOT_UNIT, JUMPED, FROZEN }

const FORGET := 2.0
const FARTHEST := 1e5
const SHORTEST := 0.5
const LONGEST := 1.5
const JUMP_SPEED := 20.0
const JUMP := 0.3
const BELIEVE := 0.25
const STUCK := 1.0
const MOVED := 1e-7
const SLOW: PackedFloat64Array = [10.0, 10.0, 10.0, 10.0, 10.0, 10.0]
const QUICK: PackedFloat64Array = [800.0, 800.0, 800.0, 800.0, 800.0, 500.0]
const MEAN: PackedFloat64Array = [0.05, 0.05, 0.05, 0.05, 0.05, 0.075]
const TURN_SLOW := 12.0
const TURN_QUICK := 12.0

## Whether it was ever seen; time since its last valid sample, [s].
var seen := false
var age := 0.0
## Filtered position, [m], its rate, [m/s], and orientation.
var place := Vector3.ZERO
var speed := Vector3.ZERO
var turn := Quaternion.IDENTITY
## Its last sample.
var raw := Vector3.ZERO
var raw_turn := Quaternion(0.0, 0.0, 0.0, 0.0)

var _wait := 0.0
var _away := Vector3.ZERO
var _same := 0.0
var _rate := 0.0
var _error := Vector3.ZERO


## Status of a sample; [param others]: whether other trackers moved since the last sample.
func check(position: Vector3, rotation: Quaternion, present: bool, dt: float, others: bool) -> int:
	age += dt
	if not present:
		return Status.LOST if seen else Status.ABSENT
	var fault := _fault(position, rotation)
	if fault != Status.OK or not seen:
		return fault
	if _is_frozen(position, rotation.normalized(), dt, others):
		return Status.FROZEN
	return Status.JUMPED if _jumps(position, dt) else Status.OK


func _fault(position: Vector3, rotation: Quaternion) -> int:
	var far := position.abs()
	if not (far.x <= FARTHEST and far.y <= FARTHEST and far.z <= FARTHEST):
		return Status.NOT_FINITE
	if not rotation.is_finite():
		return Status.NOT_FINITE
	var length := rotation.length()
	return Status.OK if length >= SHORTEST and length <= LONGEST else Status.NOT_UNIT


func _is_frozen(position: Vector3, rotation: Quaternion, dt: float, others: bool) -> bool:
	var way := (position - raw).abs()
	var turned := rotation - raw_turn
	var same := maxf(way.x, maxf(way.y, way.z)) < MOVED and turned.length() < MOVED
	if not same:
		_same = 0.0
	elif others:
		_same += dt
	raw = position
	raw_turn = rotation
	return _same > STUCK


func _jumps(position: Vector3, dt: float) -> bool:
	if position.distance_to(place) > maxf(JUMP, JUMP_SPEED * minf(age, 1.0)):
		var near := _wait > 0.0 and position.distance_to(_away) < JUMP
		_wait = _wait + dt if near else dt
		_away = position
		if _wait < BELIEVE:
			return true
		seen = false
	_wait = 0.0
	return false


## Filter a valid sample of the tracker of row [param row].
func smooth(position: Vector3, rotation: Quaternion, dt: float, row: int) -> void:
	rotation = rotation.normalized()
	if not seen or age > 0.5:
		raw = position
		raw_turn = rotation
		place = position
		speed = Vector3.ZERO
		_error = Vector3.ZERO
		turn = rotation
		seen = true
		age = 0.0
		_rate = 0.0
		return
	var ahead := place + speed * dt
	var error := position - ahead
	_error += (1.0 - exp(-dt / MEAN[row])) * (error - _error)
	var keep := exp(-(SLOW[row] + QUICK[row] * _error.length()) * dt)
	place = ahead + (1.0 - keep * keep) * error
	speed += (1.0 - keep) * (1.0 - keep) / dt * error
	var angle := 2.0 * acos(minf(absf(turn.dot(rotation)), 1.0))
	_rate += (1.0 - exp(-20.0 * dt)) * (angle / dt - _rate)
	var part := 1.0 - exp(-(TURN_SLOW + TURN_QUICK * _rate) * dt)
	turn = mix(turn, rotation, part)
	age = 0.0


## Normalised linear interpolation of two rotations along the shorter arc.
static func mix(a: Quaternion, b: Quaternion, part: float) -> Quaternion:
	var mixed := a * (1.0 - part) + b * (part if a.dot(b) >= 0.0 else -part)
	var length := mixed.length()
	return Quaternion.IDENTITY if length < 1e-9 else mixed / length
