extends AmbuloWorldTest
## Determinism, exact continuation, slots and levels.


func test_reset_repeats_bit_for_bit() -> void:
	var world := _crowd(6)
	var first := digest(_ride(world, 40))
	check_equal(digest(_ride(world, 40)), first, "the same world again")
	check_equal(digest(_ride(_crowd(6), 40)), first, "another world")


func test_ticks_one_by_one_are_the_same() -> void:
	var whole := _crowd(4)
	var parts := _crowd(4)
	var random := RandomNumberGenerator.new()
	for k in 30:
		var actions := _actions(random, 4)
		whole.step(actions)
		parts.begin(actions)
		for _tick in parts.spec.ticks_per_decision:
			parts.advance(1)
		parts.finish()
	check_all_near(parts.all_rows(), whole.all_rows(), 1e-12)


func test_restore_continues_exactly() -> void:
	var random := RandomNumberGenerator.new()
	var world := _crowd(5)
	for k in 20:
		world.step(_actions(random, 5))
	var agents: PackedInt64Array = [0, 1, 2, 3, 4]
	var slots: PackedInt64Array = []
	for agent in agents:
		slots.append(world.slot_of(agent))
	var rows := world.state_rows(agents)
	var other := _crowd(5)
	other.restore(agents, slots, rows)
	check_equal(digest(other.all_rows()), digest(rows), "the rows come back")
	for k in 20:
		var actions := _actions(random, 5)
		world.step(actions)
		other.step(actions)
	check_equal(digest(other.all_rows()), digest(world.all_rows()), "and go on the same")


func test_agents_do_not_meet() -> void:
	var world := AmbuloWorld.new()
	world.configure(2, plain_spec())
	world.set_levels([7], [level_of({})])
	world.reset([0, 1], [7, 7], [0, 0, 0, 2, 0, PI])
	for k in 10:
		world.step([0, 1, 0, 0, 1, 0])
	check_all_near(part(world, "position", 0), [2, 0, 0], 1e-9)
	check_all_near(part(world, "position", 1), [0, 0, 0], 1e-9)
	check_near(value(world, "contact_ticks", 0), 0.0)
	check_near(part(world, "rays", 0)[0], 5.0, 0.0)


func test_more_slots_than_spaces() -> void:
	# Levels come and go in the same spaces; each must be read as if alone.
	var count := 3 * AmbuloWorld.KEPT
	var levels: Array[AmbuloLevel] = []
	var slots: PackedInt64Array = []
	for k in count:
		levels.append(level_of({"boxes": [box(1.5 + 0.01 * k, 0, 0.5, 0.5)]}))
		slots.append(k)
	var world := AmbuloWorld.new()
	world.configure(1, plain_spec())
	world.set_levels(slots, levels)
	for _round in 2:
		for k in count:
			world.reset([0], [k], [0, 0, 0])
			check_near(part(world, "rays")[0], 1.0 + 0.01 * k, 1e-5, "slot %d" % k)


func test_replaced_level() -> void:
	var world := world_at({"boxes": [box(2, 0, 1, 1)]}, [0, 0, 0])
	check(world.has_slot(0) and not world.has_slot(1))
	world.set_levels([0], [level_of({"boxes": [box(4, 0, 1, 1)]})])
	check_equal(world.slot_of(0), -1)
	expect_error("an agent is in no level")
	var before := world.all_rows()
	world.step([0, 1, 0])
	check_equal(world.all_rows(), before, "nothing moved")
	world.reset([0], [0], [0, 0, 0])
	check_near(part(world, "rays")[0], 3.0, 1e-5)


func test_bad_actions_change_nothing() -> void:
	var world := world_at({}, [0, 0, 0])
	expect_error("must be finite")
	var before := world.all_rows()
	world.step([0, NAN, 0])
	check_equal(world.all_rows(), before)


func test_configure_keeps_levels() -> void:
	var world := world_at({"boxes": [box(2, 0, 1, 1)]}, [0, 0, 0])
	world.configure(3, plain_spec({"num_rays": 4}))
	check_equal(world.state_width, 28)
	check_equal(world.slot_of(2), -1)
	world.reset([2], [0], [0, 0, 0])
	check_near(part(world, "rays", 2)[0], 1.0, 1e-5)


## A world with agents in levels with walls, holes and cylinders.
func _crowd(agents: int) -> AmbuloWorld:
	var world := AmbuloWorld.new()
	world.configure(agents, AmbuloSpec.new())
	var levels: Array[AmbuloLevel] = [
		level_of({"boxes": [box(1.5, 0, 0.5, 3, 0.1)], "cylinders": [drum(0, 2, 0.6)]}),
		level_of({"holes": [[2, -9, 3, 9]], "boxes": [box(-1, 1, 0.3, 0.3, 0.7)]}),
	]
	world.set_levels([0, 1], levels)
	_place(world)
	return world


func _place(world: AmbuloWorld) -> void:
	for agent in world.num_agents:
		world.reset([agent], [agent % 2], [-0.5 * agent, -0.2 * agent, 0.3 * agent])


func _ride(world: AmbuloWorld, decisions: int) -> PackedFloat64Array:
	_place(world)
	var random := RandomNumberGenerator.new()
	random.seed = 11
	var rows := world.all_rows()
	for k in decisions:
		world.step(_actions(random, world.num_agents))
		rows.append_array(world.all_rows())
	return rows


func _actions(random: RandomNumberGenerator, agents: int) -> PackedFloat64Array:
	var actions: PackedFloat64Array = []
	for k in agents:
		actions.append_array([random.randfn() * 0.5, random.randf(), random.randfn() * 0.5])
	return actions
