"""Compiled paths of movers: their poses at a time, as rows of `solid_kernels`."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ambulo.configs.arrays import Bools, Floats, Ints
from ambulo.envs.vr.contract import BODY_HEIGHT, BODY_RADIUS
from ambulo.envs.vr.geometry.solid_kernels import BOX

ONCE, LOOP, BACK_AND_FORTH = 0.0, 1.0, 2.0
"""Behaviour at the end of a path."""
RANDOM = -1.0
"""Marks a phase that is drawn for every episode."""

_RADIUS = BODY_RADIUS
_TALL = BODY_HEIGHT
_BOX = BOX
_LOOP = LOOP
_BACK = BACK_AND_FORTH


class MovingLevels(NamedTuple):
    """Movers and crowds in the levels of S slots."""

    counts: Ints
    """Movers on paths and people of a crowd, shape (S, 2)."""
    first: Ints
    """Start of the movers of each slot, shape (S + 1,)."""
    things: Floats
    """Movers, see `place_on_path`, shape (T, 9)."""
    keys: Floats
    """Keyframes of their paths: time, x, y, z, yaw, shape (K, 5)."""
    ways: Any
    """The crowds' path directions, see `PackedWays.arrays`."""


class MovingState(NamedTuple):
    """Movers in the levels of N envs, in M rows of `solid_kernels`; see `MovingThings`.

    The rows of an env are the movers on paths of its level, then its crowd, then the other
    agents there. Random numbers are those of the first env of a level.
    """

    before: Floats
    """Rows at the start of the step, shape (N, M, 9)."""
    after: Floats
    """Rows at its end, shape (N, M, 9)."""
    used: Ints
    """Number of used rows of each env, shape (N,)."""
    leader: Ints
    """First env of those that share a level, shape (N,)."""
    mates: Ints
    """The other envs in each env's level, shape (N, A)."""
    present: Bools
    """Mask of the envs that are in their level and visible there, shape (N,)."""
    rng: NDArray[np.uint64]
    """Generators, shape (N,)."""
    clock: Ints
    """Steps since movers on paths began, shape (N,)."""
    phases: Floats
    """Phases of movers on paths,"""
    crowd: Floats
    """Crowds, columns of `crowd_kernels`, shape (N, P, 8)."""


@njit(cache=True)
def seeded(seed):
    """A generator state of `uniform` from any integer."""
    z = np.uint64(seed) + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return z if z != np.uint64(0) else np.uint64(1)


@njit(cache=True)
def uniform(state, i):
    """The next number in [0, 1) of the generator `state[i]` (xorshift64*)."""
    x = state[i]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    state[i] = x
    mixed = x * np.uint64(2685821657736338717)
    return np.float64(mixed >> np.uint64(11)) / 9007199254740992.0


@njit(cache=True)
def place_on_path(thing, keys, time, row):
    """Write the pose of a mover at `time` to `row` (9,).

    `thing` (9,): half sizes a, b, c, kind, first and last keyframe, loop, phase, period.
    """
    first = int(thing[4])
    last = int(thing[5]) - 1
    end = keys[last, 0]
    t = time
    if end <= 0.0:
        t = 0.0
    elif thing[6] == _LOOP:
        t = time % end
    elif thing[6] == _BACK:
        t = time % (2.0 * end)
        t = 2.0 * end - t if t > end else t
    else:
        t = min(time, end)
    k = first
    while k < last - 1 and keys[k + 1, 0] <= t:
        k += 1
    share = 0.0
    after = min(k + 1, last)
    if after > k:
        share = (t - keys[k, 0]) / (keys[after, 0] - keys[k, 0])
    row[0] = keys[k, 1] + share * (keys[after, 1] - keys[k, 1])
    row[1] = keys[k, 2] + share * (keys[after, 2] - keys[k, 2])
    z = keys[k, 3] + share * (keys[after, 3] - keys[k, 3])
    row[2] = thing[0]
    row[3] = thing[1]
    row[8] = thing[3]
    if thing[3] == _BOX:
        yaw = keys[k, 4] + share * (keys[after, 4] - keys[k, 4])
        row[4] = math.cos(yaw)
        row[5] = math.sin(yaw)
        row[6] = z - thing[2]
        row[7] = z + thing[2]
    else:
        row[4] = 1.0
        row[5] = 0.0
        row[6] = z
        row[7] = z + _TALL


@njit(cache=True)
def draw_phases(things, first, last, phases, rng, i):
    """Draw the phases of movers `first` to `last` - 1 into `phases` [s]."""
    for m in range(first, last):
        phase = things[m, 7]
        phases[m - first] = phase
        if phase < 0.0:
            phases[m - first] = uniform(rng, i) * things[m, 8]


@njit(cache=True)
def place_things(things, first, last, keys, phases, time, rows):
    """Write movers `first` to `last` - 1 at `time` since the start to `rows` (M, 9)."""
    for m in range(first, last):
        place_on_path(things[m], keys, time + phases[m - first], rows[m - first])


@njit(cache=True, inline="always")
def person_row(x, y, z, radius, row):
    """Write a person whose feet are at (x, y, z) to `row` (9,)."""
    row[0] = x
    row[1] = y
    row[2] = radius
    row[3] = radius
    row[4] = 1.0
    row[5] = 0.0
    row[6] = z
    row[7] = z + _TALL
    row[8] = 3.0


@njit(cache=True)
def rows_of_mates(i, position, moving):
    """Write the other agents of env `i`'s level to the last of its rows."""
    mates = moving.mates
    at = moving.used[i] - mates.shape[1]
    for m in range(mates.shape[1]):
        j = mates[i, m]
        row = moving.after[i, at + m]
        person_row(position[j, 0], position[j, 1], position[j, 2], _RADIUS, row)
        if not moving.present[j]:
            row[8] = 0.0


@njit(cache=True)
def move_between(before, after, count, fraction, now):
    """Write the first `count` movers at a fraction of the step to `now`."""
    for m in range(count):
        b = before[m]
        a = after[m]
        n = now[m]
        n[0] = b[0] + fraction * (a[0] - b[0])
        n[1] = b[1] + fraction * (a[1] - b[1])
        n[6] = b[6] + fraction * (a[6] - b[6])
        n[7] = b[7] + fraction * (a[7] - b[7])
        if a[8] == _BOX:
            cos = b[4] + fraction * (a[4] - b[4])
            sin = b[5] + fraction * (a[5] - b[5])
            size = math.sqrt(cos * cos + sin * sin)
            n[4] = cos / size
            n[5] = sin / size


@njit(cache=True)
def near_movers(before, after, count, x, y, reach, index):
    """List the movers within `reach` of (x, y) in a step; returns number and travel.

    Their indices are written to `index`; travel is their longest displacement, [m].
    """
    n = 0
    longest = 0.0
    for m in range(count):
        a = after[m]
        if a[8] == 0.0:
            continue
        b = before[m]
        dx = a[0] - x
        dy = a[1] - y
        ways = math.sqrt((a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2)
        extent = a[2]
        if a[8] == _BOX:
            extent = math.sqrt(a[2] * a[2] + a[3] * a[3])
            ways += extent * math.sqrt((a[4] - b[4]) ** 2 + (a[5] - b[5]) ** 2)
        far = reach + extent + ways
        if dx * dx + dy * dy < far * far:
            index[n] = m
            n += 1
            longest = max(longest, ways)
    return n, longest
