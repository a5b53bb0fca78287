class_name AmbuloTrackerDevices
extends RefCounted
## Converts poses of headset, controllers and trackers in Godot's axes to joints in the contract's.
##
## The computation is that of `ik/trackers/conventions.py` for convention `openxr`, whose axes are
## Godot's. A headset's pose is between the eyes, a controller's is the grip pose; trackers at feet
## and hips count as the joint itself with its rest axes, until [method calibrate] has measured
## their mounting.

const PALM := 0.0756
const THICKNESS := 0.025
## Middle of the eyes in the head's frame, [m].
const EYES := Vector3(0.09, 0.0, 0.085)
## Height of the eyes of human23 standing, [m].
const EYE_HEIGHT := AmbuloBodyTracker.HEAD_HEIGHT + 0.085
## Half the distance of the shoulder joints, and length of an arm to the wrist, of human23, [m].
const SHOULDER := 0.1978
const ARM := 0.5387
## Least distance of the hands in a T-pose, [m].
const LEAST_SPAN := 0.5
## Largest offset of the hands' middle above, below and beside the head, relative to their distance.
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


## Measure the mounting of the devices on a player in a T-pose; the line of the hands gives the
## heading (the head without hands). False if this is no T-pose.
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


## Whether the head is present, and both hands, if present, are out to the sides at the height of
## the shoulders.
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


## Converts a rotation from Godot's axes to the contract's.
static func to_contract(q: Quaternion) -> Quaternion:
	return Quaternion(-q.z, -q.x, q.y, q.w)


## Converts a rotation from the contract's axes to Godot's.
static func to_godot(q: Quaternion) -> Quaternion:
	return Quaternion(-q.y, q.z, -q.x, q.w)


## Proportions of a player in a T-pose, from the height of the eyes above the ground and the
## distance of the palms, [m]; without hands all scale alike.
static func proportions(eyes: float, span: float) -> PackedFloat64Array:
	var size := clampf(eyes / EYE_HEIGHT, AmbuloTrackerShape.SMALLEST, AmbuloTrackerShape.LARGEST)
	var arm := size
	if span > 0.5:
		arm = (0.5 * span - size * SHOULDER) / (ARM + PALM)
	return [size, clampf(arm, AmbuloTrackerShape.SMALLEST, AmbuloTrackerShape.LARGEST), size]
