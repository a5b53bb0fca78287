class_name AmbuloLevelView
extends Node3D
## Draws a level: floor, holes, boxes, stairs, cylinders, ramps, terrains and meshes. It has no
## colliders.

## Depth of the sides of the floor, [m].
const SIDES := 0.6
## With more holes than this the sides of holes are left out.
const MOST_HOLES := 2000

## The displayed level; null: none yet.
var level: AmbuloLevel

var _floor := MeshInstance3D.new()
var _boxes := MultiMeshInstance3D.new()
var _drums := MultiMeshInstance3D.new()
var _depths := MeshInstance3D.new()
var _faces := MeshInstance3D.new()


func _init() -> void:
	var box := BoxMesh.new()
	box.material = AmbuloPalette.vertex_coloured()
	_boxes.multimesh = _instances(box)
	var drum := CylinderMesh.new()
	drum.top_radius = 1.0
	drum.bottom_radius = 1.0
	drum.height = 1.0
	drum.radial_segments = 32
	drum.rings = 1
	drum.material = AmbuloPalette.vertex_coloured()
	_drums.multimesh = _instances(drum)
	_depths.mesh = PlaneMesh.new()
	_depths.material_override = AmbuloPalette.matt(AmbuloPalette.DEPTHS)
	_depths.cast_shadow = GeometryInstance3D.SHADOW_CASTING_SETTING_OFF
	_faces.material_override = AmbuloPalette.matt(AmbuloPalette.BLOCK)
	for part: Node3D in [_floor, _boxes, _drums, _depths, _faces]:
		add_child(part)


## Draws [param new_level] in place of the previous one.
func show_level(new_level: AmbuloLevel) -> void:
	if new_level == level:
		return
	level = new_level
	var mesh := floor_mesh(level)
	mesh.surface_set_material(0, AmbuloPalette.floor_grid())
	if mesh.get_surface_count() > 1:
		mesh.surface_set_material(1, AmbuloPalette.matt(AmbuloPalette.SIDE))
	_floor.mesh = mesh
	_show_depths()
	var solids := AmbuloLevelSolids.new(level) if level.heights else null
	_show_boxes(level.boxes if solids == null else solids.boxes())
	_show_drums()
	_faces.mesh = null if solids == null else _faces_mesh(solids.closed + solids.open)


## Transform of a unit cube to the box with the seven numbers [param b].
static func box_pose(b: PackedFloat64Array) -> Transform3D:
	var size := Vector3(b[4], b[5], b[3]) * 2.0
	return AmbuloAxes.pose(b[0], b[1], b[2], b[6]).scaled_local(size)


## Transform of a cylinder of radius and height 1 to the one with the five numbers [param c].
static func drum_pose(c: PackedFloat64Array) -> Transform3D:
	var size := Vector3(c[2], c[3], c[2])
	return AmbuloAxes.pose(c[0], c[1], c[4] + c[3] / 2.0, 0.0).scaled_local(size)


# Shows the depth below the holes.
func _show_depths() -> void:
	var b := level.bounds
	(_depths.mesh as PlaneMesh).size = Vector2(b[3] - b[1], b[2] - b[0])
	_depths.position = AmbuloAxes.to_godot((b[0] + b[2]) / 2.0, (b[1] + b[3]) / 2.0, -SIDES)


func _show_boxes(boxes: PackedFloat64Array) -> void:
	var instances := _boxes.multimesh
	instances.instance_count = floori(boxes.size() / 7.0)
	for k in instances.instance_count:
		var b := boxes.slice(7 * k, 7 * k + 7)
		instances.set_instance_transform(k, box_pose(b))
		instances.set_instance_color(k, _box_colour(k, b))


func _show_drums() -> void:
	var instances := _drums.multimesh
	instances.instance_count = floori(level.cylinders.size() / float(AmbuloLevel.DRUM))
	for k in instances.instance_count:
		var from := AmbuloLevel.DRUM * k
		var c := level.cylinders.slice(from, from + AmbuloLevel.DRUM)
		instances.set_instance_transform(k, drum_pose(c))
		var blocks := level.cylinder_obstructs(from)
		instances.set_instance_color(k, AmbuloPalette.DRUM if blocks else AmbuloPalette.PAINT)


func _box_colour(k: int, b: PackedFloat64Array) -> Color:
	if not level.heights and not level.box_obstructs(7 * k):
		return AmbuloPalette.PAINT if b[2] < 1.0 else AmbuloPalette.OVERHEAD
	var colour := AmbuloPalette.WALL if is_wall(b) else AmbuloPalette.BLOCK
	# Neighbours differ slightly, so that edges are visible.
	return colour.darkened(0.05 * (k % 4))


## Whether the box with the seven numbers [param b] is drawn as a wall, not as furniture; the same
## rule as in [code]envs/vr/levels/solids.py[/code].
static func is_wall(b: PackedFloat64Array) -> bool:
	var length := 2.0 * maxf(b[3], b[4])
	var thickness := 2.0 * minf(b[3], b[4])
	var slender := thickness <= 0.25 or length > 8.0 * thickness
	return slender and 2.0 * b[5] >= 1.0


static func _instances(mesh: Mesh) -> MultiMesh:
	var instances := MultiMesh.new()
	instances.transform_format = MultiMesh.TRANSFORM_3D
	instances.use_colors = true
	instances.mesh = mesh
	return instances


## The mesh of the floor of [param of_level] with its holes, in Godot's axes: surface 0 the top,
## surface 1 all sides.
static func floor_mesh(of_level: AmbuloLevel) -> ArrayMesh:
	var top := SurfaceTool.new()
	top.begin(Mesh.PRIMITIVE_TRIANGLES)
	top.set_normal(Vector3.UP)
	var pieces := AmbuloLevelSolids.floor_rectangles(of_level)
	for k in range(0, pieces.size(), 4):
		_add_top(top, pieces.slice(k, k + 4))
	var mesh := top.commit()
	var sides := SurfaceTool.new()
	sides.begin(Mesh.PRIMITIVE_TRIANGLES)
	_add_sides(sides, of_level.bounds, 1.0)
	if of_level.holes.size() <= 4 * MOST_HOLES:
		for k in range(0, of_level.holes.size(), 4):
			_add_sides(sides, _clipped(of_level.holes.slice(k, k + 4), of_level.bounds), -1.0)
	return sides.commit(mesh)


# Mesh of triangles, nine numbers each.
static func _faces_mesh(corners: PackedFloat64Array) -> ArrayMesh:
	var tool := SurfaceTool.new()
	tool.begin(Mesh.PRIMITIVE_TRIANGLES)
	tool.set_smooth_group(-1)
	for t in range(0, corners.size(), 9):
		for k: int in [0, 6, 3]:  # clockwise
			tool.add_vertex(
				AmbuloAxes.to_godot(corners[t + k], corners[t + k + 1], corners[t + k + 2])
			)
	if not corners.is_empty():
		tool.generate_normals()
	return tool.commit()


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
		var down := Vector3.DOWN * SIDES
		for point: Vector3 in [top_a, top_b, top_b + down, top_a, top_b + down, top_a + down]:
			tool.add_vertex(point)
