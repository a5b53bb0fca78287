"""An agent's memory of movers: their last poses, motions and stops.

Movers have no identity: a visible one is matched to the nearest remembered one of its kind and
size, after predicted motion. Compiled.
"""

# ruff: noqa: PLR0912 - compiled loops take their arrays one by one

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from ambulo.configs.arrays import Bools, Floats, Ints
from ambulo.envs.vr.geometry.solid_kernels import BOX, PERSON
from ambulo.envs.vr.navigator.columns import copy

TRACKS = 12
"""Largest number of remembered movers."""
STOPS = 2
"""Largest number of remembered stops of a mover, by height."""
RECENT = 5
"""Environment steps for which an unseen mover still counts."""
AT_REST = 0.05
"""Vertical speed below which a carrier is at rest, [m/s]."""
_STILL = 0.02
"""Sum of velocities and yaw rate below which a mover is at rest."""
_SIZE = 0.03
"""Size difference within which two sightings can be the same mover, [m]."""
_NEAR = 0.4
"""Largest distance of a sighting from the prediction, [m]."""
_ASTRAY = 1.5
"""Increase of that distance per second since the last sighting, [m/s]."""
_FARTHEST = 6.0
"""Its upper limit, [m]."""
_AHEAD = 1.0
"""Time for which a velocity predicts the position, [s]."""
_STEADY = 1e-6
"""Yaw rate below which a mover goes straight, [rad/s]."""
_UP = 0.25
"""Weight of a metre of height in distances: lifts go up and down."""
_FORGET = 30
"""Environment steps after which a person is forgotten."""
_WIDE, _THIN = 0.4, 0.6
"""Smallest half size and largest thickness of a carrier, [m]."""
_ON = 0.3
"""Height difference within which a body stands on a carrier, [m]."""
_SAME_STOP = 0.3
"""Height difference within which stops count as the same, [m]."""


class Tracks(NamedTuple):
    """Movers remembered by one env, or by N with a leading axis."""

    rows: Floats
    """Last seen rows of `solid_kernels`, shape (TRACKS, 9)."""
    velocity: Floats
    """Last seen velocity x, y, z [m/s] and yaw rate [rad/s], shape (TRACKS, 4)."""
    seen: Ints
    """Environment step of the last sighting, -1: unused, shape (TRACKS,)."""
    stops: Floats
    """Heights of its top at its stops, NaN: none, shape (TRACKS, STOPS), [m]."""
    rest_from: Ints
    """Environment step in which it was seen to come to rest, -1: unknown or moving, shape
    (TRACKS,)."""
    rest: Ints
    """Length of its last complete rest, 0: unknown, shape (TRACKS,), [environment steps]."""
    carries: Bools
    """Whether bodies can ride on it, shape (TRACKS,)."""

    @classmethod
    def empty(cls, num_envs: int) -> Tracks:
        """Empty memories of `num_envs` envs."""
        n, m = num_envs, TRACKS
        return cls(
            np.zeros((n, m, 9)), np.zeros((n, m, 4)), np.full((n, m), -1, np.int64),
            np.full((n, m, STOPS), np.nan), np.full((n, m), -1, np.int64),
            np.zeros((n, m), np.int64), np.zeros((n, m), np.bool_),
        )  # fmt: skip

    def forget(self, envs: Ints) -> None:
        """Clear the memories of `envs` (k,)."""
        self.seen[envs] = -1


@njit(cache=True)
def tracks_of(tracks, i):
    """The memory of env `i` (views)."""
    return Tracks(
        tracks.rows[i], tracks.velocity[i], tracks.seen[i], tracks.stops[i],
        tracks.rest_from[i], tracks.rest[i], tracks.carries[i],
    )  # fmt: skip


@njit(cache=True)
def in_base(row, x, y, grow):
    """Whether (x, y) is in the base of a mover that is enlarged by `grow` all around, [m]."""
    dx = x - row[0]
    dy = y - row[1]
    u = abs(row[4] * dx + row[5] * dy)
    v = abs(-row[5] * dx + row[4] * dy)
    return u <= row[2] + grow and v <= row[3] + grow


@njit(cache=True)
def is_over(movers, x, y, z):
    """Whether a floor at (x, y, z) would be on, in or right under a visible mover."""
    for k in range(movers.shape[0]):
        row = movers[k]
        over = row[8] != 0.0 and row[6] < z + 1.0 and row[7] > z - 0.3
        if over and in_base(row, x, y, 0.0):
            return True
    return False


@njit(cache=True)
def pose_at(row, velocity, t):
    """x, y, cos and sin of the yaw of a mover after `t` seconds, at constant rates.

    A rotating mover turns about its point at rest, as a hinged door does.
    """
    w = velocity[3]
    if abs(w) < _STEADY:
        return row[0] + velocity[0] * t, row[1] + velocity[1] * t, row[4], row[5]
    cos = math.cos(w * t)
    sin = math.sin(w * t)
    ox = velocity[1] / w  # from the hinge to the centre
    oy = -velocity[0] / w
    return (
        row[0] - ox + ox * cos - oy * sin,
        row[1] - oy + ox * sin + oy * cos,
        row[4] * cos - row[5] * sin,
        row[5] * cos + row[4] * sin,
    )


@njit(cache=True)
def gap_at(row, velocity, t, x, y):
    """Distance from (x, y) to the base of a mover after `t` seconds, [m]."""
    px, py, c, s = pose_at(row, velocity, t)
    dx = x - px
    dy = y - py
    if row[8] != BOX:
        return max(math.hypot(dx, dy) - row[2], 0.0)
    u = c * dx + s * dy
    v = -s * dx + c * dy
    u -= min(max(u, -row[2]), row[2])
    v -= min(max(v, -row[3]), row[3])
    return math.hypot(u, v)


@njit(cache=True)
def _unlike(tracks, m, thing, step, dt):
    """Distance of `thing` from the prediction of track `m`; inf: a different mover."""
    row = tracks.rows[m]
    if tracks.seen[m] < 0 or row[8] != thing[8]:
        return np.inf
    thick = abs((thing[7] - thing[6]) - (row[7] - row[6]))
    if max(abs(thing[2] - row[2]), abs(thing[3] - row[3]), thick) > _SIZE:
        return np.inf
    t = (step - tracks.seen[m]) * dt
    ahead = min(t, _AHEAD)
    x, y, _, _ = pose_at(row, tracks.velocity[m], ahead)
    up = abs(row[6] + tracks.velocity[m, 2] * ahead - thing[6])
    off = math.hypot(thing[0] - x, thing[1] - y)
    if off > min(_NEAR + _ASTRAY * max(t - dt, 0.0), _FARTHEST):
        return np.inf
    return off + _UP * up


@njit(cache=True)
def _oldest(tracks):
    """The track to replace for a new mover: a free one, or the one unseen for longest.

    Carriers are kept longest.
    """
    best = 0
    for m in range(1, TRACKS):
        old = tracks.seen[best] < 0, not tracks.carries[best], -tracks.seen[best]
        if (tracks.seen[m] < 0, not tracks.carries[m], -tracks.seen[m]) > old:
            best = m
    return best


@njit(cache=True)
def track(tracks, things, step, dt):
    """Update the memory with the visible `things` (K, 13) of `step`, every `dt` seconds."""
    for m in range(TRACKS):
        if tracks.seen[m] >= 0 and tracks.rows[m, 8] == PERSON:  # noqa: SIM102
            if step - tracks.seen[m] > _FORGET:
                tracks.seen[m] = -1
    left = things.shape[0]
    taken = np.zeros(left, np.bool_)
    used = np.zeros(TRACKS, np.bool_)
    for k in range(left):
        taken[k] = things[k, 8] == 0.0
    while True:
        least = np.inf
        who = -1
        where = -1
        for k in range(left):
            for m in range(TRACKS):
                if not taken[k] and not used[m]:
                    off = _unlike(tracks, m, things[k], step, dt)
                    if off < least:
                        least, who, where = off, k, m
        if who < 0:
            break
        taken[who] = True
        used[where] = True
        _follow(tracks, where, things[who], step)
    for k in range(left):
        if not taken[k]:
            m = _oldest(tracks)
            tracks.seen[m] = -1
            for s in range(STOPS):
                tracks.stops[m, s] = np.nan
            tracks.rest[m] = 0
            tracks.rest_from[m] = -1
            _follow(tracks, m, things[k], step)
    for m in range(TRACKS):
        if tracks.seen[m] != step:
            tracks.rest_from[m] = -1


@njit(cache=True)
def _follow(tracks, m, thing, step):
    """Update track `m` with a sighting, and infer its stops from its motion."""
    rate = tracks.velocity[m]
    moved = abs(rate[0]) + abs(rate[1]) + abs(rate[2]) + abs(rate[3]) > _STILL
    fresh = tracks.seen[m] >= 0 and tracks.seen[m] == step - 1
    copy(thing, tracks.rows[m], 9)
    copy(thing[9:], rate, 4)
    moves = abs(rate[0]) + abs(rate[1]) + abs(rate[2]) + abs(rate[3]) > _STILL
    if not moves and moved and fresh:
        tracks.rest_from[m] = step
    if moves and not moved and fresh and tracks.rest_from[m] >= 0:
        tracks.rest[m] = step - tracks.rest_from[m]
    if moves:
        tracks.rest_from[m] = -1
    tracks.seen[m] = step
    thick = thing[7] - thing[6]
    wide = min(thing[2], thing[3]) >= _WIDE
    tracks.carries[m] = thing[8] == BOX and wide and thick <= _THIN
    if tracks.carries[m] and not moves and step > 0:
        for s in range(STOPS):
            if np.isnan(tracks.stops[m, s]):
                tracks.stops[m, s] = thing[7]
                break
            if abs(tracks.stops[m, s] - thing[7]) < _SAME_STOP:
                break


@njit(cache=True)
def is_carrier(tracks, m):
    """Whether track `m` is a carrier."""
    return tracks.seen[m] >= 0 and tracks.carries[m]


@njit(cache=True)
def carrier_under(tracks, position, near):
    """The track on which feet (3,) stand, within `near` of its top; -1: none."""
    for m in range(TRACKS):
        row = tracks.rows[m]
        if is_carrier(tracks, m):
            inside = in_base(row, position[0], position[1], 0.0)
            if inside and abs(row[7] - position[2]) < near:
                return m
    return -1


@njit(cache=True)
def is_ridden(tracks, m, step):
    """Whether a person is seen on carrier `m`."""
    row = tracks.rows[m]
    for k in range(TRACKS):
        other = tracks.rows[k]
        if tracks.seen[k] < 0 or step - tracks.seen[k] > RECENT or other[8] != PERSON:
            continue
        if in_base(row, other[0], other[1], 0.0) and abs(row[7] - other[6]) < _ON:
            return True
    return False
