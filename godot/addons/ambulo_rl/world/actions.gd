class_name AmbuloActions
extends RefCounted
## Actions: validation, dead zone, and the meaning of the seven discrete ones.


## Why [param actions] cannot be stepped by [param agents] agents; empty: it can.
## Continuous: three numbers an agent (strafe, forward, rotation); discrete: one index.
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


## The command (strafe, forward, rotation) that a stick asks for.
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


## Metres to the left and ahead, and counter-clockwise turn, of a discrete action.
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
