extends Node3D
## A trained policy in a scene that knows nothing of levels: a house of two floors, with stairs, a
## sliding door and a lift, which an AnimationPlayer moves.
##
## This is all that a game needs to let an agent walk through it. The scene's own colliders are the
## obstacles and the floors, and carry it; [AmbuloWorld] moves the player among them, from goal to
## goal. Its way is drawn, and so is the path that it has planned.

## The player has come within [constant GOAL_RADIUS] of the last goal, or has fallen.
signal ended(success: bool)

## Distance at which a goal is reached, [m].
const GOAL_RADIUS := 0.6

## How many of the goals were reached.
var reached := 0

var _world := AmbuloWorld.new()
var _tick := 0
var _owed := 0.0
var _running := false
# Where the player was a tick before, and where it is now.
var _before := Transform3D.IDENTITY
var _now := Transform3D.IDENTITY

@onready var _policy: AmbuloPolicyNode = $Policy
@onready var _player: Node3D = $Player
@onready var _goals: Array[Node] = $Goals.get_children()
@onready var _trail: AmbuloTrailView = $Trail
@onready var _plan: AmbuloTrailView = $Plan


func _ready() -> void:
	if _policy.file == null:
		return
	_policy.plans_later = true
	_world.configure(1, _policy.file.spec, _policy.file.twin)
	_world.use_scene_space(get_world_3d().space)
	# The engine has put the colliders into the space by the first physics tick.
	await get_tree().physics_frame
	var start := AmbuloAxes.from_godot(_player.global_position)
	var yaw := AmbuloAxes.yaw_of(_player.global_basis)
	_world.reset([0], [0], [start[0], start[1], yaw], [start[2]])
	_now = _player.transform
	_before = _now
	_owed = 0.0
	_running = true


func _physics_process(delta: float) -> void:
	if not _running:
		return
	# The world has ticks of its own length (1/90 s, or 1/30 s for an agent of a body with legs),
	# whatever those of the game are; between two of them the player moves evenly.
	_owed += delta
	while _running and _owed > 0.999 * _world.spec.dt:
		_owed -= _world.spec.dt
		_advance()
	_player.transform = _before.interpolate_with(_now, clampf(_owed / _world.spec.dt, 0.0, 1.0))


func _advance() -> void:
	if _tick == 0:
		_decide()
	_world.advance(1)
	_tick += 1
	if _tick == _world.spec.ticks_per_decision:
		_tick = 0
		_world.finish()
	var row := _world.state_rows([0])
	_before = _now
	_now = AmbuloAxes.pose(row[0], row[1], row[2], row[AmbuloWorld.YAW])
	_trail.extend_to(row[0], row[1], row[2])
	if row[_world.state_width - AmbuloWorld.TAIL + AmbuloWorld.FELL] != 0.0:
		_end(false)
	elif _now.origin.distance_to(_goal().global_position) <= GOAL_RADIUS:
		_goal().visible = false
		reached += 1
		if reached == _goals.size():
			_end(true)


func _decide() -> void:
	var memory := _policy.memory_of(0)
	if memory != null and memory.navigator() != null:
		_plan.show_way(memory.navigator().path())
	var goal := AmbuloAxes.from_godot(_goal().global_position)
	_world.begin(_policy.act(_world, 0, Vector2(goal[0], goal[1]), goal[2]))


func _goal() -> Node3D:
	return _goals[reached]


func _end(success: bool) -> void:
	_running = false
	_plan.clear()
	ended.emit(success)
