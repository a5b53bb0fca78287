extends CharacterBody3D
## A player of docs/vr_world.md as a CharacterBody3D: the same body, command filter, speeds,
## fall and rays; the engine's own solver slides it along obstacles.

const LevelBody := preload("level_body.gd")

var spec: AmbuloSpec
## Deeper than the fall depth below the floor.
var fell := false

var _home: LevelBody
var _origin := Vector3.ZERO
var _yaw := 0.0
var _rate := 0.0
var _target := Vector3.ZERO
var _held := Vector3.ZERO
var _falling := false
var _x := 0.0
var _y := 0.0
var _z := 0.0
var _moved := Vector3.ZERO
var _path := 0.0
var _contact_ticks := 0
var _collisions := 0
var _since := AmbuloContract.NEVER
var _decay := 0.0
var _ray := PhysicsRayQueryParameters3D.new()
var _fan: PackedVector3Array = []
var _rays: PackedFloat64Array = []
var _space: PhysicsDirectSpaceState3D


func _ready() -> void:
	var capsule := CapsuleShape3D.new()
	capsule.height = AmbuloContract.BODY_HEIGHT
	capsule.radius = AmbuloContract.BODY_RADIUS
	var shape := CollisionShape3D.new()
	shape.shape = capsule
	add_child(shape)
	collision_layer = 0
	collision_mask = LevelBody.OBSTACLES
	# The floating mode would keep the speed along a wall; our players lose what points into it.
	motion_mode = CharacterBody3D.MOTION_MODE_GROUNDED
	floor_snap_length = 0.0
	max_slides = AmbuloContract.SLIDE_PASSES
	_decay = spec.tick_decay()
	_ray.collision_mask = LevelBody.OBSTACLES | LevelBody.EDGES
	_ray.hit_from_inside = true
	for r in spec.num_rays:
		var angle := TAU * r / spec.num_rays
		_fan.append(Vector3(-sin(angle), 0.0, -cos(angle)) * spec.ray_length)
	_rays.resize(spec.num_rays)
	_space = get_world_3d().direct_space_state


## Puts the player at rest at (x, y) with heading [param yaw] in [param home].
func place(home: LevelBody, x: float, y: float, yaw: float) -> void:
	_home = home
	_origin = home.position + Vector3.UP * (0.5 * AmbuloContract.BODY_HEIGHT)
	_x = x
	_y = y
	_z = 0.0
	_yaw = yaw
	_rate = 0.0
	_held = Vector3.ZERO
	_target = Vector3.ZERO
	_moved = Vector3.ZERO
	_falling = false
	fell = false
	_since = AmbuloContract.NEVER
	var spot := AmbuloAxes.to_godot(x - home.middle_x, y - home.middle_y, 0.0)
	global_transform = Transform3D(Basis.IDENTITY, _origin + spot)
	velocity = Vector3.ZERO
	read_rays()


## Starts a decision.
func command(strafe: float, forward: float, rotation_stick: float) -> void:
	var target := AmbuloActions.target(strafe, forward, rotation_stick, spec.dead_zone)
	_target = Vector3(target[0], target[1], target[2])
	_path = 0.0
	_contact_ticks = 0
	_collisions = 0


func _physics_process(delta: float) -> void:
	_held = _decay * _held + (1.0 - _decay) * _target
	_rate = -_held.z * spec.max_yaw_rate
	_yaw += _rate * delta
	var was_x := _x
	var was_y := _y
	if _falling:
		_moved.z -= AmbuloContract.GRAVITY * delta
		_x += _moved.x * delta
		_y += _moved.y * delta
		_z += _moved.z * delta
		global_position = _origin + AmbuloAxes.to_godot(_local_x(), _local_y(), _z)
		if _z < -spec.fall_depth:
			fell = true
	else:
		var ahead := _held.y * spec.max_speed
		var right := _held.x * spec.max_speed
		var c := cos(_yaw)
		var s := sin(_yaw)
		velocity = AmbuloAxes.to_godot(c * ahead + s * right, s * ahead - c * right, 0.0)
		move_and_slide()
		var spot := global_position - _origin
		_x = _home.middle_x - spot.z
		_y = _home.middle_y - spot.x
		_moved = Vector3((_x - was_x) / delta, (_y - was_y) / delta, 0.0)
		_falling = not _home.level.has_floor(_x, _y)
	_path += sqrt((_x - was_x) ** 2 + (_y - was_y) ** 2)
	if not _falling and get_slide_collision_count() > 0:
		_contact_ticks += 1
		if _since >= spec.rearm_ticks:
			_collisions += 1
		_since = 0
	else:
		_since += 1


## Reads the rays where the player stands.
func read_rays() -> void:
	if not _home.level.has_floor(_x, _y):
		_rays.fill(spec.ray_length)
		return
	var from := _origin + AmbuloAxes.to_godot(_local_x(), _local_y(), 0.0)
	var ends := Transform3D(AmbuloAxes.basis(_yaw), from) * _fan
	_ray.from = from
	for r in spec.num_rays:
		_ray.to = ends[r]
		var hit := _space.intersect_ray(_ray)
		if hit:
			var point: Vector3 = hit.position
			_rays[r] = minf(from.distance_to(point), spec.ray_length)
		else:
			_rays[r] = spec.ray_length


## The front of a state row of our world, up to the rays.
func row() -> PackedFloat64Array:
	var numbers: PackedFloat64Array = [
		_x, _y, _z, _yaw, _moved.x, _moved.y, _moved.z, _rate, _held.x, _held.y, _held.z
	]
	numbers.append_array(_rays)
	return numbers


func _local_x() -> float:
	return _x - _home.middle_x


func _local_y() -> float:
	return _y - _home.middle_y
