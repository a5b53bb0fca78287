class_name AmbuloColumns
extends RefCounted
## Partial map of one agent: floors and obstacles by column and height.
##
## The map is a grid of columns that wraps around, with a few entries each: a window around the
## body, outside of which everything is cleared. Meanings of the bits and the update rules are those
## of the trainer (`envs/vr/navigator/columns.py`), with the same result.

## Columns along a side, a power of two, and the bits of a wrapped index.
const SIDE := 256
const WRAP := 255
## Columns per metre.
const PER_METRE := 4
## Entries of a column.
const LEVELS := 3
## Height units per metre.
const UNITS := 256
## Bits: a ray has passed (the height is measured); the floor slopes; a ray ended at a wall, or at a
## floor edge; the body was stuck here.
const FREE := 1
const SLOPE := 2
const HIT := 4
const DROP := 8
const BUMP := 16
## Bits: the centre is so near to a hit that no body fits, or just fits; a wall may continue here.
const TIGHT := 32
const NEAR := 64
const WALL := 128
## Bits: it lies between two rays that have passed; an end of the known area that the agent has
## visited.
const SEEN := 256
const LOOKED := 512
const CLOSED := HIT | DROP | BUMP
## Results of [method find]: nothing is known at this place; it is too close to a known floor above
## or below to be a floor itself.
const UNKNOWN := -1
const VOID := -2
## Neighbouring columns connect if their floors differ by at most this, [1 / UNITS m].
const STEP := 128
## Obstacles at most this far above a floor stand on it, [1 / UNITS m].
const SAME := 205
## Least distance between two floors of a column, [1 / UNITS m].
const HEADROOM := 435
## Mask of an entry's bits; its height is stored above them.
const BITS := 0xFFFF
const SHIFT := 16

const _HIGHEST := 32767
const _TIGHT_GAP := 0.27 * 0.27
const _NEAR_GAP := 0.47 * 0.47
# Radius in columns around a hit within which columns may be TIGHT or NEAR, and WALL.
const _BESIDE := 2
const _WALLS := 6

## Height and bits of each entry, at (row * SIDE + column) * LEVELS + level; no bits: unused.
var entries: PackedInt32Array = []

# Entries that were given the bit BUMP.
var _bumps: PackedInt32Array = []
# Range of cells that may hold entries: first and last, not wrapped.
var _from := Vector2i.MAX
var _to := Vector2i.MIN


func _init() -> void:
	entries.resize(SIDE * SIDE * LEVELS)


## Clears the map.
func clear() -> void:
	entries.fill(0)
	_bumps.clear()
	_from = Vector2i.MAX
	_to = Vector2i.MIN


## Clears cells outside of the window around (x, y), [m], where the map wraps around. Cells up to
## [param reach] [m] away may be written afterwards.
func keep_around(x: float, y: float, reach: float) -> void:
	var half := SIDE / 2
	var far := mini(int(reach * PER_METRE) + _WALLS + 2, half)
	var here := Vector2i(floori(x * PER_METRE), floori(y * PER_METRE))
	for axis in 2:
		var low := here[axis] - half
		for i in range(_from[axis], mini(_to[axis] + 1, low)):
			_forget_line(axis, i & WRAP)
		for i in range(maxi(_from[axis], low + SIDE), _to[axis] + 1):
			_forget_line(axis, i & WRAP)
		_from[axis] = mini(maxi(_from[axis], low), here[axis] - far)
		_to[axis] = maxi(mini(_to[axis], low + SIDE - 1), here[axis] + far)


## A height [m] in units, clamped to the range of maps; halves round to even.
static func in_units(z: float) -> int:
	var v := clampf(z * UNITS, -_HIGHEST, _HIGHEST)
	var n := roundi(v)
	if absf(n - v) == 0.5 and n & 1:
		n -= 1 if n > v else -1
	return n


## First entry of the column at (x, y), [m].
static func at(x: float, y: float) -> int:
	return ((floori(y * PER_METRE) & WRAP) * SIDE + (floori(x * PER_METRE) & WRAP)) * LEVELS


## Level at height [param h] of the column that begins at entry [param first]; UNKNOWN or VOID
## without one. A measured floor within a step has precedence, then the nearest obstacle, then any
## other entry.
func find(first: int, h: int) -> int:
	var only := entries[first]
	if (entries[first + 1] | entries[first + 2]) & BITS == 0 and only & BITS:
		var apart := absi((only >> SHIFT) - h)
		if only & FREE:
			return 0 if apart <= STEP else VOID if apart < HEADROOM else UNKNOWN
		return 0 if apart < SAME else UNKNOWN
	var best := UNKNOWN
	var off := SAME
	var void_here := false
	for k in LEVELS:
		var entry := entries[first + k]
		if entry & BITS == 0:
			continue
		var gap := absi((entry >> SHIFT) - h)
		if entry & FREE:
			if gap <= STEP:
				return k
			if gap < HEADROOM:
				void_here = true
		elif gap < SAME:
			if entry & CLOSED:
				gap -= SAME
			if gap < off:
				off = gap
				best = k
	return VOID if void_here else best


## Bits of the entry that [method find] returns; 0 without one.
func bits_at(first: int, h: int) -> int:
	var k := find(first, h)
	return entries[first + k] & BITS if k >= 0 else 0


## Adds bits to the entry at (x, y), [m], and height [param h].
func add_bits(x: float, y: float, h: int, bits: int) -> void:
	var i := _entry(at(x, y), h, true)
	entries[i] |= bits
	if bits & BUMP:
		_bumps.append(i)


## Adds bits to the entry at height [param h] of the column that begins at [param first].
func add_bits_at(first: int, h: int, bits: int) -> void:
	entries[_entry(first, h, true)] |= bits


## Adds a measured floor of height [param h] to the column that begins at [param first];
## [param slope]: 0 or SLOPE.
func add_floor(first: int, h: int, slope: int) -> void:
	var i := _entry(first, h, true)
	var old := entries[i]
	var now := (old >> SHIFT) + h >> 1 if old & FREE else h
	entries[i] = now << SHIFT | old & BITS | FREE | slope


## Adds an obstacle (HIT) or edge (DROP) at (x, y), [m], and marks the columns beside it as tight.
func add_hit(x: float, y: float, h: int, bit: int) -> void:
	var map := entries
	var cx := floori(x * PER_METRE)
	var cy := floori(y * PER_METRE)
	var own := _entry(((cy & WRAP) * SIDE + (cx & WRAP)) * LEVELS, h, true)
	var known := map[own] & bit != 0
	map[own] |= bit
	if not known:  # near a known hit only the exact distances change
		for dy in range(-_WALLS, _WALLS + 1):
			var row := (cy + dy & WRAP) * SIDE
			for dx in range(-_WALLS, _WALLS + 1):
				var first := (row + (cx + dx & WRAP)) * LEVELS
				var entry := map[first]
				if not entry & WALL or entry >> SHIFT != h:
					_add_beside(first, h, WALL)
	for dy in range(-_BESIDE, _BESIDE + 1):
		var row := (cy + dy & WRAP) * SIDE
		var gy := ((cy + dy + 0.5) * 0.25 - y) ** 2
		for dx in range(-_BESIDE, _BESIDE + 1):
			var first := (row + (cx + dx & WRAP)) * LEVELS
			var entry := map[first]
			var gx := (cx + dx + 0.5) * 0.25 - x
			var gap := gx * gx + gy
			var bits := WALL
			if gap < _TIGHT_GAP:
				bits |= TIGHT
			elif gap < _NEAR_GAP:
				bits |= NEAR
			if entry & bits != bits or entry >> SHIFT != h:
				_add_beside(first, h, bits)


## Clears the bit BUMP of all entries; whether any had it.
func forget_bumps() -> bool:
	var found := false
	for i in _bumps:
		if entries[i] & BUMP:
			entries[i] &= ~BUMP
			found = true
	_bumps.clear()
	return found


# Clears row (axis 1) or column (axis 0) `i` of the grid.
func _forget_line(axis: int, i: int) -> void:
	for j in SIDE:
		var first := (i * SIDE + j if axis == 1 else j * SIDE + i) * LEVELS
		for k in LEVELS:
			entries[first + k] = 0


# Adds bits at height `h` of a column, unless no floor can be there.
func _add_beside(first: int, h: int, bits: int) -> void:
	if (entries[first] | entries[first + 1] | entries[first + 2]) & BITS == 0:
		entries[first] = h << SHIFT | bits
		return
	var i := _entry(first, h, false)
	if i < 0:
		if _is_void(first, h):
			return
		i = _entry(first, h, true)
	entries[i] |= bits


# Index of the entry for height `h`; -1: none exists, and `make` is false.
func _entry(first: int, h: int, make: bool) -> int:
	var best := -1
	var off := SAME
	var spare := -1
	var far := -1
	var worst := 0
	for i in range(first, first + LEVELS):
		var entry := entries[i]
		if entry & BITS == 0:
			if spare < 0:
				spare = i
			continue
		var gap := absi((entry >> SHIFT) - h)
		if gap < off:
			off = gap
			best = i
		if gap > far:
			far = gap
			worst = i
	if best >= 0 or not make:
		return best
	if spare < 0:
		spare = worst
	entries[spare] = h << SHIFT
	return spare


# Whether a measured floor is so near above or below `h` that no other floor fits there.
func _is_void(first: int, h: int) -> bool:
	for i in range(first, first + LEVELS):
		if entries[i] & FREE and absi((entries[i] >> SHIFT) - h) < HEADROOM:
			return true
	return false
