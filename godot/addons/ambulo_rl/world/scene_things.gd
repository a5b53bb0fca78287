class_name AmbuloSceneThings
extends RefCounted
## What moves in a user's own scene, near an agent: bodies that are made to (AnimatableBody3D,
## CharacterBody3D, RigidBody3D), and any that was seen to have moved since the last decision.
##
## A body is an upright box around its shapes, a person a cylinder.

# Bodies that one look finds at most, and looks at most.
const _AT_ONCE := 64
const _MOST_LOOKS := 16
# A body has moved if a number of its pose differs by more, [m].
const _MOVED := 1e-4

## Bodies that move, of those that were found.
var moving: Array[RID] = []
## Decisions made, counted by the caller: what has moved in between has moved in that time.
var clock := 0

var _state: PhysicsDirectSpaceState3D
var _query := PhysicsShapeQueryParameters3D.new()
var _around := SphereShape3D.new()
# What was found to stand still, which is not found again until a ray ends at it and it has moved.
var _still: Array[RID] = []
var _tracks: Dictionary[int, _Track] = {}
# Bodies that stand still by their kind, but have moved.
var _moved: Dictionary[int, bool] = {}


## The bodies of a physics space.
func _init(state: PhysicsDirectSpaceState3D) -> void:
	_state = state
	_query.shape = _around


## Rows of what moves within the reach of [param spec] of a point in the engine's axes, those of
## the layers [param mask] that are not [param excluded].
func near(eye: Vector3, spec: AmbuloSpec, mask: int, excluded: Array[RID]) -> PackedFloat64Array:
	_around.radius = spec.ray_length
	_query.transform = Transform3D(Basis.IDENTITY, eye)
	_query.collision_mask = mask
	var rows := PackedFloat64Array()
	var seen: Dictionary[int, bool] = {}
	for _k in _MOST_LOOKS:
		_query.exclude = excluded + _still
		var hits := _state.intersect_shape(_query, _AT_ONCE)
		var stand := _still.size()
		for hit in hits:
			var id: int = hit.collider_id
			if seen.has(id):
				continue
			seen[id] = true
			var body := hit.collider as CollisionObject3D
			if not is_moving(hit.collider as Node3D):
				_still.append(hit.rid)
			elif body != null:
				rows.append_array(_tracks[id].row(body, clock, spec.decision_dt()))
				if not moving.has(hit.rid):
					moving.append(hit.rid)
		if hits.size() < _AT_ONCE or _still.size() == stand:
			break
	return rows


## What ends a ray at which [param hits] were found, one of the kinds of ends: [param otherwise]
## without any.
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
	if AmbuloSceneSurvey.is_moving_body(body) or AmbuloSpace.is_person(body):
		return true
	if not _moved.has(id) and _tracks[id].has_left(pose):
		_moved[id] = true
		if body is CollisionObject3D:
			_still.erase((body as CollisionObject3D).get_rid())
	return _moved.has(id)


## A body, and where it was.
class _Track:
	extends RefCounted

	# Box around the shapes, in the body's own axes.
	var _box := AABB()
	var _first: Transform3D
	var _row: PackedFloat64Array = []
	var _old: PackedFloat64Array = []
	var _at := 0
	var _decisions := 1

	func _init(node: Node3D, pose: Transform3D) -> void:
		_first = pose
		var body := node as CollisionObject3D
		if body == null:
			return
		var is_first := true
		for owner in body.get_shape_owners():
			for k in body.shape_owner_get_shape_count(owner):
				var shape := body.shape_owner_get_shape(owner, k)
				var local := body.shape_owner_get_transform(owner)
				var around := local * AmbuloSceneSurvey.box_of(shape)
				_box = around if is_first else _box.merge(around)
				is_first = false

	## Whether it is no longer where it was first seen.
	func has_left(pose: Transform3D) -> bool:
		var apart := (pose.origin - _first.origin).length()
		for k in 3:
			apart = maxf(apart, (pose.basis[k] - _first.basis[k]).length())
		return apart > _MOVED

	## Its numbers in the decision [param clock], one of [param dt] seconds.
	func row(body: Node3D, clock: int, dt: float) -> PackedFloat64Array:
		if clock != _at or _row.is_empty():
			var now := _row_of(body)
			_old = now if _row.is_empty() else _row
			_decisions = maxi(clock - _at, 1)
			_row = now
			_at = clock
		return AmbuloSight.with_rates(_row, _old, dt * _decisions)

	func _row_of(body: Node3D) -> PackedFloat64Array:
		var pose := body.global_transform
		var yaw := AmbuloAxes.yaw_of(pose.basis)
		var turned := AmbuloAxes.basis(yaw)
		var around := Transform3D(turned.inverse() * pose.basis) * _box
		var middle := AmbuloAxes.from_godot(pose.origin + turned * around.get_center())
		var half := 0.5 * around.size
		var ends := [middle[2] - half.y, middle[2] + half.y]
		if AmbuloSpace.is_person(body):
			var radius := maxf(half.x, half.z)
			return [middle[0], middle[1], radius, radius, 1.0, 0.0] + ends + [AmbuloThings.PERSON]
		return (
			[middle[0], middle[1], half.z, half.x, cos(yaw), sin(yaw)] + ends + [AmbuloThings.BOX]
		)
