"""Compiled starts and rays of envs in levels with heights (docs/vr_world.md, "Heights")."""

from __future__ import annotations

import numpy as np
from numba import njit

from ambulo.envs.vr.contract import CLIMB_HEIGHT
from ambulo.envs.vr.geometry.solid_kernels import nearby, support, within
from ambulo.envs.vr.geometry.solid_ray_kernels import MOST_CUTS, cast_free_ways
from ambulo.envs.vr.world.packed_solids import solids_of

_CLIMB = CLIMB_HEIGHT


@njit(cache=True)
def most_shapes(pack, slots):
    """Largest number of shapes of a level in `slots`."""
    offsets = pack[6]
    most = 1
    for s in slots:
        count = 0
        for kind in range(3):
            count += offsets[s + 1, kind] - offsets[s, kind]
        most = max(most, count)
    return most


@njit(cache=True)
def place_on_floor(
    envs, slot, position, takeoff, falling, carrier, pack, movers, count
):
    """Put `envs` on the floor nearest to the heights that they have."""
    most = most_shapes(pack, slot[envs])
    near = np.empty(most, np.int64)
    seen = np.full(most, -1, np.int64)
    for e in range(envs.shape[0]):
        i = envs[e]
        solids = solids_of(pack, slot[i])
        n = nearby(solids, position[i, 0], position[i, 1], 0.01, near, seen, e)
        floor, mover = support(
            solids, near, n, movers[i, : count[i]], position[i, 0], position[i, 1],
            position[i, 2] + _CLIMB,
        )  # fmt: skip
        falling[i] = floor == -np.inf
        carrier[i] = mover
        if not falling[i]:
            position[i, 2] = floor
        takeoff[i] = position[i, 2]


@njit(cache=True)
def read_height_rays(
    envs, slot, position, yaw, rays, head, length, edges, falling, pack, movers, count
):
    """Read the rays of `envs` (indices) into `rays` (N, num_rays)."""
    most = most_shapes(pack, slot[envs])
    near = np.empty(most, np.int64)
    seen = np.full(most, -1, np.int64)
    cuts = np.empty((MOST_CUTS, 7))
    ends = np.empty(4)
    hubs = np.empty((most + movers.shape[1], 3))
    for e in range(envs.shape[0]):
        i = envs[e]
        solids = solids_of(pack, slot[i])
        if falling[i]:
            rays[i] = length
            continue
        n = nearby(solids, position[i, 0], position[i, 1], length, near, seen, e)
        n = within(solids, near, n, position[i, 0], position[i, 1], length)
        cast_free_ways(
            solids, near, n, movers[i, : count[i]], position[i, 0], position[i, 1],
            position[i, 2], yaw[i] if head else 0.0, length, edges, rays[i], cuts, ends,
            hubs,
        )  # fmt: skip
