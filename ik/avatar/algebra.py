"""Compiled: quaternions (4,) and vectors (3,) of arrays, for the avatar's kernels."""

from __future__ import annotations

import math

from numba import njit

from ambulo.configs.arrays import Array
from ambulo.motion.quaternion_kernels import rotated


@njit(cache=True)
def wrapped(angle: float) -> float:
    """`angle` in [-pi, pi), [rad]."""
    return angle - 2.0 * math.pi * math.floor((angle + math.pi) / (2.0 * math.pi))


@njit(cache=True)
def yaw_of(q: Array) -> float:
    """The yaw of the twist of `q` (4,) about Z, in [-pi, pi), [rad]."""
    return wrapped(2.0 * math.atan2(q[3], q[0]))


@njit(cache=True)
def set_yaw(yaw: float, out: Array) -> None:
    """Make `out` (4,) the rotation by `yaw` about Z."""
    out[0], out[1], out[2], out[3] = math.cos(0.5 * yaw), 0.0, 0.0, math.sin(0.5 * yaw)


@njit(cache=True)
def turn_by(q: Array, v: Array, out: Array) -> None:
    """`out` (3,) = `v` (3,) turned by `q` (4,)."""
    out[0], out[1], out[2] = rotated(q[0], q[1], q[2], q[3], v[0], v[1], v[2])


@njit(cache=True)
def nlerp(a: Array, b: Array, t: float, out: Array) -> None:
    """`out` (4,) = the short way from `a` to `b` by the part `t`, normalised."""
    dot = a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3]
    u = t if dot >= 0.0 else -t
    square = 0.0
    for i in range(4):
        out[i] = (1.0 - t) * a[i] + u * b[i]
        square += out[i] * out[i]
    scale = 1.0 / math.sqrt(square)
    for i in range(4):
        out[i] *= scale


@njit(cache=True)
def set_frame(
    xx: float, xy: float, xz: float, yx: float, yy: float, yz: float,
    zx: float, zy: float, zz: float, out: Array,
) -> None:  # fmt: skip
    """Make `out` (4,) the rotation whose columns are the unit axes x, y and z."""
    trace = xx + yy + zz
    if trace > 0.0:
        w, x, y, z = 1.0 + trace, yz - zy, zx - xz, xy - yx
    elif xx >= yy and xx >= zz:
        w, x, y, z = yz - zy, 1.0 + xx - yy - zz, yx + xy, zx + xz
    elif yy >= zz:
        w, x, y, z = zx - xz, yx + xy, 1.0 + yy - xx - zz, zy + yz
    else:
        w, x, y, z = xy - yx, zx + xz, zy + yz, 1.0 + zz - xx - yy
    scale = 1.0 / math.sqrt(w * w + x * x + y * y + z * z)
    out[0], out[1], out[2], out[3] = w * scale, x * scale, y * scale, z * scale
