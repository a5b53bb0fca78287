class_name AmbuloTracks
extends RefCounted
## An agent's memory of moving objects: their poses, velocities and resting places. Same computation
## as in the trainer (`envs/vr/navigator/tracks.py`). Objects have no identity: a visible object is
## matched to the nearest track of its kind and size, after predicting the track's motion.

## Number of tracks, the numbers of each (see [AmbuloThings]), and those of its velocity: x, y, z
## [m/s], yaw rate [rad/s].
const TRACKS := 12
const ROW := 9
const RATES := 4
## Number of remembered resting heights per track.
const STOPS := 2
## Number of decisions for which a track without observations stays reliable.
const RECENT := 5
## Vertical speed below which a carrier is at rest, [m/s].
const AT_REST := 0.05

# Sum of velocities and yaw rate below which an object is at rest.
const _STILL := 0.02
# Largest difference between the sizes of one object, [m].
const _SIZE := 0.03
# Largest distance of an object from its predicted position [m], its growth per second without
# observation [m/s], and its upper limit [m].
const _NEAR := 0.4
const _ASTRAY := 1.5
const _FARTHEST := 6.0
# Time for which a velocity predicts the position, [s].
const _AHEAD := 1.0
# Yaw rate below which motion counts as straight, [rad/s].
const _STEADY := 1e-6
# Weight of a metre of height in distances, because lifts go up and down.
const _UP := 0.25
# Decisions after which a person is dropped.
const _FORGET := 30
# Least half size and largest thickness of a carrier, [m].
const _WIDE := 0.4
const _THIN := 0.6
# Stops that differ by less are the same, [m].
const _SAME_STOP := 0.3
# A body this near to the top of a carrier is on it, [m].
const _ON := 0.3

## Last observation: ROW numbers of each track.
var rows: PackedFloat64Array = []
## Last velocity: RATES numbers of each track.
var rates: PackedFloat64Array = []
## Decision of the last observation, -1: unused track.
var seen: PackedInt32Array = []
## Heights of the top at rest, STOPS numbers, NAN: none, [m].
var stops: PackedFloat64Array = []
## Decision in which it was seen to come to rest, -1: unknown or moving.
var rest_from: PackedInt32Array = []
## Length of its last complete rest, 0: unknown, [decisions].
var rest: PackedInt32Array = []
## Whether it is a carrier.
var carries: PackedByteArray = []
## Whether any track is in use.
var some := false


func _init() -> void:
	rows.resize(TRACKS * ROW)
	rates.resize(TRACKS * RATES)
	stops.resize(TRACKS * STOPS)
	for numbers: PackedInt32Array in [seen, rest_from, rest]:
		numbers.resize(TRACKS)
	carries.resize(TRACKS)
	clear()


## Clears all tracks.
func clear() -> void:
	seen.fill(-1)
	some = false


## Updates the tracks with the visible rows (see [constant AmbuloContract.MOVER_COLUMNS]) in
## decision [param step], which lasts [param dt] seconds.
func update(things: PackedFloat64Array, step: int, dt: float) -> void:
	if things.is_empty() and not some:
		return
	some = some or not things.is_empty()
	for m in TRACKS:
		if seen[m] >= 0 and rows[ROW * m + 8] == AmbuloThings.PERSON and step - seen[m] > _FORGET:
			seen[m] = -1
	var left := things.size() / AmbuloContract.MOVER_COLUMNS
	var taken: Array[bool] = []
	var used: Array[bool] = []
	taken.resize(left)
	used.resize(TRACKS)
	while true:
		var least := INF
		var who := -1
		var where := -1
		for k in left:
			if taken[k]:
				continue
			for m in TRACKS:
				if seen[m] < 0 or used[m]:
					continue
				var off := _unlike(m, things, k * AmbuloContract.MOVER_COLUMNS, step, dt)
				if off < least:
					least = off
					who = k
					where = m
		if who < 0:
			break
		taken[who] = true
		used[where] = true
		_follow(where, things, who * AmbuloContract.MOVER_COLUMNS, step)
	for k in left:
		if not taken[k]:
			var m := _oldest()
			seen[m] = -1
			for s in STOPS:
				stops[STOPS * m + s] = NAN
			rest[m] = 0
			rest_from[m] = -1
			_follow(m, things, k * AmbuloContract.MOVER_COLUMNS, step)
	for m in TRACKS:
		if seen[m] != step:
			rest_from[m] = -1


## Whether track [param m] is in use and a carrier.
func is_carrier(m: int) -> bool:
	return seen[m] >= 0 and carries[m]


## Track of the carrier under feet at (x, y, z), within [param near] of its top; -1: none.
func carrier_under(x: float, y: float, z: float, near: float) -> int:
	if not some:
		return -1
	for m in TRACKS:
		if is_carrier(m) and is_in_base(rows, ROW * m, x, y, 0.0):
			if absf(rows[ROW * m + 7] - z) < near:
				return m
	return -1


## Whether a person was seen on carrier [param m] in decision [param step].
func is_ridden(m: int, step: int) -> bool:
	for k in TRACKS:
		if seen[k] < 0 or step - seen[k] > RECENT or rows[ROW * k + 8] != AmbuloThings.PERSON:
			continue
		if is_in_base(rows, ROW * m, rows[ROW * k], rows[ROW * k + 1], 0.0):
			if absf(rows[ROW * m + 7] - rows[ROW * k + 6]) < _ON:
				return true
	return false


## Distance from (x, y) to the base of track [param m] in [param t] seconds, at constant rates, [m].
## Rotation is about the point at rest, as of a hinged door.
func gap_at(m: int, t: float, x: float, y: float) -> float:
	var k := ROW * m
	var v := RATES * m
	var px := rows[k]
	var py := rows[k + 1]
	var c := rows[k + 4]
	var s := rows[k + 5]
	var w := rates[v + 3]
	if absf(w) < _STEADY:
		px += rates[v] * t
		py += rates[v + 1] * t
	elif t != 0.0:
		var cos_turn := cos(w * t)
		var sin_turn := sin(w * t)
		var ox := rates[v + 1] / w  # from the hinge to the centre
		var oy := -rates[v] / w
		px += -ox + ox * cos_turn - oy * sin_turn
		py += -oy + ox * sin_turn + oy * cos_turn
		var old := c
		c = old * cos_turn - s * sin_turn
		s = s * cos_turn + old * sin_turn
	var dx := x - px
	var dy := y - py
	if rows[k + 8] != AmbuloThings.BOX:
		return maxf(sqrt(dx * dx + dy * dy) - rows[k + 2], 0.0)
	var along := maxf(absf(c * dx + s * dy) - rows[k + 2], 0.0)
	var aside := maxf(absf(c * dy - s * dx) - rows[k + 3], 0.0)
	return sqrt(along * along + aside * aside)


## Whether (x, y) is in the base of the object whose row begins at [param k], enlarged by [param
## grow] on all sides, [m].
static func is_in_base(things: PackedFloat64Array, k: int, x: float, y: float, grow: float) -> bool:
	var dx := x - things[k]
	var dy := y - things[k + 1]
	return (
		absf(things[k + 4] * dx + things[k + 5] * dy) <= things[k + 2] + grow
		and absf(things[k + 4] * dy - things[k + 5] * dx) <= things[k + 3] + grow
	)


# Distance of an object from the predicted track `m`; INF: it cannot be the same object.
func _unlike(m: int, things: PackedFloat64Array, k: int, step: int, dt: float) -> float:
	var row := ROW * m
	if rows[row + 8] != things[k + 8]:
		return INF
	var thick := absf((things[k + 7] - things[k + 6]) - (rows[row + 7] - rows[row + 6]))
	if maxf(absf(things[k + 2] - rows[row + 2]), absf(things[k + 3] - rows[row + 3])) > _SIZE:
		return INF
	if thick > _SIZE:
		return INF
	var t := (step - seen[m]) * dt
	var ahead := minf(t, _AHEAD)
	var rate := RATES * m
	var w := rates[rate + 3]
	var px := rows[row]
	var py := rows[row + 1]
	if absf(w) < _STEADY:
		px += rates[rate] * ahead
		py += rates[rate + 1] * ahead
	else:
		var ox := rates[rate + 1] / w
		var oy := -rates[rate] / w
		px += -ox + ox * cos(w * ahead) - oy * sin(w * ahead)
		py += -oy + ox * sin(w * ahead) + oy * cos(w * ahead)
	var up := absf(rows[row + 6] + rates[rate + 2] * ahead - things[k + 6])
	var off := sqrt((things[k] - px) ** 2 + (things[k + 1] - py) ** 2)
	if off > minf(_NEAR + _ASTRAY * maxf(t - dt, 0.0), _FARTHEST):
		return INF
	return off + _UP * up


# The track to reuse for a new object: a free one, or the one unseen for longest. Carriers are kept
# longest.
func _oldest() -> int:
	var best := 0
	for m in range(1, TRACKS):
		if (seen[m] < 0) != (seen[best] < 0):
			if seen[m] < 0:
				best = m
		elif carries[m] != carries[best]:
			if not carries[m]:
				best = m
		elif seen[m] < seen[best]:
			best = m
	return best


# Writes the observed pose of track `m`, and learns its stops from its motion.
func _follow(m: int, things: PackedFloat64Array, k: int, step: int) -> void:
	var moved := _sum_of_rates(rates, RATES * m) > _STILL
	var fresh := seen[m] >= 0 and seen[m] == step - 1
	for i in ROW:
		rows[ROW * m + i] = things[k + i]
	for i in RATES:
		rates[RATES * m + i] = things[k + ROW + i]
	var moves := _sum_of_rates(rates, RATES * m) > _STILL
	if not moves and moved and fresh:
		rest_from[m] = step
	if moves and not moved and fresh and rest_from[m] >= 0:
		rest[m] = step - rest_from[m]
	if moves:
		rest_from[m] = -1
	seen[m] = step
	var top := things[k + 7]
	var wide := minf(things[k + 2], things[k + 3]) >= _WIDE
	var thin := top - things[k + 6] <= _THIN
	carries[m] = 1 if things[k + 8] == AmbuloThings.BOX and wide and thin else 0
	if carries[m] and not moves and step > 0:
		for s in range(STOPS * m, STOPS * (m + 1)):
			if is_nan(stops[s]):
				stops[s] = top
				break
			if absf(stops[s] - top) < _SAME_STOP:
				break


static func _sum_of_rates(of: PackedFloat64Array, k: int) -> float:
	return absf(of[k]) + absf(of[k + 1]) + absf(of[k + 2]) + absf(of[k + 3])
