class_name AmbuloRayView
extends MeshInstance3D
## Draws the readings of the ray sensor as lines, red near obstacles.

## Height of the lines above the node, [m].
const HEIGHT := 0.5

var _lines := ImmediateMesh.new()


func _init() -> void:
	mesh = _lines
	cast_shadow = GeometryInstance3D.SHADOW_CASTING_SETTING_OFF
	var material := AmbuloPalette.vertex_coloured()
	material.shading_mode = BaseMaterial3D.SHADING_MODE_UNSHADED
	material_override = material


## Draws [param rays] of a body at (x, y) whose ray 0 points along [param heading]; readings
## of [param length] hit nothing.
func show_rays(x: float, y: float, heading: float, rays: PackedFloat64Array, length: float) -> void:
	_lines.clear_surfaces()
	if rays.is_empty():
		return
	_lines.surface_begin(Mesh.PRIMITIVE_LINES)
	for r in rays.size():
		var angle := heading + TAU * r / rays.size()
		var c := cos(angle)
		var s := sin(angle)
		var share := clampf(rays[r] / length, 0.0, 1.0)
		_lines.surface_set_color(AmbuloPalette.NEAR_RAY.lerp(AmbuloPalette.FAR_RAY, share))
		var begin := minf(AmbuloContract.BODY_RADIUS, rays[r])
		_lines.surface_add_vertex(AmbuloAxes.to_godot(x + c * begin, y + s * begin, HEIGHT))
		_lines.surface_add_vertex(AmbuloAxes.to_godot(x + c * rays[r], y + s * rays[r], HEIGHT))
	_lines.surface_end()
