class_name AmbuloNodes
extends RefCounted
## The nodes of a search over [AmbuloColumns] and lifts, and those yet to be expanded in a binary
## heap. As the trainer has it (`envs/vr/navigator/heap.py`).
##
## A stamp tells which entries are of the search at hand, so that nothing needs to be cleared.

## Heights of a column that a search may enter though nothing is known of them.
const GUESTS := 2
## Nodes of a column.
const PLACES := AmbuloColumns.LEVELS + GUESTS
## Carriers in one search.
const LIFTS := 8
const FIRST_LIFT := AmbuloColumns.SIDE * AmbuloColumns.SIDE * PLACES
## Number of the node that ends every path.
const END := FIRST_LIFT + LIFTS
## Nodes expanded before a search is given up.
const MOST_EXPANDED := 60_000
## Paths that cost at most so much less are no cheaper.
const SAME_COST := 1e-4

const _ROOM := 8 * MOST_EXPANDED - 600
const _FIRST_ROOM := 4096

## Of the cheapest path to each node yet, [m].
var costs: PackedFloat32Array = []
## The node before on that path, -1: it begins there.
var parents: PackedInt32Array = []
## Height of the floor at which it comes there, [1 / UNITS m].
var heights: PackedInt32Array = []
## Search that each node was last met in.
var marks: PackedInt32Array = []
## Search in which guests were last in each place for one, GUESTS of each column.
var guests: PackedInt32Array = []
## Number of the search, nodes in the heap, nodes expanded.
var mark := 0
var size := 0
var expanded := 0
## The key of the node that was popped last: its cost and what was left at least, [m].
var key := 0.0

# Heap of the costs with what is left at least, and of their nodes.
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


## Forgets the last search.
func begin() -> void:
	mark += 1
	size = 0
	expanded = 0


## Puts [param node] on the heap if this path is its cheapest yet; [param left] is left at least,
## [m].
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
	var own := keys[at]  # in 32 bits, as the others are
	while at > 0:
		var up := at - 1 >> 1
		if keys[up] <= own:
			break
		keys[at] = keys[up]
		heap[at] = heap[up]
		at = up
	keys[at] = own
	heap[at] = node


## Takes the cheapest node off the heap.
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


## Place in a column, (row * SIDE + column), for an unknown floor at height [param h]; -1: there are
## others.
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
