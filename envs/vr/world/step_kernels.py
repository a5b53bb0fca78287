"""Compiled step of the world contract (docs/vr_world.md): start, tick, rays."""

# ruff: noqa: PLR0912, PLR0915 - the tick is one loop, in the order of the contract

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from ambulo.configs.arrays import Bools, Floats, Ints
from ambulo.envs.vr.contract import (
    BODY_RADIUS,
    CLIMB_HEIGHT,
    GRAVITY,
    MAX_SEAM,
    TELEPORT_EXACT,
    TELEPORT_PART,
)
from ambulo.envs.vr.geometry.contact_kernels import (
    Contacts,
    has_headroom,
    no_contacts,
    slide,
    support,
)
from ambulo.envs.vr.geometry.sight_kernels import see_movers
from ambulo.envs.vr.geometry.solid_kernels import (
    LocalShapes,
    even_floor,
    local_shapes,
    room_around,
    shapes_within,
    sort_shapes,
)
from ambulo.envs.vr.geometry.solid_ray_kernels import (
    NOTHING,
    RayEnds,
    RayFan,
    cast_free_ways,
    ray_work,
)
from ambulo.envs.vr.world.mover_kernels import move_between, near_movers, rows_of_mates
from ambulo.envs.vr.world.packed_solids import solids_of

_RADIUS = BODY_RADIUS
_CLIMB = CLIMB_HEIGHT
_GRAVITY = GRAVITY
_ASIDE = MAX_SEAM
_TINY = 1e-9
_MARGIN = 1e-6
"""Margin of searches for near shapes, [m]."""


class Bodies(NamedTuple):
    """The arrays of N bodies that a step changes; see also `WorldState`."""

    position: Floats
    yaw: Floats
    velocity: Floats
    yaw_rate: Floats
    command: Floats
    path: Floats
    contact_ticks: Ints
    collisions: Ints
    since_contact: Ints
    people_ticks: Ints
    people_collisions: Ints
    since_person: Ints
    fell: Bools
    falling: Bools
    """Whether each body is in the air, shape (N,)."""
    takeoff: Floats
    """Height of the last floor, shape (N,), [m]."""
    carrier: Ints
    """Row of the mover that carries the body; -1: none, shape (N,)."""


class Commands(NamedTuple):
    """Commands of N bodies in a step."""

    target: Floats
    """Command after clipping and dead zone (strafe, forward, rotation), shape (N, 3)."""
    jump: Floats
    """Discrete move or teleport (left, forward), shape (N, 2), [m]."""


class Rules(NamedTuple):
    """The numbers of a `WorldSpec` that a step reads."""

    ticks: int
    dt: float
    decay: float
    max_speed: float
    max_yaw_rate: float
    rearm: int
    fall_depth: float
    teleport: bool
    """Whether jumps are instant."""


class Sight(NamedTuple):
    """Readings of N bodies beside the lengths of their rays; see `WorldState`."""

    kinds: Ints
    floors: Floats
    movers: Floats
    eye: float
    """Height of the eyes above the feet, [m]."""
    dt: float
    """Length of a step, [s]."""


class Near(NamedTuple):
    """The shapes near one body, and work space."""

    shapes: LocalShapes
    """Shapes within reach in this step; movers are at their poses of this tick."""
    pushing: Ints
    """Indices of shapes that can touch the body at its height."""
    floors: Ints
    """Indices of shapes with a floor within a climb of its height."""
    contacts: Contacts
    """Its contacts."""


@njit(cache=True, inline="always")
def counted(touched, since_contact, i, rearm):
    """Count a tick of env `i` in `since_contact` (N,); returns 1 for a new collision event."""
    event = 0
    if touched:
        if since_contact[i] >= rearm:
            event = 1
        since_contact[i] = 0
    else:
        since_contact[i] += 1
    return event


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
def _some(shapes, near, n):
    """The first `n` of `near` (indices of shapes), and all movers of `shapes`."""
    prisms, cylinders, triangles, tall, _, _, movers = shapes
    return LocalShapes(prisms, cylinders, triangles, tall, near, n, movers)


@njit(cache=True)
def _floor(at, n_floors, x, y, highest):
    """Height of the highest floor up to `highest` within a climb, and its mover."""
    return support(_some(at.shapes, at.floors, n_floors), x, y, highest)


@njit(cache=True)
def floor_over_seam(at, n_floors, x, y, z):
    """Height of the floor on both sides of a seam at (x, y) that carries feet at `z`.

    At most `z`; -inf: none.
    """
    for k in range(2):
        dx = _ASIDE * (1 - k)
        dy = _ASIDE * k
        top = z + _CLIMB
        one, _ = _floor(at, n_floors, x + dx, y + dy, top)
        other, _ = _floor(at, n_floors, x - dx, y - dy, top)
        if min(one, other) >= z - _CLIMB:
            return min(max(one, other), z)
    return -np.inf


@njit(cache=True)
def free_leap(at, x, y, z, on, ux, uy, travel):
    """Distance that a body can walk from (x, y, z) along the unit vector (ux, uy).

    At most `travel`, [m]; then the height and the mover at its end, where `on` is the mover at
    its start. Obstacles of a walking body stop it, and so does an edge of the floor.
    """
    done = 0.0
    part = TELEPORT_PART
    while part > TELEPORT_EXACT and done < travel:
        far = min(done + part, travel)
        x1 = x + ux * far
        y1 = y + uy * far
        n_pushing, n_floors = sort_shapes(at.shapes, z, 0.0, at.pushing, at.floors)
        _, _, blocked = slide(
            _some(at.shapes, at.pushing, n_pushing), x + ux * done, y + uy * done,
            x1, y1, z, 0.0, at.contacts,
        )  # fmt: skip
        floor = z
        over = on
        if not blocked:
            floor, over = _floor(at, n_floors, x1, y1, z + _CLIMB)
            if floor > z + _TINY:
                blocked = not has_headroom(at.shapes, x1, y1, floor)
            elif floor < z - _CLIMB:
                over = -1
                floor = floor_over_seam(at, n_floors, x1, y1, z)
                blocked = floor < z - _CLIMB
        if blocked:
            part *= 0.5
        else:
            done = far
            z = floor
            on = over
    return done, z, on


@njit(cache=True)
def place_on_floor(envs, slot, bodies, pack, moving):
    """Put `envs` on the highest floor up to a climb above their present heights."""
    most = most_shapes(pack, slot[envs])
    near = np.empty(most, np.int64)
    seen = np.full(most, -1, np.int64)
    position = bodies.position
    for e in range(envs.shape[0]):
        i = envs[e]
        solids = solids_of(pack, slot[i])
        x = position[i, 0]
        y = position[i, 1]
        n = shapes_within(solids, x, y, 0.01, near, seen, e)
        shapes = local_shapes(solids, near, n, moving.after[i, : moving.used[i]])
        floor, mover = support(shapes, x, y, position[i, 2] + _CLIMB)
        bodies.falling[i] = floor == -np.inf
        bodies.carrier[i] = mover
        if not bodies.falling[i]:
            position[i, 2] = floor
        bodies.takeoff[i] = position[i, 2]


@njit(cache=True)
def are_off_floor(envs, slot, position, pack, out):
    """Write whether `envs` have no floor within a climb of `position` (N, 3) to `out` (N,)."""
    most = most_shapes(pack, slot[envs])
    near = np.empty(most, np.int64)
    seen = np.full(most, -1, np.int64)
    nothing = np.zeros((0, 9))
    for e in range(envs.shape[0]):
        i = envs[e]
        solids = solids_of(pack, slot[i])
        x = position[i, 0]
        y = position[i, 1]
        z = position[i, 2]
        n = shapes_within(solids, x, y, 0.01, near, seen, e)
        floor, _ = support(local_shapes(solids, near, n, nothing), x, y, z + _CLIMB)
        out[i] = floor < z - _CLIMB


@njit(cache=True)
def read_rays(envs, slot, bodies, rays, head, length, edges, pack, moving, sight):
    """Read the rays of `envs` (indices) into `rays` (N, num_rays), and the rest into `sight`.

    Ray 0 points along the yaw where `head`, and along +X else.
    """
    most = most_shapes(pack, slot[envs])
    near = np.empty(most + moving.after.shape[1], np.int64)
    seen = np.full(most, -1, np.int64)
    work = ray_work(most + moving.after.shape[1], rays.shape[1])
    for e in range(envs.shape[0]):
        i = envs[e]
        if bodies.falling[i]:
            rays[i] = length
            sight.kinds[i] = NOTHING
            sight.floors[i] = 0.0
            sight.movers[i] = 0.0
            continue
        solids = solids_of(pack, slot[i])
        x = bodies.position[i, 0]
        y = bodies.position[i, 1]
        n = shapes_within(solids, x, y, length, near, seen, e)
        before = moving.before[i, : moving.used[i]]
        shapes = local_shapes(solids, near, n, moving.after[i, : moving.used[i]])
        angle = bodies.yaw[i] if head else 0.0
        z = bodies.position[i, 2]
        fan = RayFan(x, y, z, angle, length, edges)
        cast_free_ways(
            shapes, fan, RayEnds(rays[i], sight.kinds[i], sight.floors[i]), work
        )
        if sight.movers.shape[1] > 0:
            see_movers(
                shapes,
                before,
                x,
                y,
                z + sight.eye,
                length,
                sight.dt,
                sight.movers[i],
                work,
            )


@njit(cache=True)
def step_bodies(envs, slot, bodies, commands, rules, pack, moving):
    """Advance `envs` by one step, in place; rays are read by `read_rays`.

    Movers go evenly from `moving.before` to `moving.after`. The last of them are the other
    agents: those earlier in `envs` have moved already, the later ones have not.
    """
    most = most_shapes(pack, slot[envs])
    near = np.empty(most, np.int64)
    pushing = np.empty(most, np.int64)
    floors = np.empty(most, np.int64)
    seen = np.full(most, -1, np.int64)
    contacts = no_contacts()
    touched_kind = contacts.touched_kind
    rows = np.empty((3, max(moving.before.shape[1], 1), 9))
    index = np.empty(max(moving.before.shape[1], 1), np.int64)
    position, velocity, yaw = bodies.position, bodies.velocity, bodies.yaw
    command, falling = bodies.command, bodies.falling
    dt = rules.dt
    step = rules.ticks * dt
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
        jump_left = commands.jump[i, 0]
        jump_ahead = commands.jump[i, 1]
        travel = math.sqrt(jump_left**2 + jump_ahead**2)
        speed = max(rules.max_speed, math.sqrt(vx * vx + vy * vy))
        reach = _RADIUS + step * speed + travel + 0.05
        before = moving.before[i]
        after = moving.after[i]
        used = moving.used[i]
        m = 0
        if used > 0:
            rows_of_mates(i, position, moving)
            m, pushed = near_movers(before, after, used, x, y, reach, index)
            if pushed > 0.0:  # movers may push or carry
                reach += pushed
                m, _ = near_movers(before, after, used, x, y, reach, index)
        n = shapes_within(solids, x, y, reach, near, seen, e)
        start = rows[0, :m]
        end = rows[1, :m]
        now = rows[2, :m]
        on: int | np.int64 = np.int64(-1)
        for k in range(m):
            for column in range(9):
                start[k, column] = before[index[k], column]
                end[k, column] = after[index[k], column]
                now[k, column] = end[k, column]
            if bodies.carrier[i] == index[k]:
                on = k
        move_between(start, end, m, 0.0, now)
        shapes = local_shapes(solids, near, n, now)
        at = Near(shapes, pushing, floors, contacts)
        walked = 0.0
        leaps = rules.teleport and travel > 0.0 and not falling[i]
        leap_x = x
        leap_y = y
        if leaps:
            cos = math.cos(yaw[i])
            sin = math.sin(yaw[i])
            ux = (cos * jump_ahead - sin * jump_left) / travel
            uy = (sin * jump_ahead + cos * jump_left) / travel
            walked, z, on = free_leap(at, x, y, z, on, ux, uy, travel)
            x += ux * walked
            y += uy * walked
            leap_x = x - leap_x
            leap_y = y - leap_y
            bodies.takeoff[i] = z
        if rules.teleport:
            jump_left = 0.0
            jump_ahead = 0.0
        jump_left /= step
        jump_ahead /= step
        sorted_z = np.nan
        free = -1.0
        n_pushing = 0
        n_floors = 0
        touches = 0
        events = 0
        people = 0
        people_events = 0
        rate = 0.0
        for tick in range(rules.ticks):
            for c in range(3):
                command[i, c] = (
                    rules.decay * command[i, c]
                    + (1.0 - rules.decay) * commands.target[i, c]
                )
            rate = -command[i, 2] * rules.max_yaw_rate
            yaw[i] += rate * dt
            x0 = x
            y0 = y
            if m > 0:
                if on >= 0:
                    x -= now[on, 0]
                    y -= now[on, 1]
                    z -= now[on, 7]
                move_between(start, end, m, (tick + 1) / rules.ticks, now)
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
                left = -command[i, 0] * rules.max_speed + jump_left
                ahead = command[i, 1] * rules.max_speed + jump_ahead
                cos = math.cos(yaw[i])
                sin = math.sin(yaw[i])
                x += (cos * ahead - sin * left) * dt
                y += (sin * ahead + cos * left) * dt
            xm = x
            ym = y
            touched = False
            touched_kind[:] = False
            if z != sorted_z:
                n_pushing, n_floors = sort_shapes(shapes, z, 0.0, pushing, floors)
                sorted_z = z
                free = -1.0
            moved = math.sqrt((x - x0) ** 2 + (y - y0) ** 2)
            if free < moved and m == 0 and not falling[i]:
                free = min(
                    even_floor(solids, floors, n_floors, x0, y0, z),
                    room_around(solids, pushing, n_pushing, x0, y0) - _RADIUS,
                )
            free -= moved
            if free < _MARGIN:
                x, y, touched = slide(
                    _some(shapes, pushing, n_pushing), x0, y0, x, y, z, 0.0, contacts
                )
            if falling[i]:
                # The edge that it fell off pushes it aside, at most at walking speed.
                touched = False
                push = math.sqrt((x - xm) ** 2 + (y - ym) ** 2)
                if push > rules.max_speed * dt:
                    x = xm + (x - xm) * rules.max_speed * dt / push
                    y = ym + (y - ym) * rules.max_speed * dt / push
                under, over = support(shapes, x, y, z + _TINY)
                z += vz * dt
                if z <= under:
                    z = under
                    vz = 0.0
                    falling[i] = False
                    on = over
            else:
                if free < _MARGIN:
                    floor, over = _floor(at, n_floors, x, y, z + _CLIMB)
                    if floor > z + _TINY and not has_headroom(shapes, x, y, floor):
                        touched = True
                        touched_kind[1] = True
                        x = xc
                        y = yc
                        floor, over = _floor(at, n_floors, x, y, z + _TINY)
                    if floor < z - _CLIMB:
                        over = -1
                        floor = floor_over_seam(at, n_floors, x, y, z)
                    if floor < z - _CLIMB:
                        falling[i] = True
                        on = -1
                        bodies.takeoff[i] = z
                        vz = 0.0
                    else:
                        z = floor
                        on = over
                        bodies.takeoff[i] = z
                vx = (x - x0) / dt
                vy = (y - y0) / dt
            walked += math.sqrt((x - x0) ** 2 + (y - y0) ** 2)
            touches += touched
            person = touched and touched_kind[0]
            thing = touched and (touched_kind[1] or not person)
            events += counted(thing, bodies.since_contact, i, rules.rearm)
            people += person
            people_events += counted(person, bodies.since_person, i, rules.rearm)
            if z < bodies.takeoff[i] - rules.fall_depth:
                bodies.fell[i] = True
        if leaps:
            vx = leap_x / step
            vy = leap_y / step
        bodies.carrier[i] = index[on] if on >= 0 else -1
        position[i, 0] = x
        position[i, 1] = y
        position[i, 2] = z
        velocity[i, 0] = vx
        velocity[i, 1] = vy
        velocity[i, 2] = vz if falling[i] else (z - begin_z) / step
        bodies.yaw_rate[i] = rate
        bodies.path[i] = walked
        bodies.contact_ticks[i] = touches
        bodies.collisions[i] = events + people_events
        bodies.people_ticks[i] = people
        bodies.people_collisions[i] = people_events
