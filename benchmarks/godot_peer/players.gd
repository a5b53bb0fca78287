extends Node3D
## Players of our own world code that walk through a list of levels, one episode in each, moved
## one tick in each physics tick of the engine. The schedule is that of our side.
##
## Agent i plays its episode k in level (i + k) modulo their number, from that level's start,
## until it has fallen or has made `limit` decisions.

## Numbers of an observation.
const OBSERVATION := 48

## Number of agents.
var count := 0
## Decisions of an episode.
var limit := 0
## Settings of the players.
var spec := AmbuloSpec.new()
var levels: Array[AmbuloLevel] = []

var _starts: Array[PackedFloat64Array] = []
var _goals: Array[PackedFloat64Array] = []
var _episodes: PackedInt64Array = []
var _decisions: PackedInt64Array = []
var _seen: PackedFloat32Array = []
var _world := AmbuloWorld.new()


func _physics_process(_delta: float) -> void:
	_world.advance(1)


## Builds everything that [param setup] describes.
func set_up(setup: Dictionary) -> void:
	count = int(setup["agents"])
	limit = int(setup["limit"])
	var errors := PackedStringArray()
	for data: Dictionary in setup["levels"]:
		levels.append(AmbuloLevel.from_dict(data, errors))
	for start: Array in setup["starts"]:
		_starts.append(PackedFloat64Array(start))
	for goal: Array in setup["goals"]:
		_goals.append(PackedFloat64Array(goal))
	assert(errors.is_empty())
	_episodes.resize(count)
	_decisions.resize(count)
	_seen.resize(OBSERVATION)
	_world.configure(count, spec)
	_world.set_levels(PackedInt64Array(range(levels.size())), levels)
	reset_all()


## Begins episode 0 of every agent.
func reset_all() -> void:
	for agent in count:
		_begin(agent, 0)


## What an agent observes and does, as godot-rl describes it.
func spaces() -> Array[Dictionary]:
	return [
		{"obs": {"size": [OBSERVATION], "space": "box"}},
		{"action": {"size": 3, "action_type": "continuous"}},
	]


## Starts a decision: one dictionary an agent, as the trainer sends it.
func act(actions: Array) -> void:
	var flat := PackedFloat64Array()
	for action: Dictionary in actions:
		flat.append_array(PackedFloat64Array(action["action"]))
	_world.begin(flat)


## Ends a decision. Which agents' episodes are over; these stand at their next start now.
func finish() -> Array[bool]:
	_world.finish()
	var done: Array[bool] = []
	for agent in count:
		_decisions[agent] += 1
		var over := (
			_row(agent)[_world.state_width - AmbuloWorld.TAIL + AmbuloWorld.FELL] > 0.0
			or _decisions[agent] >= limit
		)
		done.append(over)
		if over:
			_begin(agent, _episodes[agent] + 1)
	return done


## Rewards of the decision that has ended: none are given here.
func take_rewards() -> Array[float]:
	var rewards: Array[float] = []
	rewards.resize(count)
	rewards.fill(0.0)
	return rewards


## The published observation of [param agent], in world axes.
func observation(agent: int) -> PackedFloat32Array:
	var level := _level_of(agent)
	AmbuloObservation.write(_row(agent), _goals[level], _starts[level], spec.num_rays, false, _seen)
	return _seen.duplicate()


func _begin(agent: int, episode: int) -> void:
	_episodes[agent] = episode
	_decisions[agent] = 0
	var level := _level_of(agent)
	_world.reset([agent], [level], _starts[level])


func _level_of(agent: int) -> int:
	return (agent + _episodes[agent]) % levels.size()


func _row(agent: int) -> PackedFloat64Array:
	return _world.state_rows([agent])
