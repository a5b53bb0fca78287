class_name AmbuloSceneFloor
extends RefCounted
## Finds where a body fits in a scene: on the floors of columns, found by rays from above and by
## overlap tests of the body. Moving bodies are ignored, both as obstacles and as floors, because
## they may be elsewhere later.

## Numbers of a floor: column, row, height [m], whether the body fits there, whether it slopes.
const WIDTH := 5
## Most reported floors of one column.
const MOST_FLOORS := 16
## Clearance around a body, [m].
const ROOM := 0.03
## Allowed overlap of a body in the middle of its place, [m].
const SPARE := 1e-3
## A floor slopes if its height differs by more within [constant _BESIDE], [m].
const _SLOPE := 0.002
const _BESIDE := 0.02

var _space: AmbuloSpace
var _moving: Array[RID] = []


## The floors of [param space], ignoring the bodies [param moving].
func _init(space: AmbuloSpace, moving: Array[RID] = []) -> void:
	_space = space
	_moving = moving


## Rows of [constant WIDTH] numbers of all floors between the heights [param low] and [param high]
## in the columns [param first] to [param last] (column and row, both included), cells of [param
## size] [m] counted from (x0, y0); the body is tested at their middles.
func scan(
	x0: float, y0: float, size: float, first: Vector2i, last: Vector2i, low: float, high: float
) -> PackedFloat64Array:
	var found := PackedFloat64Array()
	var excluded := _space.excluded
	_space.excluded = excluded + _moving
	var radius := _space.body_radius
	_space.body_radius = radius + ROOM
	var before: Array[PackedFloat64Array] = []  # floors of the previous row
	for column in range(first.x, last.x + 1):
		var x := x0 + (column + 0.5) * size
		var begins := first.y == 0
		before.append(
			PackedFloat64Array() if begins else floors(x, y0 + (first.y - 0.5) * size, low, high)
		)
	for row in range(first.y, last.y + 1):
		var y := y0 + (row + 0.5) * size
		var beside := PackedFloat64Array()
		for column in range(first.x, last.x + 1):
			var x := x0 + (column + 0.5) * size
			var here := floors(x, y, low, high)
			here = _over_seams(x, y, here, before[column - first.x])
			here = _over_seams(x, y, here, beside)
			before[column - first.x] = here
			beside = here
			var above := INF
			for z in here:
				# The next floor above may block the head: in a hollow solid of triangles it is the
				# only face that rays find.
				var fits := above - z >= AmbuloContract.BODY_HEIGHT and _space.fits(x, y, z, SPARE)
				if fits and above < INF:
					fits = not _space.is_inside(x, y, z)
				var slopes := fits and _slopes(x, y, z)
				found.append_array([column, row, z, 1.0 if fits else 0.0, 1.0 if slopes else 0.0])
				above = z
	_space.body_radius = radius
	_space.excluded = excluded
	return found


## Heights of all floors at (x, y) between two heights, from above, [m]; floors less than a climb
## below another are left out.
func floors(x: float, y: float, low: float, high: float) -> PackedFloat64Array:
	var found := PackedFloat64Array()
	var top := high
	while found.size() < MOST_FLOORS:
		var z := _space.floor_at(x, y, top, low)
		if is_nan(z):
			break
		found.append(z)
		top = z - AmbuloContract.CLIMB_HEIGHT
	return found


## Height of the floor below a marker at (x, y, z), where a body fits; NAN, with [param rule]
## appended to [param problems], if there is none.
func below(x: float, y: float, z: float, problems: PackedStringArray) -> float:
	var excluded := _space.excluded
	_space.excluded = excluded + _moving
	var found := _below(x, y, z, problems)
	_space.excluded = excluded
	return found


func _below(x: float, y: float, z: float, problems: PackedStringArray) -> float:
	var found := _space.support(x, y, z, AmbuloSceneSurvey.MARKER_HEIGHT)
	if is_nan(found):
		problems.append("no floor within %s m below it" % AmbuloSceneSurvey.MARKER_HEIGHT)
	elif not _space.fits(x, y, found, 0.02):
		var who := _space.obstacle_at(x, y, found)
		problems.append(
			"a body does not fit there (%s): move it to free floor" % (who if who else "too low")
		)
		found = NAN
	elif _space.is_inside(x, y, found):
		problems.append("it is inside of a solid: move it to free floor")
		return NAN
	return found


## Those of the floors [param near] of a neighbouring column that continue a floor of [param here],
## the column's own floors from above, across a seam: (x, y) lies between two tiles or planks.
func _over_seams(
	x: float, y: float, here: PackedFloat64Array, near: PackedFloat64Array
) -> PackedFloat64Array:
	for z in near:
		var place := 0
		while place < here.size() and here[place] > z + AmbuloContract.CLIMB_HEIGHT:
			place += 1
		if place < here.size() and here[place] >= z - AmbuloContract.CLIMB_HEIGHT:
			continue
		var carried := _space.floor_over_seam(x, y, z)
		if not is_nan(carried):
			here.insert(place, carried)
	return here


func _slopes(x: float, y: float, z: float) -> bool:
	for k in 4:
		var angle := 0.5 * PI * k
		var beside := _space.floor_at(
			x + _BESIDE * cos(angle), y + _BESIDE * sin(angle), z + _BESIDE, z - _BESIDE
		)
		if not is_nan(beside) and absf(beside - z) > _SLOPE:
			return true
	return false
