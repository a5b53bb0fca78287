class_name AmbuloLevelRules
extends RefCounted
## Reasons why a level is unplayable, as "key: rule": the trainer's rules, without the search for a
## walk from start to goal.


## Records the first broken rule of [param level] in [param checks].
static func check(level: AmbuloLevel, checks: AmbuloChecks) -> void:
	_check_shapes(level, checks)
	if checks.problem.is_empty():
		_check_cover(level, checks)
	if not checks.problem.is_empty():
		return
	_check_range(level, checks)
	_check_heights(level, checks)
	_check_slopes(level, checks)
	_check_amount(level, checks)
	if checks.problem.is_empty():
		_check_places(level, checks)


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


# Records the first shapes that need heights in a level without heights.
static func _check_heights(level: AmbuloLevel, checks: AmbuloChecks) -> void:
	if level.heights:
		return
	var absent: Dictionary[String, bool] = {
		"ramps": level.ramps.is_empty(),
		"stairs": level.stairs.is_empty(),
		"heightfields": level.heightfields.is_empty(),
		"meshes": level.meshes.is_empty(),
		"ground": level.ground,
	}
	for key in absent:
		if not absent[key]:
			checks.fail(key, 'needs "heights": true')


static func _check_slopes(level: AmbuloLevel, checks: AmbuloChecks) -> void:
	var r := level.ramps
	for k in range(0, r.size(), AmbuloLevelSurfaces.RAMP):
		var rise := r[k + 5] - r[k + 2]
		var run := sqrt((r[k + 3] - r[k]) ** 2 + (r[k + 4] - r[k + 1]) ** 2)
		if run < AmbuloContract.STEEPEST_FLOOR * sqrt(run * run + rise * rise):
			var name := "ramps[%d]" % floori(k / float(AmbuloLevelSurfaces.RAMP))
			checks.fail(name, "steeper than 45 degrees, nobody can climb it")
	var s := level.stairs
	for k in range(0, s.size(), AmbuloLevelSurfaces.STAIR):
		var rise := (s[k + 5] - s[k + 2]) / s[k + 8]
		if rise > AmbuloContract.CLIMB_HEIGHT + 1e-9:
			var name := "stairs[%d].steps" % floori(k / float(AmbuloLevelSurfaces.STAIR))
			var most := AmbuloContract.CLIMB_HEIGHT
			checks.fail(name, "a step is %.3f m high, and the body climbs %s m" % [rise, most])


static func _check_amount(level: AmbuloLevel, checks: AmbuloChecks) -> void:
	var triangles := 0
	for mesh in level.meshes:
		triangles += floori(mesh.triangles.size() / 3.0)
	for field in level.heightfields:
		triangles += 2 * field.heights.size()
	var most := AmbuloLevelSurfaces.MAX_TRIANGLES
	if triangles > most:
		checks.fail("meshes", "%d triangles, at most %d allowed" % [triangles, most])
	var shapes := level.boxes.size() / 7.0 + level.cylinders.size() / float(AmbuloLevel.DRUM)
	shapes += level.ramps.size() / float(AmbuloLevelSurfaces.RAMP)
	for k in range(8, level.stairs.size(), AmbuloLevelSurfaces.STAIR):
		shapes += level.stairs[k]
	if shapes + level.holes.size() / 4.0 > AmbuloLevel.MAX_OBSTACLES:
		var rule := "more than %d obstacles, steps, ramps and holes"
		checks.fail("boxes", rule % AmbuloLevel.MAX_OBSTACLES)
	if not level.ground and triangles == 0 and shapes == 0.0:
		checks.fail("ground", "there is no floor")


static func _check_places(level: AmbuloLevel, checks: AmbuloChecks) -> void:
	var space: AmbuloLevelSpace
	for key: String in ["start.position", "goal", "starts", "goals", "waypoints"]:
		var places := _places_of(level, key)
		for k in range(0, places.size(), 3):
			if space == null:
				space = AmbuloLevelSpace.new(level)
			var is_list := key in ["starts", "goals", "waypoints"]
			var name := "%s[%d]" % [key, floori(k / 3.0)] if is_list else key
			_check_place(space, checks, name, places.slice(k, k + 3))


static func _check_place(
	space: AmbuloLevelSpace, checks: AmbuloChecks, key: String, place: PackedFloat64Array
) -> void:
	var level := space.level
	var climb := AmbuloContract.CLIMB_HEIGHT
	var floor_z := space.support(place[0], place[1], place[2], climb)
	var hole := level.hole_at(place[0], place[1])
	if not level.has_in_bounds(place[0], place[1]):
		checks.fail(key, "out of bounds")
	elif is_nan(floor_z) and hole >= 0:
		checks.fail(key, "in holes[%d]" % hole)
	elif is_nan(floor_z):
		var rule := "no floor within %s m of z = %s" % [climb, String.num(place[2], 6)]
		if not level.heights:
			rule += ' (floors above 0 need "heights": true)'
		checks.fail(key, rule)
	elif not space.stands(place[0], place[1], floor_z):
		var room := AmbuloContract.BODY_RADIUS
		checks.fail(key, "inside an obstacle (the body needs %s m around it)" % room)


# Places x, y, z of a level under a key of its file: three numbers each.
static func _places_of(level: AmbuloLevel, key: String) -> PackedFloat64Array:
	match key:
		"start.position":
			var start := level.start
			return [start[0], start[1], level.start_height] if start else start
		"goal":
			return [level.goal[0], level.goal[1], level.goal_height] if level.goal else level.goal
		"starts":
			var found := PackedFloat64Array()
			for k in range(0, level.starts.size(), 4):
				found.append_array(level.starts.slice(k, k + 3))
			return found
		"goals":
			return level.goals
	return level.waypoints
