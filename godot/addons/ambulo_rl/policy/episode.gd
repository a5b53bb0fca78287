class_name AmbuloEpisode
extends RefCounted
## One episode of `navigate`, solved by walking to within the goal radius.
##
## The rule is the trainer's: after each decision the player must be on the floor of the goal and
## nearer to it than the radius; a fall or the step limit ends the episode.

## Default rules of an episode.
const DEFAULT_MAX_STEPS := 1000
const DEFAULT_GOAL_RADIUS := 1.0
## Range of the straight distance of a drawn goal, [m].
const GOAL_DISTANCE := Vector2(5.0, 30.0)

## Number of the episode, from 1, and the server's decision count at its start.
var number := 0
var began := 0
## Pose at the start: x, y [m], yaw [rad].
var origin: PackedFloat64Array = [0.0, 0.0, 0.0]
## Goal x, y, z, [m]; empty: none.
var goal: PackedFloat64Array = []
## Decisions until the timeout.
var max_steps := DEFAULT_MAX_STEPS
## Horizontal distance at which the goal is reached, [m].
var goal_radius := DEFAULT_GOAL_RADIUS
## Level and its family.
var level := ""
var family := ""
## Whether the goal was reached.
var success := false
## Whether the episode ended by a fall.
var fell := false
## Number of decisions.
var steps := 0
## Number of collisions.
var collisions := 0
## Horizontal length walked, [m].
var path := 0.0
## Total computation time of the policy, [us].
var policy_usec := 0


## Play agent 0 of [param world] in [param in_level]. [param places] is its start (x, y, yaw, z) and
## its goal (x, y, z), as returned by [method AmbuloPlaces.in_level].
static func play(
	world: AmbuloWorld, policy: AmbuloPolicyNode, in_level: AmbuloLevel, places: PackedFloat64Array
) -> AmbuloEpisode:
	var episode := AmbuloEpisode.new()
	episode.level = in_level.name
	episode.family = in_level.family
	episode.max_steps = policy.file.max_steps
	episode.goal_radius = policy.file.goal_radius
	episode.goal = places.slice(4, 7)
	var agents := PackedInt64Array([0])
	world.set_levels(agents, [in_level])
	world.reset(agents, agents, places.slice(0, 3), places.slice(3, 4))
	world.comfort[0] = policy.dial()
	policy.reset(0)
	while not episode.success and not episode.fell and episode.steps < episode.max_steps:
		var row := world.state_rows(agents)
		var before := Time.get_ticks_usec()
		var action := policy.act_on_row(0, row, episode.goal)
		episode.policy_usec += Time.get_ticks_usec() - before
		world.step(action)
		episode._count(world.state_rows(agents))
	return episode


## Whether the agent of the state row [param row] has reached the goal.
func is_reached(row: PackedFloat64Array) -> bool:
	if goal.is_empty() or absf(goal[2] - row[2]) >= AmbuloContract.SAME_FLOOR:
		return false
	if row[row.size() - AmbuloWorld.TAIL + AmbuloWorld.FALLING] != 0.0:
		return false
	return sqrt((goal[0] - row[0]) ** 2 + (goal[1] - row[1]) ** 2) < goal_radius


## The outcome as plain JSON data.
func to_dict() -> Dictionary:
	return {
		"level": level,
		"family": family,
		"success": success,
		"fell": fell,
		"steps": steps,
		"collisions": collisions,
		"path": path,
	}


func _count(row: PackedFloat64Array) -> void:
	var tail := row.size() - AmbuloWorld.TAIL
	steps += 1
	path += row[tail + AmbuloWorld.PATH]
	collisions += int(row[tail + AmbuloWorld.COLLISIONS])
	fell = row[tail + AmbuloWorld.FELL] != 0.0
	success = is_reached(row) and not fell
