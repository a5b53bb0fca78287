class_name AmbuloHitMap
extends RefCounted
## The 0.25 m cells in which rays ended, and shortest paths between them.
##
## The search is the engine's own (AStarGrid2D), over a region that grows with the map.
## A cell that was hit is blocked; so are those next to it for a path that keeps away from
## obstacles. Cells up to two from a hit are beside it and count [member margin] times. Cells up
## to six from a hit that no ray has passed are where its wall may go on, and count
## [member walls] times; with these, a hit is forgotten when a ray passes where it was. Single
## cells that a player bumped into are blocked until they are forgotten. What was never seen is
## free.

## Cells per metre.
const PER_METRE := 4
## Cells around the goal that are open unless something was hit in them.
const GOAL_CELLS := 3
## Cells around the player that are open unless something was hit in them.
const OWN_CELLS := 2
## Farthest goal along an axis, [cells]; one beyond is moved nearer.
const MOST_CELLS := 254

const _NEAR := 1
const _BESIDE := 2
const _WALL := 6
# Bits of a mark: beside a hit, where a wall may go on, passed by a ray.
const _IS_BESIDE := 1
const _IS_WALL := 2
const _IS_FREE := 4
# A ray that comes so near to a hit would have ended there, [m], if its direction differs by no
# more than this from that of the hit's ray, [rad]; it must go on so far, [m].
const _SAME_SPOT := 0.1
const _SAME_DIRECTION := PI / 6
const _BEYOND := 0.5
# A hit that is so near to the line between the ends of two rays is of the wall there, [m].
const _SAME_WALL := 0.1
# The region ends at multiples of this number of cells, so that it seldom grows.
const _BLOCK := 16
# A map wider than this forgets hits farther than _KEPT from the player.
const _MOST_SIDE := 512
const _KEPT := 192

## Cost factor of a cell beside an obstacle.
var margin := 1.0
## Cost factor of a cell near an obstacle that no ray has passed.
var walls := 1.0

# Of cells whose costs are not 1, or that a ray has passed.
var _marks: Dictionary[Vector2i, int] = {}
# Of cells that were hit: where in the cell, and the direction of the ray; all in turns of 1.
var _hits: Dictionary[Vector2i, Vector3] = {}
var _bumps: Dictionary[Vector2i, bool] = {}
# Around the cells that were hit or bumped into; empty without any.
var _box := Rect2i()
# Whether the grid holds all hits and bumps, and no others.
var _complete := true
# Cells that were hit and those next to them are solid, except while a path is searched.
var _grid := AStarGrid2D.new()


## An empty map.
func _init(cell_margin := 1.0, unknown_walls := 1.0) -> void:
	margin = cell_margin
	walls = unknown_walls
	_grid.diagonal_mode = AStarGrid2D.DIAGONAL_MODE_ALWAYS
	_grid.default_compute_heuristic = AStarGrid2D.HEURISTIC_OCTILE
	_grid.default_estimate_heuristic = AStarGrid2D.HEURISTIC_OCTILE
	clear()


## Forget everything.
func clear() -> void:
	_hits.clear()
	_bumps.clear()
	_marks.clear()
	_box = Rect2i()
	_complete = true
	_grid.region = Rect2i()
	_grid.update()


## Remember that something was hit in [param cell]: at [param spot] of it, each in [0, 1), by a
## ray of direction [param angle], [rad].
func add(cell: Vector2i, spot := Vector2(0.5, 0.5), angle := 0.0) -> void:
	var known := _hits.has(cell)
	_hits[cell] = Vector3(_middle(spot.x, 32), _middle(spot.y, 32), _middle(angle / TAU, 64))
	if known:
		return
	_mark_around(cell)
	if _grid.region.encloses(_boxed(cell).grow(_reach())):
		_grid.fill_solid_region(Rect2i(cell, Vector2i.ONE).grow(_NEAR))
	else:
		_complete = false


## Remember that a ray has passed [param cell].
func pass_through(cell: Vector2i) -> void:
	var mark: int = _marks.get(cell, 0)
	if mark & _IS_FREE:
		return
	_marks[cell] = mark | _IS_FREE
	if mark & _IS_WALL:
		_weigh(cell, mark | _IS_FREE)


## Whether the hit in [param cell] is there no more, as [param ray] of [param readings], of
## direction [param angle], [rad], goes on from [param x] and [param y], all in cells. A wall
## that still stood would have stopped it, unless it grazes the wall, whose next point is where
## its neighbour ends.
func is_gone(
	cell: Vector2i, x: float, y: float, angle: float, ray: int, readings: PackedFloat64Array
) -> bool:
	if not _hits.has(cell):
		return false
	var hit := _hits[cell]
	var dx := cell.x + hit.x - x
	var dy := cell.y + hit.y - y
	var turn := fposmod(hit.z - angle / TAU + 0.5, 1.0) - 0.5
	var along := cos(angle) * dx + sin(angle) * dy
	var left := cos(angle) * dy - sin(angle) * dx
	return (
		absf(left) < _SAME_SPOT * PER_METRE
		and absf(turn) * TAU < _SAME_DIRECTION
		and readings[ray] > along + _BEYOND * PER_METRE
		and not _of_the_wall(ray, readings, along, left)
	)


# Whether a spot beside a ray is on the line from its end to that of its neighbour there.
func _of_the_wall(ray: int, readings: PackedFloat64Array, along: float, left: float) -> bool:
	var side := 1 if left > 0.0 else -1
	var step := TAU / readings.size()
	var reading := readings[posmod(ray + side, readings.size())]
	var end_along := reading * cos(step)
	var end_left := reading * sin(step) * side
	var dx := readings[ray] - end_along
	var dy := -end_left
	var area := absf(dx * (left - end_left) - dy * (along - end_along))
	return area < _SAME_WALL * PER_METRE * sqrt(dx * dx + dy * dy)


## Take back the hit in [param cell] and what it marked, unless other hits mark that, too.
func forget_hit(cell: Vector2i) -> void:
	_hits.erase(cell)
	var own := Rect2i(cell, Vector2i.ONE)
	_grid.fill_solid_region(own.grow(_NEAR).intersection(_grid.region), false)
	for at in _cells_of(own.grow(_WALL)):
		if _marks.has(at):
			_marks[at] &= _IS_FREE
			_weigh(at, _marks[at])
	for at in _cells_of(own.grow(2 * _WALL)):
		if _hits.has(at):
			_mark_around(at)
			var near := Rect2i(at, Vector2i.ONE).grow(_NEAR)
			_grid.fill_solid_region(near.intersection(_grid.region))
	for at in _bumps:
		if _grid.region.has_point(at):
			_grid.set_point_solid(at)


## Distance to the nearest hit in each of [param sectors], the first around [param yaw], [rad];
## at most [param farthest]. Lengths are in cells.
func nearest(x: float, y: float, yaw: float, sectors: int, farthest: float) -> PackedFloat64Array:
	var out := PackedFloat64Array()
	out.resize(sectors)
	out.fill(farthest)
	var cells := int(farthest) + 1
	var middle := Vector2i(floori(x), floori(y))
	for cell_y in range(middle.y - cells, middle.y + cells + 1):
		for cell_x in range(middle.x - cells, middle.x + cells + 1):
			var cell := Vector2i(cell_x, cell_y)
			if not _hits.has(cell):
				continue
			var hit := _hits[cell]
			var dx := cell_x + hit.x - x
			var dy := cell_y + hit.y - y
			var sector := posmod(floori((atan2(dy, dx) - yaw) / TAU * sectors + 0.5), sectors)
			out[sector] = minf(out[sector], sqrt(dx * dx + dy * dy))
	return out


static func _cells_of(region: Rect2i) -> Array[Vector2i]:
	var cells: Array[Vector2i] = []
	for y in range(region.position.y, region.end.y):
		for x in range(region.position.x, region.end.x):
			cells.append(Vector2i(x, y))
	return cells


## The middle of the one of [param parts] equal parts of [0, 1) that a number lies in.
static func _middle(number: float, parts: int) -> float:
	return (mini(int(fposmod(number, 1.0) * parts), parts - 1) + 0.5) / parts


## Block [param cell], into which the player bumped.
func bump(cell: Vector2i) -> void:
	_bumps[cell] = true
	if _grid.region.encloses(_boxed(cell)):
		_grid.set_point_solid(cell)
	else:
		_complete = false


## Open the cells that were bumped into; whether there were any.
func forget_bumps() -> bool:
	if _bumps.is_empty():
		return false
	_bumps.clear()
	_complete = false
	return true


## Whether something was hit or bumped into in [param cell].
func is_hit(cell: Vector2i) -> bool:
	return _hits.has(cell) or _bumps.has(cell)


## Whether [param cell] is blocked for a path that is wide or not; within the region of the
## last [method path].
func is_blocked(cell: Vector2i, wide: bool) -> bool:
	return _grid.is_point_solid(cell) if wide else is_hit(cell)


## Whether [param cell] is beside a hit; only with a [member margin] or [member walls] above 1.
func is_beside(cell: Vector2i) -> bool:
	return _marks.get(cell, 0) & _IS_BESIDE


## Cells of the shortest path from [param goal] to [param player], both included; empty without
## one. [param wide]: it keeps a cell away from what was hit, except around both ends.
func path(player: Vector2i, goal: Vector2i, wide: bool) -> PackedVector2Array:
	_cover(player, goal)
	return _path_wide(player, goal) if wide else _path_narrow(player, goal)


# Both search from the goal: the costs are then those of entering a cell, as in training.
func _path_wide(player: Vector2i, goal: Vector2i) -> PackedVector2Array:
	var opened: Array[Vector2i] = []
	_open(player, OWN_CELLS, opened)
	_open(goal, GOAL_CELLS, opened)
	var cells := _grid.get_point_path(goal, player)
	for cell in opened:
		_grid.set_point_solid(cell, true)
	return cells


func _path_narrow(player: Vector2i, goal: Vector2i) -> PackedVector2Array:
	for cell in _hits:
		_grid.fill_solid_region(Rect2i(cell, Vector2i.ONE).grow(_NEAR), false)
	_block()
	var cells := _grid.get_point_path(goal, player)
	for cell in _hits:
		_grid.fill_solid_region(Rect2i(cell, Vector2i.ONE).grow(_NEAR))
	return cells


## Make the cells solid that were hit or bumped into.
func _block() -> void:
	for cell in _hits:
		_grid.set_point_solid(cell)
	for cell in _bumps:
		_grid.set_point_solid(cell)


## Open the cells around [param centre] in which nothing was hit.
func _open(centre: Vector2i, cells: int, opened: Array[Vector2i]) -> void:
	var around := Rect2i(centre, Vector2i.ONE).grow(cells).intersection(_grid.region)
	for y in range(around.position.y, around.end.y):
		for x in range(around.position.x, around.end.x):
			var cell := Vector2i(x, y)
			if _grid.is_point_solid(cell) and not is_hit(cell):
				_grid.set_point_solid(cell, false)
				opened.append(cell)


## Let the grid hold all hits, the player and the goal.
##
## A shortest path never needs to leave the box of these: outside of it everything is free, so
## a path that leaves it is no shorter than the same path pressed onto the box's border.
func _cover(player: Vector2i, goal: Vector2i) -> void:
	var needed := _needed(player, goal)
	if _complete and _grid.region.encloses(needed):
		return
	if maxi(needed.size.x, needed.size.y) > _MOST_SIDE:
		_forget(player)
		needed = _needed(player, goal)
	var start := Vector2i((Vector2(needed.position) / _BLOCK).floor()) * _BLOCK
	var end := Vector2i((Vector2(needed.end) / _BLOCK).ceil()) * _BLOCK
	_grid.region = Rect2i()  # one that is equal to the old one would not be emptied
	_grid.region = Rect2i(start, end - start)
	_grid.update()
	for cell in _hits:
		_grid.fill_solid_region(Rect2i(cell, Vector2i.ONE).grow(_NEAR))
	for cell in _marks:
		var mark := _marks[cell]
		if mark != _IS_FREE:
			_weigh(cell, mark)
	_block()
	_complete = true


func _needed(player: Vector2i, goal: Vector2i) -> Rect2i:
	var ends := Rect2i(player, Vector2i.ONE).merge(Rect2i(goal, Vector2i.ONE))
	return ends.merge(_box.grow(_reach() + 1)) if _box.has_area() else ends


## Keep only the hits near [param player], and no bumps.
func _forget(player: Vector2i) -> void:
	var kept := Rect2i(player, Vector2i.ONE).grow(_KEPT)
	var hits := _hits
	var marks := _marks
	_hits = {}
	_bumps.clear()
	_marks = {}
	for cell: Vector2i in marks:
		if marks[cell] & _IS_FREE and kept.has_point(cell):
			_marks[cell] = _IS_FREE
	_box = Rect2i()
	_complete = false
	for cell: Vector2i in hits:
		if kept.has_point(cell):
			add(cell)
			_hits[cell] = hits[cell]


## The box of [param cell] alone, which the box of all is made to hold.
func _boxed(cell: Vector2i) -> Rect2i:
	var own := Rect2i(cell, Vector2i.ONE)
	_box = _box.merge(own) if _box.has_area() else own
	return own


## Cells around a hit whose costs it may change.
func _reach() -> int:
	return _WALL if walls > 1.0 else _BESIDE


func _mark_around(cell: Vector2i) -> void:
	if margin <= 1.0 and walls <= 1.0:
		return
	var reach := _reach()
	for dy in range(-reach, reach + 1):
		for dx in range(-reach, reach + 1):
			var beside := maxi(absi(dx), absi(dy)) <= _BESIDE
			var at := cell + Vector2i(dx, dy)
			var before: int = _marks.get(at, 0)
			var mark := before | _IS_WALL | (_IS_BESIDE if beside else 0)
			if mark != before:
				_marks[at] = mark
				_weigh(at, mark)


## Set the cost of entering [param cell], if the grid has it.
func _weigh(cell: Vector2i, mark: int) -> void:
	if not _grid.region.has_point(cell):
		return
	var cost := margin if mark & _IS_BESIDE else 1.0
	if mark & (_IS_WALL | _IS_FREE) == _IS_WALL:
		cost *= walls
	_grid.set_point_weight_scale(cell, cost)
