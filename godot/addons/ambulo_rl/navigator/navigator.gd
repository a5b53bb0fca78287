class_name AmbuloNavigator
extends RefCounted
## From one agent's sensor readings to a map, a plan and a velocity, in the frame of its world; the
## numbers equal those of the trainer's navigator (`envs/vr/navigator/`).
##
## With [member spreads] another thread updates map and plan between two decisions: the plan is used
## from the next decision on, and after a long search a little later. The first decisions of an
## episode, which have no plan yet, wait for it.

# Largest height of the feet above the carrier that they stand on, [m].
const _UNDER := 0.15
# Least vertical speed of a carrier at which rays are not mapped as floors, [m/s].
const _STILL := 0.02
# Most nodes that a search expands between two decisions, and in one call with all its attempts.
const _SLICE := 3000
const _ALL := 5 * AmbuloNodes.MOST_EXPANDED

## Map of floors and obstacles, tracks of moving objects, the plan, and the steering. Their heights
## count from [member base].
var columns := AmbuloColumns.new()
var tracks := AmbuloTracks.new()
var plan := AmbuloPlanning.new()
var steering := AmbuloSteering.new()
## The latest sensor readings.
var sensed := AmbuloSensed.new()
## Height of the start, [m].
var base := 0.0
## Whether maps and plans are updated on another thread between decisions.
var spreads := false

var _step := -1
var _task := -1
# Work left of the last decision.
var _left := Callable()


func _notification(what: int) -> void:
	if what == NOTIFICATION_PREDELETE and _task >= 0:
		WorkerThreadPool.wait_for_task_completion(_task)


## Clears the state.
func reset() -> void:
	collect()
	plan.clear()
	columns.clear()
	tracks.clear()
	steering.clear()
	_step = -1


## Waits for the work left of the last decision; map and plan may be read afterwards.
func collect() -> void:
	set_off()
	if _task >= 0:
		WorkerThreadPool.wait_for_task_completion(_task)
		_task = -1
		plan.take()


## Points of the path, in the contract's axes; waits for it as [method collect] does.
func path() -> PackedVector3Array:
	collect()
	var way := PackedVector3Array()
	for k in range(0, AmbuloSearch.POINT * plan.length, AmbuloSearch.POINT):
		var at := plan.points.slice(k, k + 3)
		way.append(Vector3(at[0], at[1], base + at[2]))
	return way


## Maps the readings of one decision, plans and steers. [param row] is the agent's state row in an
## [AmbuloWorld] with settings [param spec], or its front up to the sensor readings, [param goal]
## the goal (x, y, z) on its floor.
func update(row: PackedFloat64Array, goal: PackedFloat64Array, spec: AmbuloSpec) -> void:
	collect()
	if _step < 0:
		base = row[2]
	_step += 1
	sensed.read(row, goal, spec, base)
	if not sensed.falls:
		tracks.update(sensed.things, _step, spec.decision_dt())
	plan.note_leap(sensed)
	var waits := steering.state != AmbuloSteering.WALK
	var later := spreads and plan.length > 0
	if not later:
		_map_and_plan(waits, _ALL)
		plan.take()
	steering.update(tracks, plan, sensed, _step, spec.max_speed)
	_left = _map_and_plan.bind(waits, _SLICE) if later else Callable()


## Starts the work left of this decision on another thread; map and plan may be read again after
## [method collect], which the next decision calls.
func set_off() -> void:
	if _left.is_valid():
		_task = WorkerThreadPool.add_task(_left)
		_left = Callable()


func _map_and_plan(waits: bool, most: int) -> void:
	var on := tracks.carrier_under(sensed.x, sensed.y, sensed.z, _UNDER)
	columns.keep_around(sensed.x, sensed.y, Array(sensed.rays).max())
	var rests := on < 0 or absf(tracks.rates[AmbuloTracks.RATES * on + 2]) <= _STILL
	if rests and not sensed.falls:
		AmbuloMapping.map_rays(columns, sensed)
	plan.update(columns, tracks, sensed, _step, waits, most)
