"""Compiled loops over envs that call MuJoCo's C library directly.

`mj_step` and `mj_multiRay` are linked by name into the compiled code, so a tick costs a
C call and no Python. The tick itself is the contract's (`kernels.step_envs`) with
one difference: MuJoCo's contact solver pushes the player out of obstacles.
"""

# ruff: noqa: PLR0915 - compiled loops take their arrays one by one

from __future__ import annotations

import math
import sys
from pathlib import Path

import llvmlite.binding as llvm
import mujoco
import numpy as np
from numba import njit, types

from ambulo.configs.errors import AmbuloError
from ambulo.envs.vr.contract import BODY_RADIUS, GRAVITY, SLIDE_ITERATIONS
from ambulo.envs.vr.world.geometry_kernels import (
    MOST_OVERLAPS,
    STUCK_DEPTH,
    TOUCH_DEPTH,
    near_shapes,
    on_floor,
    overlaps,
    ray_edge,
)

_RADIUS = BODY_RADIUS
_GRAVITY = GRAVITY
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
    model, data, x, y, angle, length, edges, out, point, directions, index,
    boxes, n_boxes, cylinders, n_cylinders, bounds, holes, n_holes,
):  # fmt: skip
    """Fills `out` with the ray readings of a player whose ray 0 points along `angle`.

    `point` (3,) and `directions` (n, 3) are work space.
    """
    n = out.shape[0]
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
def read_rays(
    envs, models, datas, slot, position, yaw, rays, head, length, edges, levels
):
    """Reads the rays of `envs` (indices) into `rays` (N, num_rays)."""
    boxes, cylinders, holes, bounds, counts = levels
    index = np.empty(boxes.shape[1] + cylinders.shape[1], np.int64)
    point = np.empty(3)
    directions = np.empty((rays.shape[1], 3))
    for i in envs:
        s = slot[i]
        cast_rays(
            models[i], datas[i], position[i, 0], position[i, 1],
            yaw[i] if head else 0.0, length, edges, rays[i], point, directions, index,
            boxes[s], counts[s, 0], cylinders[s], counts[s, 1],
            bounds[s], holes[s], counts[s, 2],
        )  # fmt: skip


@njit(cache=True)
def pushed_out(
    model, data, qpos, qvel, x0, y0, x, y, point,
    boxes, n_boxes, cylinders, n_cylinders, index, found,
):  # fmt: skip
    """(x, y) pushed by `mj_step` out of what it overlaps, and whether it did overlap.

    One step undoes one overlap exactly and several to first order, so several take up
    to as many steps as `kernels.slide` has passes; like there, a body that is then
    still stuck is back at (x0, y0).
    """
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
    n = overlaps(x, y, boxes, cylinders, index, nb, nc, found)
    for k in range(n):
        if found[k, 2] > _STUCK:
            return x0, y0, True
    return x, y, True


@njit(cache=True)
def step_envs(
    models, datas, qpos, qvel, target, jump, snap, slot, position, yaw, velocity,
    yaw_rate, command, rays, path, contact_ticks, collisions, since_contact, fell,
    falling, ticks, dt, decay, max_speed, max_yaw_rate, rearm, fall_depth,
    head, length, edges, levels,
):  # fmt: skip
    """Advance every env by one step, in place; see `kernels.step_envs`.

    `models`, `datas`, `qpos`, `qvel` (N,) are addresses of each env's MjModel,
    MjData and of its qpos and qvel. Each tick the player is put where the command
    leads, at rest, and `mj_step` pushes it out of what it overlaps.
    """
    boxes, cylinders, holes, bounds, counts = levels
    index = np.empty(boxes.shape[1] + cylinders.shape[1], np.int64)
    point = np.empty(3)
    directions = np.empty((rays.shape[1], 3))
    found = np.empty((MOST_OVERLAPS, 3))
    for i in range(target.shape[0]):
        s = slot[i]
        model = models[i]
        data = datas[i]
        x = position[i, 0]
        y = position[i, 1]
        z = position[i, 2]
        vx = velocity[i, 0]
        vy = velocity[i, 1]
        vz = velocity[i, 2]
        yaw[i] += snap[i]
        walked = 0.0
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
                left = -command[i, 0] * max_speed + jump[i, 0] / (ticks * dt)
                ahead = command[i, 1] * max_speed + jump[i, 1] / (ticks * dt)
                cos = math.cos(yaw[i])
                sin = math.sin(yaw[i])
                x += (cos * ahead - sin * left) * dt
                y += (sin * ahead + cos * left) * dt
                x, y, touched = pushed_out(
                    model, data, qpos[i], qvel[i], x0, y0, x, y, point, boxes[s],
                    counts[s, 0], cylinders[s], counts[s, 1], index, found,
                )  # fmt: skip
                vx = (x - x0) / dt
                vy = (y - y0) / dt
                vz = 0.0
                falling[i] = not on_floor(x, y, bounds[s], holes[s], counts[s, 2])
            walked += math.sqrt((x - x0) ** 2 + (y - y0) ** 2)
            if touched:
                touches += 1
                if since_contact[i] >= rearm:
                    events += 1
                since_contact[i] = 0
            else:
                since_contact[i] += 1
            if z < -fall_depth:
                fell[i] = True
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
        cast_rays(
            model, data, x, y, yaw[i] if head else 0.0, length, edges, rays[i],
            point, directions, index, boxes[s], counts[s, 0], cylinders[s],
            counts[s, 1], bounds[s], holes[s], counts[s, 2],
        )  # fmt: skip
