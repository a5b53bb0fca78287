"""Rotations as quaternions, matrices, rotation vectors and two rows, for NumPy and torch.

Quaternions are wxyz, unit length, along the last axis; every function takes any leading shape
that broadcasts, keeps the dtype and device of its arguments, and has gradients in torch. For
Euler angles see `ambulo.motion.euler`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.namespace import array_namespace, device_of

Array = Any
"""A `numpy.ndarray` or a `torch.Tensor`; all arguments of a call are of one kind."""

TINY = 1e-12
"""Squared length below which a vector has no direction."""


def constant(values: NDArray[np.generic], like: Array, dtype: object = None) -> Array:
    """`values` as an array of the kind and device of `like`, copied."""
    xp = array_namespace(like)
    return xp.asarray(values.copy(), dtype=dtype, device=device_of(like))


def quat_multiply(a: Array, b: Array) -> Array:
    """Product of `a` and `b`: rotation b first, then a. Shapes (..., 4) -> (..., 4)."""
    xp = array_namespace(a, b)
    aw, ax, ay, az = (a[..., i] for i in range(4))
    bw, bx, by, bz = (b[..., i] for i in range(4))
    return xp.stack(
        [
            aw * bw - ax * bx - ay * by - az * bz,
            aw * bx + ax * bw + ay * bz - az * by,
            aw * by - ax * bz + ay * bw + az * bx,
            aw * bz + ax * by - ay * bx + az * bw,
        ],
        axis=-1,
    )


def quat_conjugate(q: Array) -> Array:
    """The inverse rotation. Shape (..., 4)."""
    xp = array_namespace(q)
    return xp.concat([q[..., :1], -q[..., 1:]], axis=-1)


def quat_rotate(q: Array, v: Array) -> Array:
    """The vector `v` (..., 3) rotated by `q` (..., 4)."""
    xp = array_namespace(q, v)
    w, x, y, z = (q[..., i] for i in range(4))
    a, b, c = (v[..., i] for i in range(3))
    tx = 2.0 * (y * c - z * b)
    ty = 2.0 * (z * a - x * c)
    tz = 2.0 * (x * b - y * a)
    return xp.stack(
        [
            a + w * tx + y * tz - z * ty,
            b + w * ty + z * tx - x * tz,
            c + w * tz + x * ty - y * tx,
        ],
        axis=-1,
    )


def quat_normalize(q: Array) -> Array:
    """Normalised `q`. Shape (..., 4)."""
    xp = array_namespace(q)
    return q / xp.sqrt(xp.sum(q * q, axis=-1, keepdims=True))


def quat_to_matrix(q: Array) -> Array:
    """Rotation matrices (..., 3, 3) of `q` (..., 4)."""
    xp = array_namespace(q)
    w, x, y, z = (q[..., i] for i in range(4))
    flat = xp.stack(
        [
            1.0 - 2.0 * (y * y + z * z),
            2.0 * (x * y - w * z),
            2.0 * (x * z + w * y),
            2.0 * (x * y + w * z),
            1.0 - 2.0 * (x * x + z * z),
            2.0 * (y * z - w * x),
            2.0 * (x * z - w * y),
            2.0 * (y * z + w * x),
            1.0 - 2.0 * (x * x + y * y),
        ],
        axis=-1,
    )
    return xp.reshape(flat, (*q.shape[:-1], 3, 3))


def quat_from_matrix(m: Array) -> Array:
    """Quaternions (..., 4), w >= 0, of rotation matrices (..., 3, 3).

    The largest of the four components is taken from the diagonal, the others are divided
    by it (S. W. Shepperd, Journal of Guidance and Control 1(3), 1978).
    """
    xp = array_namespace(m)
    a, b, c = m[..., 0, 0], m[..., 1, 1], m[..., 2, 2]
    yz, zx, xy = (
        m[..., 2, 1] - m[..., 1, 2],
        m[..., 0, 2] - m[..., 2, 0],
        m[..., 1, 0] - m[..., 0, 1],
    )
    sxy, sxz, syz = (
        m[..., 1, 0] + m[..., 0, 1],
        m[..., 0, 2] + m[..., 2, 0],
        m[..., 2, 1] + m[..., 1, 2],
    )
    rows = xp.stack(
        [
            xp.stack([1.0 + a + b + c, yz, zx, xy], axis=-1),
            xp.stack([yz, 1.0 + a - b - c, sxy, sxz], axis=-1),
            xp.stack([zx, sxy, 1.0 - a + b - c, syz], axis=-1),
            xp.stack([xy, sxz, syz, 1.0 - a - b + c], axis=-1),
        ],
        axis=-2,
    )
    squares = xp.stack([rows[..., i, i] for i in range(4)], axis=-1)
    best = xp.argmax(squares, axis=-1)[..., None]
    q = rows[..., 0, :]
    for i in range(1, 4):
        q = xp.where(best == i, rows[..., i, :], q)
    q = quat_normalize(q)
    return xp.where(q[..., :1] < 0.0, -q, q)


def quat_from_rotvec(v: Array) -> Array:
    """Quaternions (..., 4) of rotation vectors (..., 3), axis times angle, [rad]."""
    xp = array_namespace(v)
    square = xp.sum(v * v, axis=-1, keepdims=True)
    small = square < TINY
    angle = xp.sqrt(xp.where(small, xp.ones_like(square), square))
    scale = xp.where(small, 0.5 - square / 48.0, xp.sin(0.5 * angle) / angle)
    w = xp.where(small, 1.0 - square / 8.0, xp.cos(0.5 * angle))
    return xp.concat([w, v * scale], axis=-1)


def quat_to_rotvec(q: Array) -> Array:
    """Rotation vectors (..., 3), axis times angle in [0, pi], [rad], of `q` (..., 4)."""
    xp = array_namespace(q)
    q = xp.where(q[..., :1] < 0.0, -q, q)
    v = q[..., 1:]
    square = xp.sum(v * v, axis=-1, keepdims=True)
    small = square < TINY
    length = xp.sqrt(xp.where(small, xp.ones_like(square), square))
    # At small angles angle / length = 2 / w - 2 |v|^2 / (3 w^3), and w is about 1.
    scale = xp.where(
        small, 2.0 - 2.0 * square / 3.0, 2.0 * xp.atan2(length, q[..., :1]) / length
    )
    return v * scale


def quat_angle(a: Array, b: Array) -> Array:
    """The angle in [0, pi], [rad], between rotations a and b. (..., 4) -> (...).

    atan2 is exact and has a finite gradient at 0, unlike acos.
    """
    xp = array_namespace(a, b)
    d = quat_multiply(quat_conjugate(a), b)
    square = xp.sum(d[..., 1:] * d[..., 1:], axis=-1)
    zero = square == 0.0
    length = xp.sqrt(xp.where(zero, xp.ones_like(square), square))
    angle = 2.0 * xp.atan2(length, xp.abs(d[..., 0]))
    return xp.where(zero, xp.zeros_like(angle), angle)


def quat_slerp(a: Array, b: Array, t: Array) -> Array:
    """The rotation at `t` (...) of the shorter arc from a (t = 0) to b (t = 1)."""
    delta = quat_to_rotvec(quat_multiply(quat_conjugate(a), b))
    return quat_multiply(a, quat_from_rotvec(delta * t[..., None]))


def quat_unroll(q: Array) -> Array:
    """`q` (T, ..., 4) with signs chosen so that neighbours in time are closest."""
    xp = array_namespace(q)
    if q.shape[0] < 2:
        return q
    turned = xp.sum(q[1:] * q[:-1], axis=-1) < 0.0
    ones = xp.ones_like(q[1:, ..., 0])
    signs = xp.cumulative_prod(xp.where(turned, -ones, ones), axis=0)
    return xp.concat([q[:1], q[1:] * signs[..., None]], axis=0)


def quat_about_mean(q: Array) -> tuple[Array, Array]:
    """Mean of rotations `q` (T, ..., 4) over time, and `q` about it.

    Returns:
        The mean (..., 4), and the rotation vectors (T, ..., 3) of mean^-1 q, [rad].
    """
    mean = quat_mean(q)
    return mean, quat_to_rotvec(quat_multiply(quat_conjugate(mean)[None], q))


def quat_mean(q: Array) -> Array:
    """The normalised mean (..., 4) of similar rotations `q` (T, ..., 4)."""
    xp = array_namespace(q)
    return quat_normalize(xp.mean(quat_unroll(q), axis=0))


def mean_rotation(q: NDArray[np.float64]) -> NDArray[np.float64]:
    """The mean rotation (..., 4) of `q` (n, ..., 4), however far apart they are.

    The nearest rotation to the mean of their matrices, by singular values (Moakher, "Means and
    Averaging in the Group of Rotations", 2002).
    """
    u, _, v = np.linalg.svd(quat_to_matrix(q).mean(axis=0))
    u[..., 2] *= np.linalg.det(u @ v)[..., None]
    mean: NDArray[np.float64] = quat_from_matrix(u @ v)
    return mean


def quat_between(u: Array, v: Array) -> Array:
    """The smallest rotation (..., 4) from direction `u` (..., 3) to `v`.

    Opposite directions are rotated by pi about an axis orthogonal to `u`.
    """
    xp = array_namespace(u, v)
    u = u / xp.sqrt(xp.sum(u * u, axis=-1, keepdims=True))
    v = v / xp.sqrt(xp.sum(v * v, axis=-1, keepdims=True))
    dot = xp.sum(u * v, axis=-1, keepdims=True)
    q = xp.concat([1.0 + dot, xp.linalg.cross(u, v)], axis=-1)
    flat = xp.abs(u[..., :1]) < 0.9
    zero, one = xp.zeros_like(u[..., :1]), xp.ones_like(u[..., :1])
    helper = xp.where(
        flat,
        xp.concat([one, zero, zero], axis=-1),
        xp.concat([zero, one, zero], axis=-1),
    )
    square = xp.concat([zero, xp.linalg.cross(u, helper)], axis=-1)
    return quat_normalize(xp.where(1.0 + dot < 1e-9, square, q))


def swing_twist(q: Array, axis: Array) -> tuple[Array, Array]:
    """`(swing, twist)` with q = swing * twist, twist about unit `axis` (3,) or (..., 3)."""
    xp = array_namespace(q)
    along = xp.sum(q[..., 1:] * axis, axis=-1, keepdims=True)
    twist = xp.concat([q[..., :1], along * axis + xp.zeros_like(q[..., 1:])], axis=-1)
    square = xp.sum(twist * twist, axis=-1, keepdims=True)
    none = square < TINY
    identity = xp.concat([xp.ones_like(along), xp.zeros_like(q[..., 1:])], axis=-1)
    twist = xp.where(
        none, identity, twist / xp.sqrt(xp.where(none, xp.ones_like(square), square))
    )
    return quat_multiply(q, quat_conjugate(twist)), twist


class SwingTwist(NamedTuple):
    """Swing and twist of rotations, [rad]: `swing_x`, `twist`, `swing_z`, each (...).

    A local rotation is q = swing * twist: first a twist about the bone (local Y), then a swing
    about an axis orthogonal to it, so that the swing's rotation vector is (x, 0, z). Unlike
    Euler angles these three have no singularity before half a turn of swing.
    """

    swing_x: Array
    twist: Array
    swing_z: Array


def swing_twist_of(rotations: Array) -> SwingTwist:
    """The parts of `rotations` (..., 4): swing up to pi, twist in (-pi, pi]."""
    xp = array_namespace(rotations)
    w, x, y, z = (rotations[..., i] for i in range(4))
    around = w * w + y * y
    none = around < TINY  # half a turn of swing: the twist is arbitrary
    one, zero = xp.ones_like(w), xp.zeros_like(w)
    n = xp.sqrt(xp.where(none, one, around))
    cw, cy = xp.where(none, one, w / n), xp.where(none, zero, y / n)
    sx, sz = x * cw + z * cy, z * cw - x * cy
    square = sx * sx + sz * sz
    small = square < TINY
    length = xp.sqrt(xp.where(small, one, square))
    scale = xp.where(
        small, 2.0 * one, 2.0 * xp.atan2(length, xp.where(none, zero, n)) / length
    )
    twist = 2.0 * xp.atan2(cy, cw)
    twist = xp.where(twist > xp.pi, twist - 2.0 * xp.pi, twist)
    twist = xp.where(twist <= -xp.pi, twist + 2.0 * xp.pi, twist)
    return SwingTwist(sx * scale, twist, sz * scale)


def from_swing_twist(parts: SwingTwist) -> Array:
    """The rotations (..., 4) with these parts (...)."""
    xp = array_namespace(parts.swing_x)
    zero = xp.zeros_like(parts.swing_x)
    swing = quat_from_rotvec(xp.stack([parts.swing_x, zero, parts.swing_z], axis=-1))
    twist = quat_from_rotvec(xp.stack([zero, parts.twist, zero], axis=-1))
    return quat_multiply(swing, twist)


def quat_from_yaw(yaw: Array) -> Array:
    """Rotations (..., 4) by `yaw` (...), [rad], about Z."""
    xp = array_namespace(yaw)
    zero = xp.zeros_like(yaw)
    return xp.stack([xp.cos(0.5 * yaw), zero, zero, xp.sin(0.5 * yaw)], axis=-1)


def yaw_of(q: Array) -> Array:
    """The yaw (...) in (-pi, pi], [rad], of the twist of `q` (..., 4) about Z."""
    xp = array_namespace(q)
    yaw = 2.0 * xp.atan2(q[..., 3], q[..., 0])
    turn = xp.where(yaw > xp.pi, -xp.ones_like(yaw), xp.zeros_like(yaw))
    turn = xp.where(yaw <= -xp.pi, xp.ones_like(yaw), turn)
    return yaw + 2.0 * xp.pi * turn


def matrix_to_sixd(m: Array) -> Array:
    """The first two rows of `m` (..., 3, 3), row after row. Shape (..., 6)."""
    xp = array_namespace(m)
    return xp.reshape(m[..., :2, :], (*m.shape[:-2], 6))


def sixd_to_matrix(s: Array) -> Array:
    """The rotation (..., 3, 3) whose first two rows are nearest to `s` (..., 6).

    Gram-Schmidt on the two rows (Zhou et al., CVPR 2019), so that any six numbers with
    two independent rows give a rotation.
    """
    xp = array_namespace(s)
    first, second = s[..., :3], s[..., 3:]
    first = first / xp.sqrt(xp.sum(first * first, axis=-1, keepdims=True))
    second = second - xp.sum(first * second, axis=-1, keepdims=True) * first
    second = second / xp.sqrt(xp.sum(second * second, axis=-1, keepdims=True))
    return xp.stack([first, second, xp.linalg.cross(first, second)], axis=-2)
