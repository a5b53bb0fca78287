"""Compiled step of the world contract: all environments, tick after tick.

How a body is pushed out of obstacles and what its rays see are `push_out` and `look`:
numba chooses their code by the type of `engine`. Here None stands for geometry;
`mujoco_kernels` adds MuJoCo.
"""

# ruff: noqa: PLR0915 - compiled loops take their arrays one by one

from __future__ import annotations

import math

import numpy as np
from numba import njit, types
from numba.extending import overload

from ambulo.envs.vr.contract import BODY_RADIUS, GRAVITY
from ambulo.envs.vr.geometry.prism_kernels import (
    MOST_OVERLAPS,
    cast_rays,
    near_shapes,
    on_floor,
    slide,
)

LEAP_PART = 0.05
"""Longest part of a teleport at whose end obstacles and floor are looked for, [m]."""
LEAP_EXACT = 1e-3
"""A teleport ends at most this far before what stops it, [m]."""
_RADIUS = BODY_RADIUS
_GRAVITY = GRAVITY


def push_out(
    engine, i, x0, y0, x, y, boxes, n_boxes, cylinders, n_cylinders, index, nb, nc, found
):  # fmt: skip
    """(x, y) of env `i`, which was at (x0, y0), out of obstacles, and whether it touched.

    `index` lists the near shapes, as `near_shapes` leaves them; `found` is work space.
    """
    raise NotImplementedError


def look(
    engine, i, x, y, angle, length, edges, out,
    boxes, n_boxes, cylinders, n_cylinders, index, bounds, holes, n_holes,
):  # fmt: skip
    """Fills `out` with the ray readings of env `i`, whose ray 0 points along `angle`.

    `index` is work space.
    """
    raise NotImplementedError


@overload(push_out, inline="always")
def _push_out_by_geometry(
    engine, i, x0, y0, x, y, boxes, n_boxes, cylinders, n_cylinders, index, nb, nc, found
):  # fmt: skip
    if not isinstance(engine, types.NoneType):
        return None

    def pushed(
        engine, i, x0, y0, x, y,
        boxes, n_boxes, cylinders, n_cylinders, index, nb, nc, found,
    ):  # fmt: skip
        return slide(x0, y0, x, y, boxes, cylinders, index, nb, nc, found, _RADIUS)

    return pushed


@overload(look, inline="always")
def _look_by_geometry(
    engine, i, x, y, angle, length, edges, out,
    boxes, n_boxes, cylinders, n_cylinders, index, bounds, holes, n_holes,
):  # fmt: skip
    if not isinstance(engine, types.NoneType):
        return None

    def seen(
        engine, i, x, y, angle, length, edges, out,
        boxes, n_boxes, cylinders, n_cylinders, index, bounds, holes, n_holes,
    ):  # fmt: skip
        nb, nc = near_shapes(
            x, y, length, boxes, n_boxes, cylinders, n_cylinders, index
        )
        cast_rays(
            x, y, angle, length, edges, out,
            boxes, cylinders, index, nb, nc, bounds, holes, n_holes,
        )  # fmt: skip

    return seen


@njit(cache=True, inline="always")
def counted(touched, since_contact, i, rearm):
    """Count a tick of env `i` in `since_contact` (N,); 1 if it is a collision event."""
    event = 0
    if touched:
        if since_contact[i] >= rearm:
            event = 1
        since_contact[i] = 0
    else:
        since_contact[i] += 1
    return event


@njit(cache=True)
def read_rays(engine, envs, slot, position, yaw, rays, head, length, edges, levels):
    """Reads the rays of `envs` (indices) into `rays` (N, num_rays)."""
    boxes, cylinders, holes, bounds, counts = levels
    index = np.empty(boxes.shape[1] + cylinders.shape[1], np.int64)
    for i in envs:
        s = slot[i]
        look(
            engine, i, position[i, 0], position[i, 1], yaw[i] if head else 0.0,
            length, edges, rays[i], boxes[s], counts[s, 0], cylinders[s], counts[s, 1],
            index, bounds[s], holes[s], counts[s, 2],
        )  # fmt: skip


@njit(cache=True)
def free_leap(
    engine, i, x, y, ux, uy, travel, boxes, n_boxes, cylinders, n_cylinders,
    index, nb, nc, found, bounds, holes, n_holes,
):  # fmt: skip
    """How far env `i` gets from (x, y) along the unit vector (ux, uy), at most `travel`, [m].

    What obstructs a walking body stops it, and so does the end of the floor.
    """
    done = 0.0
    part = LEAP_PART
    while part > LEAP_EXACT and done < travel:
        far = min(done + part, travel)
        x1 = x + ux * far
        y1 = y + uy * far
        _, _, touched = push_out(
            engine, i, x + ux * done, y + uy * done, x1, y1, boxes, n_boxes,
            cylinders, n_cylinders, index, nb, nc, found,
        )  # fmt: skip
        if touched or not on_floor(x1, y1, bounds, holes, n_holes):
            part *= 0.5
        else:
            done = far
    return done


@njit(cache=True)
def step_envs(
    engine, envs, target, jump, snap, slot, position, yaw, velocity, yaw_rate, command,
    rays, path, contact_ticks, collisions, since_contact, fell, falling,
    ticks, dt, decay, max_speed, max_yaw_rate, rearm, fall_depth,
    head, length, edges, teleport, levels,
):  # fmt: skip
    """Advance `envs` (indices) by one step, in place (docs/vr_world.md, section "Tick").

    `target` (N, 3) is the command after clipping and dead zone, `jump` (N, 2) a
    discrete move (left, forward) in metres, made at once where `teleport`, and `snap` (N,)
    a snap turn in radians.
    """
    boxes, cylinders, holes, bounds, counts = levels
    index = np.empty(boxes.shape[1] + cylinders.shape[1], np.int64)
    found = np.empty((MOST_OVERLAPS, 3))
    for i in envs:
        s = slot[i]
        x = position[i, 0]
        y = position[i, 1]
        z = position[i, 2]
        vx = velocity[i, 0]
        vy = velocity[i, 1]
        vz = velocity[i, 2]
        travel = math.sqrt(jump[i, 0] ** 2 + jump[i, 1] ** 2)
        reach = _RADIUS + ticks * dt * max_speed + travel + 0.05
        nb, nc = near_shapes(
            x, y, reach, boxes[s], counts[s, 0], cylinders[s], counts[s, 1], index
        )
        yaw[i] += snap[i]
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
            walked = free_leap(
                engine, i, x, y, (cos * jump[i, 1] - sin * jump[i, 0]) / travel,
                (sin * jump[i, 1] + cos * jump[i, 0]) / travel, travel,
                boxes[s], counts[s, 0], cylinders[s], counts[s, 1], index, nb, nc,
                found, bounds[s], holes[s], counts[s, 2],
            )  # fmt: skip
            x += (cos * jump[i, 1] - sin * jump[i, 0]) / travel * walked
            y += (sin * jump[i, 1] + cos * jump[i, 0]) / travel * walked
            leap_x = x - leap_x
            leap_y = y - leap_y
        touches = 0
        events = 0
        rate = 0.0
        for _ in range(ticks):
            for c in range(3):
                command[i, c] = decay * command[i, c] + (1.0 - decay) * target[i, c]
            rate = -command[i, 2] * max_yaw_rate
            yaw[i] += rate * dt
            x0 = x
            y0 = y
            touched = False
            if falling[i]:
                vz -= _GRAVITY * dt
                x += vx * dt
                y += vy * dt
                z += vz * dt
            else:
                left = -command[i, 0] * max_speed + jump_left
                ahead = command[i, 1] * max_speed + jump_ahead
                cos = math.cos(yaw[i])
                sin = math.sin(yaw[i])
                x += (cos * ahead - sin * left) * dt
                y += (sin * ahead + cos * left) * dt
                x, y, touched = push_out(
                    engine, i, x0, y0, x, y, boxes[s], counts[s, 0],
                    cylinders[s], counts[s, 1], index, nb, nc, found,
                )  # fmt: skip
                vx = (x - x0) / dt
                vy = (y - y0) / dt
                vz = 0.0
                falling[i] = not on_floor(x, y, bounds[s], holes[s], counts[s, 2])
            walked += math.sqrt((x - x0) ** 2 + (y - y0) ** 2)
            touches += touched
            events += counted(touched, since_contact, i, rearm)
            if z < -fall_depth:
                fell[i] = True
        if leaps:
            vx = leap_x / (ticks * dt)
            vy = leap_y / (ticks * dt)
        position[i, 0] = x
        position[i, 1] = y
        position[i, 2] = z
        velocity[i, 0] = vx
        velocity[i, 1] = vy
        velocity[i, 2] = vz
        yaw_rate[i] = rate
        path[i] = walked
        contact_ticks[i] = touches
        collisions[i] = events
        look(
            engine, i, x, y, yaw[i] if head else 0.0, length, edges, rays[i],
            boxes[s], counts[s, 0], cylinders[s], counts[s, 1], index,
            bounds[s], holes[s], counts[s, 2],
        )  # fmt: skip
