class_name AmbuloNavigator
extends RefCounted
## From what one agent senses to a map, a plan and a velocity, in the frame of its world: as the
## trainer's navigator (`envs/vr/navigator/`), with the same numbers.

# A carrier this near under the feet carries, [m].
const _UNDER := 0.15
# Vertical speed of one from which what is seen is of no floor, [m/s].
const _STILL := 0.02

## What is known of floors and obstacles, what is remembered of things, the plan, and what the agent
## does now. Heights in them count from [member base].
var columns := AmbuloColumns.new()
var tracks := AmbuloTracks.new()
var plan := AmbuloPlanning.new()
var steering := AmbuloSteering.new()
## What was sensed last.
var sensed := AmbuloSensed.new()
## Height of the start, [m].
var base := 0.0

var _step := -1


## Forgets everything.
func reset() -> void:
	plan.clear()
	columns.clear()
	tracks.clear()
	steering.clear()
	_step = -1


## Maps what an agent senses, plans and steers; one decision. [param row] is its state row in an
## [AmbuloWorld] with settings [param spec], or the front of it up to what is sensed, [param goal]
## the goal (x, y, z) on its floor.
func update(row: PackedFloat64Array, goal: PackedFloat64Array, spec: AmbuloSpec) -> void:
	plan.collect()
	if _step < 0:
		base = row[2]
	_step += 1
	sensed.read(row, goal, spec, base)
	tracks.update(sensed.things, _step, spec.decision_dt())
	var on := tracks.carrier_under(sensed.x, sensed.y, sensed.z, _UNDER)
	if on < 0 or absf(tracks.rates[AmbuloTracks.RATES * on + 2]) <= _STILL:
		AmbuloMapping.map_rays(columns, sensed)
	plan.update(columns, tracks, sensed, _step, steering.state != AmbuloSteering.WALK)
	steering.update(tracks, plan, sensed, _step, spec.max_speed)
	plan.set_off()
