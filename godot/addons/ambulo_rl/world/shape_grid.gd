class_name AmbuloShapeGrid
extends RefCounted
## Finds the few obstacles and holes of a level that are near a place.
##
## The floor is divided into tiles, about as many as there are shapes; each tile knows the shapes
## that come within the margin of it. Shapes over very many tiles are looked at everywhere.

const _MOST_TILES := 4096
# Tiles of one shape, so that all of them are entered in bounded time.
const _MOST_COVERED := 64

## Shapes that the last [method is_clear] looked at.
var looked_at := 0

var _level: AmbuloLevel
var _margin := 0.0
var _tile := 1.0
var _columns := 1
var _rows := 1
# Codes of shapes: 3 * first index + kind (0 box, 1 cylinder, 2 hole).
var _tiles: Array[PackedInt32Array] = []
var _everywhere: PackedInt32Array = []


## The shapes of [param level], to be asked about what is within [param margin] [m].
func _init(level: AmbuloLevel, margin: float) -> void:
	_level = level
	_margin = margin
	var bounds := level.bounds
	var wide := bounds[2] - bounds[0]
	var deep := bounds[3] - bounds[1]
	var shapes := level.boxes.size() / 7.0 + level.holes.size() / 4.0
	shapes += level.cylinders.size() / float(AmbuloLevel.DRUM)
	_tile = maxf(sqrt(wide * deep / clampf(shapes, 1.0, _MOST_TILES)), 1.0)
	_columns = ceili(wide / _tile)
	_rows = ceili(deep / _tile)
	for _k in _columns * _rows:
		_tiles.append(PackedInt32Array())
	for k in range(0, level.boxes.size(), 7):
		if level.box_obstructs(k):
			var c := absf(cos(level.boxes[k + 6]))
			var s := absf(sin(level.boxes[k + 6]))
			var a := level.boxes[k + 3]
			var b := level.boxes[k + 4]
			_enter(3 * k, level.boxes[k], level.boxes[k + 1], a * c + b * s, a * s + b * c)
	for k in range(0, level.cylinders.size(), AmbuloLevel.DRUM):
		if level.cylinder_obstructs(k):
			var radius := level.cylinders[k + 2]
			_enter(3 * k + 1, level.cylinders[k], level.cylinders[k + 1], radius, radius)
	var holes := level.holes
	for k in range(0, holes.size(), 4):
		var x := 0.5 * (holes[k] + holes[k + 2])
		var y := 0.5 * (holes[k + 1] + holes[k + 3])
		_enter(3 * k + 2, x, y, holes[k + 2] - x, holes[k + 3] - y)


## Whether all shapes keep the margin from (x, y), a place in the bounds.
func is_clear(x: float, y: float) -> bool:
	looked_at = 0
	var column := clampi(floori((x - _level.bounds[0]) / _tile), 0, _columns - 1)
	var row := clampi(floori((y - _level.bounds[1]) / _tile), 0, _rows - 1)
	return _keep_away(_everywhere, x, y) and _keep_away(_tiles[row * _columns + column], x, y)


func _keep_away(codes: PackedInt32Array, x: float, y: float) -> bool:
	for code in codes:
		looked_at += 1
		var k := floori(code / 3.0)
		var away := INF
		match code % 3:
			0:
				away = _level.box_distance(k, x, y)
			1:
				away = _level.cylinder_distance(k, x, y)
			_:
				away = _hole_distance(k, x, y)
		if away < _margin:
			return false
	return true


func _hole_distance(k: int, x: float, y: float) -> float:
	var holes := _level.holes
	var dx := maxf(maxf(holes[k] - x, x - holes[k + 2]), 0.0)
	var dy := maxf(maxf(holes[k + 1] - y, y - holes[k + 3]), 0.0)
	return sqrt(dx * dx + dy * dy)


## Enters a shape that reaches [param wide] and [param deep] from (x, y).
func _enter(code: int, x: float, y: float, wide: float, deep: float) -> void:
	var left := x - wide - _margin - _level.bounds[0]
	var low := y - deep - _margin - _level.bounds[1]
	var first := maxi(floori(left / _tile), 0)
	var last := mini(floori((left + 2.0 * (wide + _margin)) / _tile), _columns - 1)
	var bottom := maxi(floori(low / _tile), 0)
	var top := mini(floori((low + 2.0 * (deep + _margin)) / _tile), _rows - 1)
	if last < first or top < bottom:
		return
	if (last - first + 1) * (top - bottom + 1) > _MOST_COVERED:
		_everywhere.append(code)
		return
	for row in range(bottom, top + 1):
		for column in range(first, last + 1):
			_tiles[row * _columns + column].append(code)
