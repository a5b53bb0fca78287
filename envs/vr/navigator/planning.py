"""From map and movers to a path and the waypoint on it. Compiled."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ambulo.configs.arrays import Bools, Floats, Ints
from ambulo.envs.vr.navigator.columns import (
    BUMP,
    CLOSED,
    LOOKED,
    PER_METRE,
    SIDE,
    TIGHT,
    VOID,
    add_bits,
    cell,
    copy,
    find,
    forget_bits,
    in_units,
    map_of,
)
from ambulo.envs.vr.navigator.heap import LIFTS
from ambulo.envs.vr.navigator.search import (
    ANYWHERE,
    FRONTIERS,
    NO_JUMPS,
    POINT,
    SAME_FLOOR,
    Query,
    search,
)
from ambulo.envs.vr.navigator.search_movers import ABOARD, enter_movers
from ambulo.envs.vr.navigator.tracks import (
    carrier_under,
    tracks_of,
)

REPLAN = 3
"""Environment steps between two plans."""
POINTS = 300
"""Largest number of points of a path."""
_STUCK = 30
"""Environment steps without motion after which the map is blocked ahead."""
_MOVED = 0.15
"""Smallest distance that counts as motion, [m]."""
_LEAP = 0.6
"""Displacement per step from which a body has been teleported, and replans, [m]."""
_AHEAD = (0.25, 0.6)
"""Distances ahead on the path that are blocked, [m]."""
_AT_GOAL = 0.3
"""Distance to the goal within which a body is not stuck, [m]."""
_AT_FRONTIER = 0.8
"""Distance at which a frontier counts as explored, [m]."""
_BESIDE_LIFT = (1.5, 0.3)
"""Distance at which a frontier beside the lift that carries the body counts as explored, and
its largest height difference, [m]."""
_PASSED = 12
"""Number of points of a path among which the body is searched."""
_OWN = 0.5
"""Radius around the body in which tight places do not end a line of sight, [m]."""
_AT_LIFT = 0.5
"""Distance to the boarding place within which a carrier is awaited, [m]."""


class Plans(NamedTuple):
    """The plans of N envs."""

    points: NDArray[np.float32]
    """The path, as `POINT` of `search` but with tracks for lifts, shape (N, POINTS, POINT)."""
    length: Ints
    """Number of its points, 0: no plan yet, shape (N,)."""
    found: Bools
    """Whether there is a path; otherwise its only point is the goal, shape (N,)."""
    frontier: Bools
    """Whether it ends at a frontier, on another floor than the goal's, shape (N,)."""
    mask: Ints
    """Bits that counted as blocked in its search, shape (N,)."""
    age: Ints
    """Environment steps until the next plan, shape (N,)."""
    waypoint: Floats
    """The furthest point in a clear line, shape (N, 2), [m]."""
    boards: Ints
    """Track to board now, -1: none, shape (N,)."""
    rest: Floats
    """Last position to which each env moved, shape (N, 2), [m]."""
    still: Ints
    """Environment steps since then, without waiting, shape (N,)."""

    @classmethod
    def empty(cls, num_envs: int) -> Plans:
        """Empty plans of `num_envs` envs."""
        n = num_envs
        return cls(
            np.zeros((n, POINTS, POINT), np.float32), np.zeros(n, np.int64),
            np.zeros(n, np.bool_), np.zeros(n, np.bool_), np.zeros(n, np.int64),
            np.zeros(n, np.int64), np.zeros((n, 2)), np.full(n, -1, np.int64),
            np.full((n, 2), np.inf), np.zeros(n, np.int64),
        )  # fmt: skip

    def forget(self, envs: Ints) -> None:
        """Clear the plans of `envs` (k,)."""
        self.length[envs] = 0
        self.age[envs] = 0
        self.rest[envs] = np.inf
        self.still[envs] = 0


@njit(cache=True)
def _note_bump(columns, plans, i, position, goal, waits):
    """Block the map ahead of a stuck body."""
    x = position[0]
    y = position[1]
    moved = math.hypot(x - plans.rest[i, 0], y - plans.rest[i, 1])
    if moved > _LEAP:
        plans.length[i] = 0
    if not moved <= _MOVED:
        plans.rest[i, 0] = x
        plans.rest[i, 1] = y
        plans.still[i] = 0
    elif not waits:
        plans.still[i] += 1
    if plans.still[i] < _STUCK or math.hypot(goal[0] - x, goal[1] - y) < _AT_GOAL:
        return
    plans.still[i] = 0
    plans.age[i] = 0
    h = in_units(position[2])
    for j in range(plans.length[i]):
        point = plans.points[i, j]
        far = math.hypot(point[0] - x, point[1] - y)
        if far > _AHEAD[1]:
            break
        if far > _AHEAD[0]:
            add_bits(columns, point[0], point[1], h, BUMP)


@njit(cache=True)
def _note_frontier(columns, plans, i, position):
    """Mark a frontier near the body as explored."""
    if plans.length[i] == 0 or not plans.frontier[i]:
        return
    end = plans.points[i, plans.length[i] - 1]
    far = _AT_FRONTIER
    if plans.length[i] == 2 and plans.points[i, 0, 3] >= 0.0:  # noqa: SIM102
        if abs(end[2] - position[2]) < _BESIDE_LIFT[1]:
            far = _BESIDE_LIFT[0]
    if math.hypot(end[0] - position[0], end[1] - position[1]) > far:
        return
    if abs(end[2] - position[2]) > _AT_FRONTIER:
        return
    for dy in range(-1, 2):
        for dx in range(-1, 2):
            add_bits(
                columns,
                end[0] + 0.25 * dx,
                end[1] + 0.25 * dy,
                in_units(end[2]),
                LOOKED,
            )
    plans.age[i] = 0


@njit(cache=True)
def _find(columns, nodes, movers, prices, plans, i, position, goal, aboard):
    """Search with tight places blocked, then open, then any unknown, then a fresh map."""
    last = np.full(3, 1e9)
    if plans.length[i] > 0:
        copy(plans.points[i, plans.length[i] - 1], last, 3)
    other = abs(goal[2] - position[2]) >= SAME_FLOOR
    for attempt in range(5):
        mask = CLOSED if attempt % 2 else CLOSED | TIGHT
        jumps = ANYWHERE
        if attempt < 2:
            jumps = FRONTIERS if other else NO_JUMPS
        if attempt == 4:
            if not forget_bits(columns, BUMP):
                break
            mask = CLOSED
        query = Query(
            position[0], position[1], position[2], goal[0], goal[1], goal[2], aboard,
            mask, jumps, last[0], last[1], last[2],
        )  # fmt: skip
        count = search(columns, nodes, movers, query, prices, plans.points[i])
        if count > 0:
            plans.length[i] = count
            plans.found[i] = True
            plans.mask[i] = mask
            plans.frontier[i] = plans.points[i, count - 1, 4] == 1.0
            return
    plans.length[i] = 1
    plans.found[i] = False
    plans.frontier[i] = False
    plans.mask[i] = CLOSED
    plans.points[i, 0, 0] = goal[0]
    plans.points[i, 0, 1] = goal[1]
    plans.points[i, 0, 2] = position[2]
    plans.points[i, 0, 3] = -1.0
    plans.points[i, 0, 4] = 0.0


@njit(cache=True)
def _is_line_clear(columns, movers, begin, end, mask, own):
    """Whether a straight walk between two points (3,) crosses no blocked cell, [m].

    Within `own` of its beginning, bits of `mask` do not count.
    """
    far = math.hypot(end[0] - begin[0], end[1] - begin[1])
    n = int(far / 0.1) + 1
    for s in range(1, n + 1):
        g = s / n
        r = cell(begin[1] + (end[1] - begin[1]) * g) & (SIDE - 1)
        c = cell(begin[0] + (end[0] - begin[0]) * g) & (SIDE - 1)
        k = find(columns, r, c, in_units(begin[2] + (end[2] - begin[2]) * g))
        if k == VOID or movers.price[r, c] > 0.0:
            return False
        if k >= 0:
            bits = int(columns.bits[r, c, k])
            if bits & CLOSED or (bits & mask and g * far > own):
                return False
    return True


@njit(cache=True)
def _aim(columns, movers, plans, i, position, of, aboard, reach):
    """Write the waypoint, and the carrier to board now."""
    points = plans.points[i]
    count = plans.length[i]
    begin = 1 if aboard >= 0 and count > 1 else 0
    for j in range(count):
        if points[j, 3] >= 0.0:
            points[j, 3] = of[int(points[j, 3])]
    lift = begin
    while lift < count and points[lift, 3] < 0.0:
        lift += 1
    copy(points[min(begin, count - 1)], plans.waypoint[i], 2)
    for j in range(begin, min(lift, int(reach * PER_METRE))):
        if j > begin + 1 and not _is_line_clear(
            columns, movers, position, points[j], plans.mask[i], _OWN
        ):
            break
        copy(points[j], plans.waypoint[i], 2)
    plans.boards[i] = -1
    if lift < count:
        ring = max(lift - 1, 0)
        away = math.hypot(points[ring, 0] - position[0], points[ring, 1] - position[1])
        if away < _AT_LIFT or lift == 0:
            plans.boards[i] = int(points[lift, 3])


@njit(cache=True)
def plan(envs, columns, tracks, nodes, movers, prices, plans, sensed, steps, waits):
    """Plan for those of `envs` (k,) with an old plan or a changed map.

    Args:
        envs: Their indices; the other arrays are of all N.
        columns: Maps.
        tracks: Remembered movers.
        nodes: Work space of the search.
        movers: Work space for movers.
        prices: Costs of a path.
        plans: Plans (updated).
        sensed: Their positions and goals.
        steps: Environment steps so far, shape (N,).
        waits: Nonzero where an env waited in the last step, shape (N,).
    """
    for i in envs:
        own = map_of(columns, i)
        things = tracks_of(tracks, i)
        position = sensed.position[i]
        goal = sensed.goal[i]
        riding = carrier_under(things, position, ABOARD) >= 0
        _note_bump(own, plans, i, position, goal, waits[i] != 0 or riding)
        _note_frontier(own, plans, i, position)
        plans.age[i] -= 1
        if plans.age[i] >= 0 and plans.length[i] > 0:
            continue
        plans.age[i] = REPLAN - 1
        of = np.full(LIFTS, -1, np.int64)
        aboard = -1
        for enter in range(1, -1, -1):
            lift = enter_movers(own, things, movers, position, steps[i], enter, of)
            if enter:
                aboard = lift
                _find(own, nodes, movers, prices, plans, i, position, goal, aboard)
                _aim(own, movers, plans, i, position, of, aboard, prices.reach)


@njit(cache=True)
def points_ahead(envs, plans, position, ahead, out):
    """Write points of the paths of `envs` to `out`; returns the remaining lengths.

    Args:
        envs: Indices (k,); the other arrays are of all N.
        plans: Plans of all.
        position: Positions of the feet, shape (N, 3), [m].
        ahead: Distances of the points along the paths, ascending, shape (A,), [m].
        out: The points, or the end of a shorter path, shape (N, A, 3), [m].

    Returns:
        Remaining length of each path, shape (N,), [m].
    """
    left = np.zeros(len(position))
    for i in envs:
        points = plans.points[i]
        first = 0
        least = np.inf
        for j in range(min(plans.length[i], _PASSED)):
            off = math.hypot(
                points[j, 0] - position[i, 0], points[j, 1] - position[i, 1]
            )
            if off < least:
                least = off
                first = j
        walked = 0.0
        at = 0
        for j in range(first, plans.length[i]):
            if j > first:
                walked += math.hypot(
                    points[j, 0] - points[j - 1, 0], points[j, 1] - points[j - 1, 1]
                )
            while at < len(ahead) and walked > ahead[at]:
                at += 1
            for a in range(at, len(ahead)):
                copy(points[j], out[i, a], 3)
        left[i] = walked
    return left
