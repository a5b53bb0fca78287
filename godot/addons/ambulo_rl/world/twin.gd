class_name AmbuloTwin
extends RefCounted
## Response of a walking body to commands: its limits, and the delay, lag and largest acceleration
## of forward speed, lateral speed and turning.
##
## A model of a walker (docs/embodied.md) from the file of an exported agent, without noise and
## falls. The computation is that of `ambulo.envs.vr.body.twin_kernels`.

## Keys of [method from_dict].
const KEYS: PackedStringArray = ["walker", "radius", "envelope", "speed", "side", "turn"]
## Number of stored commands, which is the longest delay, [ticks].
const MEMORY := 16
## Speed from which on the sharpest turn uses the whole lateral range, [m/s].
const SPOT_SPEED := 0.4

const _ENVELOPE_KEYS: PackedStringArray = ["speed", "side", "turn", "lateral"]
const _RESPONSE_KEYS: PackedStringArray = ["gain", "offset", "lag", "change", "delay"]
const _PARTS: PackedStringArray = ["speed", "side", "turn"]
const _MOST := 1e6

## Name of the modelled walker.
var walker := ""
## Radius of the disc that collides with obstacles, [m].
var radius := AmbuloContract.BODY_RADIUS

# Limits of forward speed, lateral speed [m/s] and turning rate [rad/s].
var _low: PackedFloat64Array = [0.0, 0.0, 0.0]
var _high: PackedFloat64Array = [0.0, 0.0, 0.0]
var _gain: PackedFloat64Array = [1.0, 1.0, 1.0]
var _offset: PackedFloat64Array = [0.0, 0.0, 0.0]
var _lag: PackedFloat64Array = [1.0, 1.0, 1.0]
var _change: PackedFloat64Array = [1.0, 1.0, 1.0]
var _delay: PackedFloat64Array = [0.0, 0.0, 0.0]
# Largest product of speed and turning rate, [m/s^2].
var _lateral := INF


## A checked twin from JSON data. On a broken rule it returns null and appends one line
## "key: rule" to [param errors].
static func from_dict(data: Variant, errors: PackedStringArray) -> AmbuloTwin:
	var checks := AmbuloChecks.new()
	var twin := AmbuloTwin.new()
	var table := checks.table(data, "twin", "twin.", KEYS, KEYS)
	if checks.problem == "":
		twin._read(checks, table)
	if checks.problem != "":
		errors.append(checks.problem)
		return null
	return twin


func _read(checks: AmbuloChecks, data: Dictionary) -> void:
	walker = checks.text(data["walker"], "twin.walker")
	radius = checks.number(data["radius"], "twin.radius", 0.01, 10.0)
	var keys := _ENVELOPE_KEYS
	var envelope := checks.table(data["envelope"], "twin.envelope", "twin.envelope.", keys, keys)
	for k in 3 if checks.problem == "" else 0:
		var name := _PARTS[k]
		var span := checks.numbers(envelope[name], "twin.envelope." + name, 2, _MOST)
		_low[k] = span[0]
		_high[k] = span[1]
		if span[0] > span[1]:
			checks.fail("twin.envelope." + name, "must ascend")
		_read_response(checks, data[name], k, "twin.%s." % name)
	if checks.problem != "":
		return
	_low[2] = deg_to_rad(_low[2])
	_high[2] = deg_to_rad(_high[2])
	if envelope["lateral"] != null:
		_lateral = checks.number(envelope["lateral"], "twin.envelope.lateral", 1e-6, _MOST)


func _read_response(checks: AmbuloChecks, data: Variant, k: int, prefix: String) -> void:
	var response := checks.table(
		data, prefix.trim_suffix("."), prefix, _RESPONSE_KEYS, _RESPONSE_KEYS
	)
	if checks.problem != "":
		return
	_gain[k] = checks.number(response["gain"], prefix + "gain", -_MOST, _MOST)
	_offset[k] = checks.number(response["offset"], prefix + "offset", -_MOST, _MOST)
	_lag[k] = checks.number(response["lag"], prefix + "lag", 1e-9, _MOST)
	_change[k] = checks.number(response["change"], prefix + "change", 1e-9, _MOST)
	_delay[k] = checks.number(response["delay"], prefix + "delay", 0.0, _MOST)


## Largest speed of the body, [m/s].
func fastest() -> float:
	var most: PackedFloat64Array = [0.0, 0.0]
	for k in 2:
		most[k] = absf(_gain[k]) * maxf(absf(_low[k]), absf(_high[k])) + absf(_offset[k])
	return sqrt(most[0] * most[0] + most[1] * most[1])


## The motion of a body at rest, or at the walker's lowest speed.
func start() -> Motion:
	var motion := Motion.new()
	motion.now[0] = clampf(0.0, _low[0], _high[0])
	for k in range(0, motion.past.size(), 3):
		motion.past[k] = motion.now[0]
	return motion


## Advance by one tick of [param spec] with the smoothed stick [param strafe], [param forward],
## [param rotation] (+ is to the right).
func tick(motion: Motion, strafe: float, forward: float, rotation: float, spec: AmbuloSpec) -> void:
	motion.age = (motion.age + 1) % MEMORY
	_write_command(motion.past, 3 * motion.age, strafe, forward, rotation, spec)
	var dt := spec.dt
	for c in 3:
		var late := mini(roundi(_delay[c] / dt), MEMORY - 1)
		var command := motion.past[3 * posmod(motion.age - late, MEMORY) + c]
		var wanted := _gain[c] * command + _offset[c]
		var rate := (wanted - motion.now[c]) / maxf(_lag[c], dt)
		motion.now[c] += clampf(rate, -_change[c], _change[c]) * dt


## Write the command of a stick to [param out], clamped to the walker's limits.
func _write_command(
	out: PackedFloat64Array,
	at: int,
	strafe: float,
	forward: float,
	rotation: float,
	spec: AmbuloSpec
) -> void:
	var ahead := clampf(forward * spec.max_speed, _low[0], _high[0])
	var left := clampf(-strafe * spec.max_speed, _low[1], _high[1])
	var turn := clampf(-rotation * spec.max_yaw_rate, _low[2], _high[2])
	var widest := _lateral / maxf(absf(ahead), 1e-9)
	turn = clampf(turn, -widest, widest)
	var most := maxf(minf(widest, maxf(_high[2], -_low[2])), 1e-9)
	var walking := minf(1.0, absf(ahead) / SPOT_SPEED)
	out[at] = ahead
	out[at + 1] = left * (1.0 - walking * minf(1.0, absf(turn) / most))
	out[at + 2] = turn


## Motion of one body.
class Motion:
	extends RefCounted

	## Forward and lateral speed, [m/s], and turning rate, [rad/s].
	var now: PackedFloat64Array = [0.0, 0.0, 0.0]
	## The last commands, three numbers each; [member age] is the newest.
	var past: PackedFloat64Array = []
	var age := 0

	# Place and heading at the last decision: x, y [m], yaw [rad].
	var _begun: PackedFloat64Array = [0.0, 0.0, 0.0]

	func _init() -> void:
		past.resize(3 * MEMORY)

	## Start a decision from the state that begins at [param row] of [param rows].
	func begin(rows: PackedFloat64Array, row: int) -> void:
		_begun = [rows[row], rows[row + 1], rows[row + AmbuloWorld.YAW]]

	## End a decision of [param time] seconds: velocity and yaw rate become its means, which remove
	## the sway of a gait.
	func end(rows: PackedFloat64Array, row: int, time: float) -> void:
		for k in 2:
			rows[row + AmbuloWorld.VELOCITY + k] = (rows[row + k] - _begun[k]) / time
		rows[row + AmbuloWorld.YAW_RATE] = (rows[row + AmbuloWorld.YAW] - _begun[2]) / time
