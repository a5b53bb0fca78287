class_name AmbuloHighRules
extends RefCounted
## What makes the heights of a level unplayable, as "key: rule": the trainer's rules, without the
## search for a walk from start to goal.


## Notes the first thing in the flat [param level] that needs heights.
static func check_flat(level: AmbuloLevel, checks: AmbuloChecks) -> void:
	var shapes: Dictionary[String, bool] = {
		"ramps": level.ramps.is_empty(),
		"stairs": level.stairs.is_empty(),
		"heightfields": level.heightfields.is_empty(),
		"meshes": level.meshes.is_empty(),
	}
	for key in shapes:
		if not shapes[key]:
			checks.fail(key, 'needs "heights": true')
	if not level.ground:
		checks.fail("ground", 'a level without ground needs "heights": true')
	if level.start_height != 0.0:
		checks.fail("start", _at_height(level.start_height))
	if level.goal_height != 0.0:
		checks.fail("goal", _at_height(level.goal_height))
	for key: String in ["starts", "goals", "waypoints"]:
		var places := places_of(level, key)
		for k in range(0, places.size(), 3):
			if places[k + 2] != 0.0:
				var name := "%s[%d]" % [key, floori(k / 3.0)]
				checks.fail(name, 'a place above the floor needs "heights": true')


## Notes the first broken rule of [param level], which has heights.
static func check(level: AmbuloLevel, checks: AmbuloChecks) -> void:
	_check_slopes(level, checks)
	_check_amount(level, checks)
	if not checks.problem.is_empty():
		return
	var places: Array[String] = []
	for key: String in ["start.position", "goal", "starts", "goals", "waypoints"]:
		if not places_of(level, key).is_empty():
			places.append(key)
	if places.is_empty():
		return
	var space := AmbuloHighLevelSpace.new(level)
	for key in places:
		var found := places_of(level, key)
		for k in range(0, found.size(), 3):
			var name := key
			if key in ["starts", "goals", "waypoints"]:
				name = "%s[%d]" % [key, floori(k / 3.0)]
			_check_place(level, space, checks, name, found.slice(k, k + 3))


## Places x, y, z that [param level] has under a key of its file: three numbers each.
static func places_of(level: AmbuloLevel, key: String) -> PackedFloat64Array:
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


static func _at_height(height: float) -> String:
	return 'a place at height %s needs "heights": true' % String.num(height, 6)


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
	var bare := level.boxes.is_empty() and level.ramps.is_empty() and level.stairs.is_empty()
	if not level.ground and triangles == 0 and bare:
		checks.fail("ground", "there is no floor")


static func _check_place(
	level: AmbuloLevel,
	space: AmbuloHighLevelSpace,
	checks: AmbuloChecks,
	key: String,
	place: PackedFloat64Array
) -> void:
	if not level.has_in_bounds(place[0], place[1]):
		checks.fail(key, "out of bounds")
	var climb := AmbuloContract.CLIMB_HEIGHT
	var floor_z := space.support(place[0], place[1], place[2], climb)
	if is_nan(floor_z):
		var height := String.num(place[2], 6)
		checks.fail(key, "no floor within %s m of z = %s" % [climb, height])
	elif not space.stands(place[0], place[1], floor_z):
		var room := AmbuloContract.BODY_RADIUS
		checks.fail(key, "inside an obstacle (the body needs %s m around it)" % room)
