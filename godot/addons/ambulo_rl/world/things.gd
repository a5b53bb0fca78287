class_name AmbuloThings
extends RefCounted
## Moving obstacles in the level of one agent: boxes and people (docs/vr_world.md, "Moving things").
##
## The caller moves them: [method set_rows] sets their poses at the end of the next decision, and
## its ticks interpolate linearly.

## Numbers of a row: x, y, half sizes a and b, cos and sin of the yaw, bottom, top, kind.
const ROW := 9
const BOX := 1.0
const PERSON := 3.0
## Most obstacles of an agent.
const MOST := 1000
const _EDGE := 1e-9
## A top this near to the feet carries them, [m].
const _SAME := 1e-3

## Flat shapes as those of [AmbuloLevelSolids], at their present places.
var now: PackedFloat64Array = []
## First indices in [member now] of boxes and of people.
var boxes: PackedInt32Array = []
var people: PackedInt32Array = []
## First index of the box that carries the agent; -1: none.
var carrier := -1
## Result of [method support]: first index of the box with the found top; -1: none.
var found := -1

var _before: PackedFloat64Array = []
var _after: PackedFloat64Array = []


## The first problem of [param rows]; "": none.
static func problem(rows: PackedFloat64Array) -> String:
	for k in range(0, rows.size(), ROW):
		var kind := rows[k + 8]
		if kind != BOX and kind != PERSON:
			return "kind %s is neither 1 (a box) nor 3 (a person)" % str(kind)
		if not (rows[k + 2] > 0.0 and rows[k + 3] > 0.0 and rows[k + 7] > rows[k + 6]):
			return "the sizes of a thing must be > 0"
		if not absf(rows[k + 4] ** 2 + rows[k + 5] ** 2 - 1.0) < 1e-6:
			return "cos and sin are not those of an angle"
	return ""


## Sets the poses at the end of the next decision: rows of [constant ROW] numbers, with the same
## obstacles each time. The motion begins at the previous rows.
func set_rows(rows: PackedFloat64Array) -> void:
	var alike := rows.size() == _after.size()
	_before = _after if alike else rows
	_after = rows
	if not alike:
		carrier = -1
	boxes.clear()
	people.clear()
	now.resize(rows.size() / ROW * AmbuloLevelSolids.FLAT)
	for k in rows.size() / ROW:
		var first := k * AmbuloLevelSolids.FLAT
		if rows[k * ROW + 8] == BOX:
			boxes.append(first)
		else:
			people.append(first)
	move(0.0)


## Rows of the obstacles at the end of a decision of [param dt] seconds, as sensed: [constant
## AmbuloContract.MOVER_COLUMNS] numbers each.
func sensed(dt: float) -> PackedFloat64Array:
	var rows := PackedFloat64Array()
	for k in range(0, _after.size(), ROW):
		var old := _before.slice(k, k + ROW)
		rows.append_array(AmbuloSight.with_rates(_after.slice(k, k + ROW), old, dt))
	return rows


## Puts the obstacles at their end poses, as at the start of an episode.
func settle() -> void:
	_before = _after
	carrier = -1
	move(1.0)


## Sets the carrier to the box whose top is at (x, y, z); none if [param z] is NAN.
func board(x: float, y: float, z: float) -> void:
	support(x, y, z + _SAME, z - _SAME)
	carrier = found


## Moves all obstacles to the fraction [param share] of this decision's motion.
func move(share: float) -> void:
	for k in _after.size() / ROW:
		var b := k * ROW
		var n := k * AmbuloLevelSolids.FLAT
		for m in AmbuloLevelSolids.FLAT:
			now[n + m] = _before[b + m] + share * (_after[b + m] - _before[b + m])
		if _after[b + 8] == BOX:
			var size := sqrt(now[n + 4] ** 2 + now[n + 5] ** 2)
			now[n + 4] /= size
			now[n + 5] /= size
		else:
			now[n + 3] = -1.0


## Height of the highest top of a box at (x, y) from [param lowest] to [param highest]; NAN: none.
func support(x: float, y: float, highest: float, lowest: float) -> float:
	var best := NAN
	found = -1
	for k in boxes:
		var top := now[k + 7]
		if top <= highest and top >= lowest and not top <= best and _is_in(k, x, y):
			best = top
			found = k
	return best


## Whether a box is above (x, y) between two heights.
func is_between(x: float, y: float, low: float, high: float) -> bool:
	for k in boxes:
		if now[k + 6] < high and now[k + 7] > low and _is_in(k, x, y):
			return true
	return false


func _is_in(k: int, x: float, y: float) -> bool:
	var dx := x - now[k]
	var dy := y - now[k + 1]
	var u := now[k + 4] * dx + now[k + 5] * dy
	var v := now[k + 4] * dy - now[k + 5] * dx
	return absf(u) <= now[k + 2] + _EDGE and absf(v) <= now[k + 3] + _EDGE
