"""Compiled updates of movers: begin, advance, and the rows of each env."""

# ruff: noqa: RUF046 - int(math.ceil(x)) is what numba needs

from __future__ import annotations

import math

import numpy as np
from numba import njit

from ambulo.envs.vr.contract import BODY_RADIUS
from ambulo.envs.vr.geometry.solid_kernels import PERSON
from ambulo.envs.vr.world.crowd_kernels import (
    HURRY,
    SUBSTEP,
    crowd_rows,
    crowd_work,
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
"""Longest displacement of people in a step of the model, so that walls stop them, [m]."""


@njit(cache=True)
def seed_envs(envs, seeds, rng):
    """Seed the generators `rng` (N,) of `envs` with `seeds` (k,)."""
    for k in range(envs.shape[0]):
        rng[envs[k]] = seeded(seeds[k])


@njit(cache=True)
def begin(envs, slot, position, levels, moving):
    """Draw phases and crowds in the levels of those `envs` that lead theirs."""
    counts, first, things, _, ways = levels
    mates, rng = moving.mates, moving.rng
    agents = np.empty((1 + mates.shape[1], 3))
    for i in envs:
        s = slot[i]
        if moving.leader[i] != i or s < 0:
            continue
        moving.clock[i] = 0
        draw_phases(things, first[s], first[s + 1], moving.phases[i], rng, i)
        agents[0] = position[i]
        for m in range(mates.shape[1]):
            agents[1 + m] = position[mates[i, m]]
        if counts[s, 1] > 0:
            crowd = moving.crowd[i, : counts[s, 1]]
            draw_crowd(ways_of(ways, s), crowd, agents, rng, i)


@njit(cache=True)
def place(envs, slot, position, levels, moving, dt):
    """Write the present rows of `envs`."""
    counts, first, things, keys, ways = levels
    for i in envs:
        s = slot[i]
        moving.used[i] = 0
        if s < 0:
            continue
        lead = moving.leader[i]
        still = counts[s, 0]
        people = counts[s, 1]
        if still > 0:
            place_things(
                things, first[s], first[s + 1], keys, moving.phases[lead],
                moving.clock[lead] * dt, moving.after[i],
            )  # fmt: skip
        if people > 0:
            crowd = moving.crowd[lead, :people]
            crowd_rows(crowd, ways[1][s, 8], moving.after[i, still:])
        moving.used[i] = still + people + moving.mates.shape[1]
    place_mates(envs, position, moving)


@njit(cache=True)
def place_mates(envs, position, moving):
    """Write the other agents in the levels of `envs` to the last of their rows."""
    for i in envs:
        rows_of_mates(i, position, moving)


@njit(cache=True)
def advance(envs, slot, position, velocity, levels, moving, dt, solids_pack):
    """Advance everything by `dt`: `before` becomes the old `after`."""
    counts, first, things, keys, ways_pack = levels
    before, after, used, leader, mates, present, rng, clock, phases, crowd = moving
    work = crowd_work(crowd.shape[1])
    now = np.empty((max(before.shape[1], 1), 9))
    for i in envs:
        s = slot[i]
        for m in range(used[i]):
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
            ways = ways_of(ways_pack, s)
            longest = min(SUBSTEP, _STRIDE / (HURRY * ways[0][7]))
            parts = int(math.ceil(dt / longest - 1e-9))
            solids = solids_of(solids_pack, s)
            others = np.empty((still + 1 + mates.shape[1], 6))
            for part in range(parts):
                for m in range(still):
                    now[m] = before[i, m]
                move_between(before[i], after[i], still, (part + 1) / parts, now)
                n = add_walkers(now[:still], before[i], after[i], dt, others)
                if ways[0][10] > 0.0:
                    time = part * dt / parts
                    for m in range(1 + mates.shape[1]):
                        j = i if m == 0 else mates[i, m - 1]
                        if present[j]:
                            n = add_agent(j, position, velocity, time, others, n)
                step_crowd(
                    ways, crowd[i, :people], others[:n], solids, now[:still],
                    dt / parts, work, rng[i : i + 1],
                )  # fmt: skip
            crowd_rows(crowd[i, :people], ways[0][8], after[i, still:])
    copy_to_mates(envs, slot, levels, moving)


@njit(cache=True)
def copy_to_mates(envs, slot, levels, moving):
    """Copy the rows of movers and people from the first env of a level to the others."""
    for i in envs:
        lead = moving.leader[i]
        if lead != i:
            for m in range(levels.counts[slot[i], 0] + levels.counts[slot[i], 1]):
                for c in range(9):
                    moving.after[i, m, c] = moving.after[lead, m, c]


@njit(cache=True)
def add_walkers(now, before, after, dt, others):
    """Write the people among `now` (M, 9) to `others` (O, 6); returns their number.

    `before` and `after` are their rows at the start and the end of a step of `dt`.
    """
    n = 0
    for m in range(now.shape[0]):
        if now[m, 8] == PERSON:
            others[n, 0] = now[m, 0]
            others[n, 1] = now[m, 1]
            others[n, 2] = now[m, 6]
            others[n, 3] = (after[m, 0] - before[m, 0]) / dt
            others[n, 4] = (after[m, 1] - before[m, 1]) / dt
            others[n, 5] = now[m, 2]
            n += 1
    return n


@njit(cache=True)
def add_agent(i, position, velocity, time, others, n):
    """Add the agent of env `i`, `time` from now, to `n` rows of `others`; returns the new n."""
    others[n, 0] = position[i, 0] + velocity[i, 0] * time
    others[n, 1] = position[i, 1] + velocity[i, 1] * time
    others[n, 2] = position[i, 2]
    others[n, 3] = velocity[i, 0]
    others[n, 4] = velocity[i, 1]
    others[n, 5] = BODY_RADIUS
    return n + 1
