class_name AmbuloCharacter
extends Node3D
## A rigged character with a skin, posed by joints of human23.
##
## It walks after a node ([member follow]), or shows the poses that its methods receive. It builds a
## [Skeleton3D] from an [AmbuloCharacterFile]: bones with the names and rest rotations of Godot's
## humanoid profile, and one skinned mesh. Poses come from its [AmbuloAvatarPose] ([method walk]),
## or from outside as local rotations in the contract's axes ([method show_pose]). [method drive]
## moves another humanoid skeleton, such as an imported one, along with it.

## File of the character; the shipped one is beside the shipped policy.
@export_file("*.ambulo") var character_path := ""
## Node on the floor that the character follows, such as a player with -Z ahead; empty: poses come
## from method calls.
@export var follow: NodePath
## Height of the eyes over the floor, [m].
@export var eye_height := AmbuloContract.EYE_HEIGHT

## The file that was loaded, or null.
var file: AmbuloCharacterFile
## The bones; null until a character is loaded.
var skeleton: Skeleton3D
## The walking body; null until a character is loaded.
var avatar: AmbuloAvatarPose
## The last error; empty if there is none.
var error := ""

var _bones: PackedInt32Array = []
var _rest: Array[Basis] = []
var _driven: Array[Skeleton3D] = []


func _ready() -> void:
	if character_path != "" and file == null and not load_character(character_path):
		push_error(error)


func _physics_process(delta: float) -> void:
	var leader := get_node_or_null(follow) as Node3D
	if leader != null and avatar != null:
		walk(leader.global_position, AmbuloAxes.yaw_of(leader.global_basis), delta)


## Advance by [param delta] seconds to a player at [param place] on the floor with heading [param
## heading] about +Y (0 looks along -Z).
func walk(place: Vector3, heading: float, delta: float) -> void:
	var at := AmbuloAxes.from_godot(place)
	var eyes := Vector3(at[0], at[1], at[2] + eye_height)
	avatar.step(eyes, AmbuloAvatarFoot.about_z(heading), delta, at[2])
	show_avatar(avatar)


## Build the character of the file at [param path]; false, with [member error] set, if it is
## refused.
func load_character(path: String) -> bool:
	var found := AmbuloCharacterFile.new()
	if not found.load_from(path):
		error = found.error
		return false
	error = ""
	file = found
	avatar = AmbuloAvatarPose.new(file)
	if skeleton != null:
		skeleton.free()
	skeleton = Skeleton3D.new()
	skeleton.name = "Skeleton3D"
	# Humanoid rigs face +Z, the contract's players -Z.
	skeleton.rotation.y = PI
	add_child(skeleton)
	_add_bones()
	var mesh := MeshInstance3D.new()
	mesh.name = "Skin"
	mesh.mesh = _skin()
	mesh.skin = skeleton.create_skin_from_rest_transforms()
	skeleton.add_child(mesh)
	mesh.skeleton = mesh.get_path_to(skeleton)
	return true


## Show the pose of an avatar.
func show_avatar(avatar: AmbuloAvatarPose) -> void:
	show_pose(avatar.positions[0], avatar.local)


## Show a pose: the pelvis at [param root] and local rotations of the joints of human23, in
## the contract's axes under [param base]. The node goes to the floor under the pelvis.
func show_pose(root: Vector3, local: Array[Quaternion], base := Transform3D.IDENTITY) -> void:
	var floor_point := AmbuloAxes.to_godot(root.x, root.y, 0.0)
	global_transform = base * Transform3D(Basis.IDENTITY, floor_point)
	var high := Vector3(0.0, root.z, 0.0)
	_show_on(skeleton, _bones, _rest, high, local)
	for other in _driven:
		var bones := _bones_of(other)
		var rest := _rest_of(other, bones)
		# Scale the height of the hips by the length of the other skeleton's legs.
		var part := other.get_bone_global_rest(bones[0]).origin.y / file.rest[0].z
		_show_on(other, bones, rest, part * high, local)
		other.global_transform = global_transform * skeleton.transform


## Show the pose of [param row]: the pelvis' place, then w, x, y, z of each joint of human23.
func show_numbers(row: PackedFloat64Array) -> void:
	var local: Array[Quaternion] = []
	for at in range(3, row.size(), 4):
		var q := Quaternion(row[at + 1], row[at + 2], row[at + 3], row[at])
		local.append(q.normalized())
	show_pose(Vector3(row[0], row[1], row[2]), local)


## Let [param other], a humanoid skeleton of any proportions in its T-pose at rest, follow.
## False, with [member error] set, if it has no hips.
func drive(other: Skeleton3D) -> bool:
	if other.find_bone("Hips") < 0:
		error = "%s: has no bone 'Hips'; retarget it to Godot's humanoid profile" % other.name
		return false
	_driven.append(other)
	return true


## World positions of the joints in the contract's axes, as the engine computes them, [m].
func joint_positions() -> PackedVector3Array:
	var out := PackedVector3Array()
	for bone in _bones:
		var at := skeleton.global_transform * skeleton.get_bone_global_pose(bone).origin
		out.append(Vector3(-at.z, -at.x, at.y))
	return out


## A vector of the contract's axes in those of a humanoid skeleton: left +X, up +Y, ahead +Z.
static func to_skeleton(v: Vector3) -> Vector3:
	return Vector3(v.y, v.z, v.x)


func _add_bones() -> void:
	_bones = []
	_rest = []
	var profile := SkeletonProfileHumanoid.new()
	for joint in file.bones.size():
		_bones.append(skeleton.add_bone(file.bones[joint]))
		_rest.append(_profile_basis(profile, file.bones[joint]))
	for joint in _bones.size():
		var parent := file.parents[joint]
		var place := to_skeleton(file.rest[joint])
		var basis := _rest[joint]
		if parent >= 0:
			skeleton.set_bone_parent(_bones[joint], _bones[parent])
			place = _rest[parent].inverse() * to_skeleton(file.offsets[joint])
			basis = _rest[parent].inverse() * basis
		skeleton.set_bone_rest(_bones[joint], Transform3D(basis, place))
	skeleton.reset_bone_poses()


## The orientation of a bone at rest, in the skeleton's axes, as Godot's profile has it.
static func _profile_basis(profile: SkeletonProfileHumanoid, bone: String) -> Basis:
	var name := bone.replace("SmallToes", "Toes")
	var basis := Basis.IDENTITY
	while name != "":
		var index := profile.find_bone(name)
		basis = profile.get_reference_pose(index).basis * basis
		name = profile.get_bone_parent(index)
	return basis


func _show_on(
	bones: Skeleton3D,
	indices: PackedInt32Array,
	rest: Array[Basis],
	root: Vector3,
	local: Array[Quaternion]
) -> void:
	bones.set_bone_pose_position(indices[0], root)
	for joint in indices.size():
		if indices[joint] < 0:
			continue
		var q := local[joint]
		var turned := Basis(Quaternion(q.y, q.z, q.x, q.w)) * rest[joint]
		var parent := file.parents[joint]
		if parent >= 0:
			turned = rest[parent].inverse() * turned
		bones.set_bone_pose_rotation(indices[joint], turned.get_rotation_quaternion())


func _bones_of(other: Skeleton3D) -> PackedInt32Array:
	var found := PackedInt32Array()
	for bone in file.bones:
		found.append(other.find_bone(bone))
	return found


func _rest_of(other: Skeleton3D, bones: PackedInt32Array) -> Array[Basis]:
	var rest: Array[Basis] = []
	for joint in bones.size():
		if bones[joint] >= 0:
			rest.append(other.get_bone_global_rest(bones[joint]).basis.orthonormalized())
		else:
			rest.append(rest[file.parents[joint]])
	return rest


# The skin as a mesh that the bones bend.
func _skin() -> ArrayMesh:
	var arrays := []
	arrays.resize(Mesh.ARRAY_MAX)
	var vertices := PackedVector3Array()
	var normals := PackedVector3Array()
	for k in file.vertices.size():
		vertices.append(to_skeleton(file.vertices[k]))
		normals.append(to_skeleton(file.normals[k]))
	var joints := PackedInt32Array()
	for joint in file.vertex_joints:
		joints.append(_bones[joint])
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
