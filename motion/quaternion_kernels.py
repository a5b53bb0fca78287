"""Compiled quaternion arithmetic, shared by the kernels of all folders.

Quaternions are wxyz, unit length. Functions of single numbers return tuples, which LLVM
keeps in registers; the others work on arrays. Not for arrays of quaternions outside of
compiled code: see `ambulo.motion.rotations`.
"""

from __future__ import annotations

import math

from numba import njit

from ambulo.configs.arrays import Array

Quaternion = tuple[float, float, float, float]
Vector = tuple[float, float, float]

_strict = njit(cache=True, fastmath=False)
"""Numba passes `fastmath` on to what a kernel calls, unless that says otherwise: without
this the results would depend on which caller is compiled first."""


@_strict
def product(
    a: float, b: float, c: float, d: float, e: float, f: float, g: float, h: float
) -> Quaternion:
    """The product (a, b, c, d) (e, f, g, h): the second rotation, then the first."""
    return (
        a * e - b * f - c * g - d * h,
        a * f + b * e + c * h - d * g,
        a * g - b * h + c * e + d * f,
        a * h + b * g - c * f + d * e,
    )


@_strict
def rotated(
    w: float, x: float, y: float, z: float, a: float, b: float, c: float
) -> Vector:
    """The vector (a, b, c) turned by (w, x, y, z)."""
    tx = 2.0 * (y * c - z * b)
    ty = 2.0 * (z * a - x * c)
    tz = 2.0 * (x * b - y * a)
    return (
        a + w * tx + y * tz - z * ty,
        b + w * ty + z * tx - x * tz,
        c + w * tz + x * ty - y * tx,
    )


@_strict
def log_of(w: float, x: float, y: float, z: float) -> Vector:
    """The rotation vector of (w, x, y, z), the short way, [rad]."""
    if w < 0.0:
        w, x, y, z = -w, -x, -y, -z
    sine = math.sqrt(x * x + y * y + z * z)
    scale = 2.0 if sine < 1e-9 else 2.0 * math.atan2(sine, w) / sine
    return scale * x, scale * y, scale * z


@_strict
def exp_of(x: float, y: float, z: float) -> Quaternion:
    """The quaternion of the rotation vector (x, y, z), [rad]."""
    angle = math.sqrt(x * x + y * y + z * z)
    scale = 0.5 if angle < 1e-9 else math.sin(0.5 * angle) / angle
    return math.cos(0.5 * angle), scale * x, scale * y, scale * z


@_strict
def multiply(a: Array, b: Array, out: Array) -> None:
    """`out` = the rotation b, then a. Shapes (4,); `out` may be `a` or `b`."""
    out[0], out[1], out[2], out[3] = product(
        a[0], a[1], a[2], a[3], b[0], b[1], b[2], b[3]
    )


@_strict
def inverse_multiply(a: Array, b: Array, out: Array) -> None:
    """`out` = conjugate(a) b, the rotation from a to b. Shapes (4,)."""
    out[0], out[1], out[2], out[3] = product(
        a[0], -a[1], -a[2], -a[3], b[0], b[1], b[2], b[3]
    )


@_strict
def log_between(a: Array, b: Array, out: Array) -> None:
    """`out` (3,) = the rotation vector of conjugate(a) b, (4,) each, [rad]."""
    w, x, y, z = product(a[0], -a[1], -a[2], -a[3], b[0], b[1], b[2], b[3])
    out[0], out[1], out[2] = log_of(w, x, y, z)


@_strict
def turn(q: Array, x: float, y: float, z: float) -> None:
    """Turn `q` (4,), in place, by the rotation vector (x, y, z), [rad], in its own frame."""
    e, f, g, h = exp_of(x, y, z)
    q[0], q[1], q[2], q[3] = product(q[0], q[1], q[2], q[3], e, f, g, h)
