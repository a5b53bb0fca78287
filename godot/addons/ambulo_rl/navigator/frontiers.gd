class_name AmbuloFrontiers
extends RefCounted
## Ends of the known area that may lead to another floor, and their estimated costs. Same
## computation as in the trainer (`envs/vr/navigator/frontiers.py`).

## Steps to the eight neighbours of a column, and their lengths, [m].
const DX: PackedInt32Array = [1, 1, 0, -1, -1, -1, 0, 1]
const DY: PackedInt32Array = [0, 1, 1, 1, 0, -1, -1, -1]
const DIAGONAL := 0.25 * sqrt(2.0)
const LENGTH: PackedFloat64Array = [0.25, DIAGONAL, 0.25, DIAGONAL, 0.25, DIAGONAL, 0.25, DIAGONAL]
## Estimated cost behind the end of a slope, of a level floor, and of a floor edge, below which a
## lift may be, [m].
const SLOPE_PRICE := 1.0
const LEVEL_PRICE := 8.0
const EDGE_PRICE := 5.0
## Cost per metre of height difference, and per metre of horizontal distance to the goal.
const RISE_PRICE := 4.0
const AWAY_PRICE := 0.3
## Discount near the end of the last plan, [m].
const SAME_PRICE := 1.5

# A slope continues in directions with at least this fraction of its steepest rise, and at least
# this rise per metre.
const _LIKE_STEEPEST := 0.8
const _LEAST_RISE := 0.12
# Length of a flight of stairs, [columns].
const _FLIGHT := 10
# Least height between two floors, [m].
const _STOREY := 2.6


## Rise of a floor at row [param r] and column [param c] towards neighbour [param q], from the
## opposite neighbour, [1 / UNITS m]; NAN: unknown.
static func rise_towards(map: AmbuloColumns, r: int, c: int, h: int, q: int) -> float:
	var first := ((r - DY[q] & 255) << 8 | c - DX[q] & 255) * 3
	var k := map.find(first, h)
	if k < 0 or not map.entries[first + k] & AmbuloColumns.FREE:
		return NAN
	return h - (map.entries[first + k] >> AmbuloColumns.SHIFT)


## Estimated remaining cost at a floor edge, [m]; for the arguments see [method rest_from].
static func rest_from_edge(away: float, climb: float) -> float:
	return AWAY_PRICE * away + EDGE_PRICE + RISE_PRICE * maxf(absf(climb), _STOREY)


## Estimated remaining cost from the unknown place at row [param r], column [param c] and height
## [param h], reached from that of [param r0], [param c0] and [param h0], [m]; -1: it is no
## frontier. [param edge]: the path begins there, or comes from a lift. [param any_end]: any unknown
## place counts. [param away]: horizontal distance to the goal; [param climb]: height to it, [m].
static func rest_from(
	map: AmbuloColumns,
	r: int,
	c: int,
	h: int,
	r0: int,
	c0: int,
	h0: int,
	edge: bool,
	any_end: bool,
	away: float,
	climb: float
) -> float:
	var here := map.bits_at((r << 8 | c) * 3, h)
	var known := map.bits_at((r0 << 8 | c0) * 3, h0)
	var slope := AmbuloColumns.SLOPE | AmbuloColumns.FREE
	if known & slope == slope:
		var step_r := (r - r0 + 128 & 255) - 128
		var step_c := (c - c0 + 128 & 255) - 128
		var up := 1.0 if climb > 0.0 else -1.0
		if not here & (AmbuloColumns.TIGHT | AmbuloColumns.LOOKED):
			if _goes_on(map, r0, c0, h0, step_r, step_c, up):
				return away + SLOPE_PRICE + RISE_PRICE * absf(climb)
		if not any_end:
			return -1.0
	if any_end:
		if here & (AmbuloColumns.SEEN | AmbuloColumns.TIGHT | AmbuloColumns.LOOKED):
			return -1.0
	elif not (edge or known & (AmbuloColumns.FREE | AmbuloColumns.SEEN)):
		return -1.0
	elif here & (AmbuloColumns.SEEN | AmbuloColumns.LOOKED):
		return -1.0
	elif not _is_level(map, r, c, h) or not _flight_fits(map, r, c, h):
		return -1.0
	return AWAY_PRICE * away + LEVEL_PRICE + RISE_PRICE * maxf(absf(climb), _STOREY)


# Whether the slope at (r, c) rises (`up` 1) or falls (-1) with a step.
static func _goes_on(
	map: AmbuloColumns, r: int, c: int, h: int, step_r: int, step_c: int, up: float
) -> bool:
	var towards := 0.0
	var best := _LEAST_RISE
	for q in 8:
		var rise := rise_towards(map, r, c, h, q) * up / AmbuloColumns.UNITS / LENGTH[q]
		if rise > best:
			best = rise
		if DY[q] == step_r and DX[q] == step_c:
			towards = rise
	return towards >= _LIKE_STEEPEST * best


# Whether a strip of columns in one of the eight directions is unknown.
static func _flight_fits(map: AmbuloColumns, r: int, c: int, h: int) -> bool:
	var entries := map.entries
	var seen := AmbuloColumns.FREE | AmbuloColumns.SEEN | AmbuloColumns.HIT | AmbuloColumns.DROP
	for q in 8:
		var dx := DX[q]
		var dy := DY[q]
		var fits := true
		for s in range(1, _FLIGHT + 1):
			for w in range(-1, 2):
				var y := r + dy * s - dx * w & 255
				var first := (y << 8 | c + dx * s + dy * w & 255) * 3
				if (entries[first] | entries[first + 1] | entries[first + 2]) & 0xFFFF == 0:
					continue
				var k := map.find(first, h)
				if k == AmbuloColumns.VOID or (k >= 0 and entries[first + k] & seen):
					fits = false
					break
			if not fits:
				break
		if fits:
			return true
	return false


# Whether the columns around (r, c) contain no known slope.
static func _is_level(map: AmbuloColumns, r: int, c: int, h: int) -> bool:
	var entries := map.entries
	for dy in range(-1, 2):
		for dx in range(-1, 2):
			var first := ((r + dy & 255) << 8 | c + dx & 255) * 3
			for i in range(first, first + 3):
				if entries[i] & AmbuloColumns.SLOPE:
					if absi((entries[i] >> AmbuloColumns.SHIFT) - h) < AmbuloColumns.SAME:
						return false
	return true
