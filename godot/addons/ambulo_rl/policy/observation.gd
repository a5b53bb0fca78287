class_name AmbuloObservation
extends RefCounted
## The published numbers of an observation, from the state row of a player.
##
## A state row comes from [method AmbuloWorld.state_rows]; only its front, up to the rays, is read.
## Axes are the contract's: X forward at yaw 0, Y left, Z up. With 16 rays the observation has the
## 48 published numbers.

## Tasks in the order of the task id.
const TASKS: PackedStringArray = ["navigate", "follow", "reach", "patrol"]

## Names and sizes of the parts before and after the rays.
const _BEFORE_RAYS := {
	"camera_position": 3,
	"camera_rotation": 4,
	"camera_velocity": 3,
	"camera_angular_velocity": 3,
}
const _AFTER_RAYS := {
	"left_controller_position": 3,
	"right_controller_position": 3,
	"left_controller_velocity": 3,
	"right_controller_velocity": 3,
	"goal_position": 3,
	"goal_distance": 1,
	"goal_direction": 3,
}


## Numbers of the published part with [param num_rays] rays.
static func published_size(num_rays: int) -> int:
	return 32 + num_rays


## Names and sizes of all parts that this add-on fills, in order.
static func layout(
	num_rays: int, has_task_id: bool, memory: String, has_dial := false
) -> Dictionary:
	var parts := _BEFORE_RAYS.duplicate()
	parts["ray_sensors"] = num_rays
	parts.merge(_AFTER_RAYS)
	if has_task_id:
		parts["task"] = TASKS.size()
	if has_dial:
		parts["comfort"] = 1
	parts.merge(AmbuloMemory.fields(memory))
	return parts


## Write the published numbers into the front of [param out].
##
## [param row] is a state row, [param goal] the goal in the world (x, y, z) and [param origin] the
## pose at the start of the episode (x, y, yaw). [param head] turns vectors into the frame of the
## head and the pose into that of the start; otherwise all values are in world axes. The camera is
## at [param eye_height] [m], and the height of the hands scales with it.
static func write(
	row: PackedFloat64Array,
	goal: PackedFloat64Array,
	origin: PackedFloat64Array,
	num_rays: int,
	head: bool,
	out: PackedFloat32Array,
	eye_height := AmbuloContract.EYE_HEIGHT
) -> void:
	var x := row[0]
	var y := row[1]
	var yaw := row[AmbuloWorld.YAW]
	var cos_back := 1.0
	var sin_back := 0.0
	var cos_hand := cos(yaw)
	var sin_hand := sin(yaw)
	if head:
		cos_back = cos_hand
		sin_back = -sin_hand
		cos_hand = 1.0
		sin_hand = 0.0
		var dx := x - origin[0]
		var dy := y - origin[1]
		var cos_origin := cos(-origin[2])
		var sin_origin := sin(-origin[2])
		x = cos_origin * dx - sin_origin * dy
		y = sin_origin * dx + cos_origin * dy
		yaw -= origin[2]
	out[0] = x
	out[1] = y
	out[2] = row[2] + eye_height
	var half := 0.5 * fposmod(yaw + PI, TAU) - 0.5 * PI
	out[3] = 0.0
	out[4] = 0.0
	out[5] = sin(half)
	out[6] = cos(half)
	var vx := cos_back * row[AmbuloWorld.VELOCITY] - sin_back * row[AmbuloWorld.VELOCITY + 1]
	var vy := sin_back * row[AmbuloWorld.VELOCITY] + cos_back * row[AmbuloWorld.VELOCITY + 1]
	var rate := row[AmbuloWorld.YAW_RATE]
	out[7] = vx
	out[8] = vy
	out[9] = row[AmbuloWorld.VELOCITY + 2]
	out[10] = 0.0
	out[11] = 0.0
	out[12] = rate
	for ray in num_rays:
		out[13 + ray] = row[AmbuloWorld.RAYS + ray]
	var at := 13 + num_rays
	var scale := eye_height / AmbuloContract.EYE_HEIGHT
	var ahead := AmbuloContract.HAND_FORWARD * scale
	for side in 2:
		var left := (AmbuloContract.HAND_LEFT if side == 0 else -AmbuloContract.HAND_LEFT) * scale
		var hand_x := cos_hand * ahead - sin_hand * left
		var hand_y := sin_hand * ahead + cos_hand * left
		out[at] = hand_x
		out[at + 1] = hand_y
		out[at + 2] = AmbuloContract.HAND_UP * scale
		out[at + 6] = vx - rate * hand_y
		out[at + 7] = vy + rate * hand_x
		out[at + 8] = row[AmbuloWorld.VELOCITY + 2]
		at += 3
	_write_goal(row, goal, cos_back, sin_back, at + 6, out)


static func _write_goal(
	row: PackedFloat64Array,
	goal: PackedFloat64Array,
	cos_back: float,
	sin_back: float,
	at: int,
	out: PackedFloat32Array
) -> void:
	var dx := goal[0] - row[0]
	var dy := goal[1] - row[1]
	var dz := goal[2] - row[2]
	var gx := cos_back * dx - sin_back * dy
	var gy := sin_back * dx + cos_back * dy
	var flat := gx * gx + gy * gy
	out[at] = gx
	out[at + 1] = gy
	out[at + 2] = dz
	out[at + 3] = sqrt(flat)
	var length := maxf(sqrt(flat + dz * dz), 1e-9)
	out[at + 4] = gx / length
	out[at + 5] = gy / length
	out[at + 6] = dz / length
