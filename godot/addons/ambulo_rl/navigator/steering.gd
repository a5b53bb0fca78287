class_name AmbuloSteering
extends RefCounted
## From plan and moving objects to a velocity: walking, waiting, riding, evading. Same computation
## as in the trainer (`envs/vr/navigator/steering.py`).

## States: walks along its path, stands on a carrier, waits for one, waits for an obstacle to pass,
## evades one.
const WALK := 0
const RIDE := 1
const BOARD := 2
const STAND := 3
const EVADE := 4

# Largest height difference at which a carrier is boarded or left, [m].
const _LEVEL := 0.24
# Distance to the middle of a carrier within which the agent stands still, [m].
const _MIDDLE := 0.3
# A carrier is boarded at most this many decisions after its arrival; an empty one also while at
# least this many of its rest remain. Waiting bodies stay this far from an occupied one, [m].
const _FRESH := 5
const _LEFT := 8
const _CLEAR := 0.75
const _ABOARD := 0.12
const _SLOW := 0.7
# Speed per metre of distance to the waiting place, [1/s].
const _NEARLY := 4.0
# Number of path points behind the waypoint that are checked for moving objects, and of path points
# among which the waypoint is searched.
const _WAY := 14
const _NEXT := 60
# On a ray shorter than this [m], the speed towards its end is at most the third number [1/s] times
# the length beyond the second one [m].
const _BRAKE_BELOW := 0.45
const _STOP := 0.27
const _GAIN := 5.0
const _TINY := 1e-6

## Velocity, [m/s].
var velocity_x := 0.0
var velocity_y := 0.0
## Point to look at, [m].
var look_x := 0.0
var look_y := 0.0
## The present state, one of the constants above.
var state := WALK
## Whether the agent is walking onto a carrier.
var boarding := false

var _evading := AmbuloEvading.new()


## Clears the state.
func clear() -> void:
	state = WALK
	boarding = false


## Updates the state and velocity in decision [param step], at the speed [param pace] [m/s].
func update(
	tracks: AmbuloTracks, plan: AmbuloPlanning, sensed: AmbuloSensed, step: int, pace: float
) -> void:
	var on := tracks.carrier_under(sensed.x, sensed.y, sensed.z, _ABOARD)
	if plan.boards >= 0 and not tracks.is_carrier(plan.boards):
		plan.forget_carrier()
	var target_x := plan.waypoint_x
	var target_y := plan.waypoint_y
	var speed := pace
	state = WALK
	if on >= 0:
		boarding = false
		var row := AmbuloTracks.ROW * on
		if not _is_at_exit(tracks, plan, on, sensed.z):
			state = RIDE
			target_x = tracks.rows[row]
			target_y = tracks.rows[row + 1]
			var off := sqrt((target_x - sensed.x) ** 2 + (target_y - sensed.y) ** 2)
			speed = 0.0 if off < _MIDDLE else _SLOW
	elif plan.boards >= 0:
		var row := AmbuloTracks.ROW * plan.boards
		boarding = _may_board(tracks, plan.boards, sensed.z, step)
		if boarding:
			target_x = tracks.rows[row]
			target_y = tracks.rows[row + 1]
		else:
			state = BOARD
			if tracks.is_ridden(plan.boards, step):
				var gap := tracks.gap_at(plan.boards, 0.0, sensed.x, sensed.y)
				var away_x := sensed.x - tracks.rows[row]
				var away_y := sensed.y - tracks.rows[row + 1]
				var away := maxf(sqrt(away_x * away_x + away_y * away_y), _TINY)
				target_x = sensed.x + away_x / away * maxf(_CLEAR - gap, 0.0)
				target_y = sensed.y + away_y / away * maxf(_CLEAR - gap, 0.0)
			var off := sqrt((target_x - sensed.x) ** 2 + (target_y - sensed.y) ** 2)
			speed = 0.0 if off < 0.1 else minf(pace, 3.0 * off)
	else:
		boarding = false
	var dx := target_x - sensed.x
	var dy := target_y - sensed.y
	var far := sqrt(dx * dx + dy * dy)
	if state != WALK:
		speed = minf(speed, _NEARLY * far)
	look_x = target_x
	look_y = target_y
	if state == RIDE and speed == 0.0:
		look_x = sensed.x
		look_y = sensed.y
	elif state == BOARD:
		look_x = tracks.rows[AmbuloTracks.ROW * plan.boards]
		look_y = tracks.rows[AmbuloTracks.ROW * plan.boards + 1]
	velocity_x = dx / far * speed if far > _TINY else 0.0
	velocity_y = dy / far * speed if far > _TINY else 0.0
	if tracks.some:
		var straight := state != WALK or plan.boards >= 0 or on >= 0
		var way := _way_ahead(plan, target_x, target_y, straight)
		_avoid(tracks, sensed, _others(tracks, on, plan.boards, step), way, speed)
	_brake(sensed)


# Evades the moving objects `met`, or lets them pass.
func _avoid(
	tracks: AmbuloTracks,
	sensed: AmbuloSensed,
	met: PackedInt32Array,
	way: PackedFloat64Array,
	speed: float
) -> void:
	if met.is_empty():
		return
	_evading.look_at(tracks, met, sensed.x, sensed.y, sensed.z)
	var soonest := _evading.meets_on_path(sensed.x, sensed.y, way, maxf(speed, 0.01))
	_evading.least_gap(sensed.x, sensed.y, 0.0, 0.0, 0.0)
	var hit := _evading.first
	var horizon := AmbuloEvading.HORIZON
	if not (soonest < horizon or (speed == 0.0 and hit < horizon)):
		return
	velocity_x = 0.0
	velocity_y = 0.0
	state = STAND
	if hit < horizon:
		var away := _evading.evasive(sensed, way[0] - sensed.x, way[1] - sensed.y)
		velocity_x = away[0]
		velocity_y = away[1]
		state = EVADE


# Tracks of the reliable moving objects, except the carrier that the body is on or boards.
func _others(tracks: AmbuloTracks, on: int, boards: int, step: int) -> PackedInt32Array:
	var found: PackedInt32Array = []
	for m in AmbuloTracks.TRACKS:
		var own := m == on or (boarding and m == boards)
		if tracks.seen[m] >= 0 and step - tracks.seen[m] <= AmbuloTracks.RECENT and not own:
			found.append(m)
	return found


# Whether the carrier of the body is at rest and level with the point where the path leaves it.
static func _is_at_exit(tracks: AmbuloTracks, plan: AmbuloPlanning, on: int, z: float) -> bool:
	var out := z
	if on == plan.boards:
		return false
	if plan.length > 1 and plan.points[3] == on:
		out = plan.points[AmbuloSearch.POINT + 2]
	if absf(tracks.rows[AmbuloTracks.ROW * on + 7] - out) > _LEVEL:
		return false
	return absf(tracks.rates[AmbuloTracks.RATES * on + 2]) < AmbuloTracks.AT_REST


# Whether a carrier is level with the feet and stays, or did so in the last decision.
func _may_board(tracks: AmbuloTracks, m: int, z: float, step: int) -> bool:
	if absf(tracks.rows[AmbuloTracks.ROW * m + 7] - z) > _LEVEL:
		return false
	if absf(tracks.rates[AmbuloTracks.RATES * m + 2]) >= AmbuloTracks.AT_REST:
		return false
	if step - tracks.seen[m] > AmbuloTracks.RECENT:
		return false
	if boarding or tracks.rest_from[m] < 0:
		return boarding
	var since := step - tracks.rest_from[m]
	var stays := tracks.rest[m] > 0 and since + _LEFT <= tracks.rest[m]
	return (stays or since <= _FRESH) and not tracks.is_ridden(m, step)


# The waypoint and the path behind it: x and y of each point.
static func _way_ahead(
	plan: AmbuloPlanning, target_x: float, target_y: float, straight: bool
) -> PackedFloat64Array:
	var way: PackedFloat64Array = [target_x, target_y]
	if straight:
		return way
	var points := plan.points
	var best := INF
	var first := 0
	for j in mini(plan.length, _NEXT):
		var p := AmbuloSearch.POINT * j
		var d := (points[p] - target_x) ** 2 + (points[p + 1] - target_y) ** 2
		if d < best:
			best = d
			first = j
	for j in range(first + 1, mini(plan.length, first + _WAY)):
		var p := AmbuloSearch.POINT * j
		if points[p + 3] >= 0.0:
			break
		way.append(points[p])
		way.append(points[p + 1])
	return way


# Removes the velocity component towards static obstacles that are near.
func _brake(sensed: AmbuloSensed) -> void:
	var count := sensed.rays.size()
	for r in count:
		if sensed.rays[r] < _BRAKE_BELOW and sensed.ends[r] != AmbuloContract.MOVER:
			var heading := sensed.angle + TAU * r / count
			var cx := cos(heading)
			var sy := sin(heading)
			var over := velocity_x * cx + velocity_y * sy
			over -= maxf(sensed.rays[r] - _STOP, 0.0) * _GAIN
			if over > 0.0:
				velocity_x -= over * cx
				velocity_y -= over * sy
