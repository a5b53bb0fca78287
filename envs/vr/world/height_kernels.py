"""Compiled step of levels with heights (docs/vr_world.md, "Heights")."""

# ruff: noqa: PLR0912, PLR0915 - compiled loops take their arrays one by one

from __future__ import annotations

import math

import numpy as np
from numba import njit

from ambulo.envs.vr.contract import BODY_RADIUS, CLIMB_HEIGHT, GRAVITY
from ambulo.envs.vr.geometry.prism_kernels import MOST_OVERLAPS
from ambulo.envs.vr.geometry.solid_kernels import has_headroom, nearby, slide, support
from ambulo.envs.vr.geometry.solid_ray_kernels import MOST_CUTS, cast_free_ways
from ambulo.envs.vr.world.kernels import counted

_RADIUS = BODY_RADIUS
_CLIMB = CLIMB_HEIGHT
_GRAVITY = GRAVITY
_TINY = 1e-9


@njit(cache=True)
def solids_of(pack, s):
    """The shapes of slot `s`: views into the arrays of `pack`."""
    prisms, drums, triangles, grid, first, items, offsets = pack
    o = offsets[s]
    p = offsets[s + 1]
    return (
        prisms[o[0] : p[0]], drums[o[1] : p[1]], triangles[o[2] : p[2]], grid[s],
        first[o[3] : p[3]], items[o[4] : p[4]],
    )  # fmt: skip


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
def place_on_floor(envs, slot, position, takeoff, falling, carrier, pack, movers):
    """Put `envs` on the floor nearest to the heights that they have."""
    most = most_shapes(pack, slot[envs])
    near = np.empty(most, np.int64)
    seen = np.full(most, -1, np.int64)
    for e in range(envs.shape[0]):
        i = envs[e]
        solids = solids_of(pack, slot[i])
        n = nearby(solids, position[i, 0], position[i, 1], 0.01, near, seen, e)
        floor, mover = support(
            solids, near, n, movers[i], position[i, 0], position[i, 1],
            position[i, 2] + _CLIMB,
        )  # fmt: skip
        falling[i] = floor == -np.inf
        carrier[i] = mover
        if not falling[i]:
            position[i, 2] = floor
        takeoff[i] = position[i, 2]


@njit(cache=True)
def read_height_rays(
    envs, slot, position, yaw, rays, head, length, edges, falling, pack, movers
):
    """Read the rays of `envs` (indices) into `rays` (N, num_rays)."""
    most = most_shapes(pack, slot[envs])
    near = np.empty(most, np.int64)
    seen = np.full(most, -1, np.int64)
    cuts = np.empty((MOST_CUTS, 7))
    ends = np.empty(4)
    for e in range(envs.shape[0]):
        i = envs[e]
        solids = solids_of(pack, slot[i])
        if falling[i]:
            rays[i] = length
            continue
        n = nearby(solids, position[i, 0], position[i, 1], length, near, seen, e)
        cast_free_ways(
            solids, near, n, movers[i], position[i, 0], position[i, 1], position[i, 2],
            yaw[i] if head else 0.0, length, edges, rays[i], cuts, ends,
        )  # fmt: skip


@njit(cache=True, inline="always")
def move_between(before, after, fraction, now):
    """Write where movers (M, 9) are at a fraction of the step to `now`."""
    for m in range(now.shape[0]):
        for c in range(8):
            now[m, c] = before[m, c] + fraction * (after[m, c] - before[m, c])
        now[m, 8] = after[m, 8]


@njit(cache=True)
def step_heights(
    envs, target, jump, slot, position, yaw, velocity, yaw_rate, command, path,
    contact_ticks, collisions, since_contact, people_ticks, people_collisions,
    fell, falling, takeoff, carrier,
    ticks, dt, decay, max_speed, max_yaw_rate, rearm, fall_depth,
    pack, before, after,
):  # fmt: skip
    """Advance `envs` by one step, in place; rays are read by `read_height_rays`.

    `target` (N, 3) is the command after clipping and dead zone, `jump` (N, 2) a discrete
    move (left, forward) in metres; movers go evenly from `before` to `after` (N, M, 9).
    """
    most = most_shapes(pack, slot[envs])
    near = np.empty(most, np.int64)
    seen = np.full(most, -1, np.int64)
    found = np.empty((MOST_OVERLAPS, 3))
    whom = np.zeros(1, np.bool_)
    now = np.empty((before.shape[1], 9))
    for e in range(envs.shape[0]):
        i = envs[e]
        solids = solids_of(pack, slot[i])
        x = position[i, 0]
        y = position[i, 1]
        z = position[i, 2]
        begin_z = z
        vx = velocity[i, 0]
        vy = velocity[i, 1]
        vz = velocity[i, 2]
        travel = math.sqrt(jump[i, 0] ** 2 + jump[i, 1] ** 2)
        speed = max(max_speed, math.sqrt(vx * vx + vy * vy))
        reach = _RADIUS + ticks * dt * speed + travel + 0.05
        n = nearby(solids, x, y, reach, near, seen, e)
        move_between(before[i], after[i], 0.0, now)
        walked = 0.0
        touches = 0
        events = 0
        people = 0
        people_events = 0
        rate = 0.0
        for tick in range(ticks):
            for c in range(3):
                command[i, c] = decay * command[i, c] + (1.0 - decay) * target[i, c]
            rate = -command[i, 2] * max_yaw_rate
            yaw[i] += rate * dt
            on = carrier[i]
            if on >= 0:
                rx = now[on, 0]
                ry = now[on, 1]
                rz = now[on, 7]
            move_between(before[i], after[i], (tick + 1) / ticks, now)
            x0 = x
            y0 = y
            if on >= 0:
                x += now[on, 0] - rx
                y += now[on, 1] - ry
                z += now[on, 7] - rz
            xc = x
            yc = y
            if falling[i]:
                vz -= _GRAVITY * dt
                x += vx * dt
                y += vy * dt
            else:
                left = -command[i, 0] * max_speed + jump[i, 0] / (ticks * dt)
                ahead = command[i, 1] * max_speed + jump[i, 1] / (ticks * dt)
                cos = math.cos(yaw[i])
                sin = math.sin(yaw[i])
                x += (cos * ahead - sin * left) * dt
                y += (sin * ahead + cos * left) * dt
            whom[0] = False
            xm = x
            ym = y
            x, y, touched = slide(solids, near, n, now, xc, yc, x, y, z, found, whom)
            if falling[i]:
                # What it fell off pushes it aside, no faster than it can walk.
                touched = False
                push = math.sqrt((x - xm) ** 2 + (y - ym) ** 2)
                if push > max_speed * dt:
                    x = xm + (x - xm) * max_speed * dt / push
                    y = ym + (y - ym) * max_speed * dt / push
                under, on = support(solids, near, n, now, x, y, z + _TINY)
                z += vz * dt
                if z <= under:
                    z = under
                    vz = 0.0
                    falling[i] = False
                    carrier[i] = on
            else:
                floor, on = support(solids, near, n, now, x, y, z + _CLIMB)
                if floor > z + _TINY and not has_headroom(
                    solids, near, n, now, x, y, floor
                ):
                    touched = True
                    x = xc
                    y = yc
                    floor, on = support(solids, near, n, now, x, y, z + _TINY)
                if floor < z - _CLIMB:
                    falling[i] = True
                    carrier[i] = -1
                    takeoff[i] = z
                    vz = 0.0
                else:
                    z = floor
                    carrier[i] = on
                    takeoff[i] = z
                vx = (x - x0) / dt
                vy = (y - y0) / dt
            walked += math.sqrt((x - x0) ** 2 + (y - y0) ** 2)
            touches += touched
            event = counted(touched, since_contact, i, rearm)
            events += event
            if touched and whom[0]:
                people += 1
                people_events += event
            if z < takeoff[i] - fall_depth:
                fell[i] = True
        position[i, 0] = x
        position[i, 1] = y
        position[i, 2] = z
        velocity[i, 0] = vx
        velocity[i, 1] = vy
        velocity[i, 2] = vz if falling[i] else (z - begin_z) / (ticks * dt)
        yaw_rate[i] = rate
        path[i] = walked
        contact_ticks[i] = touches
        collisions[i] = events
        people_ticks[i] = people
        people_collisions[i] = people_events
