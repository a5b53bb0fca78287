class_name AmbuloAxes
extends RefCounted
## Conversion between the contract's axes (X forward, Y left, Z up) and Godot's (-Z forward, Y up):
## godot = (-y, z, -x). Yaw is the same angle about the up axis.


## The point or vector (x, y, z) in Godot's axes.
static func to_godot(x: float, y: float, z: float) -> Vector3:
	return Vector3(-y, z, -x)


## The contract's x, y, z of a Godot point or vector, in 64-bit floats.
static func from_godot(v: Vector3) -> PackedFloat64Array:
	return [-v.z, -v.x, v.y]


## The rotation of a body with heading [param yaw].
static func basis(yaw: float) -> Basis:
	return Basis(Vector3.UP, yaw)


## The pose of a body at (x, y, z) with heading [param yaw].
static func pose(x: float, y: float, z: float, yaw: float) -> Transform3D:
	return Transform3D(basis(yaw), to_godot(x, y, z))


## The heading of a Godot basis: the direction of its -Z axis seen from above.
static func yaw_of(rotation: Basis) -> float:
	var forward := -rotation.z
	return atan2(-forward.x, -forward.z)
