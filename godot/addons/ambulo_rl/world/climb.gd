class_name AmbuloClimb
extends RefCounted
## The ticks of a body in an [AmbuloHighSpace] (docs/vr_world.md, "Heights"): it follows the
## floor, is pushed out of what stands in its way, and falls where the floor ends.

## Height of a floor that counts as that of before, [m].
const _LEVEL := 1e-6
## Room around the way of a decision in which obstacles are looked for, [m].
const _ROOM := 0.05
## Nobody is pushed farther than this in a tick, [m].
const PRESSED := 1.4 * AmbuloContract.BODY_RADIUS

var x := 0.0
var y := 0.0
var z := 0.0
## Horizontal and vertical velocity, [m/s].
var vx := 0.0
var vy := 0.0
var vz := 0.0
var falling := false
## The last tick ended in contact.
var touched := false
## And it was with a person.
var touched_person := false
## And it was with something else.
var touched_thing := false

var _space: AmbuloHighSpace
var _things: AmbuloThings
var _dt := 0.0
var _fastest := 0.0
# Height of the floor that the body left, or is on.
var _takeoff := 0.0
# Height at which no obstacle is in reach; NAN: some is.
var _open := NAN
# The floor is as high as now wherever the body gets.
var _level := false


## Begins the ticks of a body in [param space] whose state row starts at [param row]; it gets
## at most [param reach] away, at most [param fastest] [m/s] by its own force.
func begin(
	space: AmbuloHighSpace,
	rows: PackedFloat64Array,
	row: int,
	is_falling: bool,
	dt: float,
	reach: float,
	fastest: float
) -> void:
	_space = space
	_things = _things_of(space)
	_dt = dt
	_fastest = fastest
	x = rows[row]
	y = rows[row + 1]
	z = rows[row + 2]
	vx = rows[row + AmbuloWorld.VELOCITY]
	vy = rows[row + AmbuloWorld.VELOCITY + 1]
	falling = is_falling
	vz = rows[row + AmbuloWorld.VELOCITY + 2] if falling else 0.0
	# It began to fall at rest: the speed tells how deep it is.
	_takeoff = z + 0.5 * vz * (vz / AmbuloContract.GRAVITY - dt)
	_level = not falling and space.level_radius(x, y, z) >= reach
	_open = z if not falling and space.is_open(x, y, z, reach + space.body_radius + _ROOM) else NAN


## Puts the body at the height of the floor below (x, y, [member z]), or has it fall.
func place(space: AmbuloHighSpace) -> void:
	var floor_z := space.support(x, y, z, AmbuloHighSpace.DEPTH)
	falling = is_nan(floor_z)
	var things := _things_of(space)
	if things != null:
		things.carrier = things.found
	if not falling:
		z = floor_z


## Moves the body at once along the unit vector (ux, uy), by at most [param travel]: along the
## floor, as far as a walking body comes. Returns how far, [m]; [member x] and [member y] stay.
func leap(space: AmbuloHighSpace, ux: float, uy: float, travel: float) -> float:
	_space = space
	_things = _things_of(space)
	var done := 0.0
	var part := AmbuloSpace.LEAP_PART
	while part > AmbuloSpace.LEAP_EXACT and done < travel:
		var far := minf(done + part, travel)
		var floor_z := _floor_after(x + ux * done, y + uy * done, x + ux * far, y + uy * far)
		if is_nan(floor_z):
			part *= 0.5
		else:
			done = far
			z = floor_z
	return done


## One tick with the horizontal velocity (ux, uy) that the body wants, [m/s], at whose end what
## moves has come [param share] of its way of this decision.
func tick(ux: float, uy: float, share := 0.0) -> void:
	var x0 := x
	var y0 := y
	if _things != null:
		_carry(share)
	touched = false
	_space.touched_person = false
	_space.touched_thing = false
	if falling:
		_fall(x0, y0)
	else:
		_walk(x0, y0, ux * _dt, uy * _dt)
	touched_person = touched and _space.touched_person
	touched_thing = touched and (_space.touched_thing or not touched_person)


## How far the body is below the floor that it left, [m].
func depth() -> float:
	return _takeoff - z


static func _things_of(space: AmbuloHighSpace) -> AmbuloThings:
	var high := space as AmbuloHighLevelSpace
	return null if high == null else high.things


# Moves what moves, and the body with the box that it stands on.
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


func _walk(x0: float, y0: float, way_x: float, way_y: float) -> void:
	var carried_x := x
	var carried_y := y
	x += way_x
	y += way_y
	if not absf(z - _open) <= _LEVEL:
		_space.stand_at(z)
		touched = _slide(x0, y0)
	var climb := AmbuloContract.CLIMB_HEIGHT
	var floor_z := z if _level else _space.support(x, y, z, climb)
	if floor_z > z + _LEVEL and not _space.has_headroom(x, y, floor_z):
		touched = true
		_space.touched_thing = true
		x = carried_x
		y = carried_y
		floor_z = _space.floor_at(x, y, z, z - climb)
	vx = (x - x0) / _dt
	vy = (y - y0) / _dt
	vz = 0.0
	_takeoff = z
	var over_seam := is_nan(floor_z)
	if over_seam:
		floor_z = _space.floor_over_seam(x, y, z)
	if is_nan(floor_z):
		falling = true
	else:
		z = floor_z
		_takeoff = z
	if _things != null:
		_things.carrier = -1 if over_seam else _things.found


# Height of the floor at (x1, y1) for who comes straight from (x0, y0); NAN: none, or in contact.
func _floor_after(x0: float, y0: float, x1: float, y1: float) -> float:
	_space.stand_at(z)
	if _space.slide(x0, y0, x1, y1, false):
		return NAN
	var floor_z := _space.support(x1, y1, z, AmbuloContract.CLIMB_HEIGHT)
	var over_seam := is_nan(floor_z)
	var on := -1 if _things == null else _things.found
	if over_seam:
		floor_z = _space.floor_over_seam(x1, y1, z)
	elif floor_z > z + _LEVEL and not _space.has_headroom(x1, y1, floor_z):
		return NAN
	if _things != null and not is_nan(floor_z):
		_things.carrier = -1 if over_seam else on
	return floor_z


func _fall(x0: float, y0: float) -> void:
	vz -= AmbuloContract.GRAVITY * _dt
	x += vx * _dt
	y += vy * _dt
	var way_x := x
	var way_y := y
	_space.stand_at(z)
	_slide(x0, y0)
	# What it fell off pushes it aside, no faster than it can walk.
	var push := Vector2(x - way_x, y - way_y).limit_length(_fastest * _dt)
	x = way_x + push.x
	y = way_y + push.y
	var floor_z := _space.floor_at(x, y, z, z + vz * _dt)
	if is_nan(floor_z):
		z += vz * _dt
	else:
		z = floor_z
		vz = 0.0
		falling = false
		if _things != null:
			_things.carrier = _things.found


# Pushes the body out of what it touches; true: it touched something.
func _slide(x0: float, y0: float) -> bool:
	var pushed := _space.slide(x0, y0, x, y, false)
	x = _space.slid_x
	y = _space.slid_y
	if pushed and (x - x0) ** 2 + (y - y0) ** 2 > PRESSED * PRESSED:
		x = x0
		y = y0
	return pushed
