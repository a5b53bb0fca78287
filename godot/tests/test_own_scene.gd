extends AmbuloTest
## The shipped policy walks through a scene of plain colliders, around two walls.


func test_the_policy_reaches_the_goal() -> void:
	var scene := await _open()
	var outcome: Array[bool] = []
	scene.connect("ended", outcome.append)
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


func test_it_is_as_fast_at_any_tick_rate() -> void:
	var ends: Array[Transform3D] = []
	for rate: float in [90.0, 60.0, 30.0, 120.0]:
		var scene := await _open()
		for tick in int(2.0 * rate):
			scene.call("_physics_process", 1.0 / rate)
		var player: Node3D = scene.get_node(^"Player")
		ends.append(player.transform)
		check_equal(player.transform, ends[0], "after 2 s of %.0f ticks a second" % rate)
		scene.free()
	check(ends[0].origin.distance_to(Vector3(-4.5, 0.0, 5.0)) > 1.0, "it has walked")


## The scene, in the tree and begun; it goes on only by calls.
func _open() -> Node3D:
	var scene: Node3D = (load("res://scenes/demo/own_scene.tscn") as PackedScene).instantiate()
	tree.root.add_child(scene)
	scene.set_physics_process(false)
	for k in 3:
		await tree.physics_frame
	return scene
