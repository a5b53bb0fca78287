class_name AmbuloTrackerDevices
extends RefCounted
## Poses of headset, controllers and trackers in Godot's axes, as joints in the contract's.
##
## The same sums as in `ik/trackers/conventions.py`, convention `openxr`, whose axes are Godot's:
## the headset is the view between the eyes, controllers are grip poses; of trackers at feet and
## hips the joint itself with its axes at rest, until [method calibrate] has measured how they sit.

const PALM := 0.0756
const THICKNESS := 0.025
## Middle of the eyes in the head's frame, [m].
const EYES := Vector3(0.09, 0.0, 0.085)
## Height of the eyes of human23 when it stands, [m].
const EYE_HEIGHT := AmbuloBodyTracker.HEAD_HEIGHT + 0.085
## Half the distance of the shoulders' joints, and length of an arm to the wrist, of human23, [m].
const SHOULDER := 0.1978
const ARM := 0.5387
## Least distance of the hands in a T-pose, [m].
const LEAST_SPAN := 0.5
## How far the hands' middle may be above, below and beside the head, over their distance.
const HIGHEST_HANDS := 0.05
const LOWEST_HANDS := 0.3
const BESIDE_HEAD := 0.13

## Names of the trackers in recordings, in the order of rows.
const NAMES: PackedStringArray = ["LeftHand", "RightHand", "LeftFoot", "RightFoot", "Head", "Hips"]

var _places: PackedVector3Array = []
var _turns: Array[Quaternion] = []


## Devices of a player with proportions [param ratios]: trunk, arms, legs.
func _init(ratios: PackedFloat64Array = [1.0, 1.0, 1.0]) -> void:
	for k in NAMES.size():
		_places.append(Vector3.ZERO)
		_turns.append(Quaternion.IDENTITY)
	_places[4] = -ratios[0] * EYES
	for k in 2:
		var side := 1.0 - 2.0 * k
		_turns[k] = Quaternion(-side * sqrt(0.5), 0.0, 0.0, sqrt(0.5))
		_places[k] = -(_turns[k] * (ratios[1] * Vector3(0.0, side * PALM, -THICKNESS)))


## The joint of row [param row] of a device at [param pose] under the origin.
func joint(row: int, pose: Transform3D) -> Transform3D:
	var turn := to_contract(pose.basis.get_rotation_quaternion())
	var place := _point(pose.origin) + turn * _places[row]
	return Transform3D(Basis(turn * _turns[row]), place)


## Measure how devices sit on a player in a T-pose, who faces as the line of the hands says (the
## head without hands); false if this is no T-pose.
##
## [param seen] has the pose of each row under the origin, or null; [param rest] the tracked joints
## of the player at rest, in the contract's axes; [param ground] its height.
func calibrate(seen: Array, rest: PackedVector3Array, ground: float) -> bool:
	if not is_t_pose(seen):
		return false
	var body := Quaternion(Vector3(0.0, 0.0, 1.0), _facing(seen))
	var head: Transform3D = seen[4]
	var origin := _point(head.origin) - body * (rest[4] - _places[4])
	origin.z = ground
	for row in NAMES.size():
		if seen[row] == null:
			continue
		var device: Transform3D = seen[row]
		var back := to_contract(device.basis.get_rotation_quaternion()).inverse()
		_places[row] = back * (origin + body * rest[row] - _point(device.origin))
		_turns[row] = back * body
	return true


## Whether there is a head, and hands, if there are both, are out to the sides at the height of
## the shoulders, beside the head.
static func is_t_pose(seen: Array) -> bool:
	if seen[4] == null:
		return false
	if seen[0] == null or seen[1] == null:
		return true
	var line := _line(seen)
	var across := Vector2(line.x, line.y).length()
	if across < maxf(LEAST_SPAN, 2.0 * absf(line.z)):
		return false
	var left: Transform3D = seen[0]
	var head: Transform3D = seen[4]
	var way := _point(head.origin) - (_point(left.origin) - 0.5 * line)
	if way.z < -HIGHEST_HANDS * across or way.z > LOWEST_HANDS * across:
		return false
	return Vector2(way.x, way.y).length() <= BESIDE_HEAD * across


static func _line(seen: Array) -> Vector3:
	var left: Transform3D = seen[0]
	var right: Transform3D = seen[1]
	return _point(left.origin) - _point(right.origin)


## Heading of a player in a T-pose, [rad].
static func _facing(seen: Array) -> float:
	if seen[0] != null and seen[1] != null:
		var line := _line(seen)
		return atan2(-line.x, line.y)
	var head: Transform3D = seen[4]
	var q := to_contract(head.basis.get_rotation_quaternion())
	return atan2(2.0 * (q.w * q.z + q.x * q.y), 1.0 - 2.0 * (q.y * q.y + q.z * q.z))


static func _point(v: Vector3) -> Vector3:
	var at := AmbuloAxes.from_godot(v)
	return Vector3(at[0], at[1], at[2])


## A rotation of Godot's axes in the contract's.
static func to_contract(q: Quaternion) -> Quaternion:
	return Quaternion(-q.z, -q.x, q.y, q.w)


## A rotation of the contract's axes in Godot's.
static func to_godot(q: Quaternion) -> Quaternion:
	return Quaternion(-q.y, q.z, -q.x, q.w)


## Proportions of a player who stands upright with arms to the sides: from the height of the eyes
## over the ground and the distance of the palms, [m]; no hands: in proportion.
static func proportions(eyes: float, span: float) -> PackedFloat64Array:
	var size := clampf(eyes / EYE_HEIGHT, AmbuloTrackerShape.SMALLEST, AmbuloTrackerShape.LARGEST)
	var arm := size
	if span > 0.5:
		arm = (0.5 * span - size * SHOULDER) / (ARM + PALM)
	return [size, clampf(arm, AmbuloTrackerShape.SMALLEST, AmbuloTrackerShape.LARGEST), size]
