class_name AmbuloAvatarPose
extends AmbuloHumanPose
## The body of a walking character, from the pose of its head and, if given, of its hands.
##
## The computation is that of `ambulo.ik.avatar`, without Python: equal steps give equal poses (to
## 1e-4 m and rad, tests/envs/godot/test_avatar_in_engine.py). Axes are the contract's, X ahead, Y
## to the left, Z up; joints are those of human23.

const COUNTER := 0.35
const TOES_OUT := 0.12
const LEAST_LIFT := 0.5
const STANCE_PART := 0.31
const APART := 0.05
const LONGEST := 2.0
const LOWEST := 0.12
const MOST_ROLL := 0.8
const LEAVING := 0.2
const COMING := 0.6
const TURNING := deg_to_rad(20.0)
const FAR_FOOT := 0.09
const FAR_YAW := deg_to_rad(22.0)
## Direction of the left elbow in the head's heading; the right one's is mirrored.
const POLE := Vector3(-0.4, 0.5, -1.0)

## Speed, heading and phase of the gait.
var clock := AmbuloGaitClock.new()
## Left and right foot.
var feet: Array[AmbuloAvatarFoot] = [AmbuloAvatarFoot.new(), AmbuloAvatarFoot.new()]
## Whether the head follows its target exactly; otherwise it sways around it as in the gait.
var exact_head := false

var _table: AmbuloGaitTable
var _sole: PackedVector3Array
var _eyes: Vector3


## The body of [param file], which was loaded without error.
func _init(file: AmbuloCharacterFile) -> void:
	_table = file.table
	_sole = file.sole
	_eyes = file.eyes
	offsets = file.offsets
	parents = file.parents
	var count := offsets.size()
	local.resize(count)
	world.resize(count)
	positions.resize(count)
	reset()


## Clear the state; the next [method step] places the avatar on both feet.
func reset() -> void:
	clock.reset()
	var both := 0.5 * (_table.stance[0].y + _table.stance[0].z)
	clock.phase = both - floorf(both)


## Advance by [param dt] seconds. [param eyes] is the world position of the middle of the
## eyes [m], [param gaze] the head's orientation, [param ground] the floor's height [m].
## [param hands] may hold the transforms of the left and the right wrist, or null.
func step(
	eyes: Vector3, gaze: Quaternion, dt: float, ground := 0.0, hands: Array = [null, null]
) -> void:
	var yaw := AmbuloAvatarFoot.yaw_of(gaze)
	clock.follow(eyes.x, eyes.y, yaw, dt)
	clock.set_gait(_table, dt)
	if clock.placed:
		clock.tick(dt)
	_table.pose_at(clock.row, clock.part, clock.phase, 1.0, local)
	var moved := _table.root_at(clock.row, clock.part, clock.phase)
	_set_pelvis()
	var toes: Array[Quaternion] = []
	for i in 2:
		_gait_leg(THIGHS[i], moved, feet[i])
		toes.append(local[THIGHS[i] + 3])
		toes.append(local[THIGHS[i] + 4])
	_table.pose_at(clock.row, clock.part, clock.phase, clock.amount, local)
	moved = _table.stand_root + clock.amount * (moved - _table.stand_root)
	_set_pelvis()
	var middle := _set_trunk(eyes, gaze, moved)
	_set_feet(middle, ground)
	_keep_legs_in_reach()
	for i in 2:
		var thigh := THIGHS[i]
		_set_position(thigh)
		var foot := feet[i]
		foot.ankle = solve_leg(thigh, foot.ankle, foot.hinge, foot.turn)
		_set_toes(thigh, toes[2 * i], toes[2 * i + 1], feet[i].roll)
		feet[i].record(_sole)
	_set_arms(hands, yaw)
	clock.stepping = _needs_step()
	clock.placed = true
	for joint in range(1, local.size()):
		_set_position(joint)
		world[joint] = world[parents[joint]] * local[joint]


func _set_position(joint: int) -> void:
	var parent := parents[joint]
	positions[joint] = positions[parent] + world[parent] * offsets[joint]


func _set_pelvis() -> void:
	local[PELVIS] = AmbuloAvatarFoot.about_z(clock.facing) * local[PELVIS]
	world[PELVIS] = local[PELVIS]


## Ankle in the body frame, foot's orientation and knee's axis of the gait.
func _gait_leg(thigh: int, moved: Vector3, foot: AmbuloAvatarFoot) -> void:
	var facing := AmbuloAvatarFoot.about_z(clock.facing)
	positions[PELVIS] = facing * moved
	for joint in range(thigh, thigh + 3):
		_set_position(joint)
		world[joint] = world[parents[joint]] * local[joint]
	foot.ankle = facing.inverse() * positions[thigh + 2]
	foot.turn = world[thigh + 2]
	foot.hinge = world[thigh] * Vector3(0.0, 1.0, 0.0)


## Place the root under the head, turn trunk, neck and head; the origin of the body frame.
func _set_trunk(eyes: Vector3, gaze: Quaternion, moved: Vector3) -> Vector3:
	var mean := _mixed(_table.heads[clock.row], _table.heads[clock.row + 1])
	mean = _table.stand_head + clock.amount * (mean - _table.stand_head)
	var wanted := eyes - gaze * _eyes
	var facing := AmbuloAvatarFoot.about_z(clock.facing)
	var middle := wanted - facing * mean
	var at := middle + facing * moved
	positions[PELVIS] = Vector3(at.x, at.y, moved.z + wanted.z - _table.stand_head.z)
	var about := AmbuloAvatarFoot.about_z(-COUNTER * clock.offset)
	local[SPINE] = about * local[SPINE]
	local[TORSO] = about * local[TORSO]
	world[SPINE] = world[PELVIS] * local[SPINE]
	world[TORSO] = world[SPINE] * local[TORSO]
	world[NECK] = _nlerp(world[TORSO], gaze, 0.5)
	local[NECK] = world[TORSO].inverse() * world[NECK]
	world[HEAD] = gaze
	local[HEAD] = world[NECK].inverse() * gaze
	for joint in range(SPINE, HEAD + 1):
		_set_position(joint)
	if exact_head:
		positions[PELVIS] += wanted - positions[HEAD]
	return middle


## Convert the gait's ankles from the body frame to feet on the ground in the world.
func _set_feet(middle: Vector3, ground: float) -> void:
	var flat := -_sole[0].z
	var roll := clock.stretch * maxf(clock.direction_x, 0.0)
	var lift := maxf(clock.stretch, LEAST_LIFT)
	var stride := minf(clock.speed / maxf(clock.cycles, 1e-9), LONGEST)
	var apart := absf(clock.direction_y) * (APART + STANCE_PART * stride)
	var window := _table.stance[clock.row].lerp(_table.stance[clock.row + 1], clock.part)
	var means := _table.homes[clock.row].lerp(_table.homes[clock.row + 1], clock.part)
	var homes := _table.stand_homes.lerp(means, clock.amount)
	for i in 2:
		var foot := feet[i]
		var side := 1.0 if i == 0 else -1.0
		var ex := clock.stretch * (foot.ankle.x - means[2 * i])
		var ey := clock.stretch * (foot.ankle.y - means[2 * i + 1])
		var home := Vector2(homes[2 * i], side * maxf(side * homes[2 * i + 1], apart))
		home = home.rotated(clock.facing)
		var step_by := Vector2(
			ex * clock.direction_x - ey * clock.direction_y,
			ex * clock.direction_y + ey * clock.direction_x
		)
		step_by = step_by.rotated(clock.facing)
		foot.ankle = Vector3(
			middle.x + home.x + step_by.x,
			middle.y + home.y + step_by.y,
			ground + flat + lift * (foot.ankle.z - flat)
		)
		var out := clock.facing + side * TOES_OUT * (1.0 - clock.amount)
		foot.turn = _nlerp(AmbuloAvatarFoot.about_z(out), foot.turn, roll)
		foot.goal = Vector3(middle.x + home.x, middle.y + home.y, out)
		foot.place(clock, Vector2(window[2 * i], window[2 * i + 1]), home, step_by, ground, _sole)
		foot.hinge = AmbuloAvatarFoot.about_z(0.5 * foot.twist) * foot.hinge


## Bring standing feet within reach: raise their heels first, then lower the pelvis.
func _keep_legs_in_reach() -> void:
	var drop := 0.0
	clock.late = 0.0
	var window := _table.stance[clock.row].lerp(_table.stance[clock.row + 1], clock.part)
	for i in 2:
		var foot := feet[i]
		var over := _overreach(THIGHS[i], foot.ankle)
		foot.roll = 0.0
		if foot.down and over > 0.0:
			clock.late = maxf(clock.late, over)
			_raise_heel(over, foot)
			over = _overreach(THIGHS[i], foot.ankle)
		var part := AmbuloAvatarFoot.flight(
			clock.phase, window[2 * i], window[2 * i + 1], clock.sign
		)
		var share := 1.0
		if part >= 0.0:
			share = maxf(maxf(1.0 - part / LEAVING, (part - COMING) / (1.0 - COMING)), 0.0)
		drop = maxf(drop, share * over)
	if not exact_head:
		positions[PELVIS].z -= minf(drop, LOWEST)


func _overreach(thigh: int, ankle: Vector3) -> float:
	var length := -STRETCH * (offsets[thigh + 1].z + offsets[thigh + 2].z)
	var hip := positions[PELVIS] + world[PELVIS] * offsets[thigh] - ankle
	return hip.z - sqrt(maxf(length * length - hip.x * hip.x - hip.y * hip.y, 0.01))


## Roll a foot in place when the body has passed over its ball.
func _raise_heel(over: float, foot: AmbuloAvatarFoot) -> void:
	var ahead := foot.turn * Vector3(1.0, 0.0, 0.0)
	var past := positions[PELVIS] - foot.ankle
	if ahead.x * past.x + ahead.y * past.y <= 0.0:
		return
	foot.roll = minf(over / _sole[1].x, MOST_ROLL)
	var ball := foot.ankle + foot.turn * _sole[1]
	foot.turn *= Quaternion(0.0, sin(0.5 * foot.roll), 0.0, cos(0.5 * foot.roll))
	foot.ankle = ball - foot.turn * _sole[1]


func _set_toes(thigh: int, pinky: Quaternion, thumb: Quaternion, roll: float) -> void:
	var share := clock.stretch * maxf(clock.direction_x, 0.0)
	var back := Quaternion(0.0, -sin(0.5 * roll), 0.0, cos(0.5 * roll))
	local[thigh + 3] = back * _nlerp(Quaternion.IDENTITY, pinky, share)
	local[thigh + 4] = back * _nlerp(Quaternion.IDENTITY, thumb, share)


## Solve the arms of hands that have targets; the others keep the gait's swing.
func _set_arms(hands: Array, yaw: float) -> void:
	for i in 2:
		if hands[i] == null:
			continue
		var wrist: Transform3D = hands[i]
		var clavicle := CLAVICLES[i]
		var side := 1.0 if i == 0 else -1.0
		for joint in [SPINE, TORSO, clavicle]:
			_set_position(joint)
		world[clavicle] = world[TORSO] * local[clavicle]
		_set_position(clavicle + 1)
		var pole := AmbuloAvatarFoot.about_z(yaw) * Vector3(POLE.x, side * POLE.y, POLE.z)
		var turn := wrist.basis.get_rotation_quaternion()
		solve_arm(clavicle, side, wrist.origin, pole, turn)


## Whether the feet must step although the avatar stands.
func _needs_step() -> bool:
	if absf(clock.rate) > TURNING:
		return true
	if clock.speed > AmbuloGaitClock.STILL:
		return false
	var worst := 0.0
	for foot in feet:
		if not foot.down:
			return true
		var away := Vector2(foot.ankle.x - foot.goal.x, foot.ankle.y - foot.goal.y)
		var turned := absf(AmbuloGaitClock.wrapped(foot.yaw - foot.goal.z))
		worst = maxf(worst, maxf(away.length() / FAR_FOOT, turned / FAR_YAW))
	return worst > (0.5 if clock.stepping else 1.0)


func _mixed(a: Vector3, b: Vector3) -> Vector3:
	return a + clock.part * (b - a)


static func _nlerp(a: Quaternion, b: Quaternion, t: float) -> Quaternion:
	var u := t if a.dot(b) >= 0.0 else -t
	return (a * (1.0 - t) + b * u).normalized()
