class_name AmbuloGameFile
extends RefCounted
## The policies of a game as written by `ambulo export` (docs/model_format.md): data only.

## The first bytes of the file; the last one is the version of the format.
const MAGIC := "AMBULOG1"
const _KEYS: PackedStringArray = ["kind", "num_timesteps", "action_repeat", "agents", "weights"]
const _AGENT: PackedStringArray = [
	"name", "observation", "action", "numbers", "log_std", "layers", "state_size"
]

## Physics ticks per environment step.
var action_repeat := 8
## Of each kind of agent: "name", "observation" (rows "name", "size", "layers"), "action" (rows
## "name", and "size" or "choices"), "numbers" (a row of [AmbuloLayerRows] or {}), "log_std",
## "continuous", "layers", "state_size".
var agents: Array[Dictionary] = []
## Weights of all networks.
var weights: PackedFloat32Array = []
## The first problem of the file; empty after [method load_from] returned true.
var error := ""

var _end := 0


## Read the file at [param path]; false, with [member error] set, if it is refused.
func load_from(path: String) -> bool:
	var data := AmbuloDataFile.new()
	var problem := _read(data) if data.open(path, MAGIC, "game policy") else data.problem
	error = "" if problem == "" else "%s: %s" % [path, problem]
	return problem == ""


func _read(data: AmbuloDataFile) -> String:
	var checks := AmbuloChecks.new()
	var header := checks.table(data.header, "header", "", _KEYS, _KEYS)
	action_repeat = checks.whole(header.get("action_repeat"), "action_repeat", 1, 1000)
	for row: Variant in checks.list(header, "agents"):
		var agent := _read_agent(checks, row)
		if checks.problem != "":
			return checks.problem
		agents.append(agent)
	var keys := PackedStringArray(["numbers", "sha256"])
	var stored := checks.table(header.get("weights"), "weights", "weights.", keys, keys)
	var most := AmbuloLayerRows.MAX_NUMBERS
	var count := checks.whole(stored.get("numbers"), "weights.numbers", 1, most)
	if agents.is_empty():
		checks.fail("agents", "there is none")
	if count != _end:
		checks.fail("weights.numbers", "the layers need %d" % _end)
	var sha256 := checks.text(stored.get("sha256"), "weights.sha256")
	if checks.problem != "":
		return checks.problem
	weights = data.numbers(count, sha256, "weights")
	for weight in weights:
		if not absf(weight) <= AmbuloPolicyFile.MAX_WEIGHT:
			return "a weight is not finite, or larger than %s" % AmbuloPolicyFile.MAX_WEIGHT
	return data.problem


func _read_agent(checks: AmbuloChecks, item: Variant) -> Dictionary:
	var row := checks.table(item, "agents", "agents.", _AGENT, _AGENT)
	var agent := {"name": checks.text(row.get("name"), "agents.name")}
	var plain := 0
	var features := 0
	var parts: Array[Dictionary] = []
	for entry: Variant in checks.list(row, "observation"):
		var part := _read_part(checks, entry)
		if part.layers.is_empty():
			plain += part.size
		features += part.get("features", 0)
		parts.append(part)
	agent["observation"] = parts
	var numbers := _read_layers(checks, row, "numbers", plain, ["normalize"])
	agent["numbers"] = {} if numbers.rows.is_empty() else numbers.rows[0]
	if numbers.rows.size() != (1 if plain > 0 else 0):
		checks.fail("agents.numbers", "must be one layer for %d numbers" % plain)
	var outputs := 0
	var continuous := 0
	var actions: Array[Dictionary] = []
	for entry: Variant in checks.list(row, "action"):
		var part := _read_action(checks, entry)
		continuous += part.get("size", 0)
		outputs += part.get("size", 0) + part.get("choices", 0)
		actions.append(part)
	agent["action"] = actions
	agent["continuous"] = continuous
	agent["log_std"] = checks.whole(row.get("log_std"), "agents.log_std", 0, 1 << 24)
	if agent["log_std"] != _end:
		checks.fail("agents.log_std", "does not follow what is before it")
	_end += continuous
	var trunk := _read_layers(checks, row, "layers", plain + features, ["", "gru"])
	agent["layers"] = trunk.rows
	agent["state_size"] = trunk.state_size
	if trunk.rows.is_empty() or trunk.outputs != outputs:
		checks.fail("agents.layers", "must end in %d outputs" % outputs)
	if row.get("state_size") != trunk.state_size:
		checks.fail("agents.state_size", "the layers have %d" % trunk.state_size)
	return agent


func _read_part(checks: AmbuloChecks, item: Variant) -> Dictionary:
	var needed := PackedStringArray(["name", "shape"])
	var keys := PackedStringArray(["name", "shape", "layers"])
	var row := checks.table(item, "observation", "observation.", keys, needed)
	var size := 1
	for length: Variant in checks.list(row, "shape"):
		size *= checks.whole(length, "observation.shape", 1, 1 << 20)
	var part := {"name": checks.text(row.get("name"), "observation.name"), "size": size}
	var rows: Array[Dictionary] = []
	if row.has("layers"):
		var read := _read_layers(checks, row, "layers", size, ["conv", ""])
		rows = read.rows
		part["features"] = read.outputs
		if rows.is_empty() or rows[-1].has("type"):
			checks.fail("observation.layers", "must end in a dense layer")
	part["layers"] = rows
	return part


func _read_action(checks: AmbuloChecks, item: Variant) -> Dictionary:
	var keys := PackedStringArray(["name", "size", "choices"])
	var row := checks.table(item, "action", "action.", keys, ["name"])
	var part := {"name": checks.text(row.get("name"), "action.name")}
	var key := "choices" if row.has("choices") else "size"
	part[key] = checks.whole(row.get(key), "action." + key, 1, 4096)
	return part


func _read_layers(
	checks: AmbuloChecks, row: Dictionary, key: String, inputs: int, allowed: PackedStringArray
) -> AmbuloLayerRows:
	var layers := AmbuloLayerRows.new()
	layers.read(checks, checks.list(row, key), inputs, _end, allowed)
	_end = layers.end
	return layers
