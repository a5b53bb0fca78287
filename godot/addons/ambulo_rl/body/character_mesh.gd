class_name AmbuloCharacterMesh
extends RefCounted
## The skin of a character as a mesh that bones bend.


## The mesh of [param file], whose joint k is bone `bones[k]` of a skeleton.
static func build(file: AmbuloCharacterFile, bones: PackedInt32Array) -> ArrayMesh:
	var arrays := []
	arrays.resize(Mesh.ARRAY_MAX)
	var vertices := PackedVector3Array()
	var normals := PackedVector3Array()
	for k in file.vertices.size():
		vertices.append(AmbuloCharacter.to_skeleton(file.vertices[k]))
		normals.append(AmbuloCharacter.to_skeleton(file.normals[k]))
	var joints := PackedInt32Array()
	for joint in file.vertex_joints:
		joints.append(bones[joint])
	# Godot's front faces are clockwise.
	var triangles := PackedInt32Array()
	for k in range(0, file.triangles.size(), 3):
		triangles.append_array([file.triangles[k], file.triangles[k + 2], file.triangles[k + 1]])
	arrays[Mesh.ARRAY_VERTEX] = vertices
	arrays[Mesh.ARRAY_NORMAL] = normals
	arrays[Mesh.ARRAY_COLOR] = file.vertex_colours
	arrays[Mesh.ARRAY_BONES] = joints
	arrays[Mesh.ARRAY_WEIGHTS] = file.vertex_weights
	arrays[Mesh.ARRAY_INDEX] = triangles
	var mesh := ArrayMesh.new()
	mesh.add_surface_from_arrays(Mesh.PRIMITIVE_TRIANGLES, arrays)
	var material := StandardMaterial3D.new()
	material.vertex_color_use_as_albedo = true
	material.vertex_color_is_srgb = true
	material.roughness = 0.8
	mesh.surface_set_material(0, material)
	return mesh
