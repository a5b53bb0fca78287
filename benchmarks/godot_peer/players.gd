extends Node3D
## Players that walk through a list of levels, one episode in each: the schedule, which is
## the same for our side of the comparison. What moves them is in the subclasses.
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
	_build()
	reset_all()


## Begins episode 0 of every agent.
func reset_all() -> void:
	for agent in count:
		_begin(agent, 0)


## Starts a decision: one dictionary an agent, as the trainer sends it.
func act(actions: Array) -> void:
	var flat := PackedFloat64Array()
	for action: Dictionary in actions:
		flat.append_array(PackedFloat64Array(action["action"]))
	_command(flat)


## Ends a decision. Which agents' episodes are over; these stand at their next start now.
func finish() -> Array[bool]:
	_settle()
	var done: Array[bool] = []
	for agent in count:
		_decisions[agent] += 1
		var over := _has_fallen(agent) or _decisions[agent] >= limit
		done.append(over)
		if over:
			_begin(agent, _episodes[agent] + 1)
	return done


## The published observation of [param agent], in world axes.
func observation(agent: int) -> PackedFloat32Array:
	var level := _level_of(agent)
	AmbuloObservation.write(_row(agent), _goals[level], _starts[level], spec.num_rays, false, _seen)
	return _seen.duplicate()


func _begin(agent: int, episode: int) -> void:
	_episodes[agent] = episode
	_decisions[agent] = 0
	var level := _level_of(agent)
	_place(agent, level, _starts[level])


func _level_of(agent: int) -> int:
	return (agent + _episodes[agent]) % levels.size()


func _build() -> void:
	pass


func _place(_agent: int, _level: int, _pose: PackedFloat64Array) -> void:
	pass


func _command(_actions: PackedFloat64Array) -> void:
	pass


func _settle() -> void:
	pass


func _has_fallen(_agent: int) -> bool:
	return false


func _row(_agent: int) -> PackedFloat64Array:
	return []
