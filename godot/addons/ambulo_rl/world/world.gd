class_name AmbuloWorld
extends AmbuloWorldPlaces
## Players of the VR world contract (docs/vr_world.md), moved by the physics engine.
##
## Each agent is alone in its level; slots hold levels, and agents of one slot never meet. [method
## step] moves every agent by one decision inside the call: physics advances by exactly that many
## ticks and never otherwise. All numbers are in the contract's axes.
##
## [method use_scene_space] puts the agents into a user's own 3D scene instead: the obstacles are
## its colliders (see [AmbuloSpace]). The slot number is then ignored.
##
## With an [AmbuloTwin] the agents respond to their sticks like a walking body: with delay, lag and
## limits.
##
## The caller validates the arguments (see [AmbuloSpec], [AmbuloLevel], [AmbuloActions]).

## Comfort dial of each agent, in [0, 1], which scales the limits of its sticks; 1 after
## [method configure].
var comfort: PackedFloat64Array = []

var _targets: PackedFloat64Array = []
var _jumps: PackedFloat64Array = []
# Velocity of the teleport of each agent in this decision, x and y, [m/s].
var _leaps: PackedFloat64Array = []
# Height of each agent's feet at the start of this decision, [m].
var _begin_z: PackedFloat64Array = []
var _motions: Array[AmbuloTwin.Motion] = []
# Elapsed ticks of this decision.
var _done := 0


## Removes all agents and their states and creates [param agents] new ones without a level; levels
## stay. With [param new_twin] they move like its walker.
func configure(agents: int, new_spec: AmbuloSpec, new_twin: AmbuloTwin = null) -> void:
	num_agents = agents
	spec = new_spec
	twin = new_twin
	_motions.clear()
	_motions.resize(agents)
	state_width = RAYS + spec.sensed_size() + TAIL
	_rows = PackedFloat64Array()
	_rows.resize(agents * state_width)
	comfort.resize(agents)
	comfort.fill(1.0)
	_targets.resize(agents * 3)
	_targets.fill(0.0)
	_jumps.resize(agents * 2)
	_jumps.fill(0.0)
	_leaps.resize(agents * 2)
	_leaps.fill(0.0)
	_begin_z.resize(agents)
	_step.configure(spec, twin, _rows, _targets, _jumps)
	_clear_places()


## Places [param agents] at [param poses] (x, y, yaw each) in [param slots], at rest: on the floor
## below [param heights] (one each), or around the scene's floor height, or z = 0.
func reset(
	agents: PackedInt64Array,
	slots: PackedInt64Array,
	poses: PackedFloat64Array,
	heights := PackedFloat64Array()
) -> void:
	for k in agents.size():
		var agent := agents[k]
		_enter(agent, slots[k])
		var row := agent * state_width
		for m in state_width:
			_rows[row + m] = 0.0
		_rows[row] = poses[3 * k]
		_rows[row + 1] = poses[3 * k + 1]
		_rows[row + YAW] = poses[3 * k + 2]
		_rows[row + state_width - TAIL + SINCE_CONTACT] = AmbuloContract.NEVER
		_rows[row + state_width - TAIL + SINCE_PERSON] = AmbuloContract.NEVER
		if _things[agent] != null:
			_things[agent].settle()
		_show_things(agent)
		_stand(agent, heights[k] if heights else _spaces[agent].floor_height)
		if twin != null:
			_motions[agent] = twin.start()
		_read_rays(agent)


## Restores [param agents] exactly from [param rows] of [method state_rows]; with a twin they start
## at rest.
func restore(agents: PackedInt64Array, slots: PackedInt64Array, rows: PackedFloat64Array) -> void:
	for k in agents.size():
		_enter(agents[k], slots[k])
		if twin != null:
			_motions[agents[k]] = twin.start()
		var first := agents[k] * state_width
		for m in state_width:
			_rows[first + m] = rows[k * state_width + m]
		var things := _things[agents[k]]
		if things != null:
			var falls := _rows[first + state_width - TAIL + FALLING] != 0.0
			things.settle()
			things.board(_rows[first], _rows[first + 1], NAN if falls else _rows[first + 2])
		elif _rides[agents[k]] != null:
			_show_things(agents[k])
			_spaces[agents[k]].support(_rows[first], _rows[first + 1], _rows[first + 2], 0.0)
			_spaces[agents[k]].board(_rows[first + state_width - TAIL + FALLING] == 0.0)


## Moves every agent by one decision. Continuous: [param actions] has three numbers an
## agent (strafe, forward, rotation; + is right); discrete: one index in 0..6.
func step(actions: PackedFloat64Array) -> void:
	if begin(actions):
		advance(spec.ticks_per_decision)
		finish()


## [method step] without validation, for actions that [AmbuloActions] has accepted and agents that
## are all in levels.
func step_checked(actions: PackedFloat64Array) -> void:
	_begin_checked(actions)
	advance(spec.ticks_per_decision)
	finish()


## Starts a decision: [method step] in parts, for a game that draws every tick. False: the
## batch is refused and nothing has changed.
func begin(actions: PackedFloat64Array) -> bool:
	var problem := AmbuloActions.problem(actions, spec, num_agents)
	if not problem.is_empty() or _slots.has(-1):
		push_error("AmbuloWorld: %s" % (problem if problem else "an agent is in no level"))
		return false
	_begin_checked(actions)
	return true


## Moves every agent by [param ticks] ticks of the decision that [method begin] started.
func advance(ticks: int) -> void:
	if _slots.has(-1):
		push_error("AmbuloWorld: an agent is in no level: call reset before advance")
		return
	for agent in num_agents:
		_show_things(agent)
		_step.run(agent, _spaces[agent], _motions[agent], ticks, _done)
	_done += ticks


## Ends a decision: reads the rays.
func finish() -> void:
	if _scene != null:
		_scene.scene_things.clock += 1
	for agent in num_agents:
		if _slots[agent] < 0:
			continue
		if twin != null:
			_motions[agent].end(_rows, agent * state_width, spec.decision_dt())
		var row := agent * state_width
		if _rows[row + state_width - TAIL + FALLING] == 0.0:
			_rows[row + VELOCITY + 2] = (_rows[row + 2] - _begin_z[agent]) / spec.decision_dt()
			if _rides[agent] != null and twin == null:
				_rows[row + VELOCITY] += _rides[agent].way_x / spec.decision_dt()
				_rows[row + VELOCITY + 1] += _rides[agent].way_y / spec.decision_dt()
		if spec.teleport > 0.0 and _rows[row + state_width - TAIL + MOVES] > 0.0:
			_rows[row + VELOCITY] = _leaps[2 * agent]
			_rows[row + VELOCITY + 1] = _leaps[2 * agent + 1]
		_read_rays(agent)


func _begin_checked(actions: PackedFloat64Array) -> void:
	_done = 0
	for agent in num_agents:
		var tail := (agent + 1) * state_width - TAIL
		_begin_z[agent] = _rows[agent * state_width + 2]
		if _rides[agent] != null:
			_rides[agent].begin()
		_rows[tail + PATH] = 0.0
		_rows[tail + CONTACT_TICKS] = 0.0
		_rows[tail + COLLISIONS] = 0.0
		_rows[tail + PEOPLE_TICKS] = 0.0
		_rows[tail + PEOPLE_COLLISIONS] = 0.0
		if twin != null:
			_motions[agent].begin(_rows, agent * state_width)
		if spec.discrete:
			_begin_discrete(agent, int(actions[agent]), tail)
	if not spec.discrete:
		AmbuloActions.write_targets(actions, spec.dead_zone, _targets)
		if spec.has_leaps():
			for agent in num_agents:
				_begin_leap(agent)
		if spec.has_limits():
			for agent in num_agents:
				var command := agent * state_width + COMMAND
				AmbuloActions.limit(_targets, 3 * agent, spec, _rows, command, comfort[agent])


func _begin_discrete(agent: int, index: int, tail: int) -> void:
	var jump := AmbuloActions.jump(index, spec)
	_jumps[2 * agent] = jump[0]
	_jumps[2 * agent + 1] = jump[1]
	_rows[agent * state_width + YAW] += jump[2]
	_rows[tail + MOVES] = 1.0 if jump[0] != 0.0 or jump[1] != 0.0 else 0.0
	_rows[tail + SNAPS] = 1.0 if jump[2] != 0.0 else 0.0


## Turns and moves an agent at once, by its stick's snap turn or teleport.
func _begin_leap(agent: int) -> void:
	var row := agent * state_width
	var tail := row + state_width - TAIL
	AmbuloActions.shape_stick(_targets, 3 * agent, spec, comfort[agent])
	var made := AmbuloActions.leap(_targets, 3 * agent, spec, _rows, tail + COOLDOWN)
	_rows[row + YAW] += made[2]
	_rows[tail + SNAPS] = 1.0 if made[2] != 0.0 else 0.0
	_rows[tail + MOVES] = 0.0
	var travel := sqrt(made[0] ** 2 + made[1] ** 2)
	if travel == 0.0 or _rows[tail + FALLING] != 0.0:
		return
	var c := cos(_rows[row + YAW])
	var s := sin(_rows[row + YAW])
	var ux := (c * made[1] - s * made[0]) / travel
	var uy := (s * made[1] + c * made[0]) / travel
	var free := _go_straight(agent, ux, uy, travel)
	_rows[tail + PATH] += free
	_rows[tail + MOVES] = 1.0
	_leaps[2 * agent] = ux * free / spec.decision_dt()
	_leaps[2 * agent + 1] = uy * free / spec.decision_dt()
