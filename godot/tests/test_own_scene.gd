extends AmbuloTest
## The shipped policy walks through a house: a door that opens, stairs, and a lift.

## Seconds of the game in one of the clock.
const HURRY := 10


func test_the_policy_walks_upstairs_and_rides_the_lift() -> void:
	var scene := await _open()
	var outcome: Array[bool] = []
	scene.connect("ended", outcome.append)
	var player: Node3D = scene.get_node(^"Player")
	var door: Node3D = scene.get_node(^"Door")
	var lift: Node3D = scene.get_node(^"Lift")
	var shut := door.position
	var ridden := 0.0
	var ticks := Engine.physics_ticks_per_second
	Engine.time_scale = HURRY
	Engine.physics_ticks_per_second = HURRY * ticks
	Engine.max_physics_steps_per_frame = 8 * HURRY
	scene.set_physics_process(true)
	for tick in ticks * 150:
		var before := player.position
		await tree.physics_frame
		if before.z < -0.6 and player.position.z >= -0.6 and player.position.y < 1.0:
			check(player.position.x > 1.1 or door.position != shut, "not through the door")
		if absf(player.position.y - lift.position.y - 0.08) < 0.1 and player.position.x > 3.4:
			ridden += player.position.y - before.y
		if not outcome.is_empty():
			break
	Engine.time_scale = 1.0
	Engine.physics_ticks_per_second = ticks
	Engine.max_physics_steps_per_frame = 8
	check_equal(outcome, [true] as Array[bool], "reached")
	check(ridden > 2.5, "by the lift: %.2f m up" % ridden)
	var drawn := (scene.get_node(^"Trail") as AmbuloTrailView).points()
	check(drawn.size() > 100 and drawn[-1].z > 2.7, "its way is drawn up to there")
	scene.free()


func test_it_is_as_fast_at_any_tick_rate() -> void:
	var ends: Array[Transform3D] = []
	for rate: float in [90.0, 60.0, 30.0, 120.0]:
		var scene := await _open()
		var player: Node3D = scene.get_node(^"Player")
		var start := player.position
		for tick in int(2.0 * rate):
			scene.call("_physics_process", 1.0 / rate)
		ends.append(player.transform)
		check_equal(player.transform, ends[0], "after 2 s of %.0f ticks a second" % rate)
		check(player.position.distance_to(start) > 1.0, "it has walked")
		scene.free()


## The scene, in the tree and begun; it goes on only by calls.
func _open() -> Node3D:
	var scene: Node3D = (load("res://scenes/demo/own_scene.tscn") as PackedScene).instantiate()
	tree.root.add_child(scene)
	scene.set_physics_process(false)
	for k in 3:
		await tree.physics_frame
	return scene
