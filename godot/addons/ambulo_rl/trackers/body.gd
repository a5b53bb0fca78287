class_name AmbuloBody
extends Node3D
## The whole body of a player, from headset and controllers.
##
## Put it under an [XROrigin3D] beside the camera and controllers that it reads. It shows a
## character with a skin, or moves the rigged one in [member skeleton], whose bones have Godot's
## humanoid names. Locomotion by stick moves the origin, and the body with it. Without a headset it
## plays a [member recording]. The pose also goes to the [XRBodyTracker] `/user/body_tracker`.

## Emitted when the status of a tracker or of the sample changes.
signal status_changed(statuses: PackedInt32Array, frame: int)

const BODY_TRACKER := &"/user/body_tracker"
## Length of the ray from the head to the ground, [m], and time constant at stairs, [s].
const RAY := 3.0
const STAIRS := 0.1
const _BONES: Dictionary[int, String] = {
	XRBodyTracker.JOINT_HIPS: "Hips",
	XRBodyTracker.JOINT_SPINE: "Spine",
	XRBodyTracker.JOINT_CHEST: "Chest",
	XRBodyTracker.JOINT_NECK: "Neck",
	XRBodyTracker.JOINT_HEAD: "Head",
	XRBodyTracker.JOINT_LEFT_SHOULDER: "LeftShoulder",
	XRBodyTracker.JOINT_LEFT_UPPER_ARM: "LeftUpperArm",
	XRBodyTracker.JOINT_LEFT_LOWER_ARM: "LeftLowerArm",
	XRBodyTracker.JOINT_LEFT_HAND: "LeftHand",
	XRBodyTracker.JOINT_RIGHT_SHOULDER: "RightShoulder",
	XRBodyTracker.JOINT_RIGHT_UPPER_ARM: "RightUpperArm",
	XRBodyTracker.JOINT_RIGHT_LOWER_ARM: "RightLowerArm",
	XRBodyTracker.JOINT_RIGHT_HAND: "RightHand",
	XRBodyTracker.JOINT_LEFT_UPPER_LEG: "LeftUpperLeg",
	XRBodyTracker.JOINT_LEFT_LOWER_LEG: "LeftLowerLeg",
	XRBodyTracker.JOINT_LEFT_FOOT: "LeftFoot",
	XRBodyTracker.JOINT_LEFT_TOES: "LeftToes",
	XRBodyTracker.JOINT_RIGHT_UPPER_LEG: "RightUpperLeg",
	XRBodyTracker.JOINT_RIGHT_LOWER_LEG: "RightLowerLeg",
	XRBodyTracker.JOINT_RIGHT_FOOT: "RightFoot",
	XRBodyTracker.JOINT_RIGHT_TOES: "RightToes",
}

## File of the body tracker, from `ambulo export ik_trackers --target godot`.
@export_file("*.ambulo") var tracker_path := "res://policies/ik_trackers.ambulo"
## File of the character with a skin; empty: none.
@export_file("*.ambulo") var character_path := "res://policies/vr_navigation_body.ambulo"
## Rigged character of your own that follows, with Godot's humanoid bone names.
@export var skeleton: NodePath
## Tracked devices; empty: the camera and the controllers among the siblings.
@export var head: NodePath
@export var left_hand: NodePath
@export var right_hand: NodePath
@export var left_foot: NodePath
@export var right_foot: NodePath
@export var hips: NodePath
## Height of the ground under the origin, [m].
@export var ground := 0.0
## Physics layers of the ground, which a ray down from the head finds. None: [member ground] stays
## as it is.
@export_flags_3d_physics var ground_mask := 0
## Recording to play in place of the devices; see [AmbuloTrackerRecording].
@export_file("*.trackers") var recording := ""
## Whether to hide the character's head, so that the player's camera is not inside it.
@export var first_person := false

## The tracked body; null until a file is loaded.
var body: AmbuloBodyTracker
## The displayed character, or null.
var character: AmbuloCharacter
## The last error; empty if there is none.
var error := ""

var _devices := AmbuloTrackerDevices.new()
var _nodes: Array[Node3D] = []
var _played: AmbuloTrackerRecording
var _time := 0.0
var _tracker: XRBodyTracker
var _said: PackedInt32Array = []


func _ready() -> void:
	if not load_tracker(tracker_path):
		push_error(error)
		return
	if character_path != "":
		character = AmbuloCharacter.new()
		character.top_level = true
		add_child(character)
		if not character.load_character(character_path):
			error = character.error
			push_error(error)
			return
		var own := get_node_or_null(skeleton) as Skeleton3D
		if own != null:
			if not character.drive(own):
				error = character.error
				push_error(error)
			character.skeleton.visible = false
	_find_nodes()
	if recording != "" and not play(recording):
		push_error(error)
	_tracker = XRBodyTracker.new()
	_tracker.type = XRServer.TRACKER_BODY
	_tracker.name = BODY_TRACKER
	XRServer.add_tracker(_tracker)


func _exit_tree() -> void:
	if _tracker != null:
		XRServer.remove_tracker(_tracker)
		_tracker = null


func _process(delta: float) -> void:
	if body != null:
		step(delta)


func _physics_process(delta: float) -> void:
	if ground_mask != 0 and body != null and _played == null:
		find_ground(delta)


## Move [member ground] smoothly towards the ground below the head on [member ground_mask], over
## [param delta] seconds; unchanged if there is no ground.
func find_ground(delta: float) -> void:
	var seen: Variant = _seen(4)
	if seen == null:
		return
	var head: Transform3D = seen
	var from := _origin() * head.origin
	var to := _origin() * (head.origin - Vector3(0.0, RAY, 0.0))
	var query := PhysicsRayQueryParameters3D.create(from, to, ground_mask)
	var owner_body := _collider()
	if owner_body != null:
		query.exclude = [owner_body.get_rid()]
	var hit := get_world_3d().direct_space_state.intersect_ray(query)
	if hit.is_empty():
		return
	var at: Vector3 = _origin().affine_inverse() * (hit["position"] as Vector3)
	ground = lerpf(ground, at.y, 1.0 - exp(-delta / STAIRS))


## The player's own collision body above this node, or null.
func _collider() -> CollisionObject3D:
	var node := get_parent()
	while node != null:
		if node is CollisionObject3D:
			return node
		node = node.get_parent()
	return null


## Load the body tracker at [param path]; false, with [member error] set, if it is refused.
func load_tracker(path: String) -> bool:
	var file := AmbuloTrackerFile.new()
	if not file.load_from(path):
		error = file.error
		return false
	body = AmbuloBodyTracker.new(file)
	error = ""
	return true


## Play the recording at [param path] in a loop; false, with [member error] set, if it is refused.
func play(path: String) -> bool:
	var found := AmbuloTrackerRecording.new()
	if not found.load_from(path):
		error = found.error
		return false
	_played = found
	_time = 0.0
	error = ""
	set_shape(found.ratios)
	return true


## Set the player's proportions: lengths of trunk, arms and legs relative to human23; empty:
## estimated. False, without effect, if they are out of a person's range.
func set_shape(ratios: PackedFloat64Array) -> bool:
	if not body.set_shape(ratios):
		return false
	_devices = AmbuloTrackerDevices.new(body.shape.ratios)
	return true


## Measure a player in a T-pose (upright, arms straight out to the sides, looking ahead): the
## proportions, and the mounting of every device on the body. False if this is no T-pose.
func calibrate() -> bool:
	var seen: Array = []
	for row in AmbuloTrackerDevices.NAMES.size():
		seen.append(_seen(row))
	if not AmbuloTrackerDevices.is_t_pose(seen):
		return false
	var eyes: Transform3D = seen[4]
	var span := 0.0
	if seen[0] != null and seen[1] != null:
		var left: Transform3D = seen[0]
		var right: Transform3D = seen[1]
		span = left.origin.distance_to(right.origin)
	if not set_shape(AmbuloTrackerDevices.proportions(eyes.origin.y - ground, span)):
		return false
	return _devices.calibrate(seen, body.rest(), ground)


## Advance by [param delta] seconds with the present samples of the devices or the recording.
func step(delta: float) -> void:
	_time += delta
	var places := PackedVector3Array()
	var turns: Array[Quaternion] = []
	var present := PackedByteArray()
	for row in AmbuloTrackerDevices.NAMES.size():
		var seen: Variant = _seen(row)
		present.append(0 if seen == null else 1)
		var joint := Transform3D.IDENTITY
		if seen != null and (_played == null or _played.devices):
			joint = _devices.joint(row, seen)
		elif seen != null:
			joint = seen
		places.append(joint.origin)
		turns.append(joint.basis.get_rotation_quaternion())
	body.step(places, turns, present, delta, ground if _played == null else _played.ground)
	if body.statuses + PackedInt32Array([body.status]) != _said:
		_said = body.statuses + PackedInt32Array([body.status])
		status_changed.emit(body.statuses, body.status)
	_show()


## Pose of the device of [param row] under the origin in Godot's axes, or null.
func _seen(row: int) -> Variant:
	if _played != null:
		return _played.pose(_played.row_at(_time), row)
	var node := _nodes[row] if row < _nodes.size() else null
	if node == null:
		return null
	var controller := node as XRNode3D
	if controller != null and not controller.get_has_tracking_data():
		return null
	return _origin().affine_inverse() * node.global_transform


func _origin() -> Transform3D:
	var parent := get_parent() as Node3D
	return parent.global_transform if parent != null else Transform3D.IDENTITY


func _find_nodes() -> void:
	_nodes = [null, null, null, null, null, null]
	var paths: Array[NodePath] = [left_hand, right_hand, left_foot, right_foot, head, hips]
	for row in paths.size():
		_nodes[row] = get_node_or_null(paths[row]) as Node3D
	if get_parent() == null:
		return
	for node in get_parent().get_children():
		if node is XRCamera3D and _nodes[4] == null:
			_nodes[4] = node
		var controller := node as XRController3D
		if controller != null:
			var row := 0 if controller.tracker == &"left_hand" else 1
			if _nodes[row] == null:
				controller.pose = &"grip"
				_nodes[row] = controller


func _show() -> void:
	if character == null:
		return
	var size := body.shape.scale()
	var pose := body.pose
	var base := _origin() * Transform3D(Basis.IDENTITY.scaled(size * Vector3.ONE), Vector3.ZERO)
	character.show_pose(pose.positions[0] / size, pose.local, base)
	if first_person:
		var bone := character.skeleton.find_bone("Head")
		character.skeleton.set_bone_pose_scale(bone, 0.001 * Vector3.ONE)
	_feed_tracker()


## Write the pose to Godot's body tracker, in the origin's axes.
func _feed_tracker() -> void:
	if _tracker == null:
		return
	var local := _origin().affine_inverse() * character.skeleton.global_transform
	for joint in XRBodyTracker.JOINT_MAX:
		var bone := character.skeleton.find_bone(_bone_of(joint))
		if bone < 0:
			continue
		var at := local * character.skeleton.get_bone_global_pose(bone)
		_tracker.set_joint_transform(joint, at.orthonormalized())
		_tracker.set_joint_flags(
			joint,
			(
				XRBodyTracker.JOINT_FLAG_ORIENTATION_VALID
				| XRBodyTracker.JOINT_FLAG_POSITION_VALID
				| XRBodyTracker.JOINT_FLAG_ORIENTATION_TRACKED
				| XRBodyTracker.JOINT_FLAG_POSITION_TRACKED
			)
		)
	_tracker.body_flags = (
		XRBodyTracker.BODY_FLAG_UPPER_BODY_SUPPORTED | XRBodyTracker.BODY_FLAG_LOWER_BODY_SUPPORTED
	)
	_tracker.has_tracking_data = body.status != AmbuloBodyTracker.Frame.NO_HEAD


## The humanoid bone of a joint of [XRBodyTracker].
static func _bone_of(joint: int) -> String:
	return _BONES.get(joint, "")
