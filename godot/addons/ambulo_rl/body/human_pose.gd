class_name AmbuloHumanPose
extends RefCounted
## A pose of human23: local rotations and the forward kinematics; closed-form inverse kinematics of
## two-bone legs and arms.
##
## The computation is that of `ik/avatar/limbs.py`.

const PELVIS := 0
const SPINE := 11
const TORSO := 12
const NECK := 13
const HEAD := 14
const THIGHS: PackedInt32Array = [6, 1]
const CLAVICLES: PackedInt32Array = [19, 15]
## Largest distance that a limb reaches, as a fraction of its length.
const STRETCH := 0.9995

## Local rotations of the joints; the pelvis' is its orientation.
var local: Array[Quaternion] = []
## World orientations of the joints.
var world: Array[Quaternion] = []
## World positions of the joints, [m].
var positions: PackedVector3Array = []
## Offsets of the joints from their parents, [m].
var offsets: PackedVector3Array = []
## Parents of the joints.
var parents: PackedInt32Array = []


## Angle at the limb's base, bend of its middle joint, [rad], and the length reached.
static func corner(first: float, second: float, distance: float) -> PackedFloat64Array:
	var d := clampf(distance, absf(first - second) + 1e-4, STRETCH * (first + second))
	var base := (first * first + d * d - second * second) / (2.0 * first * d)
	var middle := (first * first + second * second - d * d) / (2.0 * first * second)
	return [acos(clampf(base, -1.0, 1.0)), PI - acos(clampf(middle, -1.0, 1.0)), d]


## Turn the leg at joint [param thigh] so that it reaches [param ankle] with a knee whose axis is
## near [param hinge] and a foot of orientation [param turn]; return the resulting ankle.
func solve_leg(thigh: int, ankle: Vector3, hinge: Vector3, turn: Quaternion) -> Vector3:
	var hip := positions[thigh]
	var reach := ankle - hip
	var distance := maxf(reach.length(), 1e-9)
	var e := reach / distance
	var angles := corner(-offsets[thigh + 1].z, -offsets[thigh + 2].z, distance)
	var y := (hinge - hinge.dot(e) * e).normalized()
	var t := cos(angles[0]) * e - sin(angles[0]) * y.cross(e)
	var upper := Basis(t.cross(y), y, -t).get_rotation_quaternion()
	var shin := Quaternion(0.0, sin(0.5 * angles[1]), 0.0, cos(0.5 * angles[1]))
	local[thigh] = world[0].inverse() * upper
	local[thigh + 1] = shin
	local[thigh + 2] = (upper * shin).inverse() * turn
	return hip + angles[2] * e


## Turn the arm at joint [param clavicle] so that it reaches a wrist.
##
## [param side] is 1 for the left arm and -1 for the right one, [param pole] the world
## direction of the elbow, [param hand] the world orientation of the hand.
func solve_arm(clavicle: int, side: float, wrist: Vector3, pole: Vector3, hand: Quaternion) -> void:
	var reach := wrist - positions[clavicle + 1]
	var distance := maxf(reach.length(), 1e-9)
	var e := reach / distance
	var first := absf(offsets[clavicle + 2].y)
	var angles := corner(first, absf(offsets[clavicle + 3].y), distance)
	var p := (pole - pole.dot(e) * e).normalized()
	var y := side * (cos(angles[0]) * e + sin(angles[0]) * p)
	var z := -side * p.cross(e)
	var upper := Basis(y.cross(z), y, z).get_rotation_quaternion()
	var fore := AmbuloAvatarFoot.about_z(-side * angles[1])
	local[clavicle + 1] = world[clavicle].inverse() * upper
	local[clavicle + 2] = fore
	local[clavicle + 3] = (upper * fore).inverse() * hand
