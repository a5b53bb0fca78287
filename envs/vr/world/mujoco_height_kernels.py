"""Compiled loops over envs in levels with heights that call MuJoCo's C library.

`mj_geomDistance` finds how near the capsule is to each shape, `mj_ray` finds the floor;
the contract's rule resolves the overlaps. An `engine` is an array (N, 4) of addresses, see
`HeightScene.addresses`.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit, types
from numba.extending import overload

from ambulo.envs.vr.contract import (
    BODY_RADIUS,
    CAPSULE_HIGH,
    CAPSULE_LOW,
    SLIDE_ITERATIONS,
    STEEPEST_FLOOR,
)
from ambulo.envs.vr.geometry.prism_kernels import STUCK_DEPTH, TOUCH_DEPTH, way_out
from ambulo.envs.vr.geometry.solid_kernels import is_steep
from ambulo.envs.vr.world import mujoco_kernels  # noqa: F401 - links the library
from ambulo.envs.vr.world.height_kernels import floor_below, push_aside

_R = BODY_RADIUS
_MIDDLE = 0.5 * (CAPSULE_LOW + CAPSULE_HIGH)
_FLOOR = STEEPEST_FLOOR
_PASSES = SLIDE_ITERATIONS
_TOUCH = TOUCH_DEPTH
_STUCK = STUCK_DEPTH
_BODY = 1
_NEXT = 1e-5
"""A ray goes on this far below a face that is no floor, [m]."""

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
_mju_copy = types.ExternalFunction("mju_copy", types.void(_address, _address, _int))


@njit(cache=True)
def mujoco_overlaps(engine, solids, near, n, x, y, z, found, work):
    """How many shapes overlap the capsule at (x, y, z); -1: one is too deep in it.

    Each is written into `found` (K, 3): unit vector out, and depth [m]. `work` (10,).
    """
    work[6] = x
    work[7] = y
    work[8] = z + _MIDDLE
    _mju_copy(engine[2], work.ctypes.data + 48, 3)
    flat = solids[0].shape[0] + solids[1].shape[0]
    count = 0
    for k in range(n):
        distance = _geom_distance(
            engine[0], engine[1], near[k], engine[3], _R, work.ctypes.data
        )
        if distance >= -_TOUCH:
            continue
        if distance < -0.9 * _R:
            return -1
        nx = (work[3] - work[0]) / distance
        ny = (work[4] - work[1]) / distance
        nz = (work[5] - work[2]) / distance
        aside = math.sqrt(nx * nx + ny * ny)
        if near[k] < flat:
            if abs(nz) > aside:
                continue
        elif is_steep(nx, ny, nz, aside, 1.0, solids[2][near[k] - flat]):
            continue
        if count < found.shape[0]:
            found[count, 0] = nx / aside
            found[count, 1] = ny / aside
            found[count, 2] = -distance / aside
            count += 1
    return count


@njit(cache=True)
def mujoco_slide(engine, solids, near, n, x0, y0, x, y, z, found):
    """(x, y) pushed out of all near shapes, and whether any was touched, as `slide`."""
    work = np.empty(10)
    touched = False
    for _ in range(_PASSES):
        count = mujoco_overlaps(engine, solids, near, n, x, y, z, found, work)
        if count == 0:
            return x, y, touched
        if count < 0:
            return x0, y0, True
        touched = True
        ux, uy = way_out(found, count)
        x += ux
        y += uy
    count = mujoco_overlaps(engine, solids, near, n, x, y, z, found, work)
    if count < 0:
        return x0, y0, True
    for k in range(count):
        if found[k, 2] > _STUCK:
            return x0, y0, True
    return x, y, True


@njit(cache=True)
def mujoco_floor(engine, x, y, highest):
    """Height of the highest floor at (x, y) up to `highest` by rays down; -inf: none."""
    point = np.array([x, y, highest + 1e-9])
    down = np.array([0.0, 0.0, -1.0])
    normal = np.empty(3)
    geom = np.empty(1, np.int32)
    while True:
        way = _mj_ray(
            engine[0], engine[1], point.ctypes.data, down.ctypes.data, 0, 1, _BODY,
            geom.ctypes.data, normal.ctypes.data,
        )  # fmt: skip
        if way < 0.0:
            return -np.inf
        if normal[2] >= _FLOOR:
            return min(point[2] - way, highest)
        point[2] -= way + _NEXT


@overload(push_aside)
def _push_aside_by_mujoco(
    engine, i, s, solids, near, n, movers, x0, y0, x, y, z, found, whom
):  # fmt: skip
    if not isinstance(engine, types.Array):
        return None

    def pushed(engine, i, s, solids, near, n, movers, x0, y0, x, y, z, found, whom):
        return mujoco_slide(engine[i], solids, near, n, x0, y0, x, y, z, found)

    return pushed


@overload(floor_below)
def _floor_by_mujoco(engine, i, solids, near, n, movers, x, y, highest):
    if not isinstance(engine, types.Array):
        return None

    def found(engine, i, solids, near, n, movers, x, y, highest):
        return mujoco_floor(engine[i], x, y, highest), -1

    return found
