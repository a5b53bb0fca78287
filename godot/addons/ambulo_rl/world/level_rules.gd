class_name AmbuloLevelRules
extends RefCounted
## What makes a level unplayable, as "key: rule": the trainer's rules, without the search
## for a walk from start to goal.


## Notes the first broken rule of [param level] in [param checks].
static func check(level: AmbuloLevel, checks: AmbuloChecks) -> void:
	_check_shapes(level, checks)
	if checks.problem.is_empty():
		_check_cover(level, checks)
	if not checks.problem.is_empty():
		return
	if level.heights:
		_check_range(level, checks)
		AmbuloHighRules.check(level, checks)
		return
	AmbuloHighRules.check_flat(level, checks)
	_check_place(level, checks, "start.position", level.start)
	_check_place(level, checks, "goal", level.goal)
	for key: String in ["starts", "goals", "waypoints"]:
		var places := AmbuloHighRules.places_of(level, key)
		for k in range(0, places.size(), 3):
			_check_place(level, checks, "%s[%d]" % [key, floori(k / 3.0)], places.slice(k, k + 2))
	_check_range(level, checks)


static func _check_shapes(level: AmbuloLevel, checks: AmbuloChecks) -> void:
	var b := level.bounds
	if not (b[2] > b[0] and b[3] > b[1]):
		checks.fail("bounds", "need x0 < x1 and y0 < y1, got %s" % str(Array(b)))
	if (b[2] - b[0]) * (b[3] - b[1]) > AmbuloLevel.MAX_AREA:
		checks.fail("bounds", "more than %d m^2" % int(AmbuloLevel.MAX_AREA))
	if maxf(b[2] - b[0], b[3] - b[1]) > AmbuloLevel.MAX_SIDE:
		checks.fail("bounds", "a side over %d m" % int(AmbuloLevel.MAX_SIDE))
	var h := level.holes
	for k in range(0, h.size(), 4):
		if h[k + 2] <= h[k] or h[k + 3] <= h[k + 1]:
			checks.fail("holes[%d]" % floori(k / 4.0), "need x0 < x1 and y0 < y1")
	for k in range(0, level.boxes.size(), 7):
		if minf(minf(level.boxes[k + 3], level.boxes[k + 4]), level.boxes[k + 5]) <= 0.0:
			checks.fail("boxes[%d].half_size" % floori(k / 7.0), "must be > 0")
	for k in range(0, level.cylinders.size(), AmbuloLevel.DRUM):
		var name := "cylinders[%d]" % floori(k / float(AmbuloLevel.DRUM))
		if level.cylinders[k + 2] <= 0.0:
			checks.fail(name + ".radius", "must be > 0")
		if level.cylinders[k + 3] <= 0.0:
			checks.fail(name + ".height", "must be > 0")


static func _check_cover(level: AmbuloLevel, checks: AmbuloChecks) -> void:
	var b := level.bounds
	var cover := 0.0
	var h := level.holes
	for k in range(0, h.size(), 4):
		cover += _covered(b, h[k], h[k + 1], h[k + 2], h[k + 3])
	for k in range(0, level.boxes.size(), 7):
		var c := absf(cos(level.boxes[k + 6]))
		var s := absf(sin(level.boxes[k + 6]))
		var wide := level.boxes[k + 3] * c + level.boxes[k + 4] * s
		var deep := level.boxes[k + 3] * s + level.boxes[k + 4] * c
		var x := level.boxes[k]
		var y := level.boxes[k + 1]
		cover += _covered(b, x - wide, y - deep, x + wide, y + deep)
	for k in range(0, level.cylinders.size(), AmbuloLevel.DRUM):
		var x := level.cylinders[k]
		var y := level.cylinders[k + 1]
		var r := level.cylinders[k + 2]
		cover += _covered(b, x - r, y - r, x + r, y + r)
	if cover > AmbuloLevel.MAX_COVER:
		var limit := int(AmbuloLevel.MAX_COVER)
		checks.fail("boxes", "obstacles cover more than %d m^2 one by one" % limit)


## Floor within 1 m of the rectangle that lies in the bounds, [m^2].
static func _covered(b: PackedFloat64Array, x0: float, y0: float, x1: float, y1: float) -> float:
	var wide := minf(x1, b[2]) - maxf(x0, b[0]) + 2.0
	var deep := minf(y1, b[3]) - maxf(y0, b[1]) + 2.0
	return maxf(wide, 0.0) * maxf(deep, 0.0)


static func _check_place(
	level: AmbuloLevel, checks: AmbuloChecks, key: String, pose: PackedFloat64Array
) -> void:
	if pose.is_empty():
		return
	var x := pose[0]
	var y := pose[1]
	if not level.has_in_bounds(x, y):
		checks.fail(key, "off the floor")
	var hole := level.hole_at(x, y)
	if hole >= 0:
		checks.fail(key, "in holes[%d]" % hole)
	if level.clearance(x, y) < AmbuloContract.BODY_RADIUS - 1e-9:
		var room := AmbuloContract.BODY_RADIUS
		checks.fail(key, "inside an obstacle (the body needs %s m around it)" % room)


static func _check_range(level: AmbuloLevel, checks: AmbuloChecks) -> void:
	var d := level.goal_distance
	if not d.is_empty() and not (0.0 < d[0] and d[0] <= d[1]):
		checks.fail("goal_distance", "need 0 < min <= max, got %s" % str(Array(d)))
	if level.start.is_empty() or level.goal.is_empty():
		return
	if (
		absf(level.start[0] - level.goal[0]) <= 1e-6
		and absf(level.start[1] - level.goal[1]) <= 1e-6
		and absf(level.start_height - level.goal_height) < AmbuloContract.CLIMB_HEIGHT
	):
		checks.fail("goal", "the same place as start")
