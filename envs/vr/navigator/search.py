"""The search: A* over the columns of a partial map and over lifts, compiled.

Known floors are joined if they differ by less than a step; unknown floor is assumed level with
its entry. If the goal is on another floor, a path may end at a frontier, see `frontiers`.
"""

# ruff: noqa: PLR0912, PLR0915 - the search is one loop

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from ambulo.envs.vr.navigator.columns import (
    BUMP,
    CLOSED,
    DROP,
    FREE,
    HIT,
    LEVELS,
    LOOKED,
    NEAR,
    SAME,
    SEEN,
    SIDE,
    SLOPE,
    TIGHT,
    UNIT,
    VOID,
    WALL,
    cell,
    centre,
    find,
    in_units,
    units,
)
from ambulo.envs.vr.navigator.frontiers import (
    DX,
    DY,
    LENGTH,
    FrontierPrices,
    rest_from,
    rest_from_edge,
    rise_towards,
)
from ambulo.envs.vr.navigator.heap import (
    END,
    FIRST_LIFT,
    LIFTS,
    MOST_EXPANDED,
    PLACES,
    begin,
    place_for,
    pop,
    reach,
)
from ambulo.envs.vr.navigator.search_movers import (
    INSIDE,
    RING,
    cells_around,
    is_open_between,
    stops_at,
)
from ambulo.envs.vr.navigator.tracks import STOPS, in_base

GOAL_RADIUS = 0.8
"""Distance to the goal at which a path ends, [m]."""
SAME_FLOOR = 0.6
"""Height difference within one floor, [m]."""
NO_JUMPS, FRONTIERS, ANYWHERE = 0, 1, 2
"""Allowed ends of a path to another floor: the goal only, frontiers, or any unknown place."""
POINT = 5
"""Numbers of a path's point: x, y, z [m], lift that carries it (-1: none), 1 at a frontier."""
_AT_GOAL = 0.9
"""Distance to the goal within which tight places are open, [m]."""
_OWN = 2
"""Distance to the body within which tight columns are open, and carriers within one more,
[columns]."""
_ALONG = units(0.03)
"""Smallest rise with which a path may leave a slope into the unknown, [UNIT]."""
_BLIND = 3
"""Largest number of unknown columns in a row towards another floor."""
_FLAT = units(SAME_FLOOR)
_TALL = units(1.0)
_AGAIN = 1.25
"""Distance to the last plan's end within which a frontier counts as the same, [m]."""


class Prices(NamedTuple):
    """Costs of parts of a path: factors on their length, unless a unit is given."""

    walls: float = 2.0
    """Where a wall may continue."""
    tight: float = 5.0
    """In tight places on the floor of the goal."""
    tight_away: float = 30.0
    """In tight places on other floors."""
    tight_slope: float = 1.5
    """In tight places on slopes."""
    reach: float = 10.0
    """Largest distance of the waypoint along the path, [m]."""
    board: float = 4.0
    """Waiting for a carrier, [m]."""
    unseen_stop: float = 2.0
    """Leaving a carrier at a height at which it was never seen to stop, [m]."""
    frontiers: FrontierPrices = FrontierPrices()


class Query(NamedTuple):
    """Start, goal and restrictions of a search."""

    x: float
    y: float
    z: float
    """Height of the feet, [m]."""
    goal_x: float
    goal_y: float
    goal_z: float
    """Height of the goal's floor, [m]."""
    aboard: int
    """Lift that carries the body; -1: none."""
    mask: int
    """Bits of blocked columns, except free ones and those near the body or goal."""
    jumps: int
    """`NO_JUMPS`, `FRONTIERS` or `ANYWHERE`."""
    last_x: float
    last_y: float
    last_z: float
    """End of the previous plan, [m]."""


@njit(cache=True)
def _rest(weight, x, y, query):
    """Lower bound of the cost from (x, y) to the goal, [m]."""
    dx = abs(query.goal_x - x)
    dy = abs(query.goal_y - y)
    far = max(dx, dy) + (math.sqrt(2.0) - 1.0) * min(dx, dy)
    # eight directions turn the disc of the goal into an octagon, at most this much nearer
    return weight * max(far - 1.09 * GOAL_RADIUS, 0.0)


@njit(cache=True)
def _leave(columns, nodes, movers, query, prices, weight, lift):
    """Reach the columns around a lift at the heights of its possible stops."""
    row = movers.lifts[lift]
    node = FIRST_LIFT + lift
    x0, x1, y0, y1 = cells_around(row, query.x, query.y)
    known, may = stops_at(row, query.goal_z)
    for stop in range(STOPS + 1):
        extra = 0.0
        if stop == STOPS:
            if known or not may:
                continue
            z = query.goal_z
            extra = prices.unseen_stop
        else:
            z = row[8 + stop]
            if np.isnan(z):
                continue
        h = in_units(z)
        for y in range(y0, y1):
            for x in range(x0, x1):
                px = centre(x)
                py = centre(y)
                if in_base(row, px, py, RING[0]) or not in_base(row, px, py, RING[1]):
                    continue
                r = y & (SIDE - 1)
                c = x & (SIDE - 1)
                k = find(columns, r, c, h)
                floor = h
                if k == VOID:
                    continue
                if k >= 0:
                    if columns.bits[r, c, k] & (HIT | BUMP):
                        continue
                    if columns.bits[r, c, k] & FREE:
                        floor = int(columns.heights[r, c, k])
                else:
                    k = place_for(nodes, r, c, h, SAME)
                    if k < 0:
                        continue
                if not is_open_between(columns, px, py, floor, row):
                    continue
                walk = math.hypot(px - row[0], py - row[1]) + movers.price[r, c]
                reach(
                    nodes, (r * SIDE + c) * PLACES + k, nodes.cost[node] + walk + extra,
                    _rest(weight, px, py, query), node, floor,
                )  # fmt: skip


@njit(cache=True)
def _board(columns, nodes, movers, query, prices, weight, node, x, y, rings):
    """Reach the lifts of `rings` from `node` at (x, y)."""
    h = nodes.height[node]
    for lift in range(LIFTS):
        if not rings & (1 << lift):
            continue
        row = movers.lifts[lift]
        _, may = stops_at(row, h * UNIT)
        if may and is_open_between(columns, x, y, h, row):
            walk = math.hypot(x - row[0], y - row[1])
            reach(
                nodes, FIRST_LIFT + lift, nodes.cost[node] + walk + prices.board,
                _rest(weight, row[0], row[1], query), node, h,
            )  # fmt: skip


@njit(cache=True)
def _end_at_frontier(columns, nodes, query, prices, node, at, x, y):
    """Reach the end from the unknown column `at` (row, column, height) if a frontier."""
    parent = nodes.parent[node]
    before = at
    edge = parent >= FIRST_LIFT or nodes.parent[parent] < 0
    if parent < FIRST_LIFT:
        column = parent // PLACES
        before = (column // SIDE, column % SIDE, int(nodes.height[parent]))
    away = math.hypot(query.goal_x - x, query.goal_y - y)
    z = at[2] * UNIT
    rest = rest_from(
        columns, prices.frontiers, at, before, edge, query.jumps == ANYWHERE,
        away, query.goal_z - z,
    )  # fmt: skip
    if rest < 0.0:
        return
    if math.hypot(query.last_x - x, query.last_y - y) < _AGAIN:  # noqa: SIM102
        if abs(query.last_z - z) < SAME * UNIT:
            rest -= prices.frontiers.same
    reach(nodes, END, nodes.cost[node] + rest, 0.0, node, at[2])


@njit(cache=True)
def search(columns, nodes, movers, query, prices, path):
    """Find the cheapest path and write it to `path` (P, POINT); returns its length, 0: none.

    A longer path is cut at P points; frontiers are only marked at its end.
    """
    half = SIDE // 2
    bx = cell(query.x)
    by = cell(query.y)
    pz = in_units(query.z)
    gz = in_units(query.goal_z)
    weight = 1.0
    if abs(query.goal_z - query.z) > SAME_FLOOR:
        weight = min(prices.frontiers.away, 1.0)
    begin(nodes)
    if query.aboard >= 0:
        reach(nodes, FIRST_LIFT + query.aboard, 0.0, 0.0, -1, pz)
    else:
        r = by & (SIDE - 1)
        c = bx & (SIDE - 1)
        k = find(columns, r, c, pz)
        if k < 0:
            k = place_for(nodes, r, c, pz, SAME)
        reach(nodes, (r * SIDE + c) * PLACES + k, 0.0, 0.0, -1, pz)
    while nodes.state[1] > 0 and nodes.state[2] < MOST_EXPANDED:
        node, key = pop(nodes)
        here = nodes.cost[node]
        if node == END:
            return _write_path(nodes, movers, query, path)
        if node >= FIRST_LIFT:
            row = movers.lifts[node - FIRST_LIFT]
            if key <= here + _rest(weight, row[0], row[1], query) + 1e-3:
                nodes.state[2] += 1
                _leave(columns, nodes, movers, query, prices, weight, node - FIRST_LIFT)
            continue
        k = node % PLACES
        c = node // PLACES % SIDE
        r = node // PLACES // SIDE
        ix = bx + ((c - bx + half) & (SIDE - 1)) - half
        iy = by + ((r - by + half) & (SIDE - 1)) - half
        x = centre(ix)
        y = centre(iy)
        if key > here + _rest(weight, x, y, query) + 1e-3:
            continue
        nodes.state[2] += 1
        h = int(nodes.height[node])
        other = abs(h - gz) >= _FLAT
        if not other and math.hypot(query.goal_x - x, query.goal_y - y) <= GOAL_RADIUS:
            reach(nodes, END, here, 0.0, node, h)
        bits = int(columns.bits[r, c, k]) if k < LEVELS else 0
        if other:
            if query.jumps != NO_JUMPS and not bits & FREE and nodes.parent[node] >= 0:
                _end_at_frontier(columns, nodes, query, prices, node, (r, c, h), x, y)
            rings = movers.near[r, c] & (INSIDE - 1)
            if rings:
                _board(columns, nodes, movers, query, prices, weight, node, x, y, rings)
            blind = max(abs(ix - bx), abs(iy - by)) > _BLIND
            if query.jumps == FRONTIERS and blind and not bits & (FREE | SEEN):
                continue
        for q in range(8):
            jx = ix + DX[q]
            jy = iy + DY[q]
            if abs(jx - bx) >= half - 1 or abs(jy - by) >= half - 1:
                continue
            r2 = jy & (SIDE - 1)
            c2 = jx & (SIDE - 1)
            near = max(abs(jx - bx), abs(jy - by))
            if movers.near[r2, c2] >= INSIDE and near > _OWN + 1:
                continue
            k2 = find(columns, r2, c2, h)
            if k2 == VOID:
                continue
            flags = int(columns.bits[r2, c2, k2]) if k2 >= 0 else 0
            if other and query.jumps != NO_JUMPS:  # noqa: SIM102
                if flags & (DROP | HIT | LOOKED) == DROP:
                    away = math.hypot(query.goal_x - x, query.goal_y - y)
                    climb = query.goal_z - h * UNIT
                    rest = rest_from_edge(prices.frontiers, away, climb)
                    reach(nodes, END, here + rest, 0.0, node, h)
            if bits & SLOPE and bits & FREE and not flags & FREE:  # noqa: SIM102
                if not abs(rise_towards(columns, r, c, h, q)) > _ALONG:
                    continue
            h2 = h
            if flags & FREE:
                h2 = int(columns.heights[r2, c2, k2])
            x2 = centre(jx)
            y2 = centre(jy)
            if flags & (query.mask | BUMP):
                own = near <= _OWN and abs(h2 - pz) < _FLAT
                goal = max(abs(x2 - query.goal_x), abs(y2 - query.goal_y)) <= _AT_GOAL
                goal = goal and abs(h2 - gz) < _FLAT
                if flags & CLOSED or not (goal or own or flags & FREE):
                    continue
            if k2 < 0:
                k2 = place_for(nodes, r2, c2, h, SAME)
                if k2 < 0:
                    continue
            price = LENGTH[q]
            if flags & (WALL | FREE) == WALL:
                price *= prices.walls
            if flags & (NEAR | TIGHT):
                if flags & SLOPE:
                    price *= prices.tight_slope
                elif abs(h2 - gz) < _FLAT:
                    price *= prices.tight
                else:
                    price *= prices.tight_away
            if abs(h2 - pz) < _TALL:
                price += movers.price[r2, c2]
            reach(
                nodes, (r2 * SIDE + c2) * PLACES + k2, here + price,
                _rest(weight, x2, y2, query), node, h2,
            )  # fmt: skip
    return 0


@njit(cache=True)
def _write_path(nodes, movers, query, path):
    """Write the points of the path to `path`, the goal last; returns their number."""
    half = SIDE // 2
    bx = cell(query.x)
    by = cell(query.y)
    last = nodes.parent[END]
    count = 0
    node = last
    while node >= 0:
        count += 1
        node = nodes.parent[node]
    at = count
    node = last
    while node >= 0:
        at -= 1
        if at < path.shape[0]:
            z = nodes.height[node] * UNIT
            if node >= FIRST_LIFT:
                row = movers.lifts[node - FIRST_LIFT]
                path[at, 0] = row[0]
                path[at, 1] = row[1]
                path[at, 3] = node - FIRST_LIFT
            else:
                c = node // PLACES % SIDE
                r = node // PLACES // SIDE
                path[at, 0] = centre(bx + ((c - bx + half) & (SIDE - 1)) - half)
                path[at, 1] = centre(by + ((r - by + half) & (SIDE - 1)) - half)
                path[at, 3] = -1.0
            path[at, 2] = z
            path[at, 4] = 0.0
        node = nodes.parent[node]
    if count > path.shape[0]:
        return path.shape[0]
    if abs(nodes.height[last] * UNIT - query.goal_z) >= SAME_FLOOR:
        path[count - 1, 4] = 1.0
    elif count < path.shape[0]:
        path[count, 0] = query.goal_x
        path[count, 1] = query.goal_y
        path[count, 2] = query.goal_z
        path[count, 3] = -1.0
        path[count, 4] = 0.0
        count += 1
    return count
