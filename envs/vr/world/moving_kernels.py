"""Compiled bookkeeping of moving things: begin, advance, and the rows that envs see.

The rows of an env are the things on paths of its level, then its crowd, then its mates.
"""

# ruff: noqa: RUF046 - int(math.ceil(x)) is what numba needs

from __future__ import annotations

import math

import numpy as np
from numba import njit

from ambulo.envs.vr.contract import BODY_RADIUS
from ambulo.envs.vr.geometry.push_kernels import MOST_OVERLAPS
from ambulo.envs.vr.world.crowd_kernels import (
    HURRY,
    SUBSTEP,
    crowd_rows,
    draw_crowd,
    step_crowd,
    ways_of,
)
from ambulo.envs.vr.world.mover_kernels import (
    draw_phases,
    move_between,
    place_things,
    rows_of_mates,
    seeded,
)
from ambulo.envs.vr.world.packed_solids import solids_of

_STRIDE = 0.9 * BODY_RADIUS
"""Longest way of people in a step of the model, so that walls stop them, [m]."""


@njit(cache=True)
def seed_envs(envs, seeds, rng):
    """Seed the generators `rng` (N,) of `envs` with `seeds` (k,)."""
    for k in range(envs.shape[0]):
        rng[envs[k]] = seeded(seeds[k])


@njit(cache=True)
def begin(
    envs, slot, position, counts, packed, crowd, rng, clock, phases, leader, mates, ways
):  # fmt: skip
    """Draw what is random in the levels of those `envs` that lead theirs."""
    first, things, _ = packed
    agents = np.empty((1 + mates.shape[1], 3))
    for i in envs:
        s = slot[i]
        if leader[i] != i or s < 0:
            continue
        clock[i] = 0
        draw_phases(things, first[s], first[s + 1], phases[i], rng, i)
        agents[0] = position[i]
        for m in range(mates.shape[1]):
            agents[1 + m] = position[mates[i, m]]
        if counts[s, 1] > 0:
            draw_crowd(ways_of(ways, s), counts[s, 1], crowd[i], agents, rng, i)


@njit(cache=True)
def place(
    envs, slot, position, counts, packed, ways, crowd, clock, phases, leader, mates,
    present, count, after, dt,
):  # fmt: skip
    """Write the rows of `envs` as things are now to `after` (N, M, 9)."""
    first, things, keys = packed
    for i in envs:
        s = slot[i]
        if s < 0:
            count[i] = 0
            continue
        lead = leader[i]
        still = counts[s, 0]
        people = counts[s, 1]
        if still > 0:
            place_things(
                things, first[s], first[s + 1], keys, phases[lead], clock[lead] * dt,
                after[i],
            )  # fmt: skip
        if people > 0:
            crowd_rows(crowd[lead], people, ways[1][s, 8], after[i, still:])
        count[i] = still + people + mates.shape[1]
    place_mates(envs, position, mates, present, count, after)


@njit(cache=True)
def place_mates(envs, position, mates, present, count, after):
    """Write where the mates of `envs` are to the last of their rows."""
    for i in envs:
        rows_of_mates(i, position, mates, present, count, after)


@njit(cache=True)
def advance(
    envs, slot, position, velocity, counts, packed, ways, crowd, rng, clock, phases,
    leader, mates, present, count, before, after, dt, solids_pack,
):  # fmt: skip
    """Move everything by `dt`: `before` (N, M, 9) is what `after` was, `after` is new."""
    first, things, keys = packed
    force = np.empty((max(crowd.shape[1], 1), 2))
    aim = np.empty_like(force)
    found = np.empty((MOST_OVERLAPS, 3))
    whom = np.zeros(2, np.bool_)
    now = np.empty((max(before.shape[1], 1), 9))
    for i in envs:
        s = slot[i]
        used = count[i]
        for m in range(used):
            for c in range(9):
                before[i, m, c] = after[i, m, c]
        if leader[i] != i:
            continue
        still = counts[s, 0]
        people = counts[s, 1]
        clock[i] += 1
        if still > 0:
            place_things(
                things, first[s], first[s + 1], keys, phases[i], clock[i] * dt, after[i]
            )
        if people > 0:
            level_ways = ways_of(ways, s)
            longest = min(SUBSTEP, _STRIDE / (HURRY * level_ways[0][7]))
            parts = int(math.ceil(dt / longest - 1e-9))
            solids = solids_of(solids_pack, s)
            others = np.empty((still + 1 + mates.shape[1], 6))
            for part in range(parts):
                for m in range(still):
                    now[m] = before[i, m]
                move_between(before[i], after[i], still, (part + 1) / parts, now)
                n = _others(
                    i, still, now, before, after, dt, position, velocity, mates,
                    present, level_ways[0][10] > 0.0, part * dt / parts, others,
                )  # fmt: skip
                step_crowd(
                    level_ways, people, crowd[i], others, n, solids, now[:still],
                    dt / parts, force, aim, found, whom, rng, i,
                )  # fmt: skip
            crowd_rows(crowd[i], people, ways[1][s, 8], after[i, still:])
    for i in envs:
        lead = leader[i]
        if lead != i:
            for m in range(counts[slot[i], 0] + counts[slot[i], 1]):
                for c in range(9):
                    after[i, m, c] = after[lead, m, c]


@njit(cache=True)
def _others(
    i, still, now, before, after, dt, position, velocity, mates, present, see, time,
    others,
):  # fmt: skip
    """Write whom the crowd makes way for to `others` (O, 6): walkers and agents; how many."""
    n = 0
    for m in range(still):
        if now[m, 8] == 3.0:
            others[n, 0] = now[m, 0]
            others[n, 1] = now[m, 1]
            others[n, 2] = now[m, 6]
            others[n, 5] = now[m, 2]
            others[n, 3] = (after[i, m, 0] - before[i, m, 0]) / dt
            others[n, 4] = (after[i, m, 1] - before[i, m, 1]) / dt
            n += 1
    if not see:
        return n
    for m in range(1 + mates.shape[1]):
        j = i if m == 0 else mates[i, m - 1]
        if not present[j]:
            continue
        others[n, 0] = position[j, 0] + velocity[j, 0] * time
        others[n, 1] = position[j, 1] + velocity[j, 1] * time
        others[n, 2] = position[j, 2]
        others[n, 3] = velocity[j, 0]
        others[n, 5] = BODY_RADIUS
        others[n, 4] = velocity[j, 1]
        n += 1
    return n
