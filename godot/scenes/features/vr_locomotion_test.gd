extends Node3D
## The playable level: walk by keyboard, gamepad or headset, or let the trained policy walk.
##
## Ticks of the world follow real time; every [member AmbuloSpec.ticks_per_decision] of them a
## new action is taken. When a client steps the world through the HTTP API, the
## scene stops playing and shows what the client does.
##
## `godot --path godot [--xr-mode on] -- [--level=FILE or FOLDER] [--policy-on]`

const KEYS := (
	"WASD/arrows: walk, Q/E: turn   P: policy   R: again   N: next level" + "   C: camera   V: rays"
)

## Level file, or a folder of them.
@export_file("*.json") var level_path := "res://scenes/demo/levels"
## The policy node; see [method set_policy_enabled].
@export var policy_node: NodePath = ^"Policy"
## Seed of starts and goals that a level leaves open.
@export var random_seed := 0

var _world := AmbuloWorld.new()
var _shown := _world
var _levels: Array[AmbuloLevel] = []
var _level_index := 0
var _round := 0
var _goal: PackedFloat64Array = []
var _tick := 0
var _policy: AmbuloPolicyNode
var _policy_enabled := false
var _collisions := 0
var _message := ""
var _bad_levels := ""
var _owed := 0.0
var _follow := true

@onready var _view: AmbuloLevelView = $LevelView
@onready var _marker: AmbuloGoalMarker = $GoalMarker
@onready var _rays: AmbuloRayView = $RayView
@onready var _rig: AmbuloPlayerRig = $PlayerRig
@onready var _camera: Camera3D = $FollowCamera
@onready var _label: Label = $Hud/Label


func _ready() -> void:
	_policy = get_node_or_null(policy_node)
	var server := get_tree().root.get_node_or_null(^"AmbuloServer")
	if server != null:
		server.call("claim_arguments", PackedStringArray(["--level", "--policy-on"]))
		server.connect("changed", _on_server_changed.bind(server))
	for argument in OS.get_cmdline_user_args():
		if argument.begins_with("--level="):
			level_path = AmbuloPaths.of_user(argument.trim_prefix("--level="))
	var errors: PackedStringArray = []
	_levels = AmbuloLevel.read_files(level_path, errors)
	_bad_levels = "\n".join(errors)
	_world.configure(1, _spec())
	if _policy != null:
		_world.comfort[0] = _policy.dial()
	_rig.use_spec(_world.spec)
	_follow = not _rig.start_xr()
	_show_camera()
	restart()
	set_policy_enabled("--policy-on" in OS.get_cmdline_user_args())


func _physics_process(delta: float) -> void:
	if _shown != _world:
		return
	if _world.slot_of(0) < 0:
		_show_text()
		return
	_owed += delta
	while _owed > 0.999 * _world.spec.dt:
		_owed -= _world.spec.dt
		_advance()
	_show_state()


func _advance() -> void:
	if _tick == 0:
		_world.begin(_action())
	_world.advance(1)
	_tick += 1
	if _tick == _world.spec.ticks_per_decision:
		_tick = 0
		_world.finish()
		_after_decision()


func _process(delta: float) -> void:
	if _follow:
		_move_camera(1.0 - exp(-6.0 * delta))


func _unhandled_key_input(event: InputEvent) -> void:
	var key := event as InputEventKey
	if not key.pressed or key.echo:
		return
	match key.physical_keycode:
		KEY_P:
			set_policy_enabled(not _policy_enabled)
		KEY_R:
			restart()
		KEY_N:
			_level_index += 1
			restart()
		KEY_C:
			_follow = not _follow
			_show_camera()
		KEY_V:
			_rays.visible = not _rays.visible
		KEY_ESCAPE:
			get_tree().quit()


## Lets the policy walk, or the player again. Refused, with a message, where the policy has
## no file that fits.
func set_policy_enabled(enabled: bool) -> void:
	_policy_enabled = false
	_message = ""
	if enabled and not _has_file():
		_message = "no policy: " + (_policy.error if _policy != null else "no such node")
	elif enabled:
		_policy_enabled = true
		_policy.reset(0)


## Begins anew in the level of the moment; without levels nothing begins.
func restart() -> void:
	_shown = _world
	_tick = 0
	_collisions = 0
	_round += 1
	if _levels.is_empty():
		return
	var level := _levels[_level_index % _levels.size()]
	var random := RandomNumberGenerator.new()
	random.seed = hash([random_seed, _round])
	var problems: PackedStringArray = []
	var places := AmbuloPlaces.in_level(level, random, _goal_reach(), problems)
	if places.is_empty():
		_message = "%s: %s" % [level.name, problems[0]]
		return
	_goal = places.slice(4)
	_world.set_levels([0], [level])
	_world.reset([0], [0], places.slice(0, 3), places.slice(3, 4))
	if _policy != null:
		_policy.reset(0)
	_show_state()
	_move_camera(1.0)


func _has_file() -> bool:
	return _policy != null and _policy.file != null


## Range of the straight distance of drawn goals, [m].
func _goal_reach() -> Vector2:
	return _policy.file.goal_distance if _has_file() else AmbuloEpisode.GOAL_DISTANCE


## Distance at which the goal is reached, [m].
func _goal_radius() -> float:
	return _policy.file.goal_radius if _has_file() else AmbuloEpisode.DEFAULT_GOAL_RADIUS


func _spec() -> AmbuloSpec:
	if _has_file():
		return _policy.file.spec
	var spec := AmbuloSpec.new()
	spec.dt = 1.0 / Engine.physics_ticks_per_second
	return spec


func _action() -> PackedFloat64Array:
	if _policy_enabled:
		var action := _policy.act(_world, 0, Vector2(_goal[0], _goal[1]), _goal[2])
		if not action.is_empty():
			return action
		_message = _policy.error
		_policy_enabled = false
	var stick := _rig.stick()
	if not _world.spec.discrete:
		return stick
	return [_discrete(stick)]


func _discrete(stick: PackedFloat64Array) -> float:
	if absf(stick[1]) > 0.5:
		return 0.0 if stick[1] > 0.0 else 1.0
	if absf(stick[0]) > 0.5:
		return 3.0 if stick[0] > 0.0 else 2.0
	if absf(stick[2]) > 0.5:
		return 5.0 if stick[2] > 0.0 else 4.0
	return 6.0


func _after_decision() -> void:
	var row := _world.all_rows()
	var tail := _world.state_width - AmbuloWorld.TAIL
	_collisions += int(row[tail + AmbuloWorld.COLLISIONS])
	if row[tail + AmbuloWorld.FELL] != 0.0:
		_message = "fell"
		restart()
	elif _goal_distance(row) < _goal_radius() and _is_on_its_floor(row):
		_message = "reached the goal, %d collisions" % _collisions
		_level_index += 1
		restart()


func _goal_distance(row: PackedFloat64Array) -> float:
	return sqrt((_goal[0] - row[0]) ** 2 + (_goal[1] - row[1]) ** 2)


func _is_on_its_floor(row: PackedFloat64Array) -> bool:
	return absf(_goal[2] - row[2]) < AmbuloContract.SAME_FLOOR


func _show_state() -> void:
	var row := _shown.state_rows([0])
	_view.show_level(_shown.level_of(_shown.slot_of(0)))
	_rig.place(row[0], row[1], row[2], row[AmbuloWorld.YAW])
	_marker.visible = not _goal.is_empty()
	if _marker.visible:
		_marker.show_goal(_goal[0], _goal[1], 1.0, _goal[2])
	if _rays.visible:
		var spec := _shown.spec
		var rays := row.slice(AmbuloWorld.RAYS, AmbuloWorld.RAYS + spec.num_rays)
		var heading := row[AmbuloWorld.YAW] if spec.rays_in_head_frame else 0.0
		_rays.position.y = row[2]
		_rays.show_rays(row[0], row[1], heading, rays, spec.ray_length)
	_show_text()


func _show_text() -> void:
	var line := _message
	if _shown.slot_of(0) >= 0:
		line = "%s   %s" % [_status(_shown.state_rows([0])), _message]
	elif _levels.is_empty():
		line = "no level in %s   %s" % [level_path, _message]
	_label.text = "\n".join([line, KEYS, _bad_levels])


func _status(row: PackedFloat64Array) -> String:
	var driver := "policy" if _policy_enabled else "you"
	if _shown != _world:
		driver = "HTTP client"
	var far := "" if _goal.is_empty() else ", goal %.1f m away" % _goal_distance(row)
	return "%s   driven by: %s%s" % [_view.level.name, driver, far]


## A client moves players: its first one is shown from now on.
func _on_server_changed(server: Node) -> void:
	var world: AmbuloWorld = server.get("world")
	if world.num_agents == 0 or world.slot_of(0) < 0:
		return
	_shown = world
	if DisplayServer.get_name() == "headless":
		return
	var level := world.level_of(world.slot_of(0))
	var jumped := level != _view.level
	_goal = level.goal + PackedFloat64Array([level.goal_height]) if level.goal else level.goal
	_show_state()
	if jumped:
		_move_camera(1.0)


func _show_camera() -> void:
	if _follow:
		_camera.make_current()
	else:
		_rig.look_through()


## Moves the camera behind and above the player by [param share] of the way.
func _move_camera(share: float) -> void:
	var behind := _rig.transform * Vector3(0.0, 5.2, 4.2)
	behind.y = maxf(behind.y, 1.0)
	_camera.position = _camera.position.lerp(behind, share)
	var ahead := _rig.transform * Vector3(0.0, 0.9, -1.6)
	if _camera.position.distance_to(ahead) > 0.1:
		_camera.look_at(ahead)
