"""Compiled step of levels with heights (docs/vr_world.md, "Heights").

How a body is pushed out of obstacles and which floor is below it are `push_aside` and
`floor_below`: numba chooses their code by the type of `engine`. Here None stands for
geometry; `mujoco_height_kernels` adds MuJoCo.
"""

# ruff: noqa: PLR0912, PLR0915 - compiled loops take their arrays one by one

from __future__ import annotations

import math

import numpy as np
from numba import njit, types
from numba.extending import overload

from ambulo.envs.vr.contract import BODY_RADIUS, CLIMB_HEIGHT, GRAVITY, MAX_SEAM
from ambulo.envs.vr.geometry.prism_kernels import MOST_OVERLAPS
from ambulo.envs.vr.geometry.solid_kernels import (
    has_headroom,
    nearby,
    slide,
    support,
    within,
)
from ambulo.envs.vr.world.kernels import LEAP_EXACT, LEAP_PART, counted
from ambulo.envs.vr.world.mover_kernels import move_between, near_movers, rows_of_mates
from ambulo.envs.vr.world.packed_solids import solids_of
from ambulo.envs.vr.world.standing_kernels import most_shapes

_RADIUS = BODY_RADIUS
_CLIMB = CLIMB_HEIGHT
_GRAVITY = GRAVITY
_ASIDE = MAX_SEAM
_TINY = 1e-9


def push_aside(
    engine, i, s, solids, near, n, movers, index, x0, y0, x, y, z, found, whom
):
    """(x, y) of env `i` in slot `s`, pushed out of what it touches, and whether it did.

    `index` (M,) are the numbers of `movers` among all of the level.
    """
    raise NotImplementedError


def floor_below(engine, i, solids, near, n, movers, x, y, highest):
    """Height of the floor of env `i` up to `highest`, -inf: none, and the mover it is of."""
    raise NotImplementedError


@njit(cache=True)
def floor_over_seam(engine, i, solids, near, n, movers, x, y, z):
    """Height of the floor on both sides of a seam at (x, y) that carries feet at `z`.

    At most `z`; -inf: there is none.
    """
    for k in range(2):
        dx = _ASIDE * (1 - k)
        dy = _ASIDE * k
        top = z + _CLIMB
        one, _ = floor_below(engine, i, solids, near, n, movers, x + dx, y + dy, top)
        other, _ = floor_below(engine, i, solids, near, n, movers, x - dx, y - dy, top)
        if min(one, other) >= z - _CLIMB:
            return min(max(one, other), z)
    return -np.inf


@overload(push_aside, inline="always")
def _push_aside_by_geometry(
    engine, i, s, solids, near, n, movers, index, x0, y0, x, y, z, found, whom
):  # fmt: skip
    if not isinstance(engine, types.NoneType):
        return None

    def pushed(
        engine, i, s, solids, near, n, movers, index, x0, y0, x, y, z, found, whom
    ):  # fmt: skip
        return slide(solids, near, n, movers, x0, y0, x, y, z, found, whom)

    return pushed


@overload(floor_below, inline="always")
def _floor_by_geometry(engine, i, solids, near, n, movers, x, y, highest):
    if not isinstance(engine, types.NoneType):
        return None

    def found(engine, i, solids, near, n, movers, x, y, highest):
        return support(solids, near, n, movers, x, y, highest)

    return found


@njit(cache=True)
def free_leap_up(
    engine,
    i,
    s,
    solids,
    near,
    n,
    movers,
    index,
    x,
    y,
    z,
    on,
    ux,
    uy,
    travel,
    found,
    whom,
):
    """How far env `i` gets from (x, y, z) along the unit vector (ux, uy), along the floor.

    At most `travel`, [m]; then the height and the mover at its end, of which `on` is that at
    its beginning. What obstructs a walking body stops it, and so does the end of the floor.
    """
    done = 0.0
    part = LEAP_PART
    while part > LEAP_EXACT and done < travel:
        far = min(done + part, travel)
        x1 = x + ux * far
        y1 = y + uy * far
        _, _, blocked = push_aside(
            engine, i, s, solids, near, n, movers, index, x + ux * done, y + uy * done,
            x1, y1, z, found, whom,
        )  # fmt: skip
        floor = z
        over = on
        if not blocked:
            floor, over = floor_below(
                engine, i, solids, near, n, movers, x1, y1, z + _CLIMB
            )
            if floor > z + _TINY:
                blocked = not has_headroom(solids, near, n, movers, x1, y1, floor)
            elif floor < z - _CLIMB:
                over = -1
                floor = floor_over_seam(engine, i, solids, near, n, movers, x1, y1, z)
                blocked = floor < z - _CLIMB
        if blocked:
            part *= 0.5
        else:
            done = far
            z = floor
            on = over
    return done, z, on


@njit(cache=True)
def step_heights(
    engine, envs, target, jump, slot, position, yaw, velocity, yaw_rate, command, path,
    contact_ticks, collisions, since_contact, people_ticks, people_collisions,
    since_person, fell, falling, takeoff, carrier,
    ticks, dt, decay, max_speed, max_yaw_rate, rearm, fall_depth, teleport,
    pack, before, after, used, mates, present,
):  # fmt: skip
    """Advance `envs` by one step, in place; rays are read by `standing_kernels`.

    `target` (N, 3) is the command after clipping and dead zone, `jump` (N, 2) a discrete
    move (left, forward) in metres, made at once where `teleport`. Movers go evenly from
    `before` to `after` (N, M, 9), of which each env has `used` (N,); the last are its `mates`
    (N, A), of whom those earlier in `envs` have moved already, and the others stand where
    they were.
    """
    most = most_shapes(pack, slot[envs])
    near = np.empty(most, np.int64)
    seen = np.full(most, -1, np.int64)
    found = np.empty((MOST_OVERLAPS, 3))
    whom = np.zeros(2, np.bool_)
    rows = np.empty((3, max(before.shape[1], 1), 9))
    index = np.empty(max(before.shape[1], 1), np.int64)
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
        rows_of_mates(i, position, mates, present, used, after)
        m, pushed = near_movers(before[i], after[i], used[i], x, y, reach, index)
        if pushed > 0.0:  # what moves may push or carry the body on
            reach += pushed
            m, _ = near_movers(before[i], after[i], used[i], x, y, reach, index)
        n = nearby(solids, x, y, reach, near, seen, e)
        n = within(solids, near, n, x, y, reach)
        start = rows[0, :m]
        end = rows[1, :m]
        now = rows[2, :m]
        on: int | np.int64 = np.int64(-1)
        for k in range(m):
            for column in range(rows.shape[2]):
                start[k, column] = before[i, index[k], column]
                end[k, column] = after[i, index[k], column]
                now[k, column] = end[k, column]
            if carrier[i] == index[k]:
                on = k
        move_between(start, end, m, 0.0, now)
        walked = 0.0
        jump_left = jump[i, 0] / (ticks * dt)
        jump_ahead = jump[i, 1] / (ticks * dt)
        if teleport:
            jump_left = 0.0
            jump_ahead = 0.0
        leaps = teleport and travel > 0.0 and not falling[i]
        leap_x = x
        leap_y = y
        if leaps:
            cos = math.cos(yaw[i])
            sin = math.sin(yaw[i])
            ux = (cos * jump[i, 1] - sin * jump[i, 0]) / travel
            uy = (sin * jump[i, 1] + cos * jump[i, 0]) / travel
            walked, z, on = free_leap_up(
                engine, i, slot[i], solids, near, n, now, index, x, y, z, on,
                ux, uy, travel, found, whom,
            )  # fmt: skip
            x += ux * walked
            y += uy * walked
            leap_x = x - leap_x
            leap_y = y - leap_y
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
            x0 = x
            y0 = y
            if on >= 0:
                x -= now[on, 0]
                y -= now[on, 1]
                z -= now[on, 7]
            move_between(start, end, m, (tick + 1) / ticks, now)
            if on >= 0:
                x += now[on, 0]
                y += now[on, 1]
                z += now[on, 7]
            xc = x
            yc = y
            if falling[i]:
                vz -= _GRAVITY * dt
                x += vx * dt
                y += vy * dt
            else:
                left = -command[i, 0] * max_speed + jump_left
                ahead = command[i, 1] * max_speed + jump_ahead
                cos = math.cos(yaw[i])
                sin = math.sin(yaw[i])
                x += (cos * ahead - sin * left) * dt
                y += (sin * ahead + cos * left) * dt
            whom[:] = False
            xm = x
            ym = y
            x, y, touched = push_aside(
                engine,
                i,
                slot[i],
                solids,
                near,
                n,
                now,
                index,
                x0,
                y0,
                x,
                y,
                z,
                found,
                whom,
            )
            if falling[i]:
                # What it fell off pushes it aside, no faster than it can walk.
                touched = False
                push = math.sqrt((x - xm) ** 2 + (y - ym) ** 2)
                if push > max_speed * dt:
                    x = xm + (x - xm) * max_speed * dt / push
                    y = ym + (y - ym) * max_speed * dt / push
                under, over = floor_below(
                    engine, i, solids, near, n, now, x, y, z + _TINY
                )
                z += vz * dt
                if z <= under:
                    z = under
                    vz = 0.0
                    falling[i] = False
                    on = over
            else:
                floor, over = floor_below(
                    engine, i, solids, near, n, now, x, y, z + _CLIMB
                )
                if floor > z + _TINY and not has_headroom(
                    solids, near, n, now, x, y, floor
                ):
                    touched = True
                    whom[1] = True
                    x = xc
                    y = yc
                    floor, over = floor_below(
                        engine, i, solids, near, n, now, x, y, z + _TINY
                    )
                if floor < z - _CLIMB:
                    over = -1
                    floor = floor_over_seam(engine, i, solids, near, n, now, x, y, z)
                if floor < z - _CLIMB:
                    falling[i] = True
                    on = -1
                    takeoff[i] = z
                    vz = 0.0
                else:
                    z = floor
                    on = over
                    takeoff[i] = z
                vx = (x - x0) / dt
                vy = (y - y0) / dt
            walked += math.sqrt((x - x0) ** 2 + (y - y0) ** 2)
            touches += touched
            person = touched and whom[0]
            thing = touched and (whom[1] or not person)
            events += counted(thing, since_contact, i, rearm)
            people += person
            people_events += counted(person, since_person, i, rearm)
            if z < takeoff[i] - fall_depth:
                fell[i] = True
        if leaps:
            vx = leap_x / (ticks * dt)
            vy = leap_y / (ticks * dt)
        carrier[i] = index[on] if on >= 0 else -1
        position[i, 0] = x
        position[i, 1] = y
        position[i, 2] = z
        velocity[i, 0] = vx
        velocity[i, 1] = vy
        velocity[i, 2] = vz if falling[i] else (z - begin_z) / (ticks * dt)
        yaw_rate[i] = rate
        path[i] = walked
        contact_ticks[i] = touches
        collisions[i] = events + people_events
        people_ticks[i] = people
        people_collisions[i] = people_events
