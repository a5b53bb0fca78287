extends AmbuloTest
## The policy node: in a world, in a scene of one's own, episodes, drawn places.

const SHIPPED := "res://policies/vr_navigation.ambulo"


func test_it_walks_to_the_goal() -> void:
	var node := _node()
	var world := _world(node)
	var agents := PackedInt64Array([0, 1])
	world.reset(agents, [0, 0], [-3.0, 0.0, 0.0, 3.0, 1.0, 2.0])
	node.reset(0)
	node.reset(1)
	for decision in 100:
		var actions := node.act(world, 0, Vector2(3.0, 0.0))
		actions.append_array(node.act(world, 1, Vector2(-3.0, 1.0)))
		world.step(actions)
	var rows := world.state_rows(agents)
	check_near(rows[0], 3.0, 1.0, "agent 0 is there")
	check_near(rows[world.state_width], -3.0, 1.0, "agent 1 is there")
	node.free()


func test_agents_do_not_mix() -> void:
	var node := _node()
	var rows: Array[PackedFloat64Array] = [_row(1.0, 0.0), _row(2.0, 0.5), _row(3.0, 1.0)]
	var goal := PackedFloat64Array([8.0, 0.0, 0.0])
	var alone := PackedFloat64Array()
	for row in rows:
		alone.append_array(node.act_on_row(0, row, goal))
	var both := PackedFloat64Array()
	for row in rows:
		both.append_array(node.act_on_row(7, row, goal))
		node.act_on_row(3, _row(-5.0, 2.0), goal)
	check_equal(both, alone)
	node.reset(7)
	check(node.memory_of(7) == null, "forgotten")
	check_equal(node.act_on_row(7, rows[0], goal), alone.slice(0, 3), "begins anew")
	node.free()


func test_a_scene_of_ones_own() -> void:
	var node := _node()
	var rays := PackedFloat64Array()
	for i in 16:
		rays.append(1.0 + 0.1 * i)
	var position := AmbuloAxes.to_godot(1.0, 2.0, 0.0)
	var velocity := AmbuloAxes.to_godot(0.5, -0.25, 0.0)
	var goal := AmbuloAxes.to_godot(6.0, 3.0, 0.0)
	var action := node.act_in_scene(0, position, 0.4, velocity, 0.1, rays, goal)
	var row := PackedFloat64Array([1.0, 2.0, 0.0, 0.4, 0.5, -0.25, 0.0, 0.1, 0.0, 0.0, 0.0])
	row.append_array(rays)
	check_all_near(node.act_on_row(1, row, [6.0, 3.0, 0.0]), action, 1e-6)
	expect_error("needs 16 rays, got 1")
	check_equal(node.act_in_scene(0, position, 0.0, velocity, 0.0, [1.0], goal).size(), 0)
	check_contains(node.error, "needs 16 rays, got 1")
	node.free()


func test_being_lost_is_said_with_hysteresis() -> void:
	var node := _node()
	var changes: Array = []
	var note := func(agent: int, is_lost: bool) -> void: changes.append([agent, is_lost])
	node.lost_changed.connect(note)
	check_equal(node.lost, -1.0, "before the first decision")
	check_equal(node.lost_of(1), -1.0)
	var said: Array[bool] = []
	for stay: Array in [[0, 0], [300, 20], [20, 20], [0, 5], [20, 20], [300, 99]]:
		node.act_on_observation(_stayed(node, stay[0], stay[1]), 1)
		var logit := -4.2 + 0.3 * log(1.0 + stay[0]) + 0.85 * log(1.0 + stay[1])
		check_near(node.lost, 1.0 / (1.0 + exp(-logit)), 1e-6)
		check_equal(node.lost_of(1), node.lost)
		said.append(node.is_lost(1))
	# 0.01, 0.53, 0.33, 0.06, 0.33, 0.80
	check_equal(said, [false, false, false, false, false, true] as Array[bool])
	node.lost_below = 0.3
	node.act_on_observation(_stayed(node, 20, 20), 1)
	check(node.is_lost(1) and not node.is_lost(0), "between both limits; another agent")
	node.lost_below = 0.4
	node.act_on_observation(_stayed(node, 20, 20), 1)
	check_equal(changes, [[1, true], [1, false]])
	node.lost_above = 0.2
	node.act_on_observation(_stayed(node, 20, 20), 4)
	node.reset(4)
	check_equal(changes.slice(2), [[4, true], [4, false]], "a reset takes it back")
	check_equal(node.lost_of(4), -1.0)
	node.free()


func test_plans_that_do_not_walk_move_the_agent() -> void:
	var node := _node()
	check(node.file.follow_plan, "the shipped one follows its plan")
	var seen := PackedFloat32Array()
	seen.resize(node.file.observation_size)
	var state := node.file.start_of("route_state")
	var velocity := node.file.start_of("route_velocity")
	seen[velocity] = 0.25 * AmbuloNavigatorFeatures.SPEEDS
	seen[velocity + 1] = -1.0 * AmbuloNavigatorFeatures.SPEEDS
	seen[state + AmbuloSteering.WALK] = 1.0
	seen[node.file.start_of("goal_position")] = 6.0
	var walks := node.act_on_observation(seen)
	seen[state + AmbuloSteering.WALK] = 0.0
	seen[state + AmbuloSteering.EVADE] = 1.0
	var evades := node.act_on_observation(seen)
	var target := AmbuloActions.target(evades[0], evades[1], 0.0, node.file.spec.dead_zone)
	check_all_near(target, [1.0 / node.file.spec.max_speed, 0.25 / node.file.spec.max_speed, 0.0])
	node.file.follow_plan = false
	check_near(node.act_on_observation(seen)[2], evades[2], 1e-12, "the stick turns")
	seen[state + AmbuloSteering.WALK] = 1.0
	seen[state + AmbuloSteering.EVADE] = 0.0
	check_all_near(node.act_on_observation(seen), walks, 1e-12)
	node.free()


func test_worlds_that_do_not_fit_are_refused() -> void:
	var wrong: Dictionary[String, Variant] = {
		"num_rays": 8,
		"ray_length": 4.0,
		"rays_see_edges": false,
		"rays_in_head_frame": false,
		"discrete": true,
		"dt": 1.0 / 60.0,
		"ticks_per_decision": 3,
	}
	var node := _node()
	expect_error("the policy needs a world with")
	for key in wrong:
		var spec := AmbuloSpec.from_dict(node.file.spec.to_dict(), [])
		spec.set(key, wrong[key])
		var world := AmbuloWorld.new()
		world.configure(1, spec)
		check_equal(node.act(world, 0, Vector2.ZERO).size(), 0, key)
		check_contains(node.error, key)
	node.free()


func test_misuse_is_an_error_message() -> void:
	var node := _node()
	var world := _world(node)
	expect_error("the world has 2 agents")
	check_equal(node.act(world, 2, Vector2.ZERO).size(), 0)
	check_contains(node.error, "agent 2")
	check_equal(node.act(world, -1, Vector2.ZERO).size(), 0)
	expect_error("call AmbuloWorld.reset before act")
	check_equal(node.act(world, 0, Vector2.ZERO).size(), 0)
	expect_error("there is no world")
	check_equal(node.act(null, 0, Vector2.ZERO).size(), 0)
	expect_error("a row of at least 27 numbers and a goal of 3 are needed, got 2 and 1")
	check_equal(node.act_on_row(0, [0.0, 0.0], [1.0]).size(), 0)
	expect_error("numbers, got 1")
	check_equal(node.act_on_observation([0.0]).size(), 0)
	expect_error("an agent is in no level: call reset before advance")
	world.advance(1)
	world.finish()
	world.reset([0], [0], [0.0, 0.0, 0.0])
	check_equal(node.act(world, 0, Vector2(5.0, 0.0)).size(), 3, node.error)
	check_equal(node.error, "")
	node.free()
	var empty := AmbuloPolicyNode.new()
	expect_error("no policy is loaded")
	check_equal(empty.act(world, 0, Vector2.ZERO).size(), 0)
	check_equal(empty.act_on_observation([0.0]).size(), 0)
	check_near(empty.decision_seconds(), 0.0)
	empty.free()


func test_worlds_that_differ_a_little_are_played() -> void:
	var node := _node()
	var spec := AmbuloSpec.from_dict(node.file.spec.to_dict(), [])
	spec.ticks_per_decision = 6
	spec.dt = 1.0 / 60.0
	spec.max_speed = 1.5
	var world := AmbuloWorld.new()
	world.configure(1, spec)
	world.set_levels([0], [_level({"bounds": [-9, -9, 9, 9]})])
	world.reset([0], [0], [0.0, 0.0, 0.0])
	check_equal(node.act(world, 0, Vector2(5.0, 0.0)).size(), 3, node.error)
	check_equal(node.error, "")
	node.free()


func test_the_task_must_be_one_of_the_file() -> void:
	var node := _node()
	check_equal(node.file.tasks, PackedStringArray(["navigate"]))
	var world := _world(node)
	world.reset([0], [0], [0.0, 0.0, 0.0])
	node.task = AmbuloObservation.TASKS.find("reach")
	expect_error("was trained to navigate, not to reach")
	check_equal(node.act(world, 0, Vector2(5.0, 0.0)).size(), 0)
	var nowhere := Vector3.ZERO
	var rays := PackedFloat64Array()
	rays.resize(16)
	check_equal(node.act_in_scene(0, nowhere, 0.0, nowhere, 0.0, rays, nowhere).size(), 0)
	check_contains(node.error, "not to reach")
	check(node.load_policy(SHIPPED))
	check_equal(node.task, 0, "loading sets the only task")
	check_equal(node.act(world, 0, Vector2(5.0, 0.0)).size(), 3)
	node.free()


func test_bad_files_leave_no_policy() -> void:
	var node := _node()
	check(not node.load_policy("res://project.godot"))
	check(node.file == null)
	check_contains(node.error, "is no policy file")
	check_equal(node.act(AmbuloWorld.new(), 0, Vector2.ZERO).size(), 0)
	var nowhere := Vector3.ZERO
	check_equal(node.act_in_scene(0, nowhere, 0.0, nowhere, 0.0, [1.0], nowhere).size(), 0)
	check_contains(node.error, "is no policy file", "the reason is kept")
	node.free()


func test_the_exported_path_is_loaded() -> void:
	var node := AmbuloPolicyNode.new()
	node.policy_path = SHIPPED
	tree.root.add_child(node)
	await tree.process_frame
	check(node.file != null, "loaded when it enters the scene")
	node.queue_free()


func test_commands_move_like_the_world() -> void:
	var node := _node()
	var world := _world(node)
	world.reset([0, 1], [0, 0], [0.0, 0.0, 0.7, 3.0, 3.0, 0.0])
	var command := AmbuloCommand.new(node.file.spec)
	var action := PackedFloat64Array([0.3, 0.9, -0.4])
	command.aim(action)
	var position := Vector3.ZERO
	var yaw := 0.7
	for tick in node.file.spec.ticks_per_decision:
		command.tick()
		yaw += command.yaw_rate * node.file.spec.dt
		position += command.velocity(yaw) * node.file.spec.dt
	world.step(action + PackedFloat64Array([0.0, 0.0, 0.0]))
	var row := world.state_rows([0])
	check_near(row[AmbuloWorld.YAW], yaw, 1e-9)
	check_all_near(AmbuloAxes.from_godot(position).slice(0, 2), row.slice(0, 2), 1e-6)
	node.free()


func test_the_dial_scales_limits_of_commands_as_of_the_world() -> void:
	var node := _node()
	check(node.has_dial())
	check_near(node.dial(), 0.0, 0.0, "what the file says")
	var dial: Variant = node.file.observation["comfort"]
	node.file.observation.erase("comfort")
	check_near(node.dial(), 1.0, 0.0, "limits hold in full without a dial")
	node.file.observation["comfort"] = dial
	node.comfort = 1.5
	check_near(node.comfort, 1.0, 0.0, "kept within 0 to 1")
	var spec := AmbuloSpec.from_dict(node.file.spec.to_dict(), [])
	spec.max_acceleration = 1.5
	spec.facing = 0.5
	spec.comfort_speed = 0.8
	var speeds := PackedFloat64Array()
	for comfort: float in [0.0, 0.5, 1.0]:
		var world := AmbuloWorld.new()
		world.configure(1, spec)
		world.set_levels([0], [_level({"bounds": [-9, -9, 9, 9]})])
		world.reset([0], [0], [0.0, 0.0, 0.0])
		world.comfort[0] = comfort
		var command := AmbuloCommand.new(spec)
		var action := PackedFloat64Array([0.9, 0.3, 0.0])
		command.aim(action, comfort)
		for tick in spec.ticks_per_decision:
			command.tick()
		world.step(action)
		var row := world.state_rows([0])
		var velocity := AmbuloAxes.from_godot(command.velocity(0.0))
		check_near(velocity[0], row[AmbuloWorld.VELOCITY], 1e-6)
		check_near(velocity[1], row[AmbuloWorld.VELOCITY + 1], 1e-6)
		speeds.append(command.velocity(0.0).length())
	check(speeds[0] > 2.0 * speeds[1] and speeds[1] > speeds[2], str(speeds))
	node.free()


func test_discrete_commands() -> void:
	var spec := AmbuloSpec.new()
	spec.discrete = true
	var command := AmbuloCommand.new(spec)
	check_near(command.aim([4.0]), spec.turn_angle, 1e-9, "turn left")
	command.tick()
	check_near(command.velocity(0.0).length(), 0.0)
	check_near(command.aim([0.0]), 0.0, 1e-9, "no turn")
	command.tick()
	var ahead := command.velocity(0.0) * spec.decision_dt()
	check_near(ahead.distance_to(Vector3(0.0, 0.0, -1.0)), 0.0, 1e-6, "a metre ahead")


func test_an_episode_counts() -> void:
	var node := _node()
	var world := AmbuloWorld.new()
	world.configure(1, node.file.spec)
	var level := _level({"bounds": [-9, -9, 9, 9]})
	var episode := AmbuloEpisode.play(world, node, level, [-5.0, 0.0, 0.0, 0.0, 5.0, 0.0, 0.0])
	check(episode.success)
	check_near(world.comfort[0], node.dial(), 0.0, "played with the dial of the policy")
	check(not episode.fell)
	check_equal(episode.collisions, 0)
	check_near(episode.path, 9.0, 0.6, "to the edge of the goal disc")
	check(episode.steps >= 45 and episode.steps < 70, "at most 2 m/s")
	node.file.max_steps = 3
	episode = AmbuloEpisode.play(world, node, level, [-5.0, 0.0, 0.0, 0.0, 5.0, 0.0, 0.0])
	check(not episode.success)
	check_equal(episode.steps, 3)
	node.free()


func test_it_climbs_stairs_to_another_floor() -> void:
	var node := _node()
	var world := AmbuloWorld.new()
	world.configure(1, node.file.spec)
	var level := AmbuloLevel.read_files("res://scenes/demo/levels/storeys.json", [])[0]
	var places := AmbuloPlaces.in_level(level, RandomNumberGenerator.new(), Vector2(5, 30), [])
	var episode := AmbuloEpisode.play(world, node, level, places)
	check(episode.success, "after %d decisions" % episode.steps)
	check_near(world.state_rows([0])[2], 2.5, 1e-3, "on the upper floor")
	node.free()


func test_a_goal_is_not_reached_in_a_fall() -> void:
	var world := AmbuloWorld.new()
	world.configure(1, AmbuloSpec.new())
	world.set_levels([0], [_level({"bounds": [-9, -9, 9, 9], "holes": [[0, -9, 9, 9]]})])
	var episode := AmbuloEpisode.new()
	episode.goal = [1.0, 0.0, 0.0]
	for x: float in [-0.1, 0.5]:
		world.reset([0], [0], [x, 0.0, 0.0])
		check_equal(
			episode.is_reached(world.state_rows([0])), false, "over a metre away, or falling"
		)
	world.reset([0], [0], [-0.1, 0.0, 0.0])
	episode.goal = [0.5, 0.0, 0.0]
	check(episode.is_reached(world.state_rows([0])))


func test_places_fixed_and_drawn() -> void:
	var rng := RandomNumberGenerator.new()
	var fixed := _level(
		{"bounds": [-9, -9, 9, 9], "start": {"position": [1, 2], "yaw": 3}, "goal": [4, 5]}
	)
	var reach := Vector2(5.0, 30.0)
	var expected := PackedFloat64Array([1.0, 2.0, 3.0, 0.0, 4.0, 5.0, 0.0])
	check_equal(AmbuloPlaces.in_level(fixed, rng, reach), expected)
	var wall := {"center": [0, 0, 1], "half_size": [0.1, 8.9, 1]}
	var open := _level({"bounds": [-9, -9, 9, 9], "boxes": [wall], "holes": [[2, 2, 4, 4]]})
	for i in 20:
		rng.seed = i
		var places := AmbuloPlaces.in_level(open, rng, reach)
		check_equal(places.size(), 7)
		var away := Vector2(places[0] - places[4], places[1] - places[5]).length()
		check(away >= 5.0 and away <= 30.0, "distance")
		check(places[0] * places[4] > 0.0, "never through the wall")
		rng.seed = i
		check_equal(AmbuloPlaces.in_level(open, rng, reach), places, "the seed repeats")
	check_equal(AmbuloPlaces.in_level(open, rng, Vector2(40.0, 50.0)).size(), 0, "too far")


func _node() -> AmbuloPolicyNode:
	var node := AmbuloPolicyNode.new()
	check(node.load_policy(SHIPPED), node.error)
	return node


## An observation after [param since] decisions without progress and [param here] in one cell.
func _stayed(node: AmbuloPolicyNode, since: int, here: int) -> PackedFloat32Array:
	var out := PackedFloat32Array()
	out.resize(node.file.observation_size)
	var at := node.file.start_of("stay")
	out[at] = 0.2 * log(1.0 + here)
	out[at + 1] = 0.01 * since
	return out


func _world(node: AmbuloPolicyNode) -> AmbuloWorld:
	var world := AmbuloWorld.new()
	world.configure(2, node.file.spec)
	world.set_levels([0], [_level({"bounds": [-9, -9, 9, 9]})])
	return world


func _level(data: Dictionary) -> AmbuloLevel:
	var errors := PackedStringArray()
	data["name"] = "test"
	var level := AmbuloLevel.from_dict(data, errors)
	check_equal(errors, PackedStringArray(), "level errors")
	return level


func _row(x: float, yaw: float) -> PackedFloat64Array:
	var row := PackedFloat64Array([x, 0.5, 0.0, yaw, 1.0, 0.0, 0.0, 0.1, 0.0, 0.0, 0.0])
	for i in 16:
		row.append(2.0 + 0.1 * i)
	return row
