class_name AmbuloGaitTable
extends RefCounted
## The gait of one body at many speeds and phases.
##
## `ambulo.ik.avatar.table` explains the numbers; they come with an [AmbuloCharacterFile]. Axes are
## the contract's: X ahead, Y to the left, Z up.

## Ascending speeds, [m/s].
var speeds: PackedFloat64Array = []
## Cycles of two steps per second, [Hz].
var rates: PackedFloat64Array = []
## Number of phases of a cycle.
var phases := 0
## Number of joints of the body.
var joints := 0
## Local rotations (x, y, z, w) by speed, phase and joint.
var rotations: PackedVector4Array = []
## Root by speed and phase: ahead, to the left, height, [m].
var root: PackedVector3Array = []
## By speed: phases at which the left foot comes down and leaves, then the right foot.
var stance: PackedVector4Array = []
## By speed: mean place of the left ankle, then of the right one, [m].
var homes: PackedVector4Array = []
## By speed: mean position of the head, [m].
var heads: PackedVector3Array = []
## Local rotations of the standing pose.
var stand: PackedVector4Array = []
## Root of the standing pose, [m].
var stand_root := Vector3.ZERO
## Ankles of the standing pose: left x y, right x y, [m].
var stand_homes := Vector4.ZERO
## Head of the standing pose, [m].
var stand_head := Vector3.ZERO


## Row k of the table and fraction t such that `speed` lies at k + t, clamped: (k, t).
func bracket(speed: float) -> PackedFloat64Array:
	var last := speeds.size() - 2
	var k := 0
	while k < last and speed >= speeds[k + 1]:
		k += 1
	var t := (speed - speeds[k]) / (speeds[k + 1] - speeds[k])
	return [k, clampf(t, 0.0, 1.0)]


## The root at row k + t and `phase`, [m].
func root_at(k: int, t: float, phase: float) -> Vector3:
	var at := (phase - floorf(phase)) * phases
	var p := mini(int(at), phases - 1)
	var u := at - p
	var n := p + 1 if p + 1 < phases else 0
	var first := k * phases
	var second := first + phases
	return (
		(1.0 - t) * (1.0 - u) * root[first + p]
		+ (1.0 - t) * u * root[first + n]
		+ t * (1.0 - u) * root[second + p]
		+ t * u * root[second + n]
	)


## Fill `out` with the pose at row k + t and `phase`, blended with the standing pose of weight 1 -
## `part`.
func pose_at(k: int, t: float, phase: float, part: float, out: Array[Quaternion]) -> void:
	var at := (phase - floorf(phase)) * phases
	var p := mini(int(at), phases - 1)
	var u := at - p
	var n := p + 1 if p + 1 < phases else 0
	var a := part * (1.0 - t) * (1.0 - u)
	var b := part * (1.0 - t) * u
	var c := part * t * (1.0 - u)
	var d := part * t * u
	var e := 1.0 - part
	var one := (k * phases + p) * joints
	var two := (k * phases + n) * joints
	var three := one + phases * joints
	var four := two + phases * joints
	for j in joints:
		var q := (
			a * rotations[one + j]
			+ b * rotations[two + j]
			+ c * rotations[three + j]
			+ d * rotations[four + j]
			+ e * stand[j]
		)
		q = q.normalized()
		out[j] = Quaternion(q.x, q.y, q.z, q.w)
