class_name AmbuloTargetSensor
extends AmbuloSensor
## The nearest nodes of the classes, in the parent's axes: for each whether it is there (1 or 0),
## its direction (3D: x, y, z; 2D: x, y), its distance as a part of the range (1 at most), and 1 for
## its class if there are several. The physics is not asked.

## Nodes that are told, the nearest first.
@export_range(1, 64) var count := 1
## Distance that counts as 1, [m] or [pixels]; nodes beyond it are told as well.
@export_range(0.01, 100000.0, 0.01, "or_greater") var sensor_range := 20.0


func problem() -> String:
	return "classes: name the groups of the targets" if classes.is_empty() else super()


func part() -> AmbuloAgentPart:
	return AmbuloAgentPart.of(str(name), [count * _width()], false, -1, 1)


func observe() -> Variant:
	var found: Array[Array] = []
	for k in classes.size():
		for node in get_tree().get_nodes_in_group(classes[k]):
			var offset: Variant = _offset_to(node)
			if offset != null:
				found.append([(offset as Vector3).length(), offset, k])
	found.sort_custom(func(a: Array, b: Array) -> bool: return a[0] < b[0])
	var result := PackedFloat32Array()
	for k in mini(count, found.size()):
		var distance: float = found[k][0]
		var ahead: Vector3 = (found[k][1] as Vector3).normalized()
		result.append_array([1.0, ahead.x, ahead.y])
		if get_parent() is Node3D:
			result.append(ahead.z)
		result.append(minf(distance / sensor_range, 1.0))
		for other in classes.size() if classes.size() > 1 else 0:
			result.append(1.0 if other == found[k][2] else 0.0)
	result.resize(count * _width())
	return result


# Where `node` is in the parent's axes; null: it is the parent, or has no place.
func _offset_to(node: Node) -> Variant:
	if node == get_parent():
		return null
	if node is Node3D and get_parent() is Node3D:
		var at: Node3D = get_parent()
		return (
			at.global_basis.orthonormalized().inverse()
			* ((node as Node3D).global_position - at.global_position)
		)
	if node is Node2D and get_parent() is Node2D:
		var at: Node2D = get_parent()
		var offset := (node as Node2D).global_position - at.global_position
		offset = offset.rotated(-at.global_rotation)
		return Vector3(offset.x, offset.y, 0.0)
	return null


func _width() -> int:
	var axes := 3 if get_parent() is Node3D else 2
	return 2 + axes + (classes.size() if classes.size() > 1 else 0)
