class_name AmbuloGaitClock
extends RefCounted
## Speed and heading of an avatar, and the phase of its gait.
##
## The computation is that of `ik/avatar/clock.py`, which explains the constants.

const VELOCITY_TIME := 0.1
const YAW_TIME := 0.15
const OFFSET_TIME := 0.2
const RATE_TIME := 0.15
const JUMP := 0.5
const STILL := 0.04
const BACK := -0.4
const AHEAD := -0.1
const LEAN_SHARE := 0.6
const LARGEST_OFFSET := deg_to_rad(50.0)
const SIDE_STRIDE := 0.7
const HURRY := 0.03
const LATEST := 2.0
const STEP_RATE := 0.9
const STEP_ANGLE := deg_to_rad(80.0)

## Phase of the gait, in [0, 1).
var phase := 0.0
## Heading of the body [rad] and its rate [rad/s].
var yaw := 0.0
var rate := 0.0
## 1 walking ahead, -1 backwards.
var sign := 1.0
## Turn of the pelvis against the heading, [rad].
var offset := 0.0
## Whether the feet step on the spot.
var stepping := false
## How far the farthest stance foot lies beyond its leg's reach, [m]; it speeds up the phase.
var late := 0.0
## Whether the avatar has been placed.
var placed := false

## The current gait: row and fraction in the table, weight against standing, size of the steps,
## their direction, heading of the pelvis [rad], cycles per second [Hz], speed [m/s].
var row := 0
var part := 0.0
var amount := 0.0
var stretch := 0.0
var direction_x := 1.0
var direction_y := 0.0
var facing := 0.0
var cycles := 0.0
var speed := 0.0

var _velocity_x := 0.0
var _velocity_y := 0.0
var _last_x := 0.0
var _last_y := 0.0


## Clear the state except the phase.
func reset() -> void:
	yaw = 0.0
	rate = 0.0
	sign = 1.0
	offset = 0.0
	stepping = false
	late = 0.0
	placed = false
	_velocity_x = 0.0
	_velocity_y = 0.0


## Update velocity and heading from the head at (x, y) [m] with heading `gaze` [rad].
func follow(x: float, y: float, gaze: float, dt: float) -> void:
	var dx := x - _last_x
	var dy := y - _last_y
	_last_x = x
	_last_y = y
	if not placed or sqrt(dx * dx + dy * dy) > JUMP:
		reset()
		yaw = gaze
		return
	var keep := exp(-dt / VELOCITY_TIME)
	_velocity_x = keep * _velocity_x + (1.0 - keep) * dx / dt
	_velocity_y = keep * _velocity_y + (1.0 - keep) * dy / dt
	var turn := wrapped(gaze - yaw) * (1.0 - exp(-dt / YAW_TIME))
	keep = exp(-dt / RATE_TIME)
	rate = keep * rate + (1.0 - keep) * turn / dt
	yaw = wrapped(yaw + turn)


## Update the current gait, and turn the pelvis towards the direction of walking.
func set_gait(table: AmbuloGaitTable, dt: float) -> void:
	var ahead := cos(yaw) * _velocity_x + sin(yaw) * _velocity_y
	var left := cos(yaw) * _velocity_y - sin(yaw) * _velocity_x
	speed = sqrt(ahead * ahead + left * left)
	if speed > STILL:
		if ahead < BACK * speed:
			sign = -1.0
		elif ahead > AHEAD * speed:
			sign = 1.0
	var angle := atan2(sign * left, sign * ahead) if speed > 1e-6 else 0.0
	var at := table.bracket(speed)
	row = int(at[0])
	part = at[1]
	amount = minf(speed / table.speeds[0], 1.0)
	var goal := clampf(LEAN_SHARE * angle * amount, -LARGEST_OFFSET, LARGEST_OFFSET)
	var keep := exp(-dt / OFFSET_TIME) if placed else 0.0
	offset = keep * offset + (1.0 - keep) * goal
	angle -= offset
	var held := table.speeds[row] + part * (table.speeds[row + 1] - table.speeds[row])
	var own := table.rates[row] + part * (table.rates[row + 1] - table.rates[row])
	var stride := held / own
	cycles = 0.0
	if speed > STILL:
		var side := absf(sin(angle)) * stride * amount
		cycles = maxf(speed / (stride * minf(1.0, SIDE_STRIDE / maxf(side, 1e-6))), own)
	if stepping:
		cycles = maxf(maxf(cycles, STEP_RATE), absf(rate) / STEP_ANGLE)
	stretch = minf(1.0, speed / (cycles * stride)) if cycles > 0.0 else 0.0
	direction_x = cos(angle)
	direction_y = sin(angle)
	facing = wrapped(yaw + offset)


## Advance the phase by `dt` seconds.
func tick(dt: float) -> void:
	phase += sign * cycles * (1.0 + minf(late / HURRY, LATEST)) * dt
	phase -= floorf(phase)


## `angle` in [-pi, pi), [rad].
static func wrapped(angle: float) -> float:
	return angle - TAU * floorf((angle + PI) / TAU)
