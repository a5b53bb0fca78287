"""Compiled loops over envs that call MuJoCo's C library directly.

`mj_step` and `mj_multiRay` are linked by name into the compiled code, so a tick costs a
C call and no Python. The tick itself is the contract's (`kernels.step_envs`) with
one difference: MuJoCo's contact solver pushes the player out of obstacles.

An `engine` is a tuple of addresses, each (N,): of every env's MjModel and MjData, and of
its qpos and qvel.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path

import llvmlite.binding as llvm
import mujoco
import numpy as np
from numba import njit, types
from numba.extending import overload

from ambulo.configs.errors import AmbuloError
from ambulo.envs.vr.contract import BODY_RADIUS, SLIDE_ITERATIONS
from ambulo.envs.vr.geometry.prism_kernels import (
    STUCK_DEPTH,
    TOUCH_DEPTH,
    near_shapes,
    on_floor,
    overlaps,
    ray_edge,
)
from ambulo.envs.vr.world.kernels import look, push_out

_RADIUS = BODY_RADIUS
_PASSES = SLIDE_ITERATIONS
_TOUCH = TOUCH_DEPTH
_STUCK = STUCK_DEPTH
_SMALL = 0.1 * STUCK_DEPTH
"""A push below this ends the steps, [m]."""
_PLAYER_BODY = 1


def library_path() -> Path:
    """MuJoCo's shared library, as its Python package ships it."""
    folder = Path(mujoco.__file__).parent
    pattern = {"darwin": "libmujoco*.dylib", "win32": "mujoco.dll"}.get(
        sys.platform, "libmujoco.so*"
    )
    found = sorted(folder.glob(pattern))
    if not found:
        raise AmbuloError(
            f"no {pattern} in {folder}: reinstall mujoco from its wheel"
            " (pip install --force-reinstall mujoco), or set"
            " environment.world to 'kernel'"
        )
    return found[0]


def _link() -> None:
    if "normal" not in (mujoco.mj_multiRay.__doc__ or ""):
        raise AmbuloError(
            f"mujoco {mujoco.__version__} has another mj_multiRay than the one this"
            " package calls: install mujoco>=3.11,<4"
        )
    llvm.load_library_permanently(str(library_path()))


_link()
_address, _int, _void = types.uintp, types.int32, types.void
_mj_step = types.ExternalFunction("mj_step", _void(_address, _address))
_mj_multi_ray = types.ExternalFunction(
    "mj_multiRay",
    _void(
        _address, _address, _address, _address, _address, _int, _int, _address,
        _address, _address, _int, types.float64,
    ),
)  # fmt: skip
_mju_copy = types.ExternalFunction("mju_copy", _void(_address, _address, _int))
_mju_zero = types.ExternalFunction("mju_zero", _void(_address, _int))


@njit(cache=True)
def bare_steps(models, datas, ticks):
    """`ticks` calls of mj_step for every env and nothing else (for benchmarks)."""
    for i in range(models.shape[0]):
        for _ in range(ticks):
            _mj_step(models[i], datas[i])


@njit(cache=True)
def bare_rays(models, datas, point, directions, distance, length):
    """One mj_multiRay for every env and nothing else (for benchmarks)."""
    for i in range(models.shape[0]):
        _mj_multi_ray(
            models[i], datas[i], point.ctypes.data, directions.ctypes.data, 0, 1,
            _PLAYER_BODY, 0, distance.ctypes.data, 0, directions.shape[0], length,
        )  # fmt: skip


@njit(cache=True)
def cast_rays(
    model, data, x, y, angle, length, edges, out,
    boxes, n_boxes, cylinders, n_cylinders, index, bounds, holes, n_holes,
):  # fmt: skip
    """Fills `out` with the ray readings of a player whose ray 0 points along `angle`."""
    n = out.shape[0]
    point = np.empty(3)
    directions = np.empty((n, 3))
    if not on_floor(x, y, bounds, holes, n_holes):
        out[:] = length
        return
    nb, nc = near_shapes(x, y, 1e-9, boxes, n_boxes, cylinders, n_cylinders, index)
    if nb + nc > 0:
        out[:] = 0.0
        return
    for r in range(n):
        heading = angle + 2.0 * math.pi * r / n
        directions[r, 0] = math.cos(heading)
        directions[r, 1] = math.sin(heading)
        directions[r, 2] = 0.0
    point[0] = x
    point[1] = y
    point[2] = 0.0
    _mj_multi_ray(
        model, data, point.ctypes.data, directions.ctypes.data, 0, 1,
        _PLAYER_BODY, 0, out.ctypes.data, 0, n, length,
    )  # fmt: skip
    for r in range(n):
        reach = length
        if edges:
            reach = min(
                reach,
                ray_edge(
                    x, y, directions[r, 0], directions[r, 1], bounds, holes, n_holes
                ),
            )
        if 0.0 <= out[r] < reach:
            reach = out[r]
        out[r] = reach


@njit(cache=True)
def pushed_out(
    model, data, qpos, qvel, x0, y0, x, y,
    boxes, n_boxes, cylinders, n_cylinders, index, found,
):  # fmt: skip
    """(x, y) pushed by `mj_step` out of what it overlaps, and whether it did overlap.

    One step undoes one overlap exactly and several to first order, so several take up
    to as many steps as `kernels.slide` has passes; like there, a body that is then
    still stuck is back at (x0, y0).
    """
    point = np.empty(2)
    point[0] = x
    point[1] = y
    _mju_copy(qpos, point.ctypes.data, 2)
    _mju_zero(qvel, 2)
    _mj_step(model, data)
    _mju_copy(point.ctypes.data, qpos, 2)
    if math.hypot(point[0] - x, point[1] - y) <= _TOUCH:
        return point[0], point[1], False
    reach = _RADIUS + math.hypot(point[0] - x, point[1] - y)
    nb, nc = near_shapes(x, y, reach, boxes, n_boxes, cylinders, n_cylinders, index)
    if nb + nc == 1:
        return point[0], point[1], True
    for _ in range(_PASSES - 1):
        x = point[0]
        y = point[1]
        _mju_zero(qvel, 2)
        _mj_step(model, data)
        _mju_copy(point.ctypes.data, qpos, 2)
        if math.hypot(point[0] - x, point[1] - y) <= _SMALL:
            return point[0], point[1], True
    x = point[0]
    y = point[1]
    nb, nc = near_shapes(x, y, _RADIUS, boxes, n_boxes, cylinders, n_cylinders, index)
    n = overlaps(x, y, boxes, cylinders, index, nb, nc, found, _RADIUS)
    for k in range(n):
        if found[k, 2] > _STUCK:
            return x0, y0, True
    return x, y, True


@overload(push_out)
def _push_out_by_mujoco(
    engine, i, x0, y0, x, y, boxes, n_boxes, cylinders, n_cylinders, index, nb, nc, found
):  # fmt: skip
    if not isinstance(engine, types.UniTuple):
        return None

    def pushed(
        engine, i, x0, y0, x, y,
        boxes, n_boxes, cylinders, n_cylinders, index, nb, nc, found,
    ):  # fmt: skip
        models, datas, qpos, qvel = engine
        return pushed_out(
            models[i], datas[i], qpos[i], qvel[i], x0, y0, x, y,
            boxes, n_boxes, cylinders, n_cylinders, index, found,
        )  # fmt: skip

    return pushed


@overload(look)
def _look_by_mujoco(
    engine, i, x, y, angle, length, edges, out,
    boxes, n_boxes, cylinders, n_cylinders, index, bounds, holes, n_holes,
):  # fmt: skip
    if not isinstance(engine, types.UniTuple):
        return None

    def seen(
        engine, i, x, y, angle, length, edges, out,
        boxes, n_boxes, cylinders, n_cylinders, index, bounds, holes, n_holes,
    ):  # fmt: skip
        models, datas, _, _ = engine
        cast_rays(
            models[i], datas[i], x, y, angle, length, edges, out,
            boxes, n_boxes, cylinders, n_cylinders, index, bounds, holes, n_holes,
        )  # fmt: skip

    return seen
