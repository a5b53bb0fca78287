class_name AmbuloPolicyFile
extends RefCounted
## A trained policy as written by `ambulo export --target godot`: data only.
##
## Eight bytes [constant MAGIC], the length of the header (32-bit little-endian), the header as
## UTF-8 JSON, then only 32-bit little-endian floats. Loading checks every size, name and the
## SHA-256 of the weights, and runs no code from the file.

## The first bytes of the file; the last one is the version of the format.
const MAGIC := "AMBULOP1"
## Most weights, [numbers].
const MAX_NUMBERS := 1 << 24
## Largest weight; larger ones overflow the sums of a network.
const MAX_WEIGHT := 1e6
## Widest layer, [numbers].
const MAX_WIDTH := 1 << 14
## Names of the output stages that [AmbuloMlp] computes.
const OUTPUTS: PackedStringArray = ["clip", "bound", "argmax"]

const _OPTIONAL: PackedStringArray = ["twin", "state_size", "lost"]
const _KEYS: PackedStringArray = [
	"kind",
	"num_timesteps",
	"observation_size",
	"observation",
	"senses",
	"world",
	"episode",
	"output",
	"bound",
	"layers",
	"weights",
]

## Path of the loaded file.
var path := ""
## Kind of agent, free text.
var kind := ""
## Number of decisions of the training.
var num_timesteps := 0
## Size of one observation.
var observation_size := 0
## Names and sizes of the parts of the observation, in order.
var observation: Dictionary = {}
## Frame of the observation: "head" or "world".
var frame := "head"
## Memory at the end of the observation: one of [constant AmbuloMemory.KINDS].
var memory := "none"
## Largest distance of the waypoint along a planned path, [m].
var plan_reach := 2.5
## Whether the plan moves the agent while the plan is not to walk on, or the stick is at rest.
var follow_plan := false
## Default of the comfort dial, for a policy that has one.
var comfort := 0.5
## Number of rays over the full circle.
var num_rays := 0
## Range of a ray, [m].
var ray_length := 0.0
## Whether the actions are indices of the seven discrete ones.
var discrete := false
## Number of outputs of the network.
var outputs := 0
## The output stage: one of [constant OUTPUTS].
var output := "clip"
## For "bound": largest stick length and largest rotation.
var bound := Vector2.ONE
## Settings of the world of the training.
var spec: AmbuloSpec
## Model of the body's motion in training; null: it moved a capsule.
var twin: AmbuloTwin
## Tasks of the training.
var tasks: PackedStringArray = []
## Horizontal distance at which the goal is reached, [m].
var goal_radius := 1.0
## Decisions until an episode times out.
var max_steps := 1000
## Range of the straight distance to a goal that is drawn, [m].
var goal_distance := Vector2(5.0, 30.0)
## Size of the recurrent state of an agent; 0: not recurrent.
var state_size := 0
## Rows [code]{"inputs", "outputs", "weight", "bias", "activation"}[/code]; "weight" and
## "bias" are indices into [member weights]. One row may be the [AmbuloGru] of a recurrent policy:
## "type" is "gru", "state_weight" and "state_bias" are such indices too, and there is no
## "activation".
var layers: Array[Dictionary] = []
## All weights; a matrix lies row by row, one row for each output. Files of earlier versions end
## with those of a network "lost", which is not read.
var weights: PackedFloat32Array = []
## The first problem of the file; empty after [method load_from] returned true.
var error := ""

var _numbers := 0


## Read the file at [param file_path]; false, with [member error] set, if it is refused.
func load_from(file_path: String) -> bool:
	path = file_path
	var data := AmbuloDataFile.new()
	var problem := _read(data) if data.open(file_path, MAGIC, "policy") else data.problem
	error = "" if problem == "" else "%s: %s" % [path, problem]
	return problem == ""


## First index of the part [param part] in the observation.
func start_of(part: String) -> int:
	var start := 0
	for name: String in observation:
		if name == part:
			break
		start += observation[name]
	return start


## The first problem of the file; empty if all was read.
func _read(data: AmbuloDataFile) -> String:
	var checks := AmbuloChecks.new()
	var sha256 := _read_header(checks, data.header)
	if checks.problem != "":
		return checks.problem
	weights = data.numbers(_numbers, sha256, "weights")
	return _wrong_weights() if data.problem == "" else data.problem


## Reads and checks the header; returns the required SHA-256 of the weights.
func _read_header(checks: AmbuloChecks, data: Variant) -> String:
	var header := checks.table(data, "header", "", _KEYS + _OPTIONAL, _KEYS)
	kind = checks.text(header.get("kind"), "kind")
	num_timesteps = checks.whole(header.get("num_timesteps"), "num_timesteps", 0, 1 << 52)
	var size: Variant = header.get("observation_size")
	observation_size = checks.whole(size, "observation_size", 1, MAX_WIDTH)
	_read_observation(checks, checks.list(header, "observation"))
	_read_senses(checks, header.get("senses"))
	_read_spec(checks, header.get("world"))
	_read_twin(checks, header)
	_read_episode(checks, header.get("episode"))
	output = _choice(checks, header.get("output"), "output", OUTPUTS)
	discrete = output == "argmax"
	outputs = AmbuloContract.DISCRETE_ACTIONS.size() if discrete else 3
	if output == "bound":
		var pair := checks.numbers(header.get("bound"), "bound", 2, 1.0)
		bound = Vector2(pair[0], pair[1])
		if pair[0] <= 0.0 or pair[1] <= 0.0:
			checks.fail("bound", "must be positive")
	var read := AmbuloLayerRows.new()
	read.read(checks, checks.list(header, "layers"), observation_size, 0, ["", "gru"])
	layers = read.rows
	state_size = read.state_size
	_numbers = read.end
	if layers.is_empty() or read.outputs != outputs:
		checks.fail("layers", "must end in %d outputs" % outputs)
	var states := checks.whole(header.get("state_size", 0), "state_size", 0, MAX_WIDTH)
	if states != state_size:
		checks.fail("state_size", "the layers have %d" % state_size)
	var keys := PackedStringArray(["numbers", "sha256"])
	var stored := checks.table(header.get("weights"), "weights", "weights.", keys, keys)
	var count := checks.whole(stored.get("numbers"), "weights.numbers", 1, MAX_NUMBERS)
	if count < _numbers or (count > _numbers and not header.has("lost")):
		checks.fail("weights.numbers", "the layers need %d" % _numbers)
	_numbers = count
	return checks.text(stored.get("sha256"), "weights.sha256")


func _read_observation(checks: AmbuloChecks, rows: Array) -> void:
	observation = {}
	var keys := PackedStringArray(["name", "start", "stop"])
	var at := 0
	for row: Variant in rows:
		var part := checks.table(row, "observation", "observation.", keys, keys)
		var name := checks.text(part.get("name"), "observation.name")
		var start := checks.whole(part.get("start"), "observation.start", 0, MAX_WIDTH)
		var stop := checks.whole(part.get("stop"), "observation.stop", 0, MAX_WIDTH)
		if start != at or stop <= start or observation.has(name):
			checks.fail("observation", "'%s' does not follow the part before it" % name)
		observation[name] = stop - start
		at = stop
	if at != observation_size:
		checks.fail("observation", "has %d numbers, expected %d" % [at, observation_size])


func _read_senses(checks: AmbuloChecks, data: Variant) -> void:
	var keys := PackedStringArray(["frame", "memory", "num_rays", "ray_length"])
	var optional := PackedStringArray(["plan_reach", "follow_plan", "comfort"])
	optional.append_array(["plan_margin", "plan_walls"])
	var senses := checks.table(data, "senses", "senses.", keys + optional, keys)
	frame = _choice(checks, senses.get("frame"), "senses.frame", ["head", "world"])
	memory = _choice(checks, senses.get("memory"), "senses.memory", AmbuloMemory.KINDS)
	num_rays = checks.whole(senses.get("num_rays"), "senses.num_rays", 1, 1024)
	ray_length = checks.number(senses.get("ray_length"), "senses.ray_length", 1e-6, 1e6)
	var reach: Variant = senses.get("plan_reach", 2.5)
	plan_reach = checks.number(reach, "senses.plan_reach", 0.5, 100.0)
	follow_plan = checks.flag(senses.get("follow_plan", false), "senses.follow_plan")
	if follow_plan and memory != "navigator":
		checks.fail("senses.follow_plan", "needs the memory navigator")
	var usual: Variant = senses.get("comfort", 0.5)
	comfort = checks.number(usual, "senses.comfort", 0.0, 1.0)


func _read_spec(checks: AmbuloChecks, data: Variant) -> void:
	var needed := PackedStringArray()
	for key in AmbuloSpec.KEYS:
		if key not in AmbuloSpec.LATER:
			needed.append(key)
	var table := checks.table(data, "world", "world.", AmbuloSpec.KEYS, needed)
	var errors := PackedStringArray()
	spec = AmbuloSpec.from_dict(table, errors)
	if spec == null:
		checks.fail("world", errors[0])
	elif spec.num_rays != num_rays or spec.rays_in_head_frame != (frame == "head"):
		checks.fail("world", "its rays are not those of senses")


func _read_twin(checks: AmbuloChecks, header: Dictionary) -> void:
	twin = null
	if header.has("twin"):
		var errors := PackedStringArray()
		twin = AmbuloTwin.from_dict(header["twin"], errors)
		if twin == null:
			checks.fail("twin", errors[0])


func _read_episode(checks: AmbuloChecks, data: Variant) -> void:
	var keys := PackedStringArray(["tasks", "goal_radius", "max_steps", "goal_distance"])
	var episode := checks.table(data, "episode", "episode.", keys, keys)
	tasks = []
	for task: Variant in checks.list(episode, "tasks"):
		tasks.append(_choice(checks, task, "episode.tasks", AmbuloObservation.TASKS))
	goal_radius = checks.number(episode.get("goal_radius"), "episode.goal_radius", 1e-6, 1e6)
	max_steps = checks.whole(episode.get("max_steps"), "episode.max_steps", 1, 1 << 31)
	var pair := checks.numbers(episode.get("goal_distance"), "episode.goal_distance", 2, 1e6)
	goal_distance = Vector2(pair[0], pair[1])


## The first problem of the weights; empty if there is none.
func _wrong_weights() -> String:
	for weight in weights:
		if not absf(weight) <= MAX_WEIGHT:
			return "a weight is not finite, or larger than %s" % MAX_WEIGHT
	return ""


func _choice(
	checks: AmbuloChecks, value: Variant, key: String, allowed: PackedStringArray
) -> String:
	var text := checks.text(value, key)
	if text in allowed:
		return text
	checks.fail(key, "must be one of %s" % ", ".join(allowed))
	return allowed[0]
