class_name AmbuloStep
extends RefCounted
## The ticks of one agent of an [AmbuloWorld] (docs/vr_world.md, "The tick, in order"): its body
## follows the floor, is pushed out of obstacles, and falls where the floor ends.

## Reaches are rounded up to whole steps of this, [m].
const REACH_STEP := 0.02
## Largest change of height at which a floor counts as level, [m].
const _EVEN := 1e-6
## Longest part of a teleport after which obstacles and floor are tested, [m].
const LEAP_PART := 0.05
## Largest distance of a teleport's end from the obstacle that stops it, [m].
const LEAP_EXACT := 1e-3
## Largest push-out of a body in a tick, [m].
const PRESSED := 1.4 * AmbuloContract.BODY_RADIUS

## Position of the feet, [m].
var x := 0.0
var y := 0.0
var z := 0.0
## Whether the body falls.
var falling := false

var _spec: AmbuloSpec
var _twin: AmbuloTwin
var _decay := 0.0
var _rows: PackedFloat64Array = []
var _targets: PackedFloat64Array = []
var _jumps: PackedFloat64Array = []
var _space: AmbuloSpace
var _things: AmbuloThings
var _dt := 0.0
# Velocity, [m/s].
var _vx := 0.0
var _vy := 0.0
var _vz := 0.0
# Largest speed of the body by its own force, [m/s].
var _fastest := 0.0
# Height of the floor that the body has left, or is on, [m].
var _takeoff := 0.0
# Lower bound of the distance that the body can walk at this height before it touches an obstacle,
# [m].
var _room := 0.0
# Whether the floor is level everywhere that the body can reach.
var _level := false
# Ticks since the last contact, and since the last one with a person.
var _since_contact := 0
var _since_person := 0


## Uses the state rows [param rows] of a world from now on, with three numbers per agent in [param
## targets], the commands, and two in [param jumps], the immediate displacements to the left and
## ahead [m].
func configure(
	spec: AmbuloSpec,
	twin: AmbuloTwin,
	rows: PackedFloat64Array,
	targets: PackedFloat64Array,
	jumps: PackedFloat64Array
) -> void:
	_spec = spec
	_twin = twin
	_dt = spec.dt
	_decay = spec.tick_decay()
	_rows = rows
	_targets = targets
	_jumps = jumps


## Puts the body on the floor below (x, y, [member z]), or lets it fall.
func place(space: AmbuloSpace) -> void:
	var floor_z := space.support(x, y, z, AmbuloSpace.DEPTH)
	falling = is_nan(floor_z)
	space.board()
	if not falling:
		z = floor_z


## Distance that the body can move at once along the unit vector (ux, uy), at most [param travel]:
## along the floor, as far as a walking body gets, [m]. [member x] and [member y] stay.
func leap(space: AmbuloSpace, ux: float, uy: float, travel: float) -> float:
	_space = space
	_things = space.things
	var done := 0.0
	var part := LEAP_PART
	while part > LEAP_EXACT and done < travel:
		var far := minf(done + part, travel)
		var floor_z := _floor_after(x + ux * done, y + uy * done, x + ux * far, y + uy * far)
		if is_nan(floor_z):
			part *= 0.5
		else:
			done = far
			z = floor_z
	return done


## Moves [param agent] in [param space] by [param ticks] ticks of a decision, after its first [param
## done] ticks; [param motion]: its response to sticks, null: immediate.
func run(agent: int, space: AmbuloSpace, motion: AmbuloTwin.Motion, ticks: int, done: int) -> void:
	var rows := _rows
	var spec := _spec
	var decay := _decay
	var dt := _dt
	var speed := spec.max_speed
	var turn := spec.max_yaw_rate
	var tail := AmbuloWorld.RAYS + spec.sensed_size()
	var row := agent * (tail + AmbuloWorld.TAIL)
	tail += row
	var yaw := rows[row + AmbuloWorld.YAW]
	var strafe := rows[row + AmbuloWorld.COMMAND]
	var forward := rows[row + AmbuloWorld.COMMAND + 1]
	var rotation := rows[row + AmbuloWorld.COMMAND + 2]
	var path := rows[tail + AmbuloWorld.PATH]
	if space.ride != null:
		path += space.ride.carry(rows, row)
	var add_strafe := (1.0 - decay) * _targets[3 * agent]
	var add_forward := (1.0 - decay) * _targets[3 * agent + 1]
	var add_rotation := (1.0 - decay) * _targets[3 * agent + 2]
	var decision := spec.ticks_per_decision * dt
	var jump_left := _jumps[2 * agent] / decision
	var jump_ahead := _jumps[2 * agent + 1] / decision
	# Upper bound of the displacement of the body axis, with a margin for rounding: the command
	# stays between its old and new value.
	var stick := maxf(absf(strafe), absf(_targets[3 * agent])) * speed + absf(jump_left)
	var push := maxf(absf(forward), absf(_targets[3 * agent + 1])) * speed + absf(jump_ahead)
	var fastest := sqrt(stick * stick + push * push) if motion == null else _twin.fastest()
	_fastest = speed if motion == null else fastest
	_begin(space, row, tail, REACH_STEP * ceilf(ticks * dt * fastest / REACH_STEP) + REACH_STEP)
	# Initial ticks without any obstacle or floor edge in reach.
	var free := 0
	if motion == null and _level and _room > 0.0:
		free = mini(floori(_room / (fastest * dt + 1e-9)), ticks)
		_room -= free * fastest * dt
		_since_contact += free
		_since_person += free
	var begin_z := z
	var rate := 0.0
	var way_x := 0.0
	var way_y := 0.0
	for tick in ticks:
		strafe = decay * strafe + add_strafe
		forward = decay * forward + add_forward
		rotation = decay * rotation + add_rotation
		rate = -rotation * turn
		var left := jump_left - strafe * speed
		var ahead := forward * speed + jump_ahead
		if motion != null:
			_twin.tick(motion, strafe, forward, rotation, spec)
			ahead = motion.now[0]
			left = motion.now[1]
			rate = motion.now[2]
		yaw += rate * dt
		var x0 := x
		var y0 := y
		var c := cos(yaw)
		var s := sin(yaw)
		way_x = (c * ahead - s * left) * dt
		way_y = (s * ahead + c * left) * dt
		if tick < free:
			x += way_x
			y += way_y
		else:
			if _things != null:
				_carry((done + tick + 1) / float(spec.ticks_per_decision))
			var touched := false
			if falling:
				_fall(x0, y0)
			else:
				touched = _walk(x0, y0, way_x, way_y)
			_count_contact(tail, touched)
			if _takeoff - z > spec.fall_depth:
				rows[tail + AmbuloWorld.FELL] = 1.0
		path += sqrt((x - x0) * (x - x0) + (y - y0) * (y - y0))
	if free == ticks:
		_vx = way_x / dt
		_vy = way_y / dt
	rows[row] = x
	rows[row + 1] = y
	rows[row + 2] = z
	rows[row + AmbuloWorld.YAW] = yaw
	rows[row + AmbuloWorld.VELOCITY] = _vx
	rows[row + AmbuloWorld.VELOCITY + 1] = _vy
	rows[row + AmbuloWorld.VELOCITY + 2] = _vz if falling else (z - begin_z) / (ticks * dt)
	rows[row + AmbuloWorld.YAW_RATE] = rate
	rows[row + AmbuloWorld.COMMAND] = strafe
	rows[row + AmbuloWorld.COMMAND + 1] = forward
	rows[row + AmbuloWorld.COMMAND + 2] = rotation
	rows[tail + AmbuloWorld.PATH] = path
	rows[tail + AmbuloWorld.SINCE_CONTACT] = _since_contact
	rows[tail + AmbuloWorld.SINCE_PERSON] = _since_person
	rows[tail + AmbuloWorld.FALLING] = 1.0 if falling else 0.0


# Loads the body whose state row and tail start at these indices, and which can move at most
# `reach`.
func _begin(space: AmbuloSpace, row: int, tail: int, reach: float) -> void:
	var rows := _rows
	_space = space
	_things = space.things
	x = rows[row]
	y = rows[row + 1]
	z = rows[row + 2]
	_vx = rows[row + AmbuloWorld.VELOCITY]
	_vy = rows[row + AmbuloWorld.VELOCITY + 1]
	_since_contact = int(rows[tail + AmbuloWorld.SINCE_CONTACT])
	_since_person = int(rows[tail + AmbuloWorld.SINCE_PERSON])
	falling = rows[tail + AmbuloWorld.FALLING] != 0.0
	_vz = rows[row + AmbuloWorld.VELOCITY + 2] if falling else 0.0
	# It began to fall at rest, so the speed gives the depth.
	_takeoff = z + 0.5 * _vz * (_vz / AmbuloContract.GRAVITY - _dt)
	_level = not falling and space.level_radius(x, y, z, reach) >= reach
	_room = space.room(x, y, z, reach) if not falling else 0.0


# Counts a tick with or without contact.
func _count_contact(tail: int, touched: bool) -> void:
	var rows := _rows
	var person := touched and _space.touched_person
	if touched:
		rows[tail + AmbuloWorld.CONTACT_TICKS] += 1.0
	if touched and (_space.touched_thing or not person):
		if _since_contact >= _spec.rearm_ticks:
			rows[tail + AmbuloWorld.COLLISIONS] += 1.0
		_since_contact = 0
	else:
		_since_contact += 1
	if person:
		rows[tail + AmbuloWorld.PEOPLE_TICKS] += 1.0
		if _since_person >= _spec.rearm_ticks:
			rows[tail + AmbuloWorld.COLLISIONS] += 1.0
			rows[tail + AmbuloWorld.PEOPLE_COLLISIONS] += 1.0
		_since_person = 0
	else:
		_since_person += 1


# Moves the moving obstacles, and the body with the box that carries it.
func _carry(share: float) -> void:
	var on := _things.carrier
	var now := _things.now
	if on >= 0:
		x -= now[on]
		y -= now[on + 1]
		z -= now[on + 7]
	_things.move(share)
	now = _things.now
	if on >= 0:
		x += now[on]
		y += now[on + 1]
		z += now[on + 7]
		_space.stand_at(z)


# One tick on the floor; returns whether the body is in contact.
func _walk(x0: float, y0: float, way_x: float, way_y: float) -> bool:
	var carried_x := x
	var carried_y := y
	x += way_x
	y += way_y
	var touched := false
	_room -= sqrt(way_x * way_x + way_y * way_y)
	if _room <= 0.0:
		touched = _slide(x0, y0)
		_room = 0.0 if touched else _space.spare
	if not _level:
		var climb := AmbuloContract.CLIMB_HEIGHT
		var floor_z := _space.support(x, y, z, climb)
		if floor_z > z + _EVEN and not _space.has_headroom(x, y, floor_z):
			_space.touched_person = touched and _space.touched_person
			_space.touched_thing = true
			touched = true
			x = carried_x
			y = carried_y
			_room = 0.0
			floor_z = _space.floor_at(x, y, z, z - climb)
		_step_onto(floor_z)
	_vx = (x - x0) / _dt
	_vy = (y - y0) / _dt
	return touched


# Puts the feet on the floor at a height; NAN: on that of a seam, or the body falls.
func _step_onto(floor_z: float) -> void:
	_takeoff = z
	var over_seam := is_nan(floor_z)
	_space.board(not over_seam)
	if over_seam:
		floor_z = _space.floor_over_seam(x, y, z)
	if is_nan(floor_z):
		falling = true
		return
	if absf(floor_z - z) > _EVEN:
		_room = 0.0
	if floor_z != z:
		_space.stand_at(floor_z)
	z = floor_z
	_takeoff = z


# Height of the floor at (x1, y1) for a body that comes straight from (x0, y0); NAN: none, or in
# contact.
func _floor_after(x0: float, y0: float, x1: float, y1: float) -> float:
	_space.stand_at(z)
	if _space.slide(x0, y0, x1, y1):
		return NAN
	var floor_z := _space.support(x1, y1, z, AmbuloContract.CLIMB_HEIGHT)
	if is_nan(floor_z):
		floor_z = _space.floor_over_seam(x1, y1, z)
		if not is_nan(floor_z):
			_space.board(false)
	elif floor_z > z + _EVEN and not _space.has_headroom(x1, y1, floor_z):
		return NAN
	else:
		_space.board()
	return floor_z


func _fall(x0: float, y0: float) -> void:
	_vz -= AmbuloContract.GRAVITY * _dt
	x += _vx * _dt
	y += _vy * _dt
	var way_x := x
	var way_y := y
	_space.stand_at(z)
	_slide(x0, y0)
	# The edge pushes the falling body aside, at most at walking speed.
	var push := Vector2(x - way_x, y - way_y).limit_length(_fastest * _dt)
	x = way_x + push.x
	y = way_y + push.y
	var floor_z := _space.floor_at(x, y, z, z + _vz * _dt)
	if is_nan(floor_z):
		z += _vz * _dt
	else:
		z = floor_z
		_space.stand_at(z)
		_vz = 0.0
		falling = false
		_space.board()


# Pushes the body out of its overlaps; returns whether it touched anything.
func _slide(x0: float, y0: float) -> bool:
	var pushed := _space.slide(x0, y0, x, y)
	x = _space.slid_x
	y = _space.slid_y
	if pushed and (x - x0) ** 2 + (y - y0) ** 2 > PRESSED * PRESSED:
		x = x0
		y = y0
	return pushed
