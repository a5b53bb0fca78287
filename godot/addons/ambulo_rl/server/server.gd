extends Node
## The server of the add-on: an autoload (`AmbuloServer`) that owns the world and the HTTP API.
##
## Lockstep (the default of a headless engine that an argument made a server): the node waits for
## requests inside `_process`, so nothing moves between them. It lets the engine draw a frame
## several times a second, so that scenes load and the engine can quit. Play (otherwise): requests
## that have come are answered once a frame, and nothing waits for them.
##
## With `--game` the agents are nodes of the scene ([AmbuloAgentsApi]): it waits inside
## `_physics_process`, before anything else in the tick, and lets the ticks of each step by.
##
## It starts on the first frame if an argument of the server is given (like `-- --port=8080`). In
## debug builds it also starts with the project's main scene where the project setting
## `ambulo/server/autostart` is on. A scene that must never be served calls `disable` in `_ready`;
## one with arguments of its own names them with `claim_arguments`.

## The world was stepped, reset or configured by a request.
signal changed

## Exit code of an engine that could not start its server.
const EXIT_CANNOT_START := 2
const _HOST := "res://addons/ambulo_rl/server/scene_host.tscn"
# Naps that follow spinning, or take its place where the trainer needs the processor.
const _NAP := 10
const _SHORT_NAPS := 300
const _SHORT_WAIT := 20_000
const _LONG_WAIT := 1_000_000
const _AWAKE := 3_000_000
# How long requests are served before the engine gets a frame, [us].
const _SLICE_HEADLESS := 250_000
const _SLICE_WINDOW := 30_000
const _PLAY_BUDGET := 4_000

## The players; see [AmbuloWorld].
var world := AmbuloWorld.new()

var _options: AmbuloServerOptions
var _transport := AmbuloHttpTransport.new()
var _router := AmbuloRouter.new()
var _engine: AmbuloEngineApi
var _rl: AmbuloRlApi
var _game: AmbuloRlGame
var _body: AmbuloBodyApi
var _scene: AmbuloSceneApi
var _agents: AmbuloAgentsApi
var _loader: AmbuloSceneLoader
var _watch: AmbuloParentWatch
var _foreign: PackedStringArray = []
var _disabled := false
var _last_busy := 0
var _slice := _SLICE_HEADLESS
# Decisions up to the last frame.
var _made := 0


## Never listen. For scenes that run by themselves; call it in `_ready` or before.
func disable() -> void:
	_disabled = true
	set_process(false)


## Names of user arguments (like "--policy") that belong to a scene and are not the server's.
func claim_arguments(names: PackedStringArray) -> void:
	_foreign.append_array(names)


## The port listened on; 0: not listening.
func port() -> int:
	return _transport.port() if _options != null else 0


func _enter_tree() -> void:
	var options := AmbuloServerOptions.of_game(OS.get_cmdline_user_args())
	if options != null:
		seed(options.seed)
		AmbuloSyncNode.watch(get_tree())
		process_physics_priority = -(1 << 30)


func _ready() -> void:
	process_mode = Node.PROCESS_MODE_ALWAYS
	# A script run with -s (like the tests) is no game.
	if _disabled or Engine.is_editor_hint() or get_tree().get_script() != null:
		disable()


func _process(_delta: float) -> void:
	if _options == null:
		_start()
		return
	_engine.needs_frame = false
	if _agents != null:
		_look_around()
		return
	if _options.mode == AmbuloServerOptions.Mode.LOCKSTEP:
		_made = _rl.decisions
		_serve_for(_slice, true)
		# A scene that moves gets a frame for each decision, and none without.
		while _scene.moves and not _owes_frame() and not _is_leaving():
			_serve_for(_slice, true)
	else:
		_serve_for(_PLAY_BUDGET, false)
	_look_around()


func _physics_process(_delta: float) -> void:
	if _agents == null or _options == null:
		return
	if _agents.running:
		if _agents.begin_tick():
			return
		_transport.answer(_agents.finish())
	var waits := _options.mode == AmbuloServerOptions.Mode.LOCKSTEP
	_serve_for(_slice if waits else _PLAY_BUDGET, waits)
	while waits and not _agents.running and not _is_leaving():
		_serve_for(_slice, true)
	if _agents.running:
		_agents.begin_tick()


func _exit_tree() -> void:
	_transport.stop()


func _start() -> void:
	var errors := PackedStringArray()
	var options := AmbuloServerOptions.parse(OS.get_cmdline_user_args(), _foreign, errors)
	if options == null:
		_give_up("ambulo: %s" % errors[0])
		return
	var autostart: bool = ProjectSettings.get_setting(AmbuloServerOptions.AUTOSTART, false)
	if not options.shall_listen(OS.is_debug_build(), _is_main_scene(), autostart):
		disable()
		return
	var opens := _scene_to_open(options)
	if opens != "" and not _has_scene(opens, options.game != ""):
		return
	if options.game != "" and Engine.get_process_frames() < AmbuloSceneLoader.FRAMES:
		return
	_set_up(options)
	if _transport.listen(options.port) != OK:
		var text := "ambulo: port %d is taken; name another: -- --port=N" % options.port
		if options.explicit:
			_give_up(text)
		else:
			printerr(text + "; playing without the HTTP API")
			disable()
		return
	_options = options
	_last_busy = Time.get_ticks_usec()
	if options.parent_pid > 0:
		_watch = AmbuloParentWatch.new(options.parent_pid)
		if not _watch.can_watch():
			printerr("ambulo: --parent-pid is not supported on this system; use --idle-exit")
	print("AMBULO_READY port=%d pid=%d" % [_transport.port(), OS.get_process_id()])


# Whether the scene is open and has started; if it cannot be opened, the engine quits.
func _has_scene(path: String, is_game: bool) -> bool:
	if _loader == null:
		_loader = AmbuloSceneLoader.new(get_tree(), path, is_game)
	if not _loader.is_settled():
		return false
	if _loader.problem != "":
		_give_up("ambulo: %s" % _loader.problem)
		return false
	return true


# The scene that takes the place of the open one; "": the open one stays.
func _scene_to_open(options: AmbuloServerOptions) -> String:
	if options.game == "":
		return options.scene
	if options.game != AmbuloServerOptions.MAIN:
		return options.game
	var open := get_tree().current_scene
	var is_host := open != null and open.scene_file_path == _HOST
	return _main_scene() if is_host or _loader != null else ""


func _is_main_scene() -> bool:
	var scene := get_tree().current_scene
	return scene == null or scene.scene_file_path == _main_scene()


static func _main_scene() -> String:
	var main: String = ProjectSettings.get_setting("application/run/main_scene", "")
	if main.begins_with("uid://"):
		main = ResourceUID.get_id_path(ResourceUID.text_to_id(main))
	return main


func _set_up(options: AmbuloServerOptions) -> void:
	world.configure(options.agents, AmbuloSpec.new())
	_router.gate = AmbuloGate.new(options.token, options.host)
	_engine = AmbuloEngineApi.new(get_tree())
	_engine.server_numbers = _numbers
	_rl = AmbuloRlApi.new(world)
	_game = AmbuloRlGame.new(_rl)
	_body = AmbuloBodyApi.new(get_tree())
	_engine.register(_router)
	_rl.register(_router)
	_game.register(_router)
	_body.register(_router)
	_scene = AmbuloSceneApi.new(get_tree(), _rl)
	_scene.register(_router)
	_game.scene = _scene
	if options.game != "":
		_agents = AmbuloAgentsApi.new(get_tree())
		_agents.draws_ends_only = options.mode == AmbuloServerOptions.Mode.LOCKSTEP
		_agents.register(_router)
	elif options.scene != "":
		_scene.enter_open_scene()
	elif options.mode == AmbuloServerOptions.Mode.LOCKSTEP:
		Engine.max_physics_steps_per_frame = 1
	_transport.max_body = options.max_body
	_transport.find_route = _router.find
	_transport.is_held = _is_held
	if DisplayServer.get_name() != "headless":
		_slice = _SLICE_WINDOW


# Answer requests for `budget` us; `waits`: also wait for them, ever more lazily.
func _serve_for(budget: int, waits: bool) -> void:
	var now := Time.get_ticks_usec()
	var deadline := now + budget
	var seen := _rl.decisions + _rl.resets
	while now < deadline and not _rl.quitting and not _engine.needs_frame:
		if _is_held():
			break
		if _transport.poll():
			now = Time.get_ticks_usec()
			_last_busy = now
			continue
		if not waits:
			break
		now = Time.get_ticks_usec()
		_transport.nap(_pause(now))
	if seen != _rl.decisions + _rl.resets:
		changed.emit()


# How long to sleep when nothing has come, [us]. The kernel keeps only 8 connections that were not
# taken yet, and a client that was turned away tries again after 1 s: so after a new connection the
# engine stays awake for a while.
func _pause(now: int) -> int:
	var quiet := now - _last_busy
	if quiet < _options.spin:
		return 0
	if quiet < _SHORT_NAPS:
		return _NAP
	if quiet < _SHORT_WAIT or now - _transport.accepted_at < _AWAKE:
		return 50
	return 1000 if quiet < _LONG_WAIT else 4000


# Whether the scene that moves has not had the frame of the last decision.
func _owes_frame() -> bool:
	var lockstep := _options.mode == AmbuloServerOptions.Mode.LOCKSTEP
	return lockstep and _scene.moves and _made != _rl.decisions


# Whether requests must wait for the engine.
func _is_held() -> bool:
	return _agents.running if _agents != null else _owes_frame()


func _is_leaving() -> bool:
	if _engine.needs_frame:
		return true
	_look_around()
	return not is_processing()


func _look_around() -> void:
	if _rl.quitting:
		_quit(0)
	elif _watch != null and _watch.is_gone(Time.get_ticks_msec()):
		printerr("ambulo: process %d is gone: quitting" % _options.parent_pid)
		_quit(0)
	elif _options.idle_exit > 0:
		if Time.get_ticks_usec() - _last_busy > _options.idle_exit * 1_000_000:
			printerr("ambulo: no request for %d s: quitting" % _options.idle_exit)
			_quit(0)


func _quit(code: int) -> void:
	_transport.finish(300)
	disable()
	_transport.stop()
	get_tree().quit(code)


func _give_up(text: String) -> void:
	printerr(text)
	disable()
	get_tree().quit(EXIT_CANNOT_START)


func _numbers() -> Dictionary:
	var lockstep := _options.mode == AmbuloServerOptions.Mode.LOCKSTEP
	return {
		"mode": "lockstep" if lockstep else "play",
		"agents": world.num_agents,
		"decisions": _rl.decisions,
		"resets": _rl.resets,
		"requests": _transport.served,
		"connections": _transport.connection_count(),
	}
