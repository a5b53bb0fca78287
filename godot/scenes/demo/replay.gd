extends Node3D
## Draws a recorded episode, frame by frame, for the program that has asked for it.
##
## `godot --path godot res://scenes/demo/replay.tscn -- --port=N --key=TEXT` connects to
## 127.0.0.1:N, says TEXT and a line end, and is told what to draw: a 32-bit length and JSON
## (see [method _read_job]). It answers with the frames: for each of them and each view the rows
## of an RGB image, three bytes a pixel, and quits. It also quits, with code 2 and a line on
## standard error, when the connection breaks or the job is refused.

const _PATIENCE := 10_000
const _VIEWS: PackedStringArray = ["chase", "top"]
const _KEYS: PackedStringArray = [
	"size",
	"views",
	"level",
	"spec",
	"goal",
	"goal_radius",
	"rays",
	"smooth",
	"chase",
	"frames",
	"frame_time",
]
const _NUMBERS_PER_FRAME := 5
const _MOST_FRAMES := 100_000
const _MOST_JOB := 1 << 28
const _TOP_HEIGHT := 30.0
# Pictures are drawn by the processor where there is no graphics card: shadows cost most.
const _SHADOW_SIZE := 2048
const _TOP_MARGIN := 1.06

var _wire := StreamPeerTCP.new()
var _world := AmbuloWorld.new()
var _level: AmbuloLevel
var _size := Vector2i.ZERO
var _views: PackedStringArray = []
var _goal: PackedFloat64Array = []
var _goal_radius := 0.0
var _chase: PackedFloat64Array = []
var _frames: Array[PackedFloat64Array] = []
var _with_rays := false
var _smooth := false
var _frame_time := 0.0
var _screens: Array[SubViewport] = []
var _cameras: Array[Camera3D] = []

@onready var _view: AmbuloLevelView = $LevelView
@onready var _marker: AmbuloGoalMarker = $GoalMarker
@onready var _rays: AmbuloRayView = $RayView
@onready var _trail: AmbuloTrailView = $TrailView
@onready var _rig: AmbuloPlayerRig = $PlayerRig
@onready var _character: AmbuloCharacter = $Character


func _ready() -> void:
	var server := get_tree().root.get_node_or_null(^"AmbuloServer")
	if server != null:
		server.call("disable")
	get_viewport().disable_3d = true  # only the views are drawn
	RenderingServer.directional_shadow_atlas_set_size(_SHADOW_SIZE, true)
	var problem := _connect_to(OS.get_cmdline_user_args())
	if problem == "":
		problem = _read_job(_receive_job())
	if problem == "":
		_build()
		problem = await _film()
	if problem != "":
		printerr("replay: %s" % problem)
	get_tree().quit(0 if problem == "" else 2)


func _connect_to(arguments: PackedStringArray) -> String:
	var port := 0
	var key := ""
	for argument in arguments:
		if argument.begins_with("--port="):
			port = argument.trim_prefix("--port=").to_int()
		elif argument.begins_with("--key="):
			key = argument.trim_prefix("--key=")
		else:
			return "%s: unknown; there are --port= and --key=" % argument
	if DisplayServer.get_name() == "headless":
		return "a headless engine cannot draw"
	if port < 1 or port > 65535 or _wire.connect_to_host("127.0.0.1", port) != OK:
		return "--port=%d: no such port" % port
	var deadline := Time.get_ticks_msec() + _PATIENCE
	while _wire.get_status() == StreamPeerTCP.STATUS_CONNECTING:
		if Time.get_ticks_msec() > deadline:
			break
		OS.delay_msec(5)
		_wire.poll()
	if _wire.get_status() != StreamPeerTCP.STATUS_CONNECTED:
		return "nobody listens on port %d" % port
	_wire.set_no_delay(true)
	_wire.put_data((key + "\n").to_utf8_buffer())
	return ""


func _receive_job() -> Variant:
	var head := _wire.get_data(4)
	if head[0] != OK:
		return null
	var length := (head[1] as PackedByteArray).decode_u32(0)
	if length > _MOST_JOB:
		return null
	var body := _wire.get_data(length)
	if body[0] != OK:
		return null
	return JSON.parse_string((body[1] as PackedByteArray).get_string_from_utf8())


## Takes over what is to be drawn; what is wrong with it, or nothing.
##
## size: width and height of a view, [px]; views: of "chase" and "top"; level, spec: as
## everywhere; goal: x, y or null; goal_radius, [m]; rays: whether they are drawn; smooth:
## whether edges are; chase: distance of the camera [m], elevation of its line of sight and
## vertical field of view [deg], and what it looks at, ahead of and above the player [m];
## frame_time: time between frames, [s], and a walking character is shown; or null, and a
## capsule is; frames: rows of x, y, z, yaw of the player and heading of the chase camera, [m]
## and [rad].
func _read_job(data: Variant) -> String:
	var checks := AmbuloChecks.new()
	var job := checks.table(data, "job", "", _KEYS, _KEYS)
	if checks.problem != "":
		return checks.problem
	var errors: PackedStringArray = []
	_level = AmbuloLevel.from_dict(job["level"], errors)
	var spec := AmbuloSpec.from_dict(job["spec"], errors)
	if not errors.is_empty():
		return errors[0]
	var size := checks.numbers(job["size"], "size", 2, 8192)
	_size = Vector2i(int(size[0]), int(size[1]))
	if _size.x < 2 or _size.y < 2:
		checks.fail("size", "must be at least 2")
	for name: Variant in checks.list(job, "views"):
		if not str(name) in _VIEWS:
			checks.fail("views", "unknown %s" % AmbuloChecks.shown(name))
		_views.append(str(name))
	if job["goal"] != null:
		_goal = checks.numbers(job["goal"], "goal", 2, AmbuloLevel.MAX_COORDINATE)
	_goal_radius = checks.number(job["goal_radius"], "goal_radius", 0.0, 1e3)
	_with_rays = checks.flag(job["rays"], "rays")
	_smooth = checks.flag(job["smooth"], "smooth")
	_chase = checks.numbers(job["chase"], "chase", 5, 179.0)
	if job["frame_time"] != null:
		_frame_time = checks.number(job["frame_time"], "frame_time", 1e-4, 10.0)
		if not _character.load_character(AmbuloBodyApi.CHARACTER):
			return _character.error
	var rows := checks.list(job, "frames")
	if rows.size() > _MOST_FRAMES:
		checks.fail("frames", "%d of them, at most %d allowed" % [rows.size(), _MOST_FRAMES])
		return checks.problem
	for k in rows.size():
		_frames.append(checks.numbers(rows[k], "frames[%d]" % k, _NUMBERS_PER_FRAME, 1e7))
	_world.configure(1, spec)
	_world.set_levels([0], [_level])
	return checks.problem


func _build() -> void:
	_view.show_level(_level)
	_rig.visible = _frame_time == 0.0
	_marker.visible = not _goal.is_empty()
	if _marker.visible:
		_marker.show_goal(_goal[0], _goal[1], _goal_radius)
	for name in _views:
		var screen := SubViewport.new()
		screen.size = _size
		screen.msaa_3d = Viewport.MSAA_4X if _smooth else Viewport.MSAA_DISABLED
		screen.render_target_update_mode = SubViewport.UPDATE_ALWAYS
		var camera := Camera3D.new()
		camera.far = 200.0
		camera.near = 0.1
		screen.add_child(camera)
		add_child(screen)
		camera.make_current()
		if name == "top":
			_look_down(camera)
		else:
			camera.fov = clampf(_chase[2], 1.0, 179.0)
		_screens.append(screen)
		_cameras.append(camera)


func _film() -> String:
	for number in _frames.size():
		_show(_frames[number])
		await RenderingServer.frame_post_draw
		for screen in _screens:
			var image := screen.get_texture().get_image()
			image.convert(Image.FORMAT_RGB8)
			if _wire.put_data(image.get_data()) != OK:
				return "the connection broke at frame %d" % number
	return ""


func _show(frame: PackedFloat64Array) -> void:
	_rig.place(frame[0], frame[1], frame[2], frame[3])
	if _frame_time > 0.0:
		_character.walk(AmbuloAxes.to_godot(frame[0], frame[1], frame[2]), frame[3], _frame_time)
	var on_floor := frame[2] > -0.01
	if on_floor:
		_trail.extend_to(frame[0], frame[1])
	_rays.visible = _with_rays and on_floor
	if _rays.visible:
		_world.reset([0], [0], [frame[0], frame[1], frame[3]])
		var row := _world.state_rows([0])
		var spec := _world.spec
		var rays := row.slice(AmbuloWorld.RAYS, AmbuloWorld.RAYS + spec.num_rays)
		var heading := frame[3] if spec.rays_in_head_frame else 0.0
		_rays.show_rays(frame[0], frame[1], heading, rays, spec.ray_length)
	for k in _views.size():
		if _views[k] == "chase":
			_follow(_cameras[k], frame)


## Puts a camera behind and above the player.
func _follow(camera: Camera3D, frame: PackedFloat64Array) -> void:
	var pose := AmbuloAxes.pose(frame[0], frame[1], frame[2], frame[4])
	var target := pose * AmbuloAxes.to_godot(_chase[3], 0.0, _chase[4])
	var slope := deg_to_rad(_chase[1])
	var back := Vector3(0.0, -sin(slope), cos(slope)) * _chase[0]
	camera.position = target + pose.basis * back
	camera.look_at(target)


## Shows the whole level from above, the contract's X to the right and Y up.
func _look_down(camera: Camera3D) -> void:
	var width := _level.bounds[2] - _level.bounds[0]
	var tall := _level.bounds[3] - _level.bounds[1]
	camera.projection = Camera3D.PROJECTION_ORTHOGONAL
	camera.size = _TOP_MARGIN * maxf(tall, width * _size.y / _size.x)
	camera.basis = Basis(Vector3.FORWARD, Vector3.LEFT, Vector3.UP)
	camera.position = AmbuloAxes.to_godot(
		_level.bounds[0] + width / 2.0, _level.bounds[1] + tall / 2.0, _TOP_HEIGHT
	)
