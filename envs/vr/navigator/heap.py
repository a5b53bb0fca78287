"""The nodes of a search, and those yet to be expanded in a binary heap, compiled.

One `Nodes` serves all envs in turn: a stamp tells which entries are of the search at hand.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ambulo.configs.arrays import Ints
from ambulo.envs.vr.navigator.columns import LEVELS, SIDE

GUESTS = 2
"""Heights of a column that a search may enter though nothing is known of them."""
PLACES = LEVELS + GUESTS
"""Nodes of a column."""
LIFTS = 8
"""Carriers in one search."""
FIRST_LIFT = SIDE * SIDE * PLACES
END = FIRST_LIFT + LIFTS
"""Number of the node that ends every path."""
MOST_EXPANDED = 60_000
"""Nodes expanded before a search is given up."""
_ROOM = 8 * MOST_EXPANDED
_SPARE = 600
_SAME = 1e-4


class Nodes(NamedTuple):
    """Nodes by number: those of columns, lifts, the end; and the heap."""

    cost: NDArray[np.float32]
    """Of the cheapest path to each node yet, shape (END + 1,), [m]."""
    parent: NDArray[np.int32]
    """The node before on that path, -1: it begins there, shape (END + 1,)."""
    height: NDArray[np.int32]
    """Height of the floor at which it comes there, shape (END + 1,), [UNIT]."""
    mark: NDArray[np.int32]
    """Search that each node was last met in, shape (END + 1,)."""
    guests: NDArray[np.int32]
    """Search in which guests were last there, shape (SIDE, SIDE, GUESTS)."""
    keys: NDArray[np.float32]
    """Heap of costs with what is left at least, shape (_ROOM,)."""
    heap: NDArray[np.int32]
    """Nodes in the order of `keys`, shape (_ROOM,)."""
    state: Ints
    """Number of the search, size of the heap, nodes expanded, shape (3,)."""

    @classmethod
    def empty(cls) -> Nodes:
        """Nothing searched yet."""
        n = END + 1
        return cls(
            np.zeros(n, np.float32), np.zeros(n, np.int32), np.zeros(n, np.int32),
            np.zeros(n, np.int32), np.zeros((SIDE, SIDE, GUESTS), np.int32),
            np.zeros(_ROOM, np.float32), np.zeros(_ROOM, np.int32), np.zeros(3, np.int64),
        )  # fmt: skip


@njit(cache=True)
def begin(nodes):
    """Forget the last search."""
    nodes.state[0] += 1
    nodes.state[1] = 0
    nodes.state[2] = 0


@njit(cache=True)
def reach(nodes, node, cost, rest, parent, height):
    """Put `node` on the heap if this path is its cheapest yet; `rest` is left at least, [m]."""
    mark = nodes.state[0]
    if nodes.mark[node] == mark and nodes.cost[node] <= cost + _SAME:
        return
    at = nodes.state[1]
    if at >= nodes.keys.shape[0] - _SPARE:
        return
    nodes.mark[node] = mark
    nodes.cost[node] = cost
    nodes.parent[node] = parent
    nodes.height[node] = height
    nodes.state[1] = at + 1
    keys, heap = nodes.keys, nodes.heap
    key = np.float32(cost + rest)
    while at > 0:
        up = (at - 1) // 2
        if keys[up] <= key:
            break
        keys[at] = keys[up]
        heap[at] = heap[up]
        at = up
    keys[at] = key
    heap[at] = node


@njit(cache=True)
def pop(nodes):
    """Take the cheapest node off the heap; its key, the cost with what was left, comes too."""
    keys, heap = nodes.keys, nodes.heap
    node = heap[0]
    least = keys[0]
    size = nodes.state[1] - 1
    nodes.state[1] = size
    key = keys[size]
    last = heap[size]
    at = 0
    while True:
        low = 2 * at + 1
        if low >= size:
            break
        if low + 1 < size and keys[low + 1] < keys[low]:
            low += 1
        if key <= keys[low]:
            break
        keys[at] = keys[low]
        heap[at] = heap[low]
        at = low
    keys[at] = key
    heap[at] = last
    return node, least


@njit(cache=True)
def place_for(nodes, r, c, h, same):
    """Place of column (r, c) for an unknown floor at height `h`; -1: there are others."""
    first = (r * SIDE + c) * PLACES + LEVELS
    for g in range(GUESTS):
        if nodes.guests[r, c, g] != nodes.state[0]:
            nodes.guests[r, c, g] = nodes.state[0]
            nodes.height[first + g] = h
            return LEVELS + g
        if abs(nodes.height[first + g] - h) < same:
            return LEVELS + g
    return -1
