"""Compiled loops over envs in levels with heights that call MuJoCo's C library.

`mj_geomDistance` finds how near the capsule is to each shape, `mj_ray` and `mju_rayGeom`
find the floor; the contract's rule resolves the overlaps. Envs of one level share its
`MjData`: what moves is written there before it is asked.
"""

from __future__ import annotations

import math

import mujoco
import numpy as np
from numba import njit, types
from numba.extending import overload

from ambulo.envs.vr.contract import (
    BODY_RADIUS,
    CAPSULE_LOW,
    SLIDE_ITERATIONS,
    STEEPEST_FLOOR,
)
from ambulo.envs.vr.geometry.prism_kernels import STUCK_DEPTH, TOUCH_DEPTH, way_out
from ambulo.envs.vr.geometry.solid_kernels import (
    BOX,
    PERSON,
    PRESSED,
    is_steep,
    reach_of,
)
from ambulo.envs.vr.world import mujoco_kernels  # noqa: F401 - links the library
from ambulo.envs.vr.world.height_kernels import floor_below, push_aside

_R = BODY_RADIUS
_LOW = CAPSULE_LOW
_DIAGONAL = BODY_RADIUS * math.sqrt(0.5)
"""From the upper end of the capsule's axis to the top of the body, [m]."""
_FLOOR = STEEPEST_FLOOR
_PASSES = SLIDE_ITERATIONS
_TOUCH = TOUCH_DEPTH
_STUCK = STUCK_DEPTH
_BODY = 1
_NEXT = 1e-5
"""A ray goes on this far below a face that is no floor, [m]."""
_PRESSED = PRESSED
_MARGIN = 1e-6
_BOX, _PERSON = BOX, PERSON
_BOX_GEOM = int(mujoco.mjtGeom.mjGEOM_BOX)

ENGINE = ("model", "data", "player", "still", "places", "turns")
"""Columns of an engine (N, 6): addresses of the level's `MjModel` and `MjData`, number of the
player's geom, number of geoms that stand still, addresses of `geom_xpos` and `geom_xmat`."""
_MODEL, _DATA, _PLAYER, _COUNT, _PLACES, _TURNS = range(len(ENGINE))
_PLACE, _TURN = 24, 72
"""Bytes of a row of `geom_xpos` and of `geom_xmat`."""

_address, _int, _real = types.uintp, types.int32, types.float64
_geom_distance = types.ExternalFunction(
    "mj_geomDistance", _real(_address, _address, _int, _int, _real, _address)
)
_mj_ray = types.ExternalFunction(
    "mj_ray",
    _real(
        _address, _address, _address, _address, _address, types.uint8, _int, _address,
        _address,
    ),
)  # fmt: skip
_mju_ray_geom = types.ExternalFunction(
    "mju_rayGeom",
    _real(_address, _address, _address, _address, _address, _int, _address),
)
_mju_copy = types.ExternalFunction("mju_copy", types.void(_address, _address, _int))


@njit(cache=True)
def place_movers(engine, movers, index):
    """Write `movers` (M, 9), whose numbers are `index` (M,), into the level's data."""
    place = np.empty(3)
    turn = np.zeros(9)
    turn[8] = 1.0
    for m in range(movers.shape[0]):
        row = movers[m]
        place[0] = row[0]
        place[1] = row[1]
        place[2] = 0.5 * (row[6] + row[7])
        turn[0] = turn[4] = row[4]
        turn[1] = -row[5]
        turn[3] = row[5]
        geom = engine[_COUNT] + index[m]
        _mju_copy(engine[_PLACES] + _PLACE * geom, place.ctypes.data, 3)
        _mju_copy(engine[_TURNS] + _TURN * geom, turn.ctypes.data, 9)


@njit(cache=True, inline="always")
def beside_flat(nz, aside, away):
    """Depth of a push from a flat shape: 0 where it is too far up or down, or over the axis.

    The axis of the capsule is `away` from the shape, in a direction with these vertical and
    horizontal parts.
    """
    gap = abs(nz) * max(away, 0.0)
    if reach_of(gap) == 0.0 or (gap > _MARGIN and aside * away < _MARGIN):
        return 0.0
    return reach_of(gap) - aside * away


@njit(cache=True)
def mujoco_overlaps(engine, solids, near, n, movers, index, x, y, z, found, whom, work):
    """How many shapes overlap the capsule at (x, y, z); -1: one is too deep in it.

    Each is written into `found` (K, 3): unit vector out, and depth [m]; `whom` (2,) is set
    where one is a person, and where one is none. `work` (10,).
    """
    work[6] = x
    work[7] = y
    work[8] = z + 0.5 * (_LOW + (solids[3][5] - _DIAGONAL))
    player = engine[_PLAYER]
    _mju_copy(engine[_PLACES] + _PLACE * player, work.ctypes.data + 48, 3)
    flat = solids[0].shape[0] + solids[1].shape[0]
    count = 0
    for k in range(n + movers.shape[0]):
        kind = 0.0
        if k < n:
            geom = near[k]
        else:
            geom = engine[_COUNT] + index[k - n]
            kind = movers[k - n, 8]
        distance = _geom_distance(
            engine[_MODEL], engine[_DATA], geom, player, _R, work.ctypes.data
        )
        if distance >= -_TOUCH:
            continue
        if distance < -0.9 * _R:
            return -1
        nx = (work[3] - work[0]) / distance
        ny = (work[4] - work[1]) / distance
        nz = (work[5] - work[2]) / distance
        aside = math.sqrt(nx * nx + ny * ny)
        depth = -distance / aside if aside > 1e-9 else 0.0
        if geom < flat or k >= n:
            depth = beside_flat(nz, aside, _R + distance)
            if depth <= _TOUCH:
                continue
        elif is_steep(nx, ny, nz, aside, 1.0, solids[2][geom - flat]):
            continue
        if count < found.shape[0]:
            found[count, 0] = nx / aside
            found[count, 1] = ny / aside
            found[count, 2] = depth
            count += 1
            whom[0 if kind == _PERSON else 1] = True
    return count


@njit(cache=True)
def mujoco_slide(
    engine, solids, near, n, movers, index, x0, y0, x, y, z, found, whom
):  # fmt: skip
    """(x, y) pushed out of all near shapes, and whether any was touched, as `slide`."""
    work = np.empty(10)
    place_movers(engine, movers, index)
    touched = False
    for _ in range(_PASSES):
        count = mujoco_overlaps(
            engine, solids, near, n, movers, index, x, y, z, found, whom, work
        )
        if count == 0:
            if touched and (x - x0) ** 2 + (y - y0) ** 2 > _PRESSED * _PRESSED:
                return x0, y0, True
            return x, y, touched
        if count < 0:
            return x0, y0, True
        touched = True
        ux, uy = way_out(found, count)
        x += ux
        y += uy
    count = mujoco_overlaps(
        engine, solids, near, n, movers, index, x, y, z, found, whom, work
    )
    stuck = count < 0 or (x - x0) ** 2 + (y - y0) ** 2 > _PRESSED * _PRESSED
    for k in range(count):
        stuck = stuck or found[k, 2] > _STUCK
    if stuck:
        return x0, y0, True
    return x, y, True


@njit(cache=True)
def mujoco_floor(engine, movers, x, y, highest):
    """Height of the highest floor at (x, y) up to `highest`, and the mover it is of.

    -inf where there is none; the mover is -1 for a floor that stands still.
    """
    point = np.array([x, y, highest + 1e-9])
    down = np.array([0.0, 0.0, -1.0])
    normal = np.empty(3)
    geom = np.empty(1, np.int32)
    groups = np.array([1, 0, 0, 0, 0, 0], np.uint8)
    best = -np.inf
    while True:
        way = _mj_ray(
            engine[_MODEL], engine[_DATA], point.ctypes.data, down.ctypes.data,
            groups.ctypes.data, 1, _BODY, geom.ctypes.data, normal.ctypes.data,
        )  # fmt: skip
        if way < 0.0:
            break
        if normal[2] >= _FLOOR:
            best = min(point[2] - way, highest)
            break
        point[2] -= way + _NEXT
    carrier = -1
    place = np.empty(3)
    size = np.empty(3)
    turn = np.zeros(9)
    turn[8] = 1.0
    for m in range(movers.shape[0]):
        row = movers[m]
        if row[8] != _BOX or row[7] > highest or row[7] <= best:
            continue
        place[0] = row[0]
        place[1] = row[1]
        place[2] = 0.5 * (row[6] + row[7])
        size[0] = row[2]
        size[1] = row[3]
        size[2] = 0.5 * (row[7] - row[6])
        turn[0] = turn[4] = row[4]
        turn[1] = -row[5]
        turn[3] = row[5]
        point[2] = highest + 1e-9
        way = _mju_ray_geom(
            place.ctypes.data, turn.ctypes.data, size.ctypes.data, point.ctypes.data,
            down.ctypes.data, _BOX_GEOM, normal.ctypes.data,
        )  # fmt: skip
        if way >= 0.0 and normal[2] >= _FLOOR:
            best = min(point[2] - way, highest)
            carrier = m
    return best, carrier


@overload(push_aside)
def _push_aside_by_mujoco(
    engine, i, s, solids, near, n, movers, index, x0, y0, x, y, z, found, whom
):  # fmt: skip
    if not isinstance(engine, types.Array):
        return None

    def pushed(
        engine, i, s, solids, near, n, movers, index, x0, y0, x, y, z, found, whom
    ):  # fmt: skip
        return mujoco_slide(
            engine[i], solids, near, n, movers, index, x0, y0, x, y, z, found, whom
        )

    return pushed


@overload(floor_below)
def _floor_by_mujoco(engine, i, solids, near, n, movers, x, y, highest):
    if not isinstance(engine, types.Array):
        return None

    def found(engine, i, solids, near, n, movers, x, y, highest):
        return mujoco_floor(engine[i], movers, x, y, highest)

    return found
