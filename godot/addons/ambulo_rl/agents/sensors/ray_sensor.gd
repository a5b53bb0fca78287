class_name AmbuloRaySensor
extends AmbuloSensor
## Rays in a fan: for each how far the way is free, of its length (1: all of it), then 1 for the
## class of what it hit and 0 for the others.

## Rays side by side, from left to right.
@export_range(1, 360) var rays := 16
## Opening of the fan, [degrees]; 360: all around, from ahead on.
@export_range(0.0, 360.0) var angle := 360.0
## 3D: rows of rays one above the other, and the opening between them, [degrees].
@export_range(1, 32) var rows := 1
@export_range(0.0, 180.0) var rows_angle := 30.0
## Length of a ray, [m] or [pixels].
@export_range(0.01, 10000.0, 0.01, "or_greater") var length := 10.0

var _query: RefCounted
var _directions: PackedVector3Array = []


func part() -> AmbuloAgentPart:
	return AmbuloAgentPart.of(
		str(name),
		[rays * (rows if get_parent() is Node3D else 1) * (1 + classes.size())],
		false,
		0,
		1
	)


func observe() -> Variant:
	var result := PackedFloat32Array()
	if _query == null:
		_set_up()
	if get_parent() is Node3D:
		var at: Node3D = get_parent()
		var origin := at.global_position
		var axes := at.global_basis.orthonormalized()
		var space := at.get_world_3d().direct_space_state
		var query: PhysicsRayQueryParameters3D = _query
		query.from = origin
		for direction in _directions:
			query.to = origin + axes * direction * length
			var hit := space.intersect_ray(query)
			_append(result, hit, (hit["position"] - origin).length() if hit else length)
	else:
		var at: Node2D = get_parent()
		var origin := at.global_position
		var space := at.get_world_2d().direct_space_state
		var query: PhysicsRayQueryParameters2D = _query
		query.from = origin
		for direction in _directions:
			var ahead := Vector2(direction.x, direction.y).rotated(at.global_rotation)
			query.to = origin + ahead * length
			var hit := space.intersect_ray(query)
			_append(result, hit, (hit["position"] - origin).length() if hit else length)
	return result


func _append(result: PackedFloat32Array, hit: Dictionary, distance: float) -> void:
	result.append(distance / length)
	var kind := class_of(hit["collider"]) if hit else -1
	for k in classes.size():
		result.append(1.0 if k == kind else 0.0)


func _set_up() -> void:
	var is_3d := get_parent() is Node3D
	_query = PhysicsRayQueryParameters3D.new() if is_3d else PhysicsRayQueryParameters2D.new()
	set_up_query(_query)
	_directions.clear()
	for row in rows if is_3d else 1:
		var up := deg_to_rad(rows_angle) * (row / (rows - 1.0) - 0.5) if rows > 1 else 0.0
		for k in rays:
			var turn := deg_to_rad(angle) * k / rays
			if angle < 360.0:
				turn = deg_to_rad(angle) * (k / (rays - 1.0) - 0.5) if rays > 1 else 0.0
			if is_3d:
				var flat := Vector3(sin(turn), 0.0, -cos(turn)) * cos(up)
				_directions.append(flat + Vector3(0.0, sin(up), 0.0))
			else:
				_directions.append(Vector3(cos(turn), sin(turn), 0.0))
