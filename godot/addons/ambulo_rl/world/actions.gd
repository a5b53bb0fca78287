class_name AmbuloActions
extends RefCounted
## Actions: validation, dead zone, and the seven discrete actions.

## Fraction of the largest acceleration that walking in a turn may cause.
const IN_TURNS := 0.8
## Rotations beyond this snap, and sticks longer than this teleport.
const SNAP_STICK := 0.7
const TELEPORT_STICK := 0.3


## Reason why [param actions] are invalid for [param agents] agents; empty: valid.
##
## Continuous: three numbers per agent (strafe, forward, rotation); discrete: one index.
static func problem(actions: PackedFloat64Array, spec: AmbuloSpec, agents: int) -> String:
	var width := 1 if spec.discrete else 3
	if actions.size() != agents * width:
		return (
			"actions: %d numbers, expected %d (%d agents, %d each)"
			% [actions.size(), agents * width, agents, width]
		)
	for k in actions.size():
		var value := actions[k]
		if not is_finite(value):
			return "actions[%d]: must be finite" % floori(k / float(width))
		if spec.discrete and (value != floorf(value) or value < 0.0 or value > 6.0):
			return "actions[%d]: must be a whole number in [0, 6], got %s" % [k, value]
	return ""


## One stick value after clipping and dead zone.
static func shaped(value: float, zone: float) -> float:
	var clipped := clampf(value, -1.0, 1.0)
	return signf(clipped) * maxf(absf(clipped) - zone, 0.0) / (1.0 - zone)


## The command (strafe, forward, rotation) of a stick.
static func target(
	strafe: float, forward: float, rotation: float, zone: float
) -> PackedFloat64Array:
	var command: PackedFloat64Array = [0.0, 0.0, 0.0]
	write_targets([strafe, forward, rotation], zone, command)
	return command


## Writes the command of each stick in [param actions] to its place in [param commands].
static func write_targets(
	actions: PackedFloat64Array, zone: float, commands: PackedFloat64Array
) -> void:
	for k in range(0, actions.size(), 3):
		var s := shaped(actions[k], zone)
		var f := shaped(actions[k + 1], zone)
		var stick := maxf(sqrt(s * s + f * f), 1.0)
		commands[k] = s / stick
		commands[k + 1] = f / stick
		commands[k + 2] = shaped(actions[k + 2], zone)


## Writes the sticks for a velocity ([param ahead], [param left]) [m/s] to strafe and forward of
## [param action]; a velocity beyond the largest speed is shortened, and the dead zone is
## compensated.
static func write_move(
	ahead: float, left: float, spec: AmbuloSpec, action: PackedFloat64Array
) -> void:
	var longest := maxf(sqrt(ahead * ahead + left * left), spec.max_speed)
	var stick: PackedFloat64Array = [-left / longest, ahead / longest]
	for k in 2:
		var full := absf(stick[k]) * (1.0 - spec.dead_zone) + spec.dead_zone
		action[k] = signf(stick[k]) * full


## Shortens and turns the stick at index [param at] of [param commands] if it is too long or points
## too far aside, and limits its change from the command (strafe, forward, rotation) at [param
## now_at] of [param now] so that accelerations stay within the limits of [param spec]
## (docs/vr_world.md, "The decision"), scaled by the dial [param comfort] in [0, 1].
static func limit(
	commands: PackedFloat64Array,
	at: int,
	spec: AmbuloSpec,
	now: PackedFloat64Array,
	now_at: int,
	comfort := 1.0
) -> void:
	shape_stick(commands, at, spec, comfort)
	if comfort <= 0.0:
		return
	var share := (1.0 - spec.tick_decay()) / spec.dt
	var speed := sqrt(now[now_at] ** 2 + now[now_at + 1] ** 2) * spec.max_speed
	var most := spec.max_acceleration / comfort
	if most > 0.0:
		var slow := IN_TURNS * most / maxf(speed * spec.max_yaw_rate, 1e-9)
		commands[at + 2] = clampf(commands[at + 2], -slow, slow)
	if spec.max_yaw_acceleration > 0.0:
		var turn_step := spec.max_yaw_acceleration / (comfort * share * spec.max_yaw_rate)
		var turn := now[now_at + 2]
		commands[at + 2] = clampf(commands[at + 2], turn - turn_step, turn + turn_step)
	if most > 0.0:
		_limit_stick(commands, at, spec, now, now_at, most)


## Shortens the stick at index [param at] of [param commands] if it is too long, and turns it if it
## points too far aside, scaled by the dial [param comfort].
static func shape_stick(
	commands: PackedFloat64Array, at: int, spec: AmbuloSpec, comfort := 1.0
) -> void:
	if spec.comfort_speed > 0.0:
		var slowest := spec.comfort_speed / spec.max_speed
		var longest := slowest + (1.0 - comfort) * (1.0 - slowest)
		var stick := sqrt(commands[at] ** 2 + commands[at + 1] ** 2)
		commands[at] *= longest / maxf(stick, longest)
		commands[at + 1] *= longest / maxf(stick, longest)
	if spec.facing >= PI:
		return
	var facing := spec.facing + (1.0 - comfort) * (PI - spec.facing)
	var angle := atan2(commands[at], commands[at + 1])
	var beyond := maxf(absf(angle) - facing, 0.0)
	var length := sqrt(commands[at] ** 2 + commands[at + 1] ** 2) * maxf(cos(beyond), 0.0)
	angle = clampf(angle, -facing, facing)
	commands[at] = length * sin(angle)
	commands[at + 1] = length * cos(angle)


## Immediate displacement to the left and ahead [m], and counter-clockwise turn [rad], of the stick
## at index [param at] of [param commands], if [param spec] has snap turns or teleports; that part
## of the stick is then set to 0. [param waits] has at index [param wait_at] the decisions until the
## next allowed turn and teleport, and is updated to the end of this decision.
static func leap(
	commands: PackedFloat64Array, at: int, spec: AmbuloSpec, waits: PackedFloat64Array, wait_at: int
) -> PackedFloat64Array:
	var made: PackedFloat64Array = [0.0, 0.0, 0.0]
	var turn := commands[at + 2]
	var may_turn := waits[wait_at] <= 0.0
	var may_move := waits[wait_at + 1] <= 0.0
	for k in 2:
		waits[wait_at + k] = maxf(waits[wait_at + k] - 1.0, 0.0)
	if spec.snap_turn > 0.0:
		if absf(turn) > SNAP_STICK and may_turn:
			made[2] = -signf(turn) * spec.snap_turn
			waits[wait_at] = spec.steps_of(spec.snap_delay) - 1
		commands[at + 2] = 0.0
	if spec.teleport > 0.0:
		var stick := sqrt(commands[at] ** 2 + commands[at + 1] ** 2)
		if stick > TELEPORT_STICK and may_move:
			made[0] = -commands[at] * spec.teleport
			made[1] = commands[at + 1] * spec.teleport
			waits[wait_at + 1] = spec.steps_of(spec.teleport_delay) - 1
		commands[at] = 0.0
		commands[at + 1] = 0.0
	return made


static func _limit_stick(
	commands: PackedFloat64Array,
	at: int,
	spec: AmbuloSpec,
	now: PackedFloat64Array,
	now_at: int,
	most: float
) -> void:
	var speed := sqrt(now[now_at] ** 2 + now[now_at + 1] ** 2) * spec.max_speed
	var rate := maxf(absf(commands[at + 2]), absf(now[now_at + 2])) * spec.max_yaw_rate
	var fastest := IN_TURNS * most / maxf(rate * spec.max_speed, 1e-9)
	var stick := sqrt(commands[at] ** 2 + commands[at + 1] ** 2)
	var scale := minf(1.0, fastest / maxf(stick, 1e-9))
	var x := commands[at] * scale - now[now_at]
	var y := commands[at + 1] * scale - now[now_at + 1]
	var left := maxf(most - speed * rate, (1.0 - IN_TURNS) * most)
	var step := left * spec.dt / ((1.0 - spec.tick_decay()) * spec.max_speed)
	scale = minf(1.0, step / maxf(sqrt(x * x + y * y), 1e-9))
	commands[at] = now[now_at] + x * scale
	commands[at + 1] = now[now_at + 1] + y * scale


## Displacement to the left and ahead [m], and counter-clockwise turn [rad], of a discrete action.
static func jump(index: int, spec: AmbuloSpec) -> PackedFloat64Array:
	match index:
		0:
			return [0.0, spec.move_distance, 0.0]
		1:
			return [0.0, -spec.move_distance, 0.0]
		2:
			return [spec.move_distance, 0.0, 0.0]
		3:
			return [-spec.move_distance, 0.0, 0.0]
		4:
			return [0.0, 0.0, spec.turn_angle]
		5:
			return [0.0, 0.0, -spec.turn_angle]
	return [0.0, 0.0, 0.0]
