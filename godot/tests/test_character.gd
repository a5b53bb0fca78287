extends AmbuloTest
## The shipped character: bones, skin, and feet that do not slide on its way to the goal.

const FILE := "res://policies/vr_navigation_body.ambulo"
## Largest mean speed of feet on the ground, [m/s].
const SKATE := 0.04
## A foot touches the ground while heel or ball are lower than this, [m].
const TOUCH := 0.01


func test_the_bones_are_those_of_the_humanoid_profile() -> void:
	var character := _character()
	var profile := SkeletonProfileHumanoid.new()
	var skeleton := character.skeleton
	check_equal(skeleton.get_bone_count(), 23, "bones")
	for bone in skeleton.get_bone_count():
		var name := skeleton.get_bone_name(bone)
		if name.contains("SmallToes"):
			continue
		var index := profile.find_bone(name)
		check(index >= 0, name)
		var at := index
		var basis := Basis.IDENTITY
		while at >= 0:
			basis = profile.get_reference_pose(at).basis * basis
			at = profile.find_bone(profile.get_bone_parent(at))
		check(skeleton.get_bone_global_rest(bone).basis.is_equal_approx(basis), name + " at rest")
	character.free()


func test_the_rest_pose_is_that_of_the_file() -> void:
	var character := _character()
	var identity: Array[Quaternion] = []
	identity.resize(23)
	identity.fill(Quaternion.IDENTITY)
	character.show_pose(character.file.rest[0] + Vector3(2.0, -1.0, 0.0), identity)
	var places := character.joint_positions()
	for joint in 23:
		var expected := character.file.rest[joint] + Vector3(2.0, -1.0, 0.0)
		check_near(places[joint].distance_to(expected), 0.0, 1e-5, character.file.joints[joint])
	character.free()


func test_the_skin_hangs_on_the_bones() -> void:
	var character := _character()
	var mesh: MeshInstance3D = character.skeleton.get_node(^"Skin")
	var arrays := mesh.mesh.surface_get_arrays(0)
	var vertices: PackedVector3Array = arrays[Mesh.ARRAY_VERTEX]
	var weights: PackedFloat32Array = arrays[Mesh.ARRAY_WEIGHTS]
	check(vertices.size() > 5000, "vertices")
	check_near(mesh.mesh.get_aabb().size.y, 1.75, 0.02, "stature")
	check_near(mesh.mesh.get_aabb().size.x, 1.85, 0.1, "arm span")
	for k in range(0, weights.size(), 4):
		var sum := weights[k] + weights[k + 1] + weights[k + 2] + weights[k + 3]
		if absf(sum - 1.0) > 1e-3:
			check_near(sum, 1.0, 1e-3, "weights of vertex %d" % floori(k / 4.0))
			break
	character.free()


func test_another_humanoid_follows() -> void:
	var character := _character()
	var other := Skeleton3D.new()
	for joint in 23:
		other.add_bone(character.file.bones[joint])
		var parent := character.file.parents[joint]
		var place := AmbuloCharacter.to_skeleton(character.file.offsets[joint])
		if parent >= 0:
			other.set_bone_parent(joint, parent)
		other.set_bone_rest(joint, Transform3D(Basis.IDENTITY, place))
	other.reset_bone_poses()
	tree.root.add_child(other)
	check(character.drive(other), character.error)
	for k in 40:
		character.walk(Vector3(0.0, 0.0, -0.02 * k), 0.3, 1.0 / 90.0)
	for joint in 23:
		var there := other.global_transform * other.get_bone_global_pose(joint).origin
		var here := character.skeleton.global_transform
		here = here.translated_local(character.skeleton.get_bone_global_pose(joint).origin)
		check_near(there.distance_to(here.origin), 0.0, 1e-4, character.file.joints[joint])
	var bare := Skeleton3D.new()
	bare.name = "Bare"
	check(not character.drive(bare), "no hips")
	check_contains(character.error, "Bare: has no bone 'Hips'")
	bare.free()
	other.free()
	character.free()


func test_damaged_files_are_refused() -> void:
	var data := FileAccess.get_file_as_bytes(FILE)
	var cases: Dictionary[String, PackedByteArray] = {
		"is no character file": "AMBULOP1".to_ascii_buffer() + data.slice(8),
		"does not fit": data.slice(0, 200),
		"bytes of numbers": data.slice(0, data.size() - 4),
		"wrong SHA-256": data.slice(0, data.size() - 4) + PackedByteArray([1, 2, 3, 4]),
	}
	for expected in cases:
		var path := "user://damaged.ambulo"
		var stream := FileAccess.open(path, FileAccess.WRITE)
		stream.store_buffer(cases[expected])
		stream.close()
		var file := AmbuloCharacterFile.new()
		check(not file.load_from(path), expected)
		check_contains(file.error, expected)
		DirAccess.remove_absolute(path)


func test_a_character_walks_to_the_goal_and_its_feet_do_not_slide() -> void:
	var packed: PackedScene = load("res://scenes/demo/character_scene.tscn")
	var scene: Node3D = packed.instantiate()
	scene.get_node(^"AnimationPlayer").free()
	scene.get_node(^"Door").free()
	scene.get_node(^"Goals/Studio").free()
	tree.root.add_child(scene)
	scene.set_physics_process(false)
	var character: AmbuloCharacter = scene.get_node(^"Character")
	character.set_physics_process(false)
	for k in 3:
		await tree.physics_frame
	var outcome: Array[bool] = []
	scene.connect("ended", outcome.append)
	var player: Node3D = scene.get_node(^"Player")
	var slid := 0.0
	var touching := 0
	var before: Array[PackedVector3Array] = []
	for tick in 9 * 400:
		scene.call("_physics_process", 1.0 / 90.0)
		var yaw := AmbuloAxes.yaw_of(player.global_basis)
		character.walk(player.global_position, yaw, 1.0 / 90.0)
		var now: Array[PackedVector3Array] = [_soles(character, 8), _soles(character, 3)]
		for i in 2 if tick > 0 else 0:
			var low := 0 if now[i][0].z < now[i][1].z else 1
			if now[i][low].z < TOUCH and before[i][low].z < TOUCH:
				var moved := now[i][low] - before[i][low]
				slid += 90.0 * Vector2(moved.x, moved.y).length()
				touching += 1
		before = now
		if not outcome.is_empty():
			break
	check_equal(outcome, [true] as Array[bool], "reached")
	check(touching > 500, "feet on the ground in %d ticks" % touching)
	var skate := slid / maxi(touching, 1)
	check(skate < SKATE, "feet slide at %.3f m/s, at most %.3f allowed" % [skate, SKATE])
	var away := character.joint_positions()[0]
	var floor_point := AmbuloAxes.from_godot(player.global_position)
	var apart := Vector2(away.x - floor_point[0], away.y - floor_point[1]).length()
	check(apart < 0.25, "the pelvis is %.2f m from the player" % apart)
	print("feet slide at %.1f cm/s" % (100.0 * skate))
	scene.free()


## Heel and ball of the foot whose ankle is `joint`, as the engine shows them, in the contract's
## axes.
func _soles(character: AmbuloCharacter, joint: int) -> PackedVector3Array:
	var turn := character.avatar.world[joint]
	var ankle := character.joint_positions()[joint]
	return [ankle + turn * character.file.sole[0], ankle + turn * character.file.sole[1]]


func _character() -> AmbuloCharacter:
	var character := AmbuloCharacter.new()
	tree.root.add_child(character)
	check(character.load_character(FILE), character.error)
	return character
