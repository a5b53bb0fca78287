class_name AmbuloWorldTest
extends AmbuloTest
## Base of the tests of the world: one agent, a plain spec, short names.

## Index of the tail of the one agent's row is counted from the end of its rays.
const FAR := 20.0


## A spec without smoothing and dead zone, so that a decision moves by hand-computed
## numbers; [param changes] are set on top.
func plain_spec(changes: Dictionary = {}) -> AmbuloSpec:
	var spec := AmbuloSpec.new()
	spec.smoothing = 0.0
	spec.dead_zone = 0.0
	for key: String in changes:
		spec.set(key, changes[key])
	return spec


## A level on a floor of 40 m with [param parts] (level JSON).
func level_of(parts: Dictionary) -> AmbuloLevel:
	var data := {"name": "test", "bounds": [-FAR, -FAR, FAR, FAR]}
	data.merge(parts, true)
	var errors: PackedStringArray = []
	var level := AmbuloLevel.from_dict(data, errors)
	for error in errors:
		check(false, error)
	return level


## A world with one agent at [param pose] (x, y, yaw) of a level.
func world_at(
	parts: Dictionary, pose: PackedFloat64Array, spec: AmbuloSpec = plain_spec()
) -> AmbuloWorld:
	var world := AmbuloWorld.new()
	world.configure(1, spec)
	world.set_levels([0], [level_of(parts)])
	world.reset([0], [0], pose)
	return world


## An upright box on the floor.
func box(x: float, y: float, a: float, b: float, yaw := 0.0) -> Dictionary:
	return {"center": [x, y, 1.0], "half_size": [a, b, 1.0], "yaw": yaw}


## An upright cylinder on the floor.
func drum(x: float, y: float, radius: float) -> Dictionary:
	return {"center": [x, y], "radius": radius, "height": 2.0}


## Distance from (x, y) to the nearest box or cylinder of [param level], 0 inside one, [m].
func clearance(level: AmbuloLevel, x: float, y: float) -> float:
	var nearest := INF
	var b := level.boxes
	for k in range(0, b.size(), 7):
		var d := Vector2(x - b[k], y - b[k + 1]).rotated(-b[k + 6]).abs()
		nearest = minf(nearest, (d - Vector2(b[k + 3], b[k + 4])).max(Vector2.ZERO).length())
	var c := level.cylinders
	for k in range(0, c.size(), AmbuloLevel.DRUM):
		nearest = minf(nearest, Vector2(x - c[k], y - c[k + 1]).length() - c[k + 2])
	return maxf(nearest, 0.0)


## The part [param name] of the state of [param agent].
func part(world: AmbuloWorld, name: String, agent := 0) -> PackedFloat64Array:
	var row := world.state_rows([agent])
	for entry in AmbuloWorld.state_layout(world.spec):
		if entry["name"] == name:
			return row.slice(entry["start"], int(entry["start"]) + int(entry["size"]))
	check(false, "no part " + name)
	return []


## The single number [param name] of the state.
func value(world: AmbuloWorld, name: String, agent := 0) -> float:
	return part(world, name, agent)[0]


## Performs the same action [param times] times.
func repeat(world: AmbuloWorld, action: PackedFloat64Array, times: int) -> void:
	for _k in times:
		world.step(action)


## SHA-256 of numbers, in hexadecimal.
func digest(numbers: PackedFloat64Array) -> String:
	var context := HashingContext.new()
	context.start(HashingContext.HASH_SHA256)
	context.update(numbers.to_byte_array())
	return context.finish().hex_encode()
