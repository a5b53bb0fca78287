class_name AmbuloEpisode
extends RefCounted
## One episode of `navigate`: who walks to within the goal radius has solved it.
##
## The rule is the trainer's: after each decision the player must stand no lower than the
## floor and nearer to the goal than the radius; a fall or the step limit ends the episode.

## Level and its family.
var level := ""
var family := ""
## The goal was reached.
var success := false
## Ended by a fall.
var fell := false
## Decisions.
var steps := 0
## Collision events.
var collisions := 0
## Horizontal length walked, [m].
var path := 0.0
## Time that the policy took, [us].
var policy_usec := 0


## Play agent 0 of [param world] in [param in_level]. [param places] is its start (x, y,
## yaw) and its goal (x, y), as [method AmbuloPlaces.draw] gives them.
static func play(
	world: AmbuloWorld, policy: AmbuloPolicyNode, in_level: AmbuloLevel, places: PackedFloat64Array
) -> AmbuloEpisode:
	var episode := AmbuloEpisode.new()
	episode.level = in_level.name
	episode.family = in_level.family
	var agents := PackedInt64Array([0])
	var goal := PackedFloat64Array([places[3], places[4], 0.0])
	world.set_levels(agents, [in_level])
	world.reset(agents, agents, places.slice(0, 3))
	policy.reset(0)
	while not episode.success and not episode.fell and episode.steps < policy.file.max_steps:
		var row := world.state_rows(agents)
		var before := Time.get_ticks_usec()
		var action := policy.act_on_row(0, row, goal)
		episode.policy_usec += Time.get_ticks_usec() - before
		world.step(action)
		episode._count(world.state_rows(agents), goal, policy.file.goal_radius)
	return episode


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


func _count(row: PackedFloat64Array, goal: PackedFloat64Array, radius: float) -> void:
	var tail := row.size() - AmbuloWorld.TAIL
	steps += 1
	path += row[tail + AmbuloWorld.PATH]
	collisions += int(row[tail + AmbuloWorld.COLLISIONS])
	fell = row[tail + AmbuloWorld.FELL] != 0.0
	var dx := goal[0] - row[0]
	var dy := goal[1] - row[1]
	success = row[2] >= 0.0 and sqrt(dx * dx + dy * dy) < radius and not fell
