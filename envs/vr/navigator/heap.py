"""The nodes of a search, with a binary heap of the open ones, compiled.

One `Nodes` serves all envs in turn: a stamp marks the entries of the present search.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ambulo.configs.arrays import Ints
from ambulo.envs.vr.navigator.columns import LEVELS, SIDE

GUESTS = 2
"""Number of unknown floors of a column that a search may enter."""
PLACES = LEVELS + GUESTS
"""Nodes per column."""
LIFTS = 8
"""Largest number of carriers in one search."""
FIRST_LIFT = SIDE * SIDE * PLACES
END = FIRST_LIFT + LIFTS
"""Index of the node that ends every path."""
MOST_EXPANDED = 60_000
"""Largest number of expanded nodes before a search is given up."""
_ROOM = 8 * MOST_EXPANDED
_SPARE = 600
_SAME = 1e-4


class Nodes(NamedTuple):
    """Nodes by index: those of columns, lifts, the end; and the heap."""

    cost: NDArray[np.float32]
    """Cost of the cheapest path to each node so far, shape (END + 1,), [m]."""
    parent: NDArray[np.int32]
    """The previous node on that path, -1: the start, shape (END + 1,)."""
    height: NDArray[np.int32]
    """Height of the floor on arrival, shape (END + 1,), [UNIT]."""
    mark: NDArray[np.int32]
    """Search in which each node was last reached, shape (END + 1,)."""
    guests: NDArray[np.int32]
    """Search in which unknown floors were last entered, shape (SIDE, SIDE, GUESTS)."""
    keys: NDArray[np.float32]
    """Heap keys: cost plus lower bound of the remaining cost, shape (_ROOM,)."""
    heap: NDArray[np.int32]
    """Nodes in the order of `keys`, shape (_ROOM,)."""
    state: Ints
    """Index of the search, size of the heap, expanded nodes, shape (3,)."""

    @classmethod
    def empty(cls) -> Nodes:
        """Nodes before any search."""
        n = END + 1
        return cls(
            np.zeros(n, np.float32), np.zeros(n, np.int32), np.zeros(n, np.int32),
            np.zeros(n, np.int32), np.zeros((SIDE, SIDE, GUESTS), np.int32),
            np.zeros(_ROOM, np.float32), np.zeros(_ROOM, np.int32), np.zeros(3, np.int64),
        )  # fmt: skip


@njit(cache=True)
def begin(nodes):
    """Start a new search."""
    nodes.state[0] += 1
    nodes.state[1] = 0
    nodes.state[2] = 0


@njit(cache=True)
def reach(nodes, node, cost, rest, parent, height):
    """Push `node` if this path is its cheapest so far; `rest`: lower bound of the rest, [m]."""
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
    """Pop the cheapest node; returns its key as well."""
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
    """Slot of column (r, c) for an unknown floor at height `h`; -1: all are in use."""
    first = (r * SIDE + c) * PLACES + LEVELS
    for g in range(GUESTS):
        if nodes.guests[r, c, g] != nodes.state[0]:
            nodes.guests[r, c, g] = nodes.state[0]
            nodes.height[first + g] = h
            return LEVELS + g
        if abs(nodes.height[first + g] - h) < same:
            return LEVELS + g
    return -1
