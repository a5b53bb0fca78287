class_name AmbuloNavigatorFeatures
extends RefCounted
## The observation of a policy from an [AmbuloNavigator]: the path ahead, the reason for waiting,
## and nearby obstacles. Same computation as in the trainer (`envs/vr/navigator/features.py`).

## Number of directions of the distances to remembered obstacles, and their range, [m].
const SECTORS := 16
const NEAR_RANGE := 2.0
## Most moving objects in the observation.
const THINGS := 3
## Distances of the observed points along the path, [m].
const AHEAD: PackedFloat64Array = [1.0, 2.0, 4.0]
## Names and sizes of the parts written by [method write_route].
const ROUTE: Dictionary[String, int] = {
	"waypoint": 2,
	"route_points": 9,
	"route_length": 1,
	"route_found": 2,
	"route_state": 5,
	"route_velocity": 2,
	"movers": 21,
	"carrier": 5,
}

## Scale of velocities, [s/m].
const SPEEDS := 0.5

# Scales of positions [1/m], heights [1/m] and the length of the path [1/m].
const _METRES := 0.2
const _HEIGHTS := 0.5
const _LENGTH := 0.05
const _LONGEST := 3.0
# Numbers per moving object.
const _MOVER := 7
# Largest height of the feet above the carrier that they stand on, [m].
const _UNDER := 0.15


## Present target (x, y): the furthest visible point of the path; the middle of a carrier that is
## boarded; while waiting or evading, the point that the velocity reaches in a second.
static func waypoint(navigator: AmbuloNavigator) -> PackedFloat64Array:
	var steering := navigator.steering
	var sensed := navigator.sensed
	if steering.state != AmbuloSteering.WALK:
		return [sensed.x + steering.velocity_x, sensed.y + steering.velocity_y]
	if steering.boarding:
		var row := AmbuloTracks.ROW * navigator.plan.boards
		return [navigator.tracks.rows[row], navigator.tracks.rows[row + 1]]
	return [navigator.plan.waypoint_x, navigator.plan.waypoint_y]


## Writes the distance to the nearest remembered obstacle or edge in [constant SECTORS] directions,
## starting at [param yaw], as fractions of [constant NEAR_RANGE], into [param out] from index
## [param at].
static func write_near(
	navigator: AmbuloNavigator, yaw: float, out: PackedFloat32Array, at: int
) -> void:
	var sensed := navigator.sensed
	var columns := navigator.columns
	var cells := int(NEAR_RANGE * AmbuloColumns.PER_METRE)
	var h := AmbuloColumns.in_units(sensed.z)
	var column := floori(sensed.x * AmbuloColumns.PER_METRE)
	var row := floori(sensed.y * AmbuloColumns.PER_METRE)
	for k in SECTORS:
		out[at + k] = 1.0
	for r in range(row - cells, row + cells + 1):
		var line := (r & AmbuloColumns.WRAP) * AmbuloColumns.SIDE
		var dy := (r + 0.5) / AmbuloColumns.PER_METRE - sensed.y
		for c in range(column - cells, column + cells + 1):
			var first := (line + (c & AmbuloColumns.WRAP)) * AmbuloColumns.LEVELS
			if not columns.bits_at(first, h) & AmbuloColumns.CLOSED:
				continue
			var dx := (c + 0.5) / AmbuloColumns.PER_METRE - sensed.x
			var k := at + posmod(floori((atan2(dy, dx) - yaw) * SECTORS / TAU + 0.5), SECTORS)
			out[k] = minf(out[k], sqrt(dx * dx + dy * dy) / NEAR_RANGE)


## Writes the parts [constant ROUTE] for a heading [param yaw] into [param out] from index [param
## at].
static func write_route(
	navigator: AmbuloNavigator, yaw: float, out: PackedFloat32Array, at: int
) -> void:
	var sensed := navigator.sensed
	var plan := navigator.plan
	var steering := navigator.steering
	var tracks := navigator.tracks
	var x := sensed.x
	var y := sensed.y
	var head := Vector2(cos(yaw), sin(yaw))
	for k: int in ROUTE.values().reduce(func(sum: int, size: int) -> int: return sum + size):
		out[at + k] = 0.0
	var to := waypoint(navigator)
	at = _put(out, at, head, _METRES, to[0] - x, to[1] - y)
	var points := plan.points_ahead(x, y, AHEAD)
	for k in AHEAD.size():
		at = _put(out, at, head, _METRES, points[3 * k] - x, points[3 * k + 1] - y)
		out[at] = _HEIGHTS * (points[3 * k + 2] - sensed.z)
		at += 1
	out[at] = minf(_LENGTH * points[-1], _LONGEST)
	out[at + 1] = 1.0 if plan.found else 0.0
	out[at + 2] = 1.0 if plan.frontier else 0.0
	at += 3
	out[at + steering.state] = 1.0
	at = _put(out, at + 5, head, SPEEDS, steering.velocity_x, steering.velocity_y)
	var width := AmbuloContract.MOVER_COLUMNS
	var thing := at
	for first in range(0, mini(sensed.things.size(), THINGS * width), width):
		_write_mover(sensed, first, head, out, thing)
		thing += _MOVER
	at += ROUTE["movers"]
	var m := tracks.carrier_under(x, y, sensed.z, _UNDER)
	if m < 0:
		m = plan.boards
	if m >= 0:
		var row := AmbuloTracks.ROW * m
		out[at] = 1.0
		_put(out, at + 1, head, _METRES, tracks.rows[row] - x, tracks.rows[row + 1] - y)
		out[at + 3] = _HEIGHTS * (tracks.rows[row + 7] - sensed.z)
		out[at + 4] = SPEEDS * tracks.rates[AmbuloTracks.RATES * m + 2]


# Writes the visible moving object whose numbers begin at `first`.
static func _write_mover(
	sensed: AmbuloSensed, first: int, head: Vector2, out: PackedFloat32Array, at: int
) -> void:
	var thing := sensed.things.slice(first, first + AmbuloContract.MOVER_COLUMNS)
	var dx := sensed.x - thing[0]
	var dy := sensed.y - thing[1]
	if thing[8] == AmbuloThings.BOX:
		var u := thing[4] * dx + thing[5] * dy
		var v := thing[4] * dy - thing[5] * dx
		u -= clampf(u, -thing[2], thing[2])
		v -= clampf(v, -thing[3], thing[3])
		dx = thing[4] * u - thing[5] * v
		dy = thing[5] * u + thing[4] * v
	else:
		var far := sqrt(dx * dx + dy * dy)
		var share := 0.0 if far <= thing[2] else (far - thing[2]) / far
		dx *= share
		dy *= share
	out[at] = 1.0
	_put(out, at + 1, head, _METRES, -dx, -dy)
	out[at + 3] = _HEIGHTS * (thing[7] - sensed.z)
	_put(out, at + 4, head, SPEEDS, thing[9], thing[10])
	out[at + 6] = SPEEDS * thing[11]


# Writes a world vector in the frame of the head; returns the next index.
static func _put(
	out: PackedFloat32Array, at: int, head: Vector2, scale: float, x: float, y: float
) -> int:
	out[at] = scale * (head.x * x + head.y * y)
	out[at + 1] = scale * (head.x * y - head.y * x)
	return at + 2
