class_name AmbuloLevelSolids
extends RefCounted
## A level as shapes of a physics space: upright prisms with a rectangular base (boxes, steps, the
## ground), upright cylinders, and triangles (ramps, terrains, meshes).
##
## Boxes and cylinders of a level without heights become walls or are omitted.

## Numbers of a flat shape: x, y, half sizes a, b (cylinders: radius, -1), cosine and sine of the
## yaw, bottom, top, [m].
const FLAT := 8
## Depth of the ground below z = 0, [m].
const GROUND_THICKNESS := 1.0
## Height of obstacles that no body passes over or under: two bodies, [m].
const TALL := 2.0 * AmbuloContract.BODY_HEIGHT
## Shapes from the ground to at least this height are walls, which no body stands on or below, [m].
const WALL := 1.0
## Depth below the lower end of ramps without a thickness, [m].
const RAMP_DEPTH := 0.2
## Corners nearer than this are merged, [m].
const _WELD := 1e-6
# Triangles of a smaller area are dropped, [m^2].
const _NOTHING := 1e-12
# Triangles of a box. Bits 0, 1, 2 of corner k select its high x, y, z.
const _BOX := "021123456576014154263367042246135375"

## Prisms, then cylinders: [constant FLAT] numbers each.
var flats: PackedFloat64Array = []
## Corners of the triangles of closed solids, nine numbers each, counter-clockwise from outside,
## [m].
var closed: PackedFloat64Array = []
## Corners of the triangles of meshes that are not closed.
var open: PackedFloat64Array = []
## Lowest and highest z of all shapes, [m].
var lowest := INF
var highest := -INF

var _has_ground := false
# Index after the ground in [member flats].
var _behind_ground := 0


## The shapes of [param level].
func _init(level: AmbuloLevel) -> void:
	if level.ground:
		_add_ground(level)
	_has_ground = level.ground
	_behind_ground = flats.size()
	for k in range(0, level.boxes.size(), 7):
		var box := level.boxes.slice(k, k + 7)
		if level.heights:
			_add_box(box)
		elif level.box_obstructs(k):
			_add_box([box[0], box[1], 0.5 * TALL, box[3], box[4], 0.5 * TALL, box[6]])
	for k in range(0, level.stairs.size(), AmbuloLevelSurfaces.STAIR):
		_add_stairs(level.stairs.slice(k, k + AmbuloLevelSurfaces.STAIR))
	var drums := level.cylinders
	for k in range(0, drums.size(), AmbuloLevel.DRUM):
		var base := drums[k + 4] if level.heights else 0.0
		var top := base + drums[k + 3] if level.heights else TALL
		if level.heights or level.cylinder_obstructs(k):
			flats.append_array([drums[k], drums[k + 1], drums[k + 2], -1.0, 1.0, 0.0, base, top])
	for k in range(0, level.ramps.size(), AmbuloLevelSurfaces.RAMP):
		_add_ramp(level.ramps.slice(k, k + AmbuloLevelSurfaces.RAMP))
	for field in level.heightfields:
		_add_terrain(field)
	for mesh in level.meshes:
		_add_mesh(mesh)
	for k in range(0, flats.size(), FLAT):
		lowest = minf(lowest, flats[k + 6])
		highest = maxf(highest, flats[k + 7])
	for corners: PackedFloat64Array in [closed, open]:
		for k in range(2, corners.size(), 3):
			lowest = minf(lowest, corners[k])
			highest = maxf(highest, corners[k])


## Whether only walls stand on a ground at z = 0.
func has_only_walls() -> bool:
	for k in range(_behind_ground, flats.size(), FLAT):
		if flats[k + 6] > AmbuloContract.CLIMB_HEIGHT or flats[k + 7] < WALL:
			return false
	return _has_ground and closed.is_empty() and open.is_empty()


## Prisms on or above the ground: seven numbers each, as [member AmbuloLevel.boxes].
func boxes() -> PackedFloat64Array:
	var found := PackedFloat64Array()
	for k in range(_behind_ground, flats.size(), FLAT):
		var f := flats.slice(k, k + FLAT)
		if f[3] >= 0.0:
			var half := 0.5 * (f[7] - f[6])
			found.append_array([f[0], f[1], f[6] + half, f[2], f[3], half, atan2(f[5], f[4])])
	return found


## The ground without its holes: x0, y0, x1, y1, four numbers per rectangle, [m].
##
## A sweep line moves along x over strips of y. When a hole begins to cover a strip, the strip's
## rectangle ends there, merged with neighbouring strips that began at the same x.
static func floor_rectangles(level: AmbuloLevel) -> PackedFloat64Array:
	var b := level.bounds
	var edges: PackedFloat64Array = [b[1], b[3]]
	# x, whether a hole begins there, y from and to
	var events: Array[PackedFloat64Array] = []
	for k in range(0, level.holes.size(), 4):
		var x0 := clampf(level.holes[k], b[0], b[2])
		var y0 := clampf(level.holes[k + 1], b[1], b[3])
		var x1 := clampf(level.holes[k + 2], b[0], b[2])
		var y1 := clampf(level.holes[k + 3], b[1], b[3])
		if x0 < x1 and y0 < y1:
			edges.append_array([y0, y1])
			events.append(PackedFloat64Array([x0, 1.0, y0, y1]))
			events.append(PackedFloat64Array([x1, 0.0, y0, y1]))
	edges.sort()
	events.sort_custom(_is_before)
	var covers: PackedInt32Array = []
	covers.resize(edges.size())
	covers.fill(0)
	var begin: PackedFloat64Array = []
	begin.resize(edges.size())
	begin.fill(b[0])
	var found: PackedFloat64Array = []
	for event in events:
		var strips := Vector2i(edges.bsearch(event[2]), edges.bsearch(event[3]))
		if event[1] > 0.0:
			_end_free(strips, event[0], edges, covers, begin, found)
		for k in range(strips.x, strips.y):
			covers[k] += 1 if event[1] > 0.0 else -1
			if covers[k] == 0:
				begin[k] = event[0]
	_end_free(Vector2i(0, edges.size() - 1), b[2], edges, covers, begin, found)
	return found


# At equal x, ends of holes precede beginnings.
static func _is_before(a: PackedFloat64Array, b: PackedFloat64Array) -> bool:
	return a[0] < b[0] or (a[0] == b[0] and a[1] < b[1])


# Adds the rectangles of a range of strips that end at x; equal edges leave empty strips.
static func _end_free(
	strips: Vector2i,
	x: float,
	edges: PackedFloat64Array,
	covers: PackedInt32Array,
	begin: PackedFloat64Array,
	found: PackedFloat64Array
) -> void:
	var k := strips.x
	while k < strips.y:
		var first := k
		k += 1
		if covers[first] > 0 or begin[first] >= x or edges[first + 1] == edges[first]:
			continue
		while (
			k < strips.y
			and (edges[k + 1] == edges[k] or (covers[k] == 0 and begin[k] == begin[first]))
		):
			k += 1
		found.append_array([begin[first], edges[first], x, edges[k]])


func _add_ground(level: AmbuloLevel) -> void:
	var r := floor_rectangles(level)
	var middle := -0.5 * GROUND_THICKNESS
	for k in range(0, r.size(), 4):
		var x := 0.5 * (r[k] + r[k + 2])
		var y := 0.5 * (r[k + 1] + r[k + 3])
		_add_box([x, y, middle, r[k + 2] - x, r[k + 3] - y, -middle, 0.0])


func _add_box(b: PackedFloat64Array) -> void:
	flats.append_array([b[0], b[1], b[3], b[4], cos(b[6]), sin(b[6]), b[2] - b[5], b[2] + b[5]])


func _add_stairs(row: PackedFloat64Array) -> void:
	var count := int(row[8])
	var along := [row[3] - row[0], row[4] - row[1]]
	var yaw := atan2(along[1], along[0])
	var tread: float = sqrt(along[0] ** 2 + along[1] ** 2) / count
	var rise := (row[5] - row[2]) / count
	for k in count:
		var share := (k + 0.5) / count
		var top := row[2] + (k + 1) * rise
		var under := row[2] if row[7] == 0.0 else top - row[7]
		var x: float = row[0] + share * along[0]
		var y: float = row[1] + share * along[1]
		var half := 0.5 * (top - under)
		_add_box([x, y, top - half, 0.5 * tread, 0.5 * row[6], half, yaw])


func _add_ramp(row: PackedFloat64Array) -> void:
	var dx := row[3] - row[0]
	var dy := row[4] - row[1]
	var half := 0.5 * row[6] / sqrt(dx * dx + dy * dy)
	var corners: Array[PackedFloat64Array] = []
	for k in 8:
		var end := 3 if k & 1 else 0
		var side := half if k & 2 else -half
		var z := row[end + 2]
		if not k & 4:
			z = row[2] - RAMP_DEPTH if row[7] == 0.0 else z - row[7]
		corners.append([row[end] - side * dy, row[end + 1] + side * dx, z] as PackedFloat64Array)
	for k in range(0, _BOX.length(), 3):
		var face: Array[PackedFloat64Array] = []
		for m in 3:
			face.append(corners[_BOX.unicode_at(k + m) - 48])
		_add_triangle(closed, face[0], face[1], face[2])


func _add_terrain(field: AmbuloLevelSurfaces.HeightField) -> void:
	var points: Array[PackedFloat64Array] = []
	var origin := field.origin
	for k in field.heights.size():
		var x := origin[0] + (k % field.columns) * field.cell
		var y := origin[1] + floori(k / float(field.columns)) * field.cell
		points.append([x, y, origin[2] + field.heights[k]] as PackedFloat64Array)
	for row in field.rows() - 1:
		for column in field.columns - 1:
			var corner := row * field.columns + column
			var up := corner + field.columns
			_add_triangle(closed, points[corner], points[corner + 1], points[up + 1])
			_add_triangle(closed, points[corner], points[up + 1], points[up])


func _add_mesh(mesh: AmbuloLevelSurfaces.FaceMesh) -> void:
	var points: Array[PackedFloat64Array] = []
	for k in range(0, mesh.vertices.size(), 3):
		points.append(mesh.vertices.slice(k, k + 3))
	var shut := _closed_faces(mesh, points)
	for k in shut.size():
		var into := closed if shut[k] else open
		var a := points[mesh.triangles[3 * k]]
		var b := points[mesh.triangles[3 * k + 1]]
		_add_triangle(into, a, b, points[mesh.triangles[3 * k + 2]])


static func _add_triangle(
	into: PackedFloat64Array, a: PackedFloat64Array, b: PackedFloat64Array, c: PackedFloat64Array
) -> void:
	var ux := b[0] - a[0]
	var uy := b[1] - a[1]
	var uz := b[2] - a[2]
	var vx := c[0] - a[0]
	var vy := c[1] - a[1]
	var vz := c[2] - a[2]
	var nx := uy * vz - uz * vy
	var ny := uz * vx - ux * vz
	var nz := ux * vy - uy * vx
	if sqrt(nx * nx + ny * ny + nz * nz) > 2.0 * _NOTHING:
		into.append_array(a + b + c)


## Marks the triangles of closed parts, whose edges are passed as often in one direction as in the
## other.
static func _closed_faces(
	mesh: AmbuloLevelSurfaces.FaceMesh, points: Array[PackedFloat64Array]
) -> Array[bool]:
	var names: Dictionary[String, int] = {}
	var welded: PackedInt32Array = []
	for p in points:
		var at := "%d %d %d" % [roundi(p[0] / _WELD), roundi(p[1] / _WELD), roundi(p[2] / _WELD)]
		welded.append(names.get_or_add(at, names.size()))
	var part: PackedInt32Array = []
	for k in names.size():
		part.append(k)
	var balance: Dictionary[Vector2i, int] = {}
	for k in range(0, mesh.triangles.size(), 3):
		for side in 3:
			var a := welded[mesh.triangles[k + side]]
			var b := welded[mesh.triangles[k + (side + 1) % 3]]
			_join(part, a, b)
			if a != b:
				var edge := Vector2i(mini(a, b), maxi(a, b))
				balance[edge] = balance.get(edge, 0) + (1 if a < b else -1)
	var gaping: Dictionary[int, bool] = {}
	for edge in balance:
		if balance[edge] != 0:
			gaping[_root(part, edge.x)] = true
	var found: Array[bool] = []
	for k in range(0, mesh.triangles.size(), 3):
		found.append(not gaping.has(_root(part, welded[mesh.triangles[k]])))
	return found


static func _root(part: PackedInt32Array, at: int) -> int:
	while part[at] != at:
		part[at] = part[part[at]]
		at = part[at]
	return at


static func _join(part: PackedInt32Array, a: int, b: int) -> void:
	var x := _root(part, a)
	var y := _root(part, b)
	part[maxi(x, y)] = mini(x, y)
