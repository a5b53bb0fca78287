@tool
class_name AmbuloPlaytestOverlay
extends Node3D
## A play-test drawn over its scene: a heat map on the floors, unreachable floor, and a marker at
## each problem.
##
## Its nodes have no owner, so that they are never saved with a scene.

## Height of the cells above the floor, [m].
const LIFT := 0.04
## Height of the text of markers above the floor, [m].
const MARKER_HEIGHT := 2.2
const COLOUR_FAILS := Color("#d32f2f")
const COLOUR_NOTE := Color("#5d6b7a")
const COLOUR_STUCK := Color("#8e24aa")
const UNREACHABLE := "unreachable"
## Fraction of the cells whose values the colour scale covers.
const COVERED := 0.98
const _LOW := Color(1.0, 0.95, 0.55, 0.75)
const _HIGH := Color(0.75, 0.05, 0.1, 0.9)
const _LONGEST := 90

## Name of the displayed heat map.
var shown_map := ""

var _maps: Dictionary[String, MultiMeshInstance3D] = {}
var _places: Dictionary[String, PackedVector3Array] = {}


## The overlay of [param report].
static func of(report: AmbuloPlaytestReport) -> AmbuloPlaytestOverlay:
	var overlay := AmbuloPlaytestOverlay.new()
	overlay.name = "AmbuloPlaytest"
	overlay.top_level = true  # the report is in the world's frame, not in the scene root's
	for map in report.maps:
		overlay._add_map(map)
	for problem in report.problems:
		overlay._add_marker(problem)
	return overlay


## Show the heat map called [param map_name], and hide the others but the unreachable floor.
func show_map(map_name: String) -> void:
	shown_map = map_name
	for key in _maps:
		_maps[key].visible = key == map_name or key == UNREACHABLE


## Names of the heat maps that have cells.
func map_names() -> PackedStringArray:
	return _maps.keys().filter(func(key: String) -> bool: return key != UNREACHABLE)


## The node of the heat map called [param map_name], or null.
func map_node(map_name: String) -> MultiMeshInstance3D:
	return _maps.get(map_name)


## Middles of the cells of the heat map called [param map_name], in the world, [m].
func cell_places(map_name: String) -> PackedVector3Array:
	return _places.get(map_name, PackedVector3Array())


## The value at which the colours of [param values] end.
static func scale_end(values: PackedFloat64Array) -> float:
	var ordered := values.duplicate()
	ordered.sort()
	return maxf(ordered[int(COVERED * (ordered.size() - 1))], 1e-6)


func _add_map(map: AmbuloPlaytestReport.HeatMap) -> void:
	if map.cells.is_empty():
		return
	var end := scale_end(map.values)
	var mesh := PlaneMesh.new()
	mesh.size = Vector2.ONE * map.cell_size
	var material := StandardMaterial3D.new()
	material.shading_mode = BaseMaterial3D.SHADING_MODE_UNSHADED
	material.transparency = BaseMaterial3D.TRANSPARENCY_ALPHA
	material.vertex_color_use_as_albedo = true
	material.cull_mode = BaseMaterial3D.CULL_DISABLED
	mesh.material = material
	var cells := MultiMesh.new()
	cells.transform_format = MultiMesh.TRANSFORM_3D
	cells.use_colors = true
	cells.mesh = mesh
	cells.instance_count = map.cells.size()
	var places := PackedVector3Array()
	for at in map.cells:
		places.append(AmbuloAxes.to_godot(at.x, at.y, at.z + LIFT))
	_places[map.name] = places
	for k in places.size():
		cells.set_instance_transform(k, Transform3D(Basis.IDENTITY, places[k]))
		var share := clampf(map.values[k] / end, 0.0, 1.0)
		var colour := _LOW.lerp(_HIGH, share)
		if map.name == UNREACHABLE:
			colour = Color(COLOUR_FAILS, 0.6)
		cells.set_instance_color(k, colour)
	var node := MultiMeshInstance3D.new()
	node.name = "Map_%s" % map.name.validate_node_name()
	node.multimesh = cells
	node.cast_shadow = GeometryInstance3D.SHADOW_CASTING_SETTING_OFF
	node.visible = map.name == UNREACHABLE
	_maps[map.name] = node
	add_child(node)


func _add_marker(problem: AmbuloPlaytestReport.Problem) -> void:
	var colour := COLOUR_FAILS if problem.fails else COLOUR_NOTE
	if problem.kind == "stuck" and problem.fails:
		colour = COLOUR_STUCK
	var marker := Node3D.new()
	marker.name = "Problem_%s_%s" % [problem.kind, problem.mark]
	marker.position = AmbuloAxes.to_godot(problem.place.x, problem.place.y, problem.place.z)
	var pole := MeshInstance3D.new()
	var shape := CylinderMesh.new()
	shape.top_radius = 0.05
	shape.bottom_radius = 0.05
	shape.height = MARKER_HEIGHT
	var paint := StandardMaterial3D.new()
	paint.albedo_color = colour
	paint.shading_mode = BaseMaterial3D.SHADING_MODE_UNSHADED
	shape.material = paint
	pole.mesh = shape
	pole.position.y = MARKER_HEIGHT / 2.0
	marker.add_child(pole)
	var label := Label3D.new()
	var shown := problem.text.left(_LONGEST)
	label.text = shown + "..." if problem.text.length() > _LONGEST else shown
	label.modulate = colour
	label.outline_modulate = Color.WHITE
	label.billboard = BaseMaterial3D.BILLBOARD_ENABLED
	label.no_depth_test = true
	label.width = 500.0
	label.autowrap_mode = TextServer.AUTOWRAP_WORD_SMART
	label.pixel_size = 0.004
	label.position.y = MARKER_HEIGHT + 0.2
	label.vertical_alignment = VERTICAL_ALIGNMENT_BOTTOM
	marker.add_child(label)
	add_child(marker)
