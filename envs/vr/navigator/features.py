"""Observations of an agent's navigator: the path ahead, reason to wait, near obstacles."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from ambulo.configs.arrays import Floats, Ints, Singles
from ambulo.configs.vr_learning import VELOCITY_SCALE
from ambulo.envs.vr.geometry.solid_kernels import BOX, nearest_of
from ambulo.envs.vr.navigator.columns import (
    CLOSED,
    PER_METRE,
    SIDE,
    bits_at,
    cell,
    centre,
    in_units,
    map_of,
)
from ambulo.envs.vr.navigator.navigator import Navigator, Sensed
from ambulo.envs.vr.navigator.planning import points_ahead
from ambulo.envs.vr.navigator.steering import EVADE, WALK
from ambulo.envs.vr.navigator.tracks import carrier_under, tracks_of

AHEAD = (1.0, 2.0, 4.0)
"""Distances of the observed points along the path, [m]."""
SECTORS, NEAR_RANGE = 16, 2.0
"""Number of directions of the nearest remembered obstacle, and its range, [m]."""
THINGS = 3
"""Largest number of observed movers."""
_MOVER = 7
"""Numbers per mover."""
_WAITS = EVADE + 1
_METRES, _HEIGHTS, _SPEEDS, _LENGTH = 0.2, 0.5, VELOCITY_SCALE, 0.05
"""Factors on positions [1/m], heights [1/m], velocities [s/m] and the length of the path
[1/m]."""
_LONGEST = 3.0
_UNDER = 0.15
"""Distance under the feet within which a carrier carries the body, [m]."""

NEAR_FIELD = (
    "near",
    SECTORS,
    "1",
    f"distance to the nearest remembered obstacle or edge / {NEAR_RANGE} m in {SECTORS} "
    "directions; 1: farther, or none",
)
ROUTE_FIELDS: tuple[tuple[str, int, str, str], ...] = (
    ("waypoint", 2, "5 m", "present target (forward, left), see `waypoints`"),
    (
        "route_points", 3 * len(AHEAD), "5 m, 2 m",
        f"points {AHEAD} m along the planned path (forward, left, up)",
    ),
    ("route_length", 1, "20 m", "length of the planned path, at most 3"),
    (
        "route_found", 2, "1",
        "1 if the map has a path; 1 if it ends at a frontier of the map, on another "
        "floor than the goal's",
    ),
    (
        "route_state", _WAITS, "1",
        "one-hot: walks, rides, waits to board, gives way, evades",
    ),
    ("route_velocity", 2, "2 m/s", "velocity of the planner (forward, left)"),
    (
        "movers", _MOVER * THINGS, "5 m, 2 m, 2 m/s",
        f"the {THINGS} nearest visible movers, nearest first: 1, the nearest point "
        "(forward, left), the top above the feet, velocity (forward, left, up); zeros: none",
    ),
    (
        "carrier", 5, "5 m, 2 m, 2 m/s",
        "carrier of the body, or to board: 1, its centre (forward, left), its top "
        "above the feet, its vertical velocity; zeros: none",
    ),
)  # fmt: skip
"""Name, size, unit and meaning of the navigator's further parts of the observation."""
ROUTE_SIZE = sum(row[1] for row in ROUTE_FIELDS)


def observe_near(
    navigator: Navigator, envs: Ints, position: Floats, yaw: Floats, out: Singles
) -> None:
    """Write the numbers of `NEAR_FIELD` of `envs` (k,).

    Args:
        navigator: Navigator of N envs.
        envs: Indices of envs; the other arrays are of all N.
        position: Positions of the feet, in the fixed frame of the navigator, shape (N, 3), [m].
        yaw: Headings in that frame, shape (N,), [rad].
        out: Output, shape (N, SECTORS).
    """
    _write_near(envs, navigator.columns, navigator.above_start(position), yaw, out)


def observe_route(
    navigator: Navigator, envs: Ints, sensed: Sensed, yaw: Floats, out: Singles
) -> None:
    """Write the numbers of `ROUTE_FIELDS` of `envs` (k,).

    Args:
        navigator: Navigator of N envs, already updated with `sensed`.
        envs: Indices of envs; the other arrays are of all N.
        sensed: Readings of the envs.
        yaw: Headings in the same frame, shape (N,), [rad].
        out: Output, shape (N, ROUTE_SIZE).
    """
    position = navigator.above_start(sensed.position)
    points, left = points_on_path(navigator, envs, position)
    _write_route(
        envs, navigator.tracks, navigator.plans, navigator.steering, points, left,
        waypoints(navigator, position), position, sensed.position, sensed.movers, yaw, out,
    )  # fmt: skip


def waypoints(navigator: Navigator, position: Floats) -> Floats:
    """Present targets of the envs, shape (N, 2), [m].

    The furthest point of the path in a clear line, the centre of a carrier to board, or for a
    waiting or evading env the point that its velocity reaches in a second.
    """
    plans, steering = navigator.plans, navigator.steering
    rows = navigator.tracks.rows[np.arange(len(position)), plans.boards, :2]
    walks = np.where(steering.boarding[:, None], rows, plans.waypoint)
    waits = position[:, :2] + steering.velocity
    return np.where((steering.state == WALK)[:, None], walks, waits)


def points_on_path(
    navigator: Navigator, envs: Ints, position: Floats, ahead: tuple[float, ...] = AHEAD
) -> tuple[Floats, Floats]:
    """Points `ahead` [m] on the paths of `envs` (k,), and the remaining lengths, [m].

    `position` (N, 3) and the points (N, A, 3) are relative to the start's height, as
    `Navigator.above_start`, [m]; the remaining lengths have shape (N,).
    """
    points = np.zeros((len(position), len(ahead), 3))
    left = points_ahead(envs, navigator.plans, position, np.array(ahead), points)
    return points, left


@njit(cache=True)
def _write_near(envs, columns, position, yaw, out):
    cells = int(NEAR_RANGE * PER_METRE)
    for i in envs:
        own = map_of(columns, i)
        for k in range(SECTORS):
            out[i, k] = 1.0
        x = position[i, 0]
        y = position[i, 1]
        h = in_units(position[i, 2])
        column = cell(x)
        row = cell(y)
        for r in range(row - cells, row + cells + 1):
            for c in range(column - cells, column + cells + 1):
                if not bits_at(own, r & (SIDE - 1), c & (SIDE - 1), h) & CLOSED:
                    continue
                dx = centre(c) - x
                dy = centre(r) - y
                angle = (math.atan2(dy, dx) - yaw[i]) * SECTORS / (2.0 * math.pi)
                k = int(math.floor(angle + 0.5)) % SECTORS  # noqa: RUF046 - for numba
                out[i, k] = min(out[i, k], math.hypot(dx, dy) / NEAR_RANGE)


@njit(cache=True)
def _put(row, at, frame, scale, x, y):
    """Write a fixed-frame vector in a head's frame (cos, sin); returns the next column."""
    cos, sin = frame
    row[at] = scale * (cos * x + sin * y)
    row[at + 1] = scale * (cos * y - sin * x)
    return at + 2


@njit(cache=True)
def _write_route(
    envs, tracks, plans, steering, points, left, ways, position, feet, movers, yaw, out
):
    for i in envs:
        head = (math.cos(yaw[i]), math.sin(yaw[i]))
        row = out[i]
        row[:] = 0.0
        x, y, z = position[i]
        way = ways[i]
        at = _put(row, 0, head, _METRES, way[0] - x, way[1] - y)
        for k in range(points.shape[1]):
            end = points[i, k]
            at = _put(row, at, head, _METRES, end[0] - x, end[1] - y) + 1
            row[at - 1] = _HEIGHTS * (end[2] - z)
        row[at] = min(_LENGTH * left[i], _LONGEST)
        row[at + 1] = 1.0 if plans.found[i] else 0.0
        row[at + 2] = 1.0 if plans.frontier[i] else 0.0
        at += 3
        row[at + steering.state[i]] = 1.0
        speed = steering.velocity[i]
        at = _put(row, at + _WAITS, head, _SPEEDS, speed[0], speed[1])
        for k in range(min(movers.shape[1], THINGS)):
            thing = movers[i, k]
            if thing[8] == 0.0:
                break
            to = at + k * _MOVER
            dx, dy = nearest_of(x, y, thing, thing[8] != BOX)
            row[to] = 1.0
            _put(row, to + 1, head, _METRES, -dx, -dy)
            row[to + 3] = _HEIGHTS * (thing[7] - feet[i, 2])
            _put(row, to + 4, head, _SPEEDS, thing[9], thing[10])
            row[to + 6] = _SPEEDS * thing[11]
        at += THINGS * _MOVER
        things = tracks_of(tracks, i)
        m = carrier_under(things, position[i], _UNDER)
        if m < 0:
            m = plans.boards[i]
        if m >= 0:
            lift = things.rows[m]
            row[at] = 1.0
            _put(row, at + 1, head, _METRES, lift[0] - x, lift[1] - y)
            row[at + 3] = _HEIGHTS * (lift[7] - z)
            row[at + 4] = _SPEEDS * things.velocity[m, 2]
