class_name AmbuloTrackerFit
extends AmbuloHumanPose
## Fits a predicted pose to its trackers exactly, with feet on the ground.
##
## The computation is that of `ik/trackers/fit.py`, which explains the constants.

## Rows of the trackers.
const LEFT_HAND := 0
const LEFT_FOOT := 2
const HEAD_ROW := 4
const HIPS_ROW := 5
const BENDS := 3
const BEND := 0.7
const REACH := 0.35
const SOFT_LEG := 0.03
const SOFT_ARM := 0.01
const TAKE := 0.2
const LET_GO := 0.4
const REST_FADE := 0.1
const CALM_RATE := 45.0


class Hold:
	extends RefCounted
	## Blends a joint between prediction and tracker: smooth release, and no jump when the tracker
	## returns.
	##
	## The computation is that of `_held` and `_calm` in `ik/trackers/fit.py`.

	## Weight of the tracker, from 0 (prediction) to 1 (tracker).
	var weight := 0.0

	var _there := false
	var _once := false
	var _offset := Vector3.ZERO
	var _rest := Vector3.ZERO
	var _calmed := false
	var _calm := Vector3.ZERO
	var _calm_speed := Vector3.ZERO

	## Target position of a joint predicted at [param predicted].
	func goal(place: Vector3, present: bool, predicted: Vector3, dt: float) -> Vector3:
		if present:
			var before := weight
			if weight == 0.0 and not _once:
				weight = 1.0
			elif not _there:
				_rest += before * (_offset - (place - predicted))
			weight = minf(weight + dt / TAKE, 1.0)
			_offset = place - predicted
			_there = true
			_once = true
		else:
			weight *= exp(-dt / LET_GO)
			_there = false
			if weight < 1e-3:
				weight = 0.0
		_rest *= exp(-dt / REST_FADE)
		return predicted + weight * _offset + _rest

	## Displacement of the body for a head error of [param shift].
	func calm(shift: Vector3, dt: float) -> Vector3:
		if not _calmed:
			_calmed = true
			_calm = shift
			_calm_speed = Vector3.ZERO
			return shift
		var decay := exp(-CALM_RATE * dt)
		var error := _calm - shift
		var drive := (_calm_speed + CALM_RATE * error) * dt
		_calm = shift + (error + drive) * decay
		_calm_speed = (_calm_speed - CALM_RATE * drive) * decay
		return _calm


## Heel and ball in the ankle's frame, [m].
var sole: PackedVector3Array = []
## Left and right foot.
var feet: Array[AmbuloTrackerFoot] = [AmbuloTrackerFoot.new(), AmbuloTrackerFoot.new()]
## Blending states of the trackers.
var holds: Array[Hold] = []


func _init(tree: PackedInt32Array) -> void:
	parents = tree
	for _i in 6:
		holds.append(Hold.new())
	for _joint in tree.size():
		local.append(Quaternion.IDENTITY)
		world.append(Quaternion.IDENTITY)
	positions.resize(tree.size())


## Fit the pose with the pelvis at [param root] and [member local] to the trackers' places.
func fit(
	root: Vector3,
	trackers: Array[AmbuloTrackerState],
	present: PackedByteArray,
	contacts: PackedFloat64Array,
	ground: float,
	dt: float
) -> void:
	spread(root)
	var ankles: PackedVector3Array = []
	for thigh in THIGHS:
		ankles.append(positions[thigh + 2] - root)
	var given := trackers[HIPS_ROW]
	var at := holds[HIPS_ROW].goal(_seen(given, ground), present[HIPS_ROW] > 0, root, dt)
	var part := holds[HIPS_ROW].weight
	if part > 0.0:
		_put_hips(at, given.turn, part)
	given = trackers[HEAD_ROW]
	at = holds[HEAD_ROW].goal(_seen(given, ground), present[HEAD_ROW] > 0, positions[HEAD], dt)
	var weight := holds[HEAD_ROW].weight
	if weight > 0.0:
		if part > 0.0:
			_bend_spine(at, part)
		var shift := holds[HEAD_ROW].calm(at - positions[HEAD], dt)
		for joint in positions.size():
			positions[joint] += shift
		world[HEAD] = AmbuloTrackerState.mix(world[HEAD], given.turn, weight)
		local[HEAD] = world[NECK].inverse() * world[HEAD]
	root = positions[PELVIS]
	for side in 2:
		feet[side].ankle = root + ankles[side]
		_fit_leg(
			side, trackers[LEFT_FOOT + side], present[LEFT_FOOT + side] > 0, contacts, ground, dt
		)
		given = trackers[LEFT_HAND + side]
		var hold := holds[LEFT_HAND + side]
		var hand := CLAVICLES[side] + 3
		at = hold.goal(_seen(given, ground), present[LEFT_HAND + side] > 0, positions[hand], dt)
		if hold.weight > 0.0:
			_fit_arm(side, at, given.turn, hold.weight)
	spread(root)


## Compute positions and orientations of all joints from [member local].
func spread(root: Vector3) -> void:
	for joint in parents.size():
		var parent := parents[joint]
		if parent < 0:
			positions[joint] = root
			world[joint] = local[joint]
		else:
			positions[joint] = positions[parent] + world[parent] * offsets[joint]
			world[joint] = world[parent] * local[joint]


## The end of a nearly straight limb, moved slightly towards its base.
static func soften(base: Vector3, longest: float, zone: float, end: Vector3) -> Vector3:
	var distance := base.distance_to(end)
	var width := zone * longest
	var over := distance - (longest - width)
	if over <= 0.0:
		return end
	return base + (longest - width * exp(-over / width)) / distance * (end - base)


static func _seen(tracker: AmbuloTrackerState, ground: float) -> Vector3:
	return tracker.place - Vector3(0.0, 0.0, ground)


## Put the hips at their tracked place; thighs keep their world directions.
func _put_hips(goal: Vector3, turn: Quaternion, weight: float) -> void:
	local[PELVIS] = AmbuloTrackerState.mix(local[PELVIS], turn, weight)
	for thigh in THIGHS:
		local[thigh] = local[PELVIS].inverse() * world[thigh]
	spread(goal)


func _bend_spine(goal: Vector3, weight: float) -> void:
	for _sweep in BENDS:
		for joint: int in [SPINE, TORSO, NECK]:
			var at := positions[joint]
			world[joint] = _swing(world[joint], positions[HEAD] - at, goal - at, BEND * weight)
			local[joint] = world[parents[joint]].inverse() * world[joint]
			spread(positions[PELVIS])


static func _swing(q: Quaternion, from: Vector3, to: Vector3, part: float) -> Quaternion:
	var axis := from.cross(to)
	var sine := axis.length()
	if sine < 1e-9:
		return q
	return Quaternion(axis / sine, part * atan2(sine, from.dot(to))) * q


func _fit_leg(
	side: int,
	tracker: AmbuloTrackerState,
	present: bool,
	contacts: PackedFloat64Array,
	ground: float,
	dt: float
) -> void:
	var thigh := THIGHS[side]
	var foot := feet[side]
	positions[thigh] = positions[PELVIS] + world[PELVIS] * offsets[thigh]
	foot.turn = world[thigh + 2]
	foot.plant(contacts[2 * side], contacts[2 * side + 1], 0.0, sole, dt)
	var ankle := foot.ankle
	var turn := foot.turn
	var hold := holds[LEFT_FOOT + side]
	var at := hold.goal(_seen(tracker, ground), present, ankle, dt)
	if hold.weight > 0.0:
		ankle = at
		turn = AmbuloTrackerState.mix(turn, tracker.turn, hold.weight)
	var longest := -offsets[thigh + 1].z - offsets[thigh + 2].z
	ankle = soften(positions[thigh], longest, SOFT_LEG, ankle)
	solve_leg(thigh, ankle, world[thigh] * Vector3(0.0, 1.0, 0.0), turn)


func _fit_arm(side: int, wrist: Vector3, given: Quaternion, weight: float) -> void:
	var clavicle := CLAVICLES[side]
	var upper := clavicle + 1
	var turn := AmbuloTrackerState.mix(world[clavicle + 3], given, weight)
	var hinge := world[upper] * Vector3(0.0, 0.0, 1.0)
	_reach(clavicle, wrist)
	var shoulder := positions[upper]
	var longest := absf(offsets[clavicle + 2].y) + absf(offsets[clavicle + 3].y)
	wrist = soften(shoulder, longest, SOFT_ARM, wrist)
	var e := (wrist - shoulder) / maxf(shoulder.distance_to(wrist), 1e-9)
	var side_sign := 1.0 - 2.0 * side
	solve_arm(clavicle, side_sign, wrist, side_sign * hinge.cross(e), turn)


func _reach(clavicle: int, wrist: Vector3) -> void:
	var upper := clavicle + 1
	var longest := STRETCH * (offsets[clavicle + 2].length() + offsets[clavicle + 3].length())
	var base := positions[clavicle]
	var missing := positions[upper].distance_to(wrist) - longest
	if missing <= 0.0:
		return
	var bone := positions[upper] - base
	var way := wrist - base
	var length := bone.length()
	var cosine := bone.dot(way) / maxf(length * way.length(), 1e-9)
	var angle := acos(clampf(cosine, -1.0, 1.0))
	if angle > 1e-3:
		var across := maxf(length * sin(angle), 1e-3)
		var part := minf(minf(missing / across, REACH / angle), 1.0)
		world[clavicle] = _swing(world[clavicle], bone, way, part)
		local[clavicle] = world[TORSO].inverse() * world[clavicle]
		positions[upper] = base + world[clavicle] * offsets[upper]
