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

TINY = 1e-12
"""Length below which a direction is undefined."""

_strict = njit(cache=True, fastmath=False)
"""Numba passes `fastmath` on to called functions unless they override it: without this, results
would depend on which caller is compiled first."""


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
    """The vector (a, b, c) rotated by (w, x, y, z)."""
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
    """The shortest rotation vector of (w, x, y, z), [rad]."""
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
    """Rotate `q` (4,), in place, by the rotation vector (x, y, z), [rad], in its own frame."""
    e, f, g, h = exp_of(x, y, z)
    q[0], q[1], q[2], q[3] = product(q[0], q[1], q[2], q[3], e, f, g, h)


@_strict
def multiply_inverse(a: Array, b: Array, out: Array) -> None:
    """`out` = a conjugate(b), the rotation from b to a in the world. Shapes (4,)."""
    out[0], out[1], out[2], out[3] = product(
        a[0], a[1], a[2], a[3], b[0], -b[1], -b[2], -b[3]
    )


@_strict
def multiply_at(a: Array, i: int, b: Array, j: int, out: Array, k: int) -> None:
    """`multiply` of row i of `a` and row j of `b`, into row k of `out`.

    The functions that end in `_at` take row indices: a slice of an array costs more than the
    arithmetic, because of reference counting.
    """
    out[k, 0], out[k, 1], out[k, 2], out[k, 3] = product(
        a[i, 0], a[i, 1], a[i, 2], a[i, 3], b[j, 0], b[j, 1], b[j, 2], b[j, 3]
    )


@_strict
def rotate(q: Array, v: Array, out: Array) -> None:
    """`out` = v rotated by q. Shapes (4,), (3,), (3,); `out` may be `v`."""
    out[0], out[1], out[2] = rotated(q[0], q[1], q[2], q[3], v[0], v[1], v[2])


@_strict
def unrotate(q: Array, v: Array, out: Array) -> None:
    """`out` = v rotated by the inverse of q. Shapes (4,), (3,), (3,)."""
    out[0], out[1], out[2] = rotated(q[0], -q[1], -q[2], -q[3], v[0], v[1], v[2])


@_strict
def point_at(place: Array, q: Array, x: float, y: float, z: float) -> Vector:
    """World position of point (x, y, z) in the frame at `place` (3,), oriented `q` (4,)."""
    a, b, c = rotated(q[0], q[1], q[2], q[3], x, y, z)
    return place[0] + a, place[1] + b, place[2] + c


@_strict
def logarithm(q: Array, out: Array) -> None:
    """`out` = the shortest rotation vector of q, [rad]. Shapes (4,), (3,)."""
    out[0], out[1], out[2] = log_of(q[0], q[1], q[2], q[3])


@_strict
def about_axis(axis: Array, angle: float, out: Array) -> None:
    """`out` (4,) = the rotation by `angle`, [rad], about the unit vector `axis` (3,)."""
    sine = math.sin(0.5 * angle)
    out[0] = math.cos(0.5 * angle)
    for i in range(3):
        out[i + 1] = sine * axis[i]


@_strict
def between(u: Array, v: Array, out: Array) -> None:
    """`out` (4,) = the smallest rotation from direction u to direction v, (3,) each."""
    x = u[1] * v[2] - u[2] * v[1]
    y = u[2] * v[0] - u[0] * v[2]
    z = u[0] * v[1] - u[1] * v[0]
    lengths = math.sqrt(
        (u[0] * u[0] + u[1] * u[1] + u[2] * u[2])
        * (v[0] * v[0] + v[1] * v[1] + v[2] * v[2])
    )
    w = lengths + u[0] * v[0] + u[1] * v[1] + u[2] * v[2]
    norm = math.sqrt(w * w + x * x + y * y + z * z)
    if lengths < TINY:
        out[0], out[1], out[2], out[3] = 1.0, 0.0, 0.0, 0.0
        return
    if norm < 1e-6 * lengths:
        # Opposite: half a turn about any axis orthogonal to u.
        k = 0 if abs(u[0]) <= abs(u[1]) and abs(u[0]) <= abs(u[2]) else 1
        k = 2 if abs(u[2]) < abs(u[k]) else k
        ex = 1.0 if k == 0 else 0.0
        ey = 1.0 if k == 1 else 0.0
        ez = 1.0 if k == 2 else 0.0
        w, x = 0.0, u[1] * ez - u[2] * ey
        y, z = u[2] * ex - u[0] * ez, u[0] * ey - u[1] * ex
        norm = math.sqrt(x * x + y * y + z * z)
    out[0], out[1], out[2], out[3] = w / norm, x / norm, y / norm, z / norm


@_strict
def swing(
    q: Array, fx: float, fy: float, fz: float, tx: float, ty: float, tz: float,
    part: float,
) -> None:  # fmt: skip
    """Rotate `q` (4,), in place, in the world by `part` of the rotation from f to t."""
    cx, cy, cz = fy * tz - fz * ty, fz * tx - fx * tz, fx * ty - fy * tx
    sine = math.sqrt(cx * cx + cy * cy + cz * cz)
    if sine < 1e-9:
        return
    angle = 0.5 * part * math.atan2(sine, fx * tx + fy * ty + fz * tz)
    s = math.sin(angle) / sine
    q[0], q[1], q[2], q[3] = product(
        math.cos(angle), s * cx, s * cy, s * cz, q[0], q[1], q[2], q[3]
    )


@_strict
def normalize(q: Array) -> None:
    """Normalise `q` (4,), in place; the identity if its length is 0."""
    size = math.sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3])
    if size < 1e-9:
        q[0], q[1], q[2], q[3] = 1.0, 0.0, 0.0, 0.0
        return
    for i in range(4):
        q[i] /= size


@_strict
def nlerp(a: Array, b: Array, t: float, out: Array) -> None:
    """`out` (4,) = the interpolation from `a` to `b` at `t` along the short arc, normalised."""
    dot = a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3]
    u = t if dot >= 0.0 else -t
    for i in range(4):
        out[i] = (1.0 - t) * a[i] + u * b[i]
    normalize(out)


@_strict
def from_axes(
    xx: float, xy: float, xz: float, yx: float, yy: float, yz: float,
    zx: float, zy: float, zz: float,
) -> Quaternion:  # fmt: skip
    """The rotation whose matrix has the unit columns x, y and z."""
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
    return w * scale, x * scale, y * scale, z * scale


@_strict
def from_rows(
    a: float, b: float, c: float, d: float, e: float, f: float, tiny: float
) -> Quaternion:
    """The rotation whose matrix has first rows nearest to (a, b, c) and (d, e, f).

    By Gram-Schmidt; `tiny` is added to squared lengths, so that 0 gives no NaN.
    """
    size = 1.0 / math.sqrt(a * a + b * b + c * c + tiny)
    a, b, c = a * size, b * size, c * size
    along = a * d + b * e + c * f
    d, e, f = d - along * a, e - along * b, f - along * c
    size = 1.0 / math.sqrt(d * d + e * e + f * f + tiny)
    d, e, f = d * size, e * size, f * size
    return from_axes(a, d, b * f - c * e, b, e, c * d - a * f, c, f, a * e - b * d)


@_strict
def to_rows(q: Array, out: Array) -> None:
    """Fill `out` (6,) with the first two rows of the matrix of `q` (4,)."""
    w, x, y, z = q[0], q[1], q[2], q[3]
    out[0], out[1] = 1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z)
    out[2], out[3] = 2.0 * (x * z + w * y), 2.0 * (x * y + w * z)
    out[4], out[5] = 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)


@_strict
def wrapped(angle: float) -> float:
    """`angle` in [-pi, pi), [rad]."""
    return angle - 2.0 * math.pi * math.floor((angle + math.pi) / (2.0 * math.pi))


@_strict
def yaw_of(q: Array) -> float:
    """The yaw of the twist of `q` (4,) about Z, in [-pi, pi), [rad]."""
    return wrapped(2.0 * math.atan2(q[3], q[0]))


@_strict
def heading_of(q: Array) -> tuple[float, float]:
    """Cosine and sine of the yaw of `q` (4,); (1, 0) if it is undefined."""
    c = q[0] * q[0] - q[3] * q[3]
    s = 2.0 * q[0] * q[3]
    size = math.sqrt(c * c + s * s)
    if size < 1e-6:
        return 1.0, 0.0
    return c / size, s / size


@_strict
def set_yaw(yaw: float, out: Array) -> None:
    """`out` (4,) = the rotation by `yaw`, [rad], about Z."""
    out[0], out[1], out[2], out[3] = math.cos(0.5 * yaw), 0.0, 0.0, math.sin(0.5 * yaw)
