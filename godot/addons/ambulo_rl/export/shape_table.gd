extends RefCounted
## The collision shapes of a scene as data for JSON, each stored once.
##
## Files of this folder have no class_name: they also run from outside of a project that has its own
## copy of the add-on.

## Most triangles of all shapes together; a shape counts once per use.
const MOST_TRIANGLES := 1_000_000
const _BALL := 320

## The shapes.
var rows: Array[Dictionary] = []
## Number of triangles of all uses so far.
var triangles := 0

var _index: Dictionary[RID, int] = {}
var _counts: PackedInt32Array = []


## Index of [param shape] in [member rows]; -1: it does not obstruct.
func add(shape: Shape3D) -> int:
	var key := shape.get_rid()
	if not _index.has(key):
		var row := _row(shape)
		if row.is_empty():
			return -1
		_index[key] = rows.size()
		rows.append(row)
		_counts.append(_count(shape))
	var index := _index[key]
	triangles += _counts[index]
	return index


## Sets the distance of a plane from its origin.
func set_distance(shape: Shape3D, distance: float) -> void:
	if _index.has(shape.get_rid()):
		rows[_index[shape.get_rid()]]["size"][3] = distance


func _row(shape: Shape3D) -> Dictionary:
	if shape is BoxShape3D:
		var size := (shape as BoxShape3D).size
		return {"kind": "box", "size": [size.x, size.y, size.z]}
	if shape is SphereShape3D:
		return {"kind": "sphere", "size": [(shape as SphereShape3D).radius]}
	if shape is CapsuleShape3D:
		var capsule: CapsuleShape3D = shape
		return {"kind": "capsule", "size": [capsule.radius, capsule.height]}
	if shape is CylinderShape3D:
		var cylinder: CylinderShape3D = shape
		return {"kind": "cylinder", "size": [cylinder.radius, cylinder.height]}
	if shape is WorldBoundaryShape3D:
		var plane := (shape as WorldBoundaryShape3D).plane
		var normal := plane.normal
		return {"kind": "plane", "size": [normal.x, normal.y, normal.z, plane.d]}
	return _large_row(shape)


func _large_row(shape: Shape3D) -> Dictionary:
	if shape is ConvexPolygonShape3D:
		return {"kind": "convex", "points": _encoded((shape as ConvexPolygonShape3D).points)}
	if shape is ConcavePolygonShape3D:
		var mesh: ConcavePolygonShape3D = shape
		return {
			"kind": "mesh",
			"points": _encoded(mesh.get_faces()),
			"two_sided": mesh.backface_collision,
		}
	if shape is HeightMapShape3D:
		var map: HeightMapShape3D = shape
		return {
			"kind": "heightmap",
			"width": map.map_width,
			"depth": map.map_depth,
			"heights": Marshalls.raw_to_base64(map.map_data.to_byte_array()),
		}
	return {}


static func _encoded(points: PackedVector3Array) -> Dictionary:
	return {"count": points.size(), "data": Marshalls.raw_to_base64(points.to_byte_array())}


# Approximate number of triangles of the shape in a level.
static func _count(shape: Shape3D) -> int:
	if shape is ConcavePolygonShape3D:
		@warning_ignore("integer_division")
		return (shape as ConcavePolygonShape3D).get_faces().size() / 3
	if shape is HeightMapShape3D:
		var map: HeightMapShape3D = shape
		return 2 * map.map_width * map.map_depth
	if shape is ConvexPolygonShape3D:
		return 2 * (shape as ConvexPolygonShape3D).points.size()
	return _BALL if shape is SphereShape3D else 0
