class_name AmbuloSceneThings
extends RefCounted
## Moving bodies near an agent in a user's own scene: AnimatableBody3D, CharacterBody3D,
## RigidBody3D, and any other body that has moved since the last decision.
##
## Each shape of a body becomes an upright box around it, a person a cylinder.

## Group of nodes that are people, as every CharacterBody3D is: touching one, or a body below one
## in the tree, counts as a collision with a person.
const PEOPLE := "people"
# Most bodies found per query, and most queries.
const _AT_ONCE := 64
const _MOST_LOOKS := 16
# A body has moved if a number of its pose differs by more, [m].
const _MOVED := 1e-4

## Moving bodies found so far.
var moving: Array[RID] = []
## Number of decisions, counted by the caller; poses are compared between decisions.
var clock := 0

var _state: PhysicsDirectSpaceState3D
var _query := PhysicsShapeQueryParameters3D.new()
var _around := SphereShape3D.new()
# Static bodies, excluded from queries until a ray ends at one that has moved.
var _still: Dictionary[int, RID] = {}
var _tracks: Dictionary[int, _Track] = {}
# Bodies of static types that have moved.
var _moved: Dictionary[int, bool] = {}


## The bodies of a physics space.
func _init(state: PhysicsDirectSpaceState3D) -> void:
	_state = state
	_query.shape = _around


## Rows of the moving bodies within the ray range of [param spec] around a point in the engine's
## axes, on the layers [param mask] and not [param excluded].
func near(eye: Vector3, spec: AmbuloSpec, mask: int, excluded: Array[RID]) -> PackedFloat64Array:
	_around.radius = spec.ray_length
	_query.transform = Transform3D(Basis.IDENTITY, eye)
	_query.collision_mask = mask
	var rows := PackedFloat64Array()
	var seen: Dictionary[int, bool] = {}
	for _k in _MOST_LOOKS:
		_query.exclude = excluded + _still.values()
		var hits := _state.intersect_shape(_query, _AT_ONCE)
		var stand := _still.size()
		for hit in hits:
			var id: int = hit.collider_id
			if seen.has(id):
				continue
			seen[id] = true
			var body := hit.collider as Node3D
			if not is_moving(body):
				_still[id] = hit.rid
				continue
			rows.append_array(_tracks[id].rows(body, clock, spec.decision_dt()))
			if not moving.has(hit.rid):
				moving.append(hit.rid)
		if hits.size() < _AT_ONCE or _still.size() == stand:
			break
	return rows


## Kind of the end of a ray with the hits [param hits]; [param otherwise] without hits.
func kind_of(hits: Array[Dictionary], otherwise: int) -> int:
	for hit in hits:
		if not is_moving(hit.collider as Node3D):
			return AmbuloContract.WALL
	return otherwise if hits.is_empty() else AmbuloContract.MOVER


## Whether the body of a collider moves, or has moved.
func is_moving(body: Node3D) -> bool:
	if body == null:
		return false
	var id := body.get_instance_id()
	var pose := body.global_transform
	if not _tracks.has(id):
		_tracks[id] = _Track.new(body, pose)
	if AmbuloSceneSurvey.is_moving_body(body) or is_person(body):
		return true
	if not _moved.has(id) and _tracks[id].has_left(pose):
		_moved[id] = true
		_still.erase(id)
	return _moved.has(id)


## Whether a node is a person, or part of one, see [constant PEOPLE].
static func is_person(node: Node) -> bool:
	while node != null:
		if node is CharacterBody3D or node.is_in_group(PEOPLE):
			return true
		node = node.get_parent()
	return false


## The carrier of an agent: the collider that it stands on.
class Ride:
	extends RefCounted

	## Displacement by the carrier since [method begin], in the contract's axes, [m].
	var way_x := 0.0
	var way_y := 0.0

	var _on: Node3D
	var _pose := Transform3D.IDENTITY

	## Starts a decision.
	func begin() -> void:
		way_x = 0.0
		way_y = 0.0

	## Sets the carrier to [param collider]; null: none.
	func board(collider: Node3D) -> void:
		_on = collider
		if collider != null:
			_pose = collider.global_transform

	## Moves the agent whose state row begins at [param row] of [param rows] with its carrier;
	## returns the horizontal distance, [m].
	func carry(rows: PackedFloat64Array, row: int) -> float:
		if not is_instance_valid(_on) or not _on.is_inside_tree():
			_on = null
			return 0.0
		var pose := _on.global_transform
		if pose == _pose:
			return 0.0
		var at := AmbuloAxes.to_godot(rows[row], rows[row + 1], rows[row + 2])
		var way := AmbuloAxes.from_godot(pose * (_pose.affine_inverse() * at) - at)
		_pose = pose
		for k in 3:
			rows[row + k] += way[k]
		way_x += way[0]
		way_y += way[1]
		return sqrt(way[0] ** 2 + way[1] ** 2)


## A body and its previous pose.
class _Track:
	extends RefCounted

	# Boxes around the shapes, in the body's own axes; of a person one around all shapes.
	var _boxes: Array[AABB] = []
	var _first: Transform3D
	# Rows of these boxes, now and at the last query.
	var _rows: PackedFloat64Array = []
	var _old: PackedFloat64Array = []
	var _at := 0
	var _decisions := 1

	func _init(node: Node3D, pose: Transform3D) -> void:
		_first = pose
		var body := node as CollisionObject3D
		if body == null:
			if node is CSGShape3D:
				_boxes.append((node as CSGShape3D).get_aabb())
			return
		for owner in body.get_shape_owners():
			if body.is_shape_owner_disabled(owner):
				continue
			for k in body.shape_owner_get_shape_count(owner):
				var shape := body.shape_owner_get_shape(owner, k)
				var local := body.shape_owner_get_transform(owner)
				var around := local * AmbuloSceneSurvey.box_of(shape)
				if _boxes and AmbuloSceneThings.is_person(body):
					_boxes[0] = _boxes[0].merge(around)
				else:
					_boxes.append(around)

	## Whether it has left the pose of its first observation.
	func has_left(pose: Transform3D) -> bool:
		var apart := (pose.origin - _first.origin).length()
		for k in 3:
			apart = maxf(apart, (pose.basis[k] - _first.basis[k]).length())
		return apart > _MOVED

	## Rows of its boxes in the decision [param clock], which lasts [param dt] seconds.
	func rows(body: Node3D, clock: int, dt: float) -> PackedFloat64Array:
		if clock != _at or _rows.is_empty():
			var now := PackedFloat64Array()
			for box in _boxes:
				now.append_array(_row_of(body, box))
			_old = now if _rows.is_empty() else _rows
			_decisions = maxi(clock - _at, 1)
			_rows = now
			_at = clock
		var out := PackedFloat64Array()
		var width := AmbuloThings.ROW
		for k in range(0, _rows.size(), width):
			var old := _old.slice(k, k + width)
			out.append_array(
				AmbuloSight.with_rates(_rows.slice(k, k + width), old, dt * _decisions)
			)
		return out

	func _row_of(body: Node3D, box: AABB) -> PackedFloat64Array:
		var pose := body.global_transform
		var yaw := AmbuloAxes.yaw_of(pose.basis)
		var turned := AmbuloAxes.basis(yaw)
		var around := Transform3D(turned.inverse() * pose.basis) * box
		var middle := AmbuloAxes.from_godot(pose.origin + turned * around.get_center())
		var half := 0.5 * around.size
		var ends := [middle[2] - half.y, middle[2] + half.y]
		if AmbuloSceneThings.is_person(body):
			var radius := maxf(half.x, half.z)
			return [middle[0], middle[1], radius, radius, 1.0, 0.0] + ends + [AmbuloThings.PERSON]
		return (
			[middle[0], middle[1], half.z, half.x, cos(yaw), sin(yaw)] + ends + [AmbuloThings.BOX]
		)
