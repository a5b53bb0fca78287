"""From plan and movers to a velocity: walking, waiting, riding, evading. Compiled."""

# ruff: noqa: PLR0912, PLR0915 - the decision is one function, in the order of its rules

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from ambulo.configs.arrays import Bools, Floats, Ints
from ambulo.envs.vr.geometry.solid_ray_kernels import MOVER
from ambulo.envs.vr.navigator.columns import copy
from ambulo.envs.vr.navigator.evading import (
    HORIZON,
    evasive,
    least_gap,
    meets_on_path,
)
from ambulo.envs.vr.navigator.tracks import (
    AT_REST,
    RECENT,
    TRACKS,
    carrier_under,
    gap_at,
    is_carrier,
    is_ridden,
    tracks_of,
)

WALK, RIDE, BOARD, STAND, EVADE = 0, 1, 2, 3, 4
"""States: walking along the path, riding a carrier, waiting for a carrier, letting a mover
pass, evading."""
_LEVEL = 0.24
"""Largest step onto a carrier or off it, [m]."""
_MIDDLE = 0.3
"""Distance from the centre of a carrier within which a rider stays, [m]."""
_FRESH = 5
"""Environment steps since a carrier's arrival within which it is boarded."""
_LEFT = 8
"""Remaining steps of its rest with which an empty carrier is boarded."""
_CLEAR = 0.75
"""Distance of waiting bodies from an occupied carrier, [m]."""
_ABOARD = 0.12
_SLOW = 0.7
_NEARLY = 4.0
"""Gain of the speed towards the waiting place, [1/s]."""
_WAY = 14
"""Number of path points behind the waypoint that are checked for movers."""
_BRAKE = (0.45, 0.27, 5.0)
"""Below this length of a ray, the speed into it is at most the third number times its excess
over the second one, [m], [m], [1/s]."""


class Steering(NamedTuple):
    """Present motion of N envs."""

    velocity: Floats
    """Velocity, shape (N, 2), [m/s]."""
    look: Floats
    """Point to look at, shape (N, 2), [m]."""
    state: Ints
    """`WALK`, `RIDE`, `BOARD`, `STAND` or `EVADE`, shape (N,)."""
    boarding: Bools
    """Mask of envs on their way onto a carrier, shape (N,)."""

    @classmethod
    def empty(cls, num_envs: int) -> Steering:
        """Initial state of `num_envs` envs, standing."""
        n = num_envs
        return cls(
            np.zeros((n, 2)), np.zeros((n, 2)), np.zeros(n, np.int64),
            np.zeros(n, np.bool_),
        )  # fmt: skip

    def forget(self, envs: Ints) -> None:
        """Clear the state of `envs` (k,)."""
        self.state[envs] = WALK
        self.boarding[envs] = False


@njit(cache=True)
def _may_board(tracks, m, z, step, was):
    """Whether carrier `m` is level with the feet and stays; `was`: the last result."""
    level = abs(tracks.rows[m, 7] - z) <= _LEVEL
    rests = abs(tracks.velocity[m, 2]) < AT_REST and step - tracks.seen[m] <= RECENT
    if not (level and rests):
        return False
    if was or tracks.rest_from[m] < 0:
        return was
    since = step - tracks.rest_from[m]
    stays = since <= _FRESH or (tracks.rest[m] > 0 and since + _LEFT <= tracks.rest[m])
    return stays and not is_ridden(tracks, m, step)


@njit(cache=True)
def _make_way(tracks, m, x, y, target):
    """Write a waiting position before carrier `m`, from (x, y), to `target` (2,), [m]."""
    dx = x - tracks.rows[m, 0]
    dy = y - tracks.rows[m, 1]
    far = max(math.hypot(dx, dy), 1e-6)
    gap = gap_at(tracks.rows[m], tracks.velocity[m], 0.0, x, y)
    back = max(_CLEAR - gap, 0.0)
    target[0] = x + dx / far * back
    target[1] = y + dy / far * back


@njit(cache=True)
def _way_ahead(plans, i, target, straight, way):
    """Write the waypoint and the path behind it to `way` (W, 2); how many points."""
    copy(target, way[0], 2)
    if straight:
        return 1
    points = plans.points[i]
    best = np.inf
    first = 0
    for j in range(min(plans.length[i], 60)):
        d = math.hypot(points[j, 0] - target[0], points[j, 1] - target[1])
        if d < best:
            best = d
            first = j
    n = 1
    for j in range(first + 1, min(plans.length[i], first + _WAY)):
        if points[j, 3] >= 0.0:
            break
        copy(points[j], way[n], 2)
        n += 1
    return n


@njit(cache=True)
def _brake(velocity, angle, rays, kinds):
    """Remove from `velocity` (2,) the components into near static obstacles."""
    near, stop, gain = _BRAKE
    for r in range(len(rays)):
        if rays[r] < near and kinds[r] != MOVER:
            heading = angle + 2.0 * math.pi * r / len(rays)
            cx = math.cos(heading)
            sy = math.sin(heading)
            over = velocity[0] * cx + velocity[1] * sy
            over -= max(rays[r] - stop, 0.0) * gain
            if over > 0.0:
                velocity[0] -= over * cx
                velocity[1] -= over * sy


@njit(cache=True)
def steer(envs, tracks, plans, steering, sensed, steps, pace):
    """Write the present motion of `envs` (k,) to `steering`.

    Args:
        envs: Their indices; the other arrays are of all N.
        tracks: Remembered movers.
        plans: Their plans.
        steering: Output.
        sensed: Their readings.
        steps: Environment steps so far, shape (N,).
        pace: Walking speed, [m/s].
    """
    for i in envs:
        _steer(
            tracks_of(tracks, i), plans, steering, i, sensed.position[i], steps[i], pace,
            sensed.angle[i], sensed.rays[i], sensed.kinds[i],
        )  # fmt: skip


@njit(cache=True)
def _steer(tracks, plans, steering, i, position, step, pace, angle, rays, kinds):
    """Write the present motion of env `i`."""
    px, py, pz = position[0], position[1], position[2]
    on = carrier_under(tracks, position, _ABOARD)
    boards = plans.boards[i]
    if boards >= 0 and not is_carrier(tracks, boards):  # forgotten since
        boards = plans.boards[i] = -1
        plans.age[i] = 0
    target = plans.waypoint[i].copy()
    look = steering.look[i]
    speed = pace
    state = WALK
    if on >= 0:
        steering.boarding[i] = False
        points = plans.points[i]
        out = points[1, 2] if plans.length[i] > 1 and points[0, 3] == on else pz
        level = abs(tracks.rows[on, 7] - out) <= _LEVEL and on != boards
        if not level or abs(tracks.velocity[on, 2]) >= AT_REST:
            state = RIDE
            copy(tracks.rows[on], target, 2)
            middle = math.hypot(target[0] - px, target[1] - py) < _MIDDLE
            speed = 0.0 if middle else _SLOW
    elif boards >= 0:
        was = steering.boarding[i]
        steering.boarding[i] = _may_board(tracks, boards, pz, step, was)
        if steering.boarding[i]:
            copy(tracks.rows[boards], target, 2)
        else:
            state = BOARD
            if is_ridden(tracks, boards, step):
                _make_way(tracks, boards, px, py, target)
            away = math.hypot(target[0] - px, target[1] - py)
            speed = 0.0 if away < 0.1 else min(pace, 3.0 * away)
    else:
        steering.boarding[i] = False
    dx = target[0] - px
    dy = target[1] - py
    far = math.hypot(dx, dy)
    if state != WALK:
        speed = min(speed, _NEARLY * far)
    copy(target, look, 2)
    if state == RIDE and speed == 0.0:
        copy(position, look, 2)
    elif state == BOARD:
        copy(tracks.rows[boards], look, 2)
    velocity = steering.velocity[i]
    velocity[:] = 0.0
    if far > 1e-6:
        velocity[0] = dx / far * speed
        velocity[1] = dy / far * speed
    use = np.zeros(TRACKS, np.bool_)
    some = False
    for m in range(TRACKS):
        own = m == on or (steering.boarding[i] and m == boards)
        if tracks.seen[m] >= 0 and step - tracks.seen[m] <= RECENT and not own:
            use[m] = True
            some = True
    if some:
        way = np.empty((_WAY + 1, 2))
        straight = state != WALK or boards >= 0 or on >= 0
        count = _way_ahead(plans, i, target, straight, way)
        meets = meets_on_path(tracks, use, px, py, pz, way, count, max(speed, 0.01))
        _, hit = least_gap(tracks, use, px, py, pz, 0.0, 0.0, 0.0)
        if meets < HORIZON or (speed == 0.0 and hit < HORIZON):
            if hit >= HORIZON:
                velocity[:] = 0.0
                state = STAND
            else:
                towards = (dx, dy)
                velocity[0], velocity[1] = evasive(
                    tracks, use, px, py, pz, towards, angle, rays
                )
                state = EVADE
    _brake(velocity, angle, rays, kinds)
    steering.state[i] = state
