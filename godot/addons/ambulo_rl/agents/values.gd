class_name AmbuloAgentValues
extends RefCounted
## Numbers out of what the scripts of a game return.


## The numbers of [param value] in their order: a number, a truth value, a vector, a packed array
## or a list of such; null where something in it is no number.
static func floats(value: Variant) -> Variant:
	match typeof(value):
		TYPE_PACKED_FLOAT32_ARRAY:
			return value
		TYPE_FLOAT, TYPE_INT, TYPE_BOOL:
			return PackedFloat32Array([value])
		TYPE_PACKED_FLOAT64_ARRAY, TYPE_PACKED_INT32_ARRAY, TYPE_PACKED_INT64_ARRAY:
			return PackedFloat32Array(Array(value))
		TYPE_VECTOR2, TYPE_VECTOR2I:
			return PackedFloat32Array([value.x, value.y])
		TYPE_VECTOR3, TYPE_VECTOR3I:
			return PackedFloat32Array([value.x, value.y, value.z])
		TYPE_VECTOR4, TYPE_QUATERNION:
			return PackedFloat32Array([value.x, value.y, value.z, value.w])
		TYPE_COLOR:
			return PackedFloat32Array([value.r, value.g, value.b, value.a])
		TYPE_ARRAY:
			return _of_list(value)
	return null


## Whether all of [param list] are numbers or truth values.
static func is_flat(list: Array) -> bool:
	if list.get_typed_builtin() == TYPE_FLOAT:
		return true
	for item: Variant in list:
		var type := typeof(item)
		if type != TYPE_FLOAT and type != TYPE_INT and type != TYPE_BOOL:
			return false
	return true


static func _of_list(list: Array) -> Variant:
	if is_flat(list):
		return PackedFloat32Array(list)
	var result := PackedFloat32Array()
	for item: Variant in list:
		var part: Variant = floats(item)
		if part == null:
			return null
		result.append_array(part as PackedFloat32Array)
	return result
