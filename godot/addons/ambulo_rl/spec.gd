class_name AmbuloSpec
extends RefCounted
## Settings of a world and its players; the fields of the trainer's WorldSpec.

## Keys of [method from_dict], in order.
const KEYS: PackedStringArray = [
	"ticks_per_decision",
	"dt",
	"max_speed",
	"max_yaw_rate",
	"smoothing",
	"dead_zone",
	"num_rays",
	"ray_length",
	"rays_see_edges",
	"rays_in_head_frame",
	"rearm_ticks",
	"fall_depth",
	"discrete",
	"turn_angle",
	"move_distance",
	"max_acceleration",
	"max_yaw_acceleration",
	"facing",
	"comfort_speed",
	"snap_turn",
	"snap_delay",
	"teleport",
	"teleport_delay",
	"vignette",
	"eye_height",
	"surroundings",
]

## Those of [constant KEYS] that files of earlier versions lack; their defaults keep the old
## behaviour.
const LATER: PackedStringArray = [
	"max_acceleration",
	"max_yaw_acceleration",
	"facing",
	"comfort_speed",
	"snap_turn",
	"snap_delay",
	"teleport",
	"teleport_delay",
	"vignette",
	"eye_height",
	"surroundings",
]

## Physics ticks per action.
var ticks_per_decision := 9
## Length of a tick, [s].
var dt := 1.0 / 90.0
## Speed at full stick, [m/s].
var max_speed := 2.0
## Turning rate at full stick, [rad/s].
var max_yaw_rate := PI / 2.0
## Fraction of the old command left after one decision.
var smoothing := 0.3
## Stick values below this count as zero.
var dead_zone := 0.05
## Rays over the full circle.
var num_rays := 16
## Range of a ray, [m].
var ray_length := 5.0
## Whether rays also end at floor edges.
var rays_see_edges := true
## Whether ray 0 points along the head's yaw; otherwise along the world's X axis.
var rays_in_head_frame := true
## Ticks without contact after which the next touch is a new collision event.
var rearm_ticks := 45
## Depth below the floor at which a player has fallen, [m].
var fall_depth := 1.0
## Whether actions are indices of the seven discrete actions.
var discrete := false
## Angle of a snap turn, [rad].
var turn_angle := PI / 4.0
## Distance of a discrete move, [m].
var move_distance := 1.0
## Largest acceleration by the stick, and by walking in a turn, [m/s^2]; 0: no limit.
var max_acceleration := 0.0
## Largest yaw acceleration by the stick, [rad/s^2]; 0: no limit.
var max_yaw_acceleration := 0.0
## Largest angle between the stick and straight ahead, [rad].
var facing := PI
## Largest speed where the comfort dial is 1, [m/s]; 0: [member max_speed].
var comfort_speed := 0.0
## Angle of an immediate turn by the rotation stick, [rad]; 0: smooth turns.
var snap_turn := 0.0
## Least time from one such turn to the next, [s].
var snap_delay := 0.3
## Distance of an immediate move by the full stick, [m]; 0: walking.
var teleport := 0.0
## Least time from one teleport to the next, [s].
var teleport_delay := 0.5
## Fraction by which the field of view is narrowed in motion, see [AmbuloVignette].
var vignette := 0.0
## Height of the camera above the XR origin, [m]; the body scales with it.
var eye_height := AmbuloContract.EYE_HEIGHT
## Whether the ends of rays, the floors along them and the nearest moving objects are observed, too.
var surroundings := false


## Time between two decisions, [s].
func decision_dt() -> float:
	return ticks_per_decision * dt


## Fraction of the old command left after one tick.
func tick_decay() -> float:
	return pow(smoothing, 1.0 / ticks_per_decision)


## Whether commands are limited, see [method AmbuloActions.limit].
func has_limits() -> bool:
	return (
		facing < PI or max_acceleration > 0.0 or max_yaw_acceleration > 0.0 or comfort_speed > 0.0
	)


## Whether sticks turn or move the body at once, see [method AmbuloActions.leap].
func has_leaps() -> bool:
	return snap_turn > 0.0 or teleport > 0.0


## Number of decisions that last at least [param seconds] [s], at least 1.
func steps_of(seconds: float) -> int:
	return maxi(1, ceili(seconds / decision_dt() - 1e-9))


## Number of sensor readings in a state row: the rays and, with [member surroundings], their ends,
## the floors along them, and the visible moving objects.
func sensed_size() -> int:
	if not surroundings:
		return num_rays
	var seen := AmbuloContract.MOVERS_SEEN * AmbuloContract.MOVER_COLUMNS
	return num_rays * (2 + AmbuloContract.FLOOR_PARTS) + seen


## Height of the body relative to the default.
func body_scale() -> float:
	return eye_height / AmbuloContract.EYE_HEIGHT


## The settings as plain JSON data.
func to_dict() -> Dictionary:
	var data := {}
	for key in KEYS:
		data[key] = get(key)
	return data


## A checked spec from JSON data; absent keys keep their defaults. On a broken rule it
## returns null and appends one line "key: rule" to [param errors].
static func from_dict(data: Variant, errors: PackedStringArray) -> AmbuloSpec:
	var checks := AmbuloChecks.new()
	var spec := AmbuloSpec.new()
	var table := checks.table(data, "spec", "", KEYS, [])
	for key: Variant in table:
		spec._read(checks, str(key), table[key])
	spec._check_travel(checks)
	if not checks.problem.is_empty():
		errors.append(checks.problem)
		return null
	return spec


func _read(checks: AmbuloChecks, key: String, value: Variant) -> void:
	match key:
		"ticks_per_decision":
			ticks_per_decision = checks.whole(value, key, 1, 1000)
		"dt":
			dt = checks.number(value, key, 1e-4, 0.1)
		"max_speed", "ray_length", "move_distance", "fall_depth":
			set(key, checks.number(value, key, 1e-6, 1e4))
		"max_yaw_rate", "turn_angle":
			set(key, checks.number(value, key, 1e-6, 1e3))
		"max_acceleration", "max_yaw_acceleration", "comfort_speed":
			set(key, checks.number(value, key, 0.0, 1e4))
		"facing", "snap_turn":
			set(key, checks.number(value, key, 0.0, PI))
		"snap_delay", "teleport_delay":
			set(key, checks.number(value, key, 1e-6, 60.0))
		"teleport":
			teleport = checks.number(value, key, 0.0, 20.0)
		"vignette":
			vignette = checks.number(value, key, 0.0, 1.0)
		"eye_height":
			eye_height = checks.number(value, key, 0.6, 2.2)
		"smoothing", "dead_zone":
			set(key, checks.number(value, key, 0.0, 1.0 - 1e-9))
		"num_rays":
			num_rays = checks.whole(value, key, 1, 360)
		"rearm_ticks":
			rearm_ticks = checks.whole(value, key, 0, AmbuloContract.NEVER)
		"rays_see_edges", "rays_in_head_frame", "surroundings", "discrete":
			set(key, checks.flag(value, key))


func _check_travel(checks: AmbuloChecks) -> void:
	var key := "move_distance" if discrete else "max_speed"
	var travel := move_distance / ticks_per_decision if discrete else max_speed * dt
	if travel > AmbuloContract.BODY_RADIUS:
		checks.fail(
			key,
			(
				"moves %.3f m per physics tick, at most %s m, or walls are passed through"
				% [travel, AmbuloContract.BODY_RADIUS]
			)
		)
