class_name AmbuloTrailView
extends MeshInstance3D
## Draws a player's past or planned path as a ribbon just above the floor.

## Half the width of the ribbon, [m].
const HALF_WIDTH := 0.05
## Height above the floor, [m].
const HEIGHT := 0.02
## Shortest segment, [m].
const STEP := 0.1
## With more points every second one is dropped.
const MOST_POINTS := 1500

## Colour of the ribbon.
@export var color := AmbuloPalette.TRAIL:
	set(value):
		color = value
		(material_override as StandardMaterial3D).albedo_color = value

var _points: PackedVector3Array = []
var _ribbon := ImmediateMesh.new()


func _init() -> void:
	mesh = _ribbon
	cast_shadow = GeometryInstance3D.SHADOW_CASTING_SETTING_OFF
	var material := AmbuloPalette.matt(color)
	material.shading_mode = BaseMaterial3D.SHADING_MODE_UNSHADED
	material.cull_mode = BaseMaterial3D.CULL_DISABLED
	material_override = material


## Clears the path.
func clear() -> void:
	_points.clear()
	_ribbon.clear_surfaces()


## Extends the path to (x, y, z), in the contract's axes.
func extend_to(x: float, y: float, z := 0.0) -> void:
	var here := Vector3(x, y, z)
	if not _points.is_empty() and _points[-1].distance_to(here) < STEP:
		return
	_points.append(here)
	if _points.size() > MOST_POINTS:
		var kept: PackedVector3Array = []
		for k in range(0, _points.size(), 2):
			kept.append(_points[k])
		_points = kept
	_draw_ribbon()


## Draws the path [param way], points in the contract's axes, in place of the previous one.
func show_way(way: PackedVector3Array) -> void:
	_points = way
	_draw_ribbon()


## Points of the ribbon, in the contract's axes.
func points() -> PackedVector3Array:
	return _points


func _draw_ribbon() -> void:
	_ribbon.clear_surfaces()
	if _points.size() < 2:
		return
	_ribbon.surface_begin(Mesh.PRIMITIVE_TRIANGLE_STRIP)
	for k in _points.size():
		var before := _points[maxi(k - 1, 0)]
		var after := _points[mini(k + 1, _points.size() - 1)]
		var aside := Vector3(after.y - before.y, before.x - after.x, 0.0).normalized() * HALF_WIDTH
		for edge: Vector3 in [_points[k] + aside, _points[k] - aside]:
			_ribbon.surface_add_vertex(AmbuloAxes.to_godot(edge.x, edge.y, edge.z + HEIGHT))
	_ribbon.surface_end()
