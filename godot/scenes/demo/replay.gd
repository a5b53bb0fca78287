extends Node3D
## Draws a recorded episode, frame by frame, for the program that has asked for it.
##
## `godot --path godot res://scenes/demo/replay.tscn -- --port=N --key=TEXT` connects to
## 127.0.0.1:N, says TEXT and a line end, and is told what to draw: a 32-bit length and JSON
## (see [method _read_job]). It answers with the frames: for each of them and each view the rows
## of an RGB image, three bytes a pixel, and quits. It also quits, with code 2 and a line on
## standard error, when the connection breaks or the job is refused.

const _PATIENCE := 10_000
const _KEYS: PackedStringArray = [
	"size",
	"views",
	"level",
	"spec",
	"goal",
	"goal_radius",
	"rays",
	"smooth",
	"frames",
	"bodies",
	"frame_time",
]
const _VIEW_KEYS: PackedStringArray = ["name", "field_of_view", "poses"]
const _NUMBERS_PER_FRAME := 4
const _NUMBERS_PER_CAMERA := 7
## What the eyes do not see is on this layer of the pictures.
const _SENSOR_LAYER := 1 << 1
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
var _fields_of_view: PackedFloat64Array = []
var _paths: Array[Array] = []
var _frames: Array[PackedFloat64Array] = []
var _bodies: Array[PackedFloat64Array] = []
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
## size: width and height of a view, [px]; views: see [method _read_view]; level, spec: as
## everywhere; goal: x, y or null; goal_radius, [m]; rays: whether they are drawn; smooth:
## whether edges are; frames: rows of x, y, z and yaw of the player, [m] and [rad]; bodies: for
## each frame the pelvis' place and 23 quaternions (w first), which a character shows; without
## them frame_time, [s], is the time between frames, and a walking character is shown; or it is
## null too, and a capsule is.
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
	for view: Variant in checks.list(job, "views"):
		_read_view(view, checks)
	if job["goal"] != null:
		_goal = checks.numbers(job["goal"], "goal", 2, AmbuloLevel.MAX_COORDINATE)
	_goal_radius = checks.number(job["goal_radius"], "goal_radius", 0.0, 1e3)
	_with_rays = checks.flag(job["rays"], "rays")
	_smooth = checks.flag(job["smooth"], "smooth")
	if job["frame_time"] != null:
		_frame_time = checks.number(job["frame_time"], "frame_time", 1e-4, 10.0)
	_frames = _read_rows(job, "frames", _NUMBERS_PER_FRAME, checks)
	if job["bodies"] != null:
		_bodies = _read_rows(job, "bodies", AmbuloBodyApi.pose_width(), checks)
		if checks.problem == "" and _bodies.size() != _frames.size():
			checks.fail("bodies", "expected %d of them, as frames" % _frames.size())
	for k in _paths.size():
		if checks.problem == "" and not _paths[k].size() in [0, _frames.size()]:
			checks.fail("views[%d]" % k, "expected %d poses, as frames" % _frames.size())
	if checks.problem != "":
		return checks.problem
	if _with_character() and not _character.load_character(AmbuloBodyApi.CHARACTER):
		return _character.error
	_world.configure(1, spec)
	_rig.eye_height = spec.eye_height
	_world.set_levels([0], [_level])
	return checks.problem


## Take over a view: its name; field_of_view of its camera, vertical, [deg]; and poses, for each
## frame the camera's place and its quaternion (w first; it looks along X, and Z is up). A null
## for poses is the whole level from above. The eyes do not see the sensor's rays.
func _read_view(data: Variant, checks: AmbuloChecks) -> void:
	var view := checks.table(data, "views", "", _VIEW_KEYS, _VIEW_KEYS)
	if checks.problem != "":
		return
	_views.append(str(view["name"]))
	_fields_of_view.append(checks.number(view["field_of_view"], "field_of_view", 1.0, 179.0))
	var rows: Array[PackedFloat64Array] = []
	if view["poses"] != null:
		rows = _read_rows(view, "poses", _NUMBERS_PER_CAMERA, checks)
	_paths.append(rows)


func _read_rows(
	job: Dictionary, key: String, width: int, checks: AmbuloChecks
) -> Array[PackedFloat64Array]:
	var found: Array[PackedFloat64Array] = []
	var rows := checks.list(job, key)
	if rows.size() > _MOST_FRAMES:
		checks.fail(key, "%d of them, at most %d allowed" % [rows.size(), _MOST_FRAMES])
		return found
	for k in rows.size():
		found.append(checks.numbers(rows[k], "%s[%d]" % [key, k], width, 1e7))
	return found


func _with_character() -> bool:
	return _frame_time > 0.0 or not _bodies.is_empty()


func _build() -> void:
	_view.show_level(_level)
	_rig.visible = not _with_character()
	_rays.layers = _SENSOR_LAYER
	_marker.visible = not _goal.is_empty()
	if _marker.visible:
		_marker.show_goal(_goal[0], _goal[1], _goal_radius, _level.goal_height)
	for k in _views.size():
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
		if _paths[k].is_empty():
			_look_down(camera)
		else:
			camera.fov = _fields_of_view[k]
		if _views[k] == "eyes":
			camera.cull_mask &= ~_SENSOR_LAYER
		_screens.append(screen)
		_cameras.append(camera)


func _film() -> String:
	for number in _frames.size():
		_show(number)
		await RenderingServer.frame_post_draw
		for screen in _screens:
			var image := screen.get_texture().get_image()
			image.convert(Image.FORMAT_RGB8)
			if _wire.put_data(image.get_data()) != OK:
				return "the connection broke at frame %d" % number
	return ""


func _show(number: int) -> void:
	var frame := _frames[number]
	_rig.place(frame[0], frame[1], frame[2], frame[3])
	if not _bodies.is_empty():
		_character.show_numbers(_bodies[number])
	elif _frame_time > 0.0:
		_character.walk(AmbuloAxes.to_godot(frame[0], frame[1], frame[2]), frame[3], _frame_time)
	var on_floor := frame[2] > -0.01
	if on_floor:
		_trail.extend_to(frame[0], frame[1], frame[2])
	_rays.visible = _with_rays and on_floor
	if _rays.visible:
		_world.reset([0], [0], [frame[0], frame[1], frame[3]], [frame[2]])
		var row := _world.state_rows([0])
		var spec := _world.spec
		var rays := row.slice(AmbuloWorld.RAYS, AmbuloWorld.RAYS + spec.num_rays)
		var heading := frame[3] if spec.rays_in_head_frame else 0.0
		_rays.position.y = frame[2]
		_rays.show_rays(frame[0], frame[1], heading, rays, spec.ray_length)
	for k in _views.size():
		if not _paths[k].is_empty():
			_look_from(_cameras[k], _paths[k][number])


func _look_from(camera: Camera3D, pose: PackedFloat64Array) -> void:
	camera.position = AmbuloAxes.to_godot(pose[0], pose[1], pose[2])
	camera.basis = Basis(Quaternion(-pose[5], pose[6], -pose[4], pose[3]).normalized())


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
