extends Node2D
## A car that sees the walls of a track by rays and shall drive as far as it can (sample of
## docs/godot_tasks.md). Its parent is the track.

const TOP_SPEED := 320.0
const GAS := 400.0
const TURN := 3.2
const SIGHT := 220.0
const RAYS := 9

var _speed := 0.0
var _drive := Vector2.ZERO
var _progress := 0.0
var _lap := 0.0
var _crashed := false
var _angle := 0.0

@onready var _track: CarTrack = get_parent()


func get_action_space() -> Dictionary:
	return {"drive": {"size": 2}}


func set_action(action: Dictionary) -> void:
	_drive = Vector2(action["drive"][0], action["drive"][1])


func get_observation() -> Dictionary:
	return {"rays": _rays(), "speed": [_speed / TOP_SPEED]}


func get_reward() -> float:
	var reward := _progress - (5.0 if _crashed else 0.0)
	_progress = 0.0
	return reward


func is_done() -> bool:
	return _crashed


func get_info() -> Dictionary:
	return {"success": _lap > 2.0 * TAU}


## What a driver without training does: at half speed to where the way is longest.
func get_scripted_action() -> Dictionary:
	var rays := _rays()
	var longest := rays.find(Array(rays).max())
	var gas := 1.0 if _speed < 0.5 * TOP_SPEED else -0.2
	return {"drive": PackedFloat32Array([2.0 * longest / (RAYS - 1) - 1.0, gas])}


func reset(episode_seed: int) -> void:
	var rng := RandomNumberGenerator.new()
	rng.seed = episode_seed
	_angle = rng.randf_range(0.0, TAU)
	position = _track.centre(_angle)
	rotation = _track.heading(_angle) + rng.randf_range(-0.3, 0.3)
	_speed = 0.0
	_progress = 0.0
	_lap = 0.0
	_crashed = false


func _physics_process(delta: float) -> void:
	if _crashed:
		return
	_speed = clampf(_speed + (_drive.y * GAS - 0.5 * _speed) * delta, 0.0, TOP_SPEED)
	rotation += _drive.x * TURN * minf(1.0, _speed / 80.0) * delta
	position += Vector2.from_angle(rotation) * _speed * delta
	var ahead := angle_difference(_angle, position.angle())
	_angle = position.angle()
	_progress += ahead
	_lap += ahead
	_crashed = absf(position.length() - CarTrack.radius(_angle)) > CarTrack.HALF_WIDTH


func _rays() -> PackedFloat32Array:
	var lengths := PackedFloat32Array()
	var space := get_world_2d().direct_space_state
	for k in RAYS:
		var angle := rotation + (k / (RAYS - 1.0) - 0.5) * PI
		var end := position + SIGHT * Vector2.from_angle(angle)
		var hit := space.intersect_ray(PhysicsRayQueryParameters2D.create(position, end))
		lengths.append(1.0 if hit.is_empty() else position.distance_to(hit["position"]) / SIGHT)
	return lengths


func _draw() -> void:
	draw_rect(Rect2(-12, -6, 24, 12), Color.ORANGE_RED)
