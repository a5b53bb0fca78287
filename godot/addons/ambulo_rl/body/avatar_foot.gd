class_name AmbuloAvatarFoot
extends RefCounted
## A foot of an avatar that stays in place during its stance.
##
## The computation is that of `ik/avatar/feet.py`, which explains the constants.

const FREE := 0.05
const SETTLED := 0.9
const LAND := 0.955
const LEAD := deg_to_rad(25.0)
const HEEL_FIRST := 1e-4

## World position of the ankle, [m], and orientation of the foot.
var ankle := Vector3.ZERO
var turn := Quaternion.IDENTITY
## World direction that the knee's axis should be near.
var hinge := Vector3.UP
## Correction of the foot's yaw, [rad].
var twist := 0.0
## Yaw of the foot in the world, [rad].
var yaw := 0.0
## Whether the foot's place is held: in stance, and just before and after it.
var down := false
## Place (x, y) [m] and yaw [rad] of the foot in the standing pose.
var goal := Vector3.ZERO
## Angle by which the heel is raised, [rad].
var roll := 0.0

var _shift := Vector3.ZERO
var _heel := Vector3.ZERO
var _ball := Vector3.ZERO
var _remains := 1.0


## Elapsed fraction of the swing, in [0, 1); -1 in stance.
static func flight(phase: float, comes: float, leaves: float, sign: float) -> float:
	var into := phase - comes
	into -= floorf(into)
	var length := leaves - comes
	if into < length:
		return -1.0
	var part := (into - length) / (1.0 - length)
	return part if sign > 0.0 else 1.0 - part


## Correct the foot that the gait predicts in [member ankle] and [member turn].
##
## [param window] are the phases at which it comes down and leaves, [param home] the world offset of
## its home from the body and [param step] that of the ankle from there [m], [param sole] heel and
## ball in the ankle's frame [m].
func place(
	clock: AmbuloGaitClock,
	window: Vector2,
	home: Vector2,
	step: Vector2,
	ground: float,
	sole: PackedVector3Array
) -> void:
	var part := flight(clock.phase, window.x, window.y, clock.sign)
	var lead := 0.0
	if clock.cycles > 0.0:
		lead = 0.5 * clock.rate * (window.y - window.x) / clock.cycles
		lead = clampf(lead, -LEAD, LEAD)
	var ahead := (home.rotated(lead) - home) + (step.rotated(0.5 * lead) - step)
	if not clock.placed:
		twist = 0.0
		_shift = Vector3.ZERO
		_remains = 1.0
	elif part >= FREE and part < LAND:
		_fly(part, ahead, lead)
	elif not down:
		_shift = Vector3(ahead.x, ahead.y, _shift.z)
		twist = lead
	else:
		twist = AmbuloGaitClock.wrapped(yaw - yaw_of(turn))
	var was_down := down
	down = part < FREE or part >= LAND
	turn = about_z(twist) * turn
	if clock.placed and down and was_down:
		_keep_contact(sole)
	if clock.placed and part >= LAND:
		_shift.z = 0.0
	_to_ground(sole, ground, part < 0.0)


## Store the present heel, ball and yaw of the foot; its leg may be too short to reach them.
func record(sole: PackedVector3Array) -> void:
	_heel = ankle + turn * sole[0]
	_ball = ankle + turn * sole[1]
	yaw = yaw_of(turn)


## The yaw of the twist of `q` about Z, [rad].
static func yaw_of(q: Quaternion) -> float:
	return AmbuloGaitClock.wrapped(2.0 * atan2(q.z, q.w))


## The rotation by `yaw` about Z.
static func about_z(by: float) -> Quaternion:
	return Quaternion(0.0, 0.0, sin(0.5 * by), cos(0.5 * by))


func _fly(part: float, ahead: Vector2, lead: float) -> void:
	var x := minf((part - FREE) / (SETTLED - FREE), 1.0)
	var left := 1.0 - x * x * (3.0 - 2.0 * x)
	var before := 1.0 if down else _remains
	var keep := minf(left / maxf(before, 1e-9), 1.0)
	_shift = Vector3(
		ahead.x + keep * (_shift.x - ahead.x),
		ahead.y + keep * (_shift.y - ahead.y),
		keep * _shift.z
	)
	twist = lead + keep * AmbuloGaitClock.wrapped(twist - lead)
	_remains = left


func _keep_contact(sole: PackedVector3Array) -> void:
	var heel := turn * sole[0]
	var ball := turn * sole[1]
	var moved := _ball - ankle - ball
	if heel.z < ball.z - HEEL_FIRST:
		moved = _heel - ankle - heel
	_shift = Vector3(moved.x, moved.y, _shift.z)


func _to_ground(sole: PackedVector3Array, ground: float, stands: bool) -> void:
	var low := ankle.z + minf((turn * sole[0]).z, (turn * sole[1]).z) - ground
	if stands:
		_shift.z = -low
	ankle += Vector3(_shift.x, _shift.y, maxf(_shift.z, -low))
