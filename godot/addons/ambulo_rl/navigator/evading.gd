class_name AmbuloEvading
extends RefCounted
## Predicts whether a walk comes too near to moving objects, and finds a velocity that does not.
## Same computation as in the trainer (`envs/vr/navigator/evading.py`).

## Time for which motion is predicted, [s].
const HORIZON := 1.0

# Distance kept from objects at rest and from moving ones, [m].
const _ROOM := 0.26
const _MOVING_ROOM := 0.32
# Allowance for the sway of people who walk, [m].
const _SWAY := 0.08
const _SAMPLE := 0.1
# Objects whose centres are farther away are ignored, [m].
const _FARTHEST := 6.5
const _STILL := 0.02
# A gap that grows by more than this is safe, [m].
const _SHRINKS := 0.02
const _PACES: PackedFloat64Array = [0.7, 1.4, 2.1]
const _DIRECTIONS := 16
# Duration of an evasive walk, [s], and free distance that it needs beyond the body's radius, [m].
const _FOR := 0.5
const _FREE := 0.35

## Result of [method least_gap]: time at which the gap first gets too small, HORIZON: never, [s].
var first := HORIZON

var _tracks: AmbuloTracks
var _z := 0.0
# Tracks that are considered.
var _use: PackedInt32Array = []


## Whether a moving object overlaps in height with a body whose feet are at [param z].
static func stands_in(of: AmbuloTracks, m: int, z: float) -> bool:
	var row := AmbuloTracks.ROW * m
	var low := z + AmbuloContract.CLIMB_HEIGHT
	return of.rows[row + 6] < z + AmbuloContract.BODY_HEIGHT and of.rows[row + 7] > low


## Selects the tracks [param use] of [param tracks] for feet at (x, y, z); those that are far away
## are left out.
func look_at(tracks: AmbuloTracks, use: PackedInt32Array, x: float, y: float, z: float) -> void:
	_tracks = tracks
	_z = z
	_use.clear()
	for m in use:
		var row := AmbuloTracks.ROW * m
		if sqrt((tracks.rows[row] - x) ** 2 + (tracks.rows[row + 1] - y) ** 2) <= _FARTHEST:
			_use.append(m)


## Time at which a walk from (x, y) at [param speed] along [param way] (x and y of each point) comes
## too near to a moving object; HORIZON: not before that, [s].
func meets_on_path(x: float, y: float, way: PackedFloat64Array, speed: float) -> float:
	var soonest := HORIZON
	for m in _use:
		if not stands_in(_tracks, m, _z):
			continue
		var rate := AmbuloTracks.RATES * m
		var rates := _tracks.rates
		var room := _MOVING_ROOM
		if absf(rates[rate]) + absf(rates[rate + 1]) + absf(rates[rate + 3]) < _STILL:
			room = _ROOM
		var px := x
		var py := y
		var at := 0
		var begin := _tracks.gap_at(m, 0.0, x, y)
		var t := _SAMPLE
		while t < soonest:
			var left := speed * _SAMPLE
			while left > 0.0 and at < way.size():
				var dx := way[at] - px
				var dy := way[at + 1] - py
				var d := sqrt(dx * dx + dy * dy)
				if d <= left:
					px = way[at]
					py = way[at + 1]
					at += 2
					left -= d
				else:
					px += dx / d * left
					py += dy / d * left
					left = 0.0
			var gap := _tracks.gap_at(m, t, px, py)
			if gap < room and gap < begin + _SHRINKS:
				soonest = t
				break
			t += _SAMPLE
	return soonest


## Least gap to moving objects on a walk at (vx, vy) for [param lasts] seconds, then at rest, [m].
func least_gap(x: float, y: float, vx: float, vy: float, lasts: float) -> float:
	first = HORIZON
	var least := 9.0
	for m in _use:
		var row := AmbuloTracks.ROW * m
		var rate := AmbuloTracks.RATES * m
		var rise := _tracks.rates[rate + 2]
		var walks := absf(_tracks.rates[rate]) + absf(_tracks.rates[rate + 1]) > _STILL
		var sways := walks and _tracks.rows[row + 8] == AmbuloThings.PERSON
		var sway := _SWAY if sways else 0.0
		var t := 0.0
		while t <= HORIZON:
			var bottom := _tracks.rows[row + 6] + rise * t
			var top := _tracks.rows[row + 7] + rise * t
			if bottom < _z + AmbuloContract.BODY_HEIGHT and top > _z + AmbuloContract.CLIMB_HEIGHT:
				var q := minf(t, lasts)
				var gap := _tracks.gap_at(m, t, x + vx * q, y + vy * q) - sway
				least = minf(least, gap)
				if gap < _ROOM:
					first = minf(first, t)
			t += _SAMPLE
	return least


## Velocity (vx, vy) that keeps away from moving objects, with a slight preference for the direction
## (dx, dy), [m/s].
func evasive(sensed: AmbuloSensed, dx: float, dy: float) -> PackedFloat64Array:
	var best := -INF
	var out: PackedFloat64Array = [0.0, 0.0]
	var far := maxf(sqrt(dx * dx + dy * dy), 1e-6)
	var count := sensed.rays.size()
	for d in _DIRECTIONS:
		var heading := TAU * d / _DIRECTIONS
		var cx := cos(heading)
		var sy := sin(heading)
		var ray := floori((heading - sensed.angle) / TAU * count)
		var free := minf(sensed.rays[posmod(ray, count)], sensed.rays[posmod(ray + 1, count)])
		for pace in _PACES:
			if free < _FREE + _FOR * pace * _FOR:
				continue
			var gap := least_gap(sensed.x, sensed.y, pace * cx, pace * sy, _FOR)
			var value := 10.0 * minf(gap, _ROOM + 0.05) - 0.2 * pace
			value += 0.1 * (cx * dx + sy * dy) / far
			if value > best:
				best = value
				out[0] = pace * cx
				out[1] = pace * sy
	return out
