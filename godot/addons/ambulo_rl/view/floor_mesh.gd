class_name AmbuloFloorMesh
extends RefCounted
## The mesh of a floor with its holes: surface 0 the top, surface 1 all sides.

## Depth of the sides, [m].
const DEPTH := 0.6
## With more holes than this their sides are left out.
const MOST_HOLES := 2000


## The mesh of the floor of [param level], in Godot's axes.
static func of(level: AmbuloLevel) -> ArrayMesh:
	var top := SurfaceTool.new()
	top.begin(Mesh.PRIMITIVE_TRIANGLES)
	top.set_normal(Vector3.UP)
	var pieces := AmbuloLevelSolids.floor_rectangles(level)
	for k in range(0, pieces.size(), 4):
		_add_top(top, pieces.slice(k, k + 4))
	var mesh := top.commit()
	var sides := SurfaceTool.new()
	sides.begin(Mesh.PRIMITIVE_TRIANGLES)
	_add_sides(sides, level.bounds, 1.0)
	if level.holes.size() <= 4 * MOST_HOLES:
		for k in range(0, level.holes.size(), 4):
			_add_sides(sides, _clipped(level.holes.slice(k, k + 4), level.bounds), -1.0)
	return sides.commit(mesh)


static func _clipped(r: PackedFloat64Array, bounds: PackedFloat64Array) -> PackedFloat64Array:
	return [
		clampf(r[0], bounds[0], bounds[2]),
		clampf(r[1], bounds[1], bounds[3]),
		clampf(r[2], bounds[0], bounds[2]),
		clampf(r[3], bounds[1], bounds[3]),
	]


static func _add_top(tool: SurfaceTool, r: PackedFloat64Array) -> void:
	var corners: Array[Vector2] = [
		Vector2(r[0], r[1]), Vector2(r[0], r[3]), Vector2(r[2], r[3]), Vector2(r[2], r[1])
	]
	for k: int in [0, 1, 2, 0, 2, 3]:
		tool.set_uv(corners[k])
		tool.add_vertex(AmbuloAxes.to_godot(corners[k].x, corners[k].y, 0.0))


## Upright sides of a rectangle; [param outwards] -1: seen from inside it.
static func _add_sides(tool: SurfaceTool, r: PackedFloat64Array, outwards: float) -> void:
	if r[2] <= r[0] or r[3] <= r[1]:
		return
	var corners: Array[Vector2] = [
		Vector2(r[0], r[1]), Vector2(r[2], r[1]), Vector2(r[2], r[3]), Vector2(r[0], r[3])
	]
	for k in 4:
		var a := corners[k if outwards > 0.0 else (k + 1) % 4]
		var b := corners[(k + 1) % 4 if outwards > 0.0 else k]
		var along := b - a
		tool.set_normal(AmbuloAxes.to_godot(along.y, -along.x, 0.0).normalized())
		var top_a := AmbuloAxes.to_godot(a.x, a.y, 0.0)
		var top_b := AmbuloAxes.to_godot(b.x, b.y, 0.0)
		var down := Vector3.DOWN * DEPTH
		for point: Vector3 in [top_a, top_b, top_b + down, top_a, top_b + down, top_a + down]:
			tool.add_vertex(point)
