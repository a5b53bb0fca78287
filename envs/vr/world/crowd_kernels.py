"""Compiled crowd: the social force model (docs/vr_world.md, "People").

After D. Helbing and P. Molnar, "Social force model for pedestrian dynamics", Physical Review E
51, 4282 (1995): eqs. (2) to (4) and (7) to (10), with its constants, without fluctuations and
attractions. Its pedestrians are points; bodies are kept apart by the repulsion of D. Helbing,
I. Farkas and T. Vicsek, "Simulating dynamical features of escape panic", Nature 407, 487
(2000). The desired direction is that of the shortest path to a person's goal.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from ambulo.configs.arrays import Floats
from ambulo.envs.vr.contract import BODY_HEIGHT, BODY_RADIUS, CLIMB_HEIGHT
from ambulo.envs.vr.geometry.contact_kernels import (
    Contacts,
    has_headroom,
    no_contacts,
    slide,
    support,
)
from ambulo.envs.vr.geometry.solid_kernels import local_shapes, nearest_of
from ambulo.envs.vr.world.mover_kernels import person_row, uniform

X, Y, Z, VX, VY, SPEED, GOAL, SLOW = range(8)
"""Columns of a crowd (N, P, 8): position, velocity, desired speed, goal, time of slow
motion."""
SUBSTEP = 0.1
"""Longest time step of the model, [s]."""
NO_WAY = 255
"""Direction code of a cell without a path to the goal; others are angles in 254ths of a
turn."""
BLOCK = 2
"""Cells along a side of a block, which has a list of near shapes."""

_RELAXATION = 0.5
"""tau: time constant of the desired velocity, [s]."""
_PUSH, _PUSH_RANGE = 2.1, 0.3
"""V0 and sigma of the repulsion by others, [m^2/s^2], [m]."""
_STRIDE = 2.0
"""Delta t: prediction time for avoiding others, [s]."""
_BODY, _BODY_RANGE = 2000.0 / 80.0, 0.08
"""A over m and B of the repulsion of bodies, [m/s^2], [m]."""
_BODY_FAR = 0.5
"""Distance beyond which bodies do not repel each other, [m]."""
_WALL, _WALL_RANGE = 10.0, 0.2
"""U0 and R of the repulsion by walls, [m^2/s^2], [m]."""
_SIGHT = math.cos(math.radians(100.0))
"""Cosine of phi, half the angle of sight."""
_BEHIND = 0.5
"""c: weight of others out of sight."""
HURRY = 1.3
"""Largest speed, as a multiple of the desired one."""
_FAR = 4.0
"""Distance beyond which others are ignored, [m]."""
_WEAK = 1.5
"""Value of b above which others are ignored, [m]."""
WALL_FAR = 1.0
"""Distance beyond which walls are ignored, [m]."""
_ARRIVED = 1.0
"""Distance at which a goal is reached, [m]."""
_STUCK_SPEED, _STUCK_TIME = 0.2, 4.0
"""A person slower than this fraction of the desired speed for this long draws another goal,
[s]."""
_SAME_FLOOR = 0.6
"""Height difference within one floor, as `layer_field_kernels.SAME_FLOOR`, [m]."""
_ROOM = 1.5
"""Distance of a crowd from agents at the start, [m]."""
_TRIES = 30
_RADIUS = BODY_RADIUS
_CLIMB = CLIMB_HEIGHT
_TALL = BODY_HEIGHT
_TINY = 1e-9
_COS = np.cos(np.arange(NO_WAY) * (2.0 * math.pi / 254.0))
_SIN = np.sin(np.arange(NO_WAY) * (2.0 * math.pi / 254.0))


class CrowdWork(NamedTuple):
    """Work space of `step_crowd` for P people."""

    force: Floats
    """Shape (P, 2)."""
    aim: Floats
    """Shape (P, 2)."""
    contacts: Contacts
    """Contacts of a person."""


@njit(cache=True)
def crowd_work(people):
    """Work space of `step_crowd` for at most `people`."""
    force = np.empty((max(people, 1), 2))
    return CrowdWork(force, np.empty_like(force), no_contacts())


@njit(cache=True, error_model="numpy")
def ways_of(pack, s):
    """The crowd's path directions of slot `s`: views into `pack` (`CrowdWays`)."""
    offset, meta, ways, heights, cells, goals, blocks, items = pack
    o = offset[s]
    p = offset[s + 1]
    return (
        meta[s], ways[o[0] : p[0]], heights[o[1] : p[1]], cells[o[2] : p[2]],
        goals[o[3] : p[3]], blocks[o[4] : p[4]], items[o[5] : p[5]],
    )  # fmt: skip


@njit(cache=True, inline="always")
def _layer_at(meta, heights, j, i, z):
    """Layer of column (j, i) whose floor is nearest to height `z`; -1: none near."""
    nx = int(meta[3])
    plane = nx * int(meta[4])
    best = _SAME_FLOOR
    layer = -1
    for k in range(int(meta[5])):
        away = abs(heights[k * plane + j * nx + i] - z)
        if away < best:
            best = away
            layer = k
    return layer


@njit(cache=True, inline="always", error_model="numpy")
def _way_at(meta, ways, heights, goal, x, y, z):
    """Direction code to `goal` of the cell of (x, y, z); see `NO_WAY`."""
    nx = int(meta[3])
    ny = int(meta[4])
    i = min(max(int((x - meta[0]) / meta[2]), 0), nx - 1)
    j = min(max(int((y - meta[1]) / meta[2]), 0), ny - 1)
    layer = 0 if meta[5] == 1.0 else _layer_at(meta, heights, j, i, z)
    if layer < 0:
        return NO_WAY
    return int(ways[((goal * int(meta[5]) + layer) * ny + j) * nx + i])


@njit(cache=True, error_model="numpy")
def _back(meta, ways, heights, goal, x, y, z):
    """Unit vector from (x, y, z) to the nearest cell with a path to `goal`."""
    nx = int(meta[3])
    ny = int(meta[4])
    plane = nx * ny
    fx = (x - meta[0]) / meta[2]
    fy = (y - meta[1]) / meta[2]
    i = min(max(int(fx), 0), nx - 1)
    j = min(max(int(fy), 0), ny - 1)
    best = np.inf
    dx = 0.0
    dy = 0.0
    for b in range(max(j - 2, 0), min(j + 3, ny)):
        for a in range(max(i - 2, 0), min(i + 3, nx)):
            layer = _layer_at(meta, heights, b, a, z)
            if layer < 0:
                continue
            if ways[(goal * int(meta[5]) + layer) * plane + b * nx + a] == NO_WAY:
                continue
            ux = a + 0.5 - fx
            uy = b + 0.5 - fy
            far = math.sqrt(ux * ux + uy * uy)
            if _TINY < far < best:
                best = far
                dx = ux / far
                dy = uy / far
    return dx, dy


@njit(cache=True, error_model="numpy")
def _another(goals, goal, rng, i):
    """A random goal other than `goal` (-1: any)."""
    count = goals.shape[0]
    if goal < 0:
        return int(uniform(rng, i) * count)
    pick = int(uniform(rng, i) * (count - 1))
    return pick + 1 if pick >= goal else pick


@njit(cache=True, error_model="numpy")
def draw_crowd(slot_ways, crowd, agents, rng, i):
    """Draw people into `crowd` (P, 8), away from `agents` (A, 3) and from each other."""
    meta, heights, cells, goals = slot_ways[0], slot_ways[2], slot_ways[3], slot_ways[4]
    nx = int(meta[3])
    plane = nx * int(meta[4])
    for p in range(crowd.shape[0]):
        best = -np.inf
        for _ in range(_TRIES):
            cell = cells[int(uniform(rng, i) * cells.shape[0])]
            x = meta[0] + (cell % plane % nx + 0.5) * meta[2]
            y = meta[1] + (cell % plane // nx + 0.5) * meta[2]
            z = heights[cell]
            room = np.inf
            for a in range(agents.shape[0]):
                if abs(agents[a, 2] - z) < _TALL:
                    gap = math.sqrt((x - agents[a, 0]) ** 2 + (y - agents[a, 1]) ** 2)
                    room = min(room, gap - _ROOM)
            for q in range(p):
                if abs(crowd[q, Z] - z) < _TALL:
                    gap = math.sqrt((x - crowd[q, X]) ** 2 + (y - crowd[q, Y]) ** 2)
                    room = min(room, gap - 2.0 * meta[8] - 0.1)
            if room > best:
                best = room
                crowd[p, X] = x
                crowd[p, Y] = y
                crowd[p, Z] = z
            if room > 0.0:
                break
        crowd[p, VX] = 0.0
        crowd[p, VY] = 0.0
        crowd[p, SPEED] = meta[6] + uniform(rng, i) * (meta[7] - meta[6])
        crowd[p, GOAL] = _another(goals, -1, rng, i)
        crowd[p, SLOW] = 0.0


@njit(cache=True, inline="always")
def _add_push(force, ex, ey, rx, ry, r, ox, oy, gap):
    """Add the push from another at distance (rx, ry), r, to `force` (2,).

    (ex, ey) is the desired direction, (ox, oy) the other's step, and `gap` the distance of
    their bodies.
    """
    if gap < _BODY_FAR and r > _TINY:
        body = _BODY * math.exp(-gap / _BODY_RANGE) / r
        force[0] += body * rx
        force[1] += body * ry
    qx = rx - ox
    qy = ry - oy
    q = math.sqrt(qx * qx + qy * qy)
    square = (r + q) ** 2 - ox * ox - oy * oy
    if square > 4.0 * _WEAK * _WEAK:
        return
    if r < _TINY or q < _TINY or square < _TINY:
        force[0] += _PUSH / _PUSH_RANGE
        return
    b = 0.5 * math.sqrt(square)
    size = _PUSH / _PUSH_RANGE * math.exp(-b / _PUSH_RANGE) * (r + q) / (4.0 * b)
    fx = size * (rx / r + qx / q)
    fy = size * (ry / r + qy / q)
    ahead = -(ex * fx + ey * fy)
    weight = 1.0 if ahead >= math.sqrt(fx * fx + fy * fy) * _SIGHT else _BEHIND
    force[0] += weight * fx
    force[1] += weight * fy


@njit(cache=True, inline="always")
def _walls(prisms, cylinders, triangles, near, x, y, z, out):
    """Add the pushes of walls to `out` (2,); returns the distance of the nearest one, [m].

    It is 0 if a triangle is near.
    """
    n_prisms = prisms.shape[0]
    n_still = n_prisms + cylinders.shape[0]
    low = z + _CLIMB
    high = z + _TALL
    nearest = np.inf
    for item in near:
        if item < n_prisms:
            row = prisms[item]
            if row[7] <= low or row[6] >= high:
                continue
            dx, dy = nearest_of(x, y, row, False)
        elif item < n_still:
            row = cylinders[item - n_prisms]
            if row[4] <= low or row[3] >= high:
                continue
            dx, dy = nearest_of(x, y, row, True)
        else:
            row = triangles[item - n_still]
            if row[13] > z + 0.01 and row[12] < high:
                nearest = 0.0
            continue
        square = dx * dx + dy * dy
        if square > WALL_FAR * WALL_FAR:
            continue
        far = math.sqrt(square)
        nearest = min(nearest, far)
        if far > _TINY:
            size = _WALL / _WALL_RANGE * math.exp(-far / _WALL_RANGE) / far
            out[0] += size * dx
            out[1] += size * dy
    return nearest


@njit(cache=True, error_model="numpy")
def _social_forces(slot_ways, crowd, others, force, aim):
    """Write the drives and pushes of others to `force` (P, 2); `aim` (P, 2) is work space.

    `others` (O, 6) are x, y, z, vx, vy, radius of persons and agents outside of the crowd.
    """
    count = crowd.shape[0]
    meta, ways, heights = slot_ways[0], slot_ways[1], slot_ways[2]
    radius = meta[8]
    for p in range(count):  # a loop of its own, so that memory reads are vectorised
        aim[p, 0] = _way_at(
            meta, ways, heights, int(crowd[p, GOAL]), crowd[p, X], crowd[p, Y],
            crowd[p, Z],
        )  # fmt: skip
    for p in range(count):
        me = crowd[p]
        way = int(aim[p, 0])
        if way == NO_WAY:
            ex, ey = _back(meta, ways, heights, int(me[GOAL]), me[X], me[Y], me[Z])
        else:
            ex = _COS[way]
            ey = _SIN[way]
        aim[p, 0] = ex
        aim[p, 1] = ey
        force[p, 0] = (me[SPEED] * ex - me[VX]) / _RELAXATION
        force[p, 1] = (me[SPEED] * ey - me[VY]) / _RELAXATION
    for p in range(count):
        me = crowd[p]
        for k in range(p + 1 - count, others.shape[0]):
            q = k + count  # the rest of the crowd has k < 0
            if k < 0:
                x = crowd[q, X]
                y = crowd[q, Y]
                z = crowd[q, Z]
            else:
                x = others[k, 0]
                y = others[k, 1]
                z = others[k, 2]
            rx = me[X] - x
            ry = me[Y] - y
            square = rx * rx + ry * ry
            if square > _FAR * _FAR or abs(me[Z] - z) > _TALL:
                continue
            r = math.sqrt(square)
            if k >= 0:
                _add_push(
                    force[p], aim[p, 0], aim[p, 1], rx, ry, r,
                    others[k, 3] * _STRIDE, others[k, 4] * _STRIDE, r - radius - others[k, 5],
                )  # fmt: skip
                continue
            _add_push(
                force[p], aim[p, 0], aim[p, 1], rx, ry, r,
                crowd[q, VX] * _STRIDE, crowd[q, VY] * _STRIDE, r - 2.0 * radius,
            )  # fmt: skip
            _add_push(
                force[q], aim[q, 0], aim[q, 1], -rx, -ry, r,
                me[VX] * _STRIDE, me[VY] * _STRIDE, r - 2.0 * radius,
            )  # fmt: skip


@njit(cache=True, inline="always", error_model="numpy")
def _is_at(goals, goal, x, y, z):
    """Whether a person at (x, y, z) has reached its goal."""
    far = math.sqrt((goals[goal, 0] - x) ** 2 + (goals[goal, 1] - y) ** 2)
    return far < _ARRIVED and abs(goals[goal, 2] - z) < _SAME_FLOOR


@njit(cache=True, error_model="numpy")
def step_crowd(slot_ways, crowd, others, solids, movers, step, work, rng):
    """Advance a `crowd` (P, 8) by one `step` [s] of the model.

    `others` (O, 6) are x, y, z, vx, vy, radius of others to avoid; `movers` (M, 9) are movers
    that people cannot pass; `rng` (1,) is their generator.
    """
    meta, goals, blocks, items = slot_ways[0], slot_ways[4], slot_ways[5], slot_ways[6]
    side = BLOCK * meta[2]
    nx = (int(meta[3]) + BLOCK - 1) // BLOCK
    ny = (int(meta[4]) + BLOCK - 1) // BLOCK
    prisms, cylinders, triangles = solids[0], solids[1], solids[2]
    force, aim, contacts = work
    _social_forces(slot_ways, crowd, others, force, aim)
    for p in range(crowd.shape[0]):
        me = crowd[p]
        x0 = me[X]
        y0 = me[Y]
        z0 = me[Z]
        column = min(max(int((x0 - meta[0]) / side), 0), nx - 1)
        row = min(max(int((y0 - meta[1]) / side), 0), ny - 1)
        block = blocks[row * nx + column]
        n = int(block[1])
        near = items[int(block[0]) : int(block[0]) + n]
        nearest = _walls(prisms, cylinders, triangles, near, x0, y0, z0, force[p])
        vx = me[VX] + step * force[p, 0]
        vy = me[VY] + step * force[p, 1]
        most = HURRY * me[SPEED]
        speed = math.sqrt(vx * vx + vy * vy)
        if speed > most:
            vx *= most / speed
            vy *= most / speed
        x = x0 + step * vx
        y = y0 + step * vy
        floor = z0
        touches = nearest < _RADIUS + step * min(speed, most) or movers.shape[0] > 0
        if touches or block[2] != z0:
            shapes = local_shapes(solids, near, n, movers)
            if touches:
                x, y, _ = slide(shapes, x0, y0, x, y, z0, 0.0, contacts)
            if block[2] != z0:
                floor, _ = support(shapes, x, y, z0 + _CLIMB)
            if floor < z0 - _CLIMB or (
                floor > z0 + _TINY and not has_headroom(shapes, x, y, floor)
            ):
                x = x0
                y = y0
                floor = z0
        me[X] = x
        me[Y] = y
        me[Z] = floor
        me[VX] = (x - x0) / step
        me[VY] = (y - y0) / step
        speed = math.sqrt(me[VX] ** 2 + me[VY] ** 2)
        me[SLOW] = me[SLOW] + step if speed < _STUCK_SPEED * me[SPEED] else 0.0
        goal = int(me[GOAL])
        if _is_at(goals, goal, x, y, floor) or me[SLOW] > _STUCK_TIME:
            me[GOAL] = _another(goals, goal, rng, 0)
            me[SLOW] = 0.0


@njit(cache=True, error_model="numpy")
def crowd_rows(crowd, radius, rows):
    """Write a `crowd` (P, 8) to `rows` (P or more, 9)."""
    for p in range(crowd.shape[0]):
        person_row(crowd[p, X], crowd[p, Y], crowd[p, Z], radius, rows[p])
