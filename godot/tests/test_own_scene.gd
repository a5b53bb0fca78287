extends AmbuloTest
## The shipped policy walks through a scene of plain colliders, around two walls.


func test_the_policy_reaches_the_goal() -> void:
	var scene: Node3D = (load("res://scenes/demo/own_scene.tscn") as PackedScene).instantiate()
	tree.root.add_child(scene)
	scene.set_physics_process(false)
	var outcome: Array[bool] = []
	scene.connect("ended", outcome.append)
	for k in 3:
		await tree.physics_frame
	var player: Node3D = scene.get_node(^"Player")
	var before := player.global_position
	var path := 0.0
	for tick in 9 * 400:
		scene.call("_physics_process", 1.0 / 90.0)
		path += player.global_position.distance_to(before)
		before = player.global_position
		if not outcome.is_empty():
			break
	check_equal(outcome, [true] as Array[bool], "reached")
	check(path > 12.0, "the way leads around the walls, not through them: %.1f m" % path)
	scene.free()
