class_name AmbuloBodyTracker
extends RefCounted
## Live body tracking: [method step] computes one whole-body pose from each sample.
##
## The computation is that of `BodyTracker` in `ik/trackers/tracker.py`, without Python: equal
## samples give equal poses (tests/envs/godot/test_body_tracker_in_engine.py). Axes are the
## contract's: X ahead, Y to the left, Z up. Rows of trackers: left hand, right hand, left foot,
## right foot, head, hips.

enum Frame { OK, TIME, GAP, FLOOR, NO_HEAD, LOST }

const TRACKERS := 6
const WIDTH := 17
const SHAPE := 102
const STEP := 105
const POSE := 141
const CONTACTS := 141
const CORRECTION := 145
const TICK := 1.0 / 30.0
const MIN_LAG := 0.01
const LONGEST_GAP := 0.5
const HEAD_HEIGHT := 1.546
const LOWEST := 0.12
const HIGHEST_HEAD := 1.5
const HEAD_ROW := AmbuloTrackerFit.HEAD_ROW

## The pose of the last step.
var pose: AmbuloTrackerFit
## The player's proportions.
var shape := AmbuloTrackerShape.new()
## Probabilities of contact of left heel, left ball, right heel, right ball.
var contacts: PackedFloat64Array = [0.0, 0.0, 0.0, 0.0]
## [enum AmbuloTrackerState.Status] of each tracker, and [enum Frame] of the last sample.
var statuses: PackedInt32Array = [1, 1, 1, 1, 1, 1]
var status := Frame.OK
## Whether to filter the noise of the trackers.
var smooth := true

var _file: AmbuloTrackerFile
var _network: AmbuloTrackerNetwork
var _omega := 0.0
var _trackers: Array[AmbuloTrackerState] = []
var _used: PackedByteArray = [0, 0, 0, 0, 0, 0]
var _state: PackedVector4Array
var _places_before: PackedVector3Array = []
var _turns_before: Array[Quaternion] = []
var _used_before: PackedByteArray = []
var _root := Vector3.ZERO
var _root_speed := Vector3.ZERO
var _root_old := Vector3.ZERO
var _root_new := Vector3.ZERO
var _turns: PackedVector4Array = []
var _speeds: PackedVector4Array = []
var _old: PackedVector4Array = []
var _new: PackedVector4Array = []
var _since := 0.0
var _pace := TICK
var _began := false
var _placed := false
var _ground := 0.0


## A body tracker with the network of [param file], which was loaded without error.
func _init(file: AmbuloTrackerFile) -> void:
	_file = file
	_network = AmbuloTrackerNetwork.new(file)
	_omega = 2.0 / maxf(file.lead - TICK, MIN_LAG)
	reset()


## Clear the state except given proportions.
func reset() -> void:
	if not shape.fixed:
		shape = AmbuloTrackerShape.new()
	_forget()
	_stand(0.0)
	statuses.fill(AmbuloTrackerState.Status.ABSENT)
	status = Frame.NO_HEAD
	_placed = false


## The tracked joints of the player at rest on the ground, by row, in the contract's axes.
func rest() -> PackedVector3Array:
	var offsets := shape.sized_offsets(_file)
	var places := PackedVector3Array()
	for joint in offsets.size():
		var parent := _file.parents[joint]
		places.append(offsets[joint] if parent < 0 else places[parent] + offsets[joint])
	var out := PackedVector3Array()
	for side in 2:
		out.append(places[AmbuloTrackerFit.CLAVICLES[side] + 3])
	for side in 2:
		out.append(places[AmbuloTrackerFit.THIGHS[side] + 2])
	out.append(places[AmbuloTrackerFit.HEAD])
	out.append(places[AmbuloTrackerFit.PELVIS])
	return out


## Set the player's proportions and restart: lengths of trunk, arms and legs relative to human23;
## empty: estimated. False, without effect, if they are out of a person's range.
func set_shape(ratios: PackedFloat64Array) -> bool:
	for ratio in ratios:
		if not (ratio >= AmbuloTrackerShape.SMALLEST and ratio <= AmbuloTrackerShape.LARGEST):
			return false
	if ratios.size() != 0 and ratios.size() != 3:
		return false
	shape = AmbuloTrackerShape.new()
	if not ratios.is_empty():
		shape.ratios = ratios.duplicate()
		shape.fixed = true
	reset()
	return true


## Advance by [param dt] with the samples of the trackers; updates [member pose] and the statuses.
func step(
	places: PackedVector3Array,
	turns: Array[Quaternion],
	present: PackedByteArray,
	dt: float,
	ground := 0.0
) -> void:
	if mini(places.size(), mini(turns.size(), present.size())) != TRACKERS:
		push_error("a sample has %d places, turns and presences" % TRACKERS)
		return
	if not (is_finite(dt) and dt > 0.0):
		status = Frame.TIME
		return
	status = Frame.OK
	if dt > LONGEST_GAP and _began:
		_forget()
		status = Frame.GAP
	if _examine(places, turns, present, dt) and _began:
		var kept := _trackers
		_forget()
		_trackers = kept
		status = Frame.GAP
	if not _trackers[HEAD_ROW].seen:
		status = Frame.GAP
		if not _placed:
			_stand(ground)
			status = Frame.NO_HEAD
		return
	if not _used[HEAD_ROW] and _trackers[HEAD_ROW].age >= AmbuloTrackerState.FORGET:
		status = Frame.LOST
		return
	_placed = true
	var height := HEAD_HEIGHT * shape.scale()
	var head := _trackers[HEAD_ROW].place.z
	var over := (head - ground) / height
	_ground = ground
	if not (is_finite(ground) and over >= LOWEST and over <= HIGHEST_HEAD):
		_ground = head - height
		if status == Frame.OK:
			status = Frame.FLOOR
	_advance(dt)


func _forget() -> void:
	_trackers = []
	for _i in TRACKERS:
		_trackers.append(AmbuloTrackerState.new())
	var shown := pose
	pose = AmbuloTrackerFit.new(_file.parents)
	if shown != null:
		pose.local = shown.local
		pose.world = shown.world
		pose.positions = shown.positions
	_apply_shape()
	_state = _network.new_state()
	_since = 0.0
	_pace = TICK
	_began = false


func _apply_shape() -> void:
	pose.offsets = shape.sized_offsets(_file)
	pose.sole = []
	for point in _file.sole:
		pose.sole.append(point * shape.ratios[AmbuloTrackerShape.LEG])


## Check and filter all samples; whether the body was placed again after a jump of the head.
func _examine(
	places: PackedVector3Array, turns: Array[Quaternion], present: PackedByteArray, dt: float
) -> bool:
	var moved: PackedByteArray = [0, 0, 0, 0, 0, 0]
	var count := 0
	for k in TRACKERS:
		var way := (places[k] - _trackers[k].raw).abs()
		if present[k] and maxf(way.x, maxf(way.y, way.z)) > AmbuloTrackerState.MOVED:
			moved[k] = 1
			count += 1
	var anew := false
	for k in TRACKERS:
		var tracker := _trackers[k]
		var was := tracker.seen
		var found := tracker.check(places[k], turns[k], present[k] > 0, dt, count > moved[k])
		_used[k] = 0
		if found == AmbuloTrackerState.Status.OK:
			anew = anew or (k == HEAD_ROW and was and not tracker.seen)
			if not smooth:
				tracker.seen = false
			tracker.smooth(places[k], turns[k], dt, k)
			_used[k] = 1
		elif found == AmbuloTrackerState.Status.LOST and tracker.age >= AmbuloTrackerState.FORGET:
			found = AmbuloTrackerState.Status.ABSENT
		statuses[k] = found
	return anew


func _advance(dt: float) -> void:
	_since += dt
	if not _began or _since >= TICK - 0.5 * minf(dt, TICK):
		_tick()
	var part := minf(_since / _pace, 1.0)
	var decay := exp(-_omega * dt)
	var target := _root_old + part * (_root_new - _root_old)
	var error := _root - target
	var drive := (_root_speed + _omega * error) * dt
	_root = target + (error + drive) * decay
	_root_speed = (_root_speed - _omega * drive) * decay
	for joint in _turns.size():
		var aim := _old[joint] + part * (_new[joint] - _old[joint])
		var off := _turns[joint] - aim
		var push := (_speeds[joint] + _omega * off) * dt
		var turned := aim + (off + push) * decay
		_turns[joint] = turned
		_speeds[joint] = (_speeds[joint] - _omega * push) * decay
		pose.local[joint] = Quaternion(turned.x, turned.y, turned.z, turned.w).normalized()
	pose.fit(_root, _trackers, _used, contacts, _ground, dt)
	for joint in pose.positions.size():
		pose.positions[joint].z += _ground


## Run the network on the samples, and set its pose as the target.
func _tick() -> void:
	var places := PackedVector3Array()
	var turns: Array[Quaternion] = []
	for tracker in _trackers:
		places.append(tracker.place - Vector3(0.0, 0.0, _ground))
		turns.append(tracker.turn)
	var interval := _since if _began else TICK
	if not _began:
		_places_before = places
		_turns_before = turns
		_used_before = _used.duplicate()
	var output := _network.step(_inputs(places, turns, interval), _state)
	_places_before = places
	_turns_before = turns
	_used_before = _used.duplicate()
	for i in 4:
		contacts[i] = 1.0 / (1.0 + exp(-output[CONTACTS + i]))
	_root_old = _root_new
	_old = _new
	_read_pose(output, places[HEAD_ROW], turns[HEAD_ROW])
	if not _began:
		_root = _root_new
		_root_old = _root_new
		_root_speed = Vector3.ZERO
		_turns = _new.duplicate()
		_old = _new
		_speeds = []
		_speeds.resize(_new.size())
		_speeds.fill(Vector4.ZERO)
		_began = true
	else:
		for joint in _new.size():
			if _old[joint].dot(_new[joint]) < 0.0:
				_new[joint] = -_new[joint]
	_pace = clampf(interval, 0.5 * TICK, 3.0 * TICK)
	_since = 0.0
	var seen := _used[HEAD_ROW] and (_used[0] or _used[1])
	if seen and shape.update(output, CORRECTION, interval):
		_apply_shape()


func _inputs(
	places: PackedVector3Array, turns: Array[Quaternion], interval: float
) -> PackedFloat32Array:
	var out := PackedFloat32Array()
	out.resize(AmbuloTrackerFile.INPUTS)
	var scale := shape.scale()
	var yaw := _heading(turns[HEAD_ROW])
	var back := Quaternion(0.0, 0.0, -sin(0.5 * yaw), cos(0.5 * yaw))
	var origin := Vector3(places[HEAD_ROW].x, places[HEAD_ROW].y, 0.0)
	for k in TRACKERS:
		var at := k * WIDTH
		var age := 0.0 if _used[k] else _trackers[k].age
		if not _trackers[k].seen:
			age = AmbuloTrackerState.FORGET
		out[at + 15] = _used[k]
		out[at + 16] = minf(age / AmbuloTrackerState.FORGET, 1.0)
		if age < AmbuloTrackerState.FORGET:
			var basis := Basis(back * turns[k])
			_write(out, at, back * (places[k] - origin) / scale)
			# Basis holds columns; the input has the first two rows.
			_write(out, at + 3, Vector3(basis.x.x, basis.y.x, basis.z.x))
			_write(out, at + 6, Vector3(basis.x.y, basis.y.y, basis.z.y))
		if _used[k] and _used_before[k]:
			_write(out, at + 9, back * (places[k] - _places_before[k]) / interval / scale)
			var by := turns[k] * _turns_before[k].inverse()
			_write(out, at + 12, back * Vector3(by.x, by.y, by.z) * (2.0 * by.w / interval))
	for i in 3:
		out[SHAPE + i] = log(shape.ratios[i] / scale)
	out[STEP] = interval / TICK
	return out


func _read_pose(output: PackedFloat32Array, head: Vector3, turn: Quaternion) -> void:
	var yaw := _heading(turn)
	var ahead := Quaternion(0.0, 0.0, sin(0.5 * yaw), cos(0.5 * yaw))
	var hips := shape.scale() * Vector3(output[0], output[1], output[2])
	_root_new = ahead * hips + Vector3(head.x, head.y, 0.0)
	_new = []
	for joint in pose.parents.size():
		var at := 3 + 6 * joint
		var first := Vector3(output[at], output[at + 1], output[at + 2]).normalized()
		var second := Vector3(output[at + 3], output[at + 4], output[at + 5])
		second = (second - first.dot(second) * first).normalized()
		# Rows of the matrix: the columns of its transpose.
		var basis := Basis(first, second, first.cross(second)).transposed()
		var q := basis.get_rotation_quaternion()
		if joint == 0:
			q = ahead * q
		_new.append(Vector4(q.x, q.y, q.z, q.w))


static func _write(out: PackedFloat32Array, at: int, v: Vector3) -> void:
	out[at] = v.x
	out[at + 1] = v.y
	out[at + 2] = v.z


static func _heading(q: Quaternion) -> float:
	return atan2(2.0 * q.w * q.z, q.w * q.w - q.z * q.z)


## Put the body in its rest pose at the origin.
func _stand(ground: float) -> void:
	for joint in pose.local.size():
		pose.local[joint] = Quaternion.IDENTITY
	var height := ground if is_finite(ground) else 0.0
	pose.spread(pose.offsets[0] + Vector3(0.0, 0.0, height))
	contacts = [1.0, 1.0, 1.0, 1.0]
