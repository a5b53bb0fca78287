class_name AmbuloGridSensor
extends AmbuloSensor
## Cells around the parent, in its axes: for each cell and class 1 if such a thing is in it. Without
## classes 1 for anything. Row after row from ahead on (2D: from the top), each from the left.

## Cells side by side, and one behind the other.
@export_range(1, 64) var columns := 5
@export_range(1, 64) var rows := 5
## Edge of a cell, [m] or [pixels].
@export_range(0.01, 10000.0, 0.01, "or_greater") var cell := 1.0
## 3D: height of a cell, [m].
@export_range(0.01, 1000.0, 0.01, "or_greater") var height := 1.0
## Most things that are looked at in a cell.
@export_range(1, 64) var most := 8

var _query: RefCounted


func part() -> AmbuloAgentPart:
	return AmbuloAgentPart.of(str(name), [rows * columns * maxi(1, classes.size())], false, 0, 1)


func observe() -> Variant:
	var result := PackedFloat32Array()
	if _query == null:
		_set_up()
	for row in rows:
		for column in columns:
			var aside := (column - (columns - 1) / 2.0) * cell
			var along := (row - (rows - 1) / 2.0) * cell
			_append(result, _things_at(aside, along))
	return result


func _things_at(aside: float, along: float) -> Array[Dictionary]:
	if get_parent() is Node3D:
		var at: Node3D = get_parent()
		var axes := at.global_transform.orthonormalized()
		var query: PhysicsShapeQueryParameters3D = _query
		query.transform = axes.translated_local(Vector3(aside, 0.0, along))
		return at.get_world_3d().direct_space_state.intersect_shape(query, most)
	var at: Node2D = get_parent()
	var query: PhysicsShapeQueryParameters2D = _query
	query.transform = Transform2D(at.global_rotation, at.global_position).translated_local(
		Vector2(aside, along)
	)
	return at.get_world_2d().direct_space_state.intersect_shape(query, most)


func _append(result: PackedFloat32Array, things: Array[Dictionary]) -> void:
	var start := result.size()
	result.resize(start + maxi(1, classes.size()))
	for thing in things:
		var kind := class_of(thing["collider"]) if not classes.is_empty() else 0
		if kind >= 0:
			result[start + kind] = 1.0


func _set_up() -> void:
	if get_parent() is Node3D:
		var box := BoxShape3D.new()
		box.size = Vector3(cell, height, cell) * 0.99
		_query = PhysicsShapeQueryParameters3D.new()
		_query.set("shape", box)
	else:
		var square := RectangleShape2D.new()
		square.size = Vector2(cell, cell) * 0.99
		_query = PhysicsShapeQueryParameters2D.new()
		_query.set("shape", square)
	set_up_query(_query)
