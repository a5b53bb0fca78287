class_name AmbuloSensed
extends RefCounted
## The sensor readings of a navigator in one decision, in a frame that stays fixed during an
## episode.

## A ray that hits nothing reads at least its range minus this, [m].
const _AT_AN_END := 1e-4

## Position of the feet, relative to the start of the episode, [m].
var x := 0.0
var y := 0.0
var z := 0.0
## Direction of ray 0, [rad].
var angle := 0.0
## The goal on its floor, in the same frame; goals outside of the map are clamped to its border,
## [m].
var goal_x := 0.0
var goal_y := 0.0
var goal_z := 0.0
## Lengths of the rays [m], their ends, and the floors along them above the feet [m].
var rays: PackedFloat64Array = []
var ends: PackedInt32Array = []
var floors: PackedFloat64Array = []
## Whether the floor along each ray is level with the feet.
var levels: PackedByteArray = []
## Whether the body falls; rays are then ignored.
var falls := false
## Rows of the visible moving objects, see [constant AmbuloContract.MOVER_COLUMNS].
var things: PackedFloat64Array = []


## Reads the state row [param row] of an [AmbuloWorld] with settings [param spec] and a goal (x, y,
## z). Heights count from [param base]. If the world reports only the lengths of rays, floors count
## as level, and all obstacles as static.
func read(row: PackedFloat64Array, goal: PackedFloat64Array, spec: AmbuloSpec, base: float) -> void:
	var count := spec.num_rays
	var whole := row.size() > AmbuloWorld.RAYS + spec.sensed_size()
	falls = whole and row[row.size() - AmbuloWorld.TAIL + AmbuloWorld.FALLING] != 0.0
	x = row[0]
	y = row[1]
	z = row[2] - base
	angle = row[AmbuloWorld.YAW] if spec.rays_in_head_frame else 0.0
	_read_goal(goal, base)
	var first := AmbuloWorld.RAYS
	rays = row.slice(first, first + count)
	ends.resize(count)
	levels.resize(count)
	things.clear()
	first += count
	if not spec.surroundings:
		for r in count:
			var short := rays[r] < spec.ray_length - _AT_AN_END
			ends[r] = AmbuloContract.WALL if short else AmbuloContract.NOTHING
			levels[r] = 1
		return
	var parts := AmbuloContract.FLOOR_PARTS
	floors = row.slice(first + count, first + (1 + parts) * count)
	for r in count:
		ends[r] = int(row[first + r])
		levels[r] = 1
		for p in parts:
			if floors[parts * r + p] != 0.0:
				levels[r] = 0
	first += (1 + parts) * count
	var width := AmbuloContract.MOVER_COLUMNS
	for k in range(first, first + AmbuloContract.MOVERS_SEEN * width, width):
		if row[k + 8] != 0.0:
			things.append_array(row.slice(k, k + width))
			things[-7] -= base
			things[-6] -= base


## Height of the floor along ray [param r] at [param t], above the feet, [m].
func floor_at(r: int, t: float) -> float:
	if levels[r] == 1:
		return 0.0
	var parts := AmbuloContract.FLOOR_PARTS
	var q := t / rays[r] * parts
	var p := mini(int(q), parts - 1)
	var low := 0.0 if p == 0 else floors[parts * r + p - 1]
	return low + (floors[parts * r + p] - low) * (q - p)


## Height of the floor near the end of ray [param r], above the feet, [m].
func floor_at_end(r: int) -> float:
	var parts := AmbuloContract.FLOOR_PARTS
	return 0.0 if levels[r] == 1 else floors[parts * r + parts - 1]


func _read_goal(goal: PackedFloat64Array, base: float) -> void:
	var most := (AmbuloColumns.SIDE / 2 - 4) / float(AmbuloColumns.PER_METRE)
	var way_x := goal[0] - x
	var way_y := goal[1] - y
	var share := minf(1.0, most / maxf(maxf(absf(way_x), absf(way_y)), 1e-9))
	goal_x = x + share * way_x
	goal_y = y + share * way_y
	goal_z = goal[2] - base
