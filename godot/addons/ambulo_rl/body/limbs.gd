class_name AmbuloLimbs
extends RefCounted
## Legs and arms of two bones that reach a point, in closed form.
##
## The same sums as in `ik/avatar/limbs.py`. Joints are those of human23.

const STRETCH := 0.9995


## Angle at the limb's base, bend of its middle joint, [rad], and the length reached.
static func corner(first: float, second: float, distance: float) -> PackedFloat64Array:
	var d := clampf(distance, absf(first - second) + 1e-4, STRETCH * (first + second))
	var base := (first * first + d * d - second * second) / (2.0 * first * d)
	var middle := (first * first + second * second - d * d) / (2.0 * first * second)
	return [acos(clampf(base, -1.0, 1.0)), PI - acos(clampf(middle, -1.0, 1.0)), d]


## Turn the leg at joint [param thigh] of [param body] so that it reaches [param ankle] with a knee
## whose axis is near [param hinge] and a foot of orientation [param turn]; return where the ankle
## is then.
static func solve_leg(
	body: AmbuloHumanPose, thigh: int, ankle: Vector3, hinge: Vector3, turn: Quaternion
) -> Vector3:
	var hip := body.positions[thigh]
	var reach := ankle - hip
	var distance := maxf(reach.length(), 1e-9)
	var e := reach / distance
	var angles := corner(-body.offsets[thigh + 1].z, -body.offsets[thigh + 2].z, distance)
	var y := (hinge - hinge.dot(e) * e).normalized()
	var t := cos(angles[0]) * e - sin(angles[0]) * y.cross(e)
	var world := Basis(t.cross(y), y, -t).get_rotation_quaternion()
	var shin := Quaternion(0.0, sin(0.5 * angles[1]), 0.0, cos(0.5 * angles[1]))
	body.local[thigh] = body.world[0].inverse() * world
	body.local[thigh + 1] = shin
	body.local[thigh + 2] = (world * shin).inverse() * turn
	return hip + angles[2] * e


## Turn the arm at joint [param clavicle] of [param body] so that it reaches a wrist.
##
## [param side] is 1 for the left arm and -1 for the right one, [param pole] the world
## direction of the elbow, [param hand] the world orientation of the hand.
static func solve_arm(
	body: AmbuloHumanPose,
	clavicle: int,
	side: float,
	wrist: Vector3,
	pole: Vector3,
	hand: Quaternion
) -> void:
	var reach := wrist - body.positions[clavicle + 1]
	var distance := maxf(reach.length(), 1e-9)
	var e := reach / distance
	var first := absf(body.offsets[clavicle + 2].y)
	var angles := corner(first, absf(body.offsets[clavicle + 3].y), distance)
	var p := (pole - pole.dot(e) * e).normalized()
	var y := side * (cos(angles[0]) * e + sin(angles[0]) * p)
	var z := -side * p.cross(e)
	var world := Basis(y.cross(z), y, z).get_rotation_quaternion()
	var fore := AmbuloAvatarFoot.about_z(-side * angles[1])
	body.local[clavicle + 1] = body.world[clavicle].inverse() * world
	body.local[clavicle + 2] = fore
	body.local[clavicle + 3] = (world * fore).inverse() * hand
