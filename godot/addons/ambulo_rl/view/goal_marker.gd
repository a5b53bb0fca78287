class_name AmbuloGoalMarker
extends Node3D
## Shows a goal: a disc of the goal radius and a beam that is visible from afar.

var _disc := MeshInstance3D.new()
var _beam := MeshInstance3D.new()
var _ball := MeshInstance3D.new()


func _init() -> void:
	_disc.mesh = _cylinder(1.0, 0.02)
	_disc.position.y = 0.03
	_disc.material_override = AmbuloPalette.matt(Color(AmbuloPalette.GOAL, 0.55), 0.4)
	_beam.mesh = _cylinder(0.06, 6.0)
	_beam.position.y = 3.0
	_beam.material_override = AmbuloPalette.matt(Color(AmbuloPalette.GOAL, 0.35), 0.8)
	var sphere := SphereMesh.new()
	sphere.radius = 0.16
	sphere.height = 0.32
	_ball.mesh = sphere
	_ball.position.y = 1.2
	_ball.material_override = AmbuloPalette.matt(AmbuloPalette.GOAL, 0.9)
	for part: MeshInstance3D in [_disc, _beam, _ball]:
		part.cast_shadow = GeometryInstance3D.SHADOW_CASTING_SETTING_OFF
		add_child(part)


## Shows the goal (x, y, z) in the contract's axes; [param radius] in metres.
func show_goal(x: float, y: float, radius := 1.0, z := 0.0) -> void:
	position = AmbuloAxes.to_godot(x, y, z)
	_disc.scale = Vector3(radius, 1.0, radius)
	visible = true


static func _cylinder(radius: float, height: float) -> CylinderMesh:
	var mesh := CylinderMesh.new()
	mesh.top_radius = radius
	mesh.bottom_radius = radius
	mesh.height = height
	return mesh
