class_name AmbuloNodes
extends RefCounted
## The nodes of a search over [AmbuloColumns] and lifts, and its open list, a binary heap. Same
## computation as in the trainer (`envs/vr/navigator/heap.py`). A stamp marks the entries of the
## present search, so that no array needs to be cleared.

## Most unknown heights of a column that a search may enter.
const GUESTS := 2
## Nodes of a column.
const PLACES := AmbuloColumns.LEVELS + GUESTS
## Carriers in one search.
const LIFTS := 8
const FIRST_LIFT := AmbuloColumns.SIDE * AmbuloColumns.SIDE * PLACES
## Number of the node that ends every path.
const END := FIRST_LIFT + LIFTS
## Most nodes that a search expands.
const MOST_EXPANDED := 60_000
## A path must be cheaper by more than this to replace another, [m].
const SAME_COST := 1e-4

const _ROOM := 8 * MOST_EXPANDED - 600
const _FIRST_ROOM := 4096

## Cost of the cheapest path to each node so far, [m].
var costs: PackedFloat32Array = []
## Previous node on that path, -1: its start.
var parents: PackedInt32Array = []
## Height of the floor at the node on that path, [1 / UNITS m].
var heights: PackedInt32Array = []
## Number of the search that last reached each node.
var marks: PackedInt32Array = []
## Number of the search that last used each place for an unknown height, GUESTS per column.
var guests: PackedInt32Array = []
## Number of the search, nodes in the heap, nodes expanded.
var mark := 0
var size := 0
var expanded := 0
## Key of the node that was popped last: its cost plus the least remaining cost, [m].
var key := 0.0

# The heap: keys (cost plus least remaining cost), and their nodes.
var _keys: PackedFloat32Array = []
var _heap: PackedInt32Array = []


func _init() -> void:
	costs.resize(END + 1)
	parents.resize(END + 1)
	heights.resize(END + 1)
	marks.resize(END + 1)
	guests.resize(AmbuloColumns.SIDE * AmbuloColumns.SIDE * GUESTS)
	_keys.resize(_FIRST_ROOM)
	_heap.resize(_FIRST_ROOM)


## Starts a new search.
func begin() -> void:
	mark += 1
	size = 0
	expanded = 0


## Pushes [param node] if this path is its cheapest so far; [param left] is the least remaining
## cost, [m].
func reach(node: int, cost: float, left: float, parent: int, h: int) -> void:
	if (marks[node] == mark and costs[node] <= cost + SAME_COST) or size >= _ROOM:
		return
	marks[node] = mark
	costs[node] = cost
	parents[node] = parent
	heights[node] = h
	var at := size
	size += 1
	if size > _keys.size():
		_keys.resize(2 * size)
		_heap.resize(2 * size)
	var keys := _keys
	var heap := _heap
	keys[at] = cost + left
	var own := keys[at]  # rounded to 32 bits like the others
	while at > 0:
		var up := at - 1 >> 1
		if keys[up] <= own:
			break
		keys[at] = keys[up]
		heap[at] = heap[up]
		at = up
	keys[at] = own
	heap[at] = node


## Pops the cheapest node.
func pop() -> int:
	var keys := _keys
	var heap := _heap
	var node := heap[0]
	key = keys[0]
	size -= 1
	var end := size
	var own := keys[end]
	var last := heap[end]
	var at := 0
	var low := 1
	while low < end:
		var least := keys[low]
		if low + 1 < end:
			var other := keys[low + 1]
			if other < least:
				low += 1
				least = other
		if own <= least:
			break
		keys[at] = least
		heap[at] = heap[low]
		at = low
		low = 2 * at + 1
	keys[at] = own
	heap[at] = last
	return node


## Place (row * SIDE + column) of an unknown floor at height [param h] of a column; -1: all places
## are taken.
func place_for(column: int, h: int) -> int:
	var first := column * PLACES + AmbuloColumns.LEVELS
	for g in GUESTS:
		if guests[column * GUESTS + g] != mark:
			guests[column * GUESTS + g] = mark
			heights[first + g] = h
			return AmbuloColumns.LEVELS + g
		if absi(heights[first + g] - h) < AmbuloColumns.SAME:
			return AmbuloColumns.LEVELS + g
	return -1
