"""Euler angles, to and from quaternions, in any order of one to three axes (NumPy).

An order such as "ZXY" is intrinsic, read left to right: R = Rz(a) Rx(b) Ry(c).
"""

from __future__ import annotations

import warnings
from itertools import pairwise, product

import numpy as np
from scipy.spatial.transform import Rotation

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import MotionError
from ambulo.motion.rotations import quat_multiply

ORDERS = frozenset(
    "".join(axes)
    for count in (1, 2, 3)
    for axes in product("XYZ", repeat=count)
    if all(a != b for a, b in pairwise(axes))
)
"""All orders of one, two or three axes without equal neighbours."""


def axis_quat(axis: str, angle: Floats) -> Floats:
    """Rotations (..., 4) by `angle` (...), [rad], about the axis "X", "Y" or "Z"."""
    q = np.zeros((*np.shape(angle), 4))
    half = 0.5 * np.asarray(angle)
    q[..., 0] = np.cos(half)
    q[..., 1 + "XYZ".index(axis)] = np.sin(half)
    return q


def quat_from_euler(angles: Floats, order: str) -> Floats:
    """Rotations (..., 4) of `angles` (..., len(order)), [rad]; "" is the identity."""
    if not order:
        return np.broadcast_to([1.0, 0.0, 0.0, 0.0], (*angles.shape[:-1], 4)).copy()
    _check(order)
    q = axis_quat(order[0], angles[..., 0])
    for i, axis in enumerate(order[1:], start=1):
        q = quat_multiply(q, axis_quat(axis, angles[..., i]))
    return q


def quat_to_euler(q: Floats, order: str) -> Floats:
    """Angles (..., len(order)), [rad], of `q` (..., 4).

    With fewer than three axes the angles are those of the nearest order of three that starts
    with `order`, the rest dropped: exact if `q` is such a rotation. At a gimbal lock the third
    angle is 0.
    """
    if not order:
        return np.zeros((*q.shape[:-1], 0))
    _check(order)
    full = order
    while len(full) < 3:
        full += next(axis for axis in "XYZ" if axis not in full)
    flat = np.reshape(q, (-1, 4))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Gimbal lock")
        angles = Rotation.from_quat(flat, scalar_first=True).as_euler(full)
    return np.reshape(angles, (*q.shape[:-1], 3))[..., : len(order)]


def unwrap_euler(angles: Floats, order: str) -> Floats:
    """`angles` (T, ..., n) of the same rotations, chosen to change least in time.

    Of a triple (a, b, c) with three different axes the triple (a + pi, pi - b, c + pi) is
    the same rotation; the one nearer to the previous frame is taken, then multiples of 2 pi
    are removed.
    """
    out = np.array(angles, dtype=np.float64)
    if len(order) == 3 and len(set(order)) == 3 and len(out) > 1:
        twin = np.stack(
            [out[..., 0] + np.pi, np.pi - out[..., 1], out[..., 2] + np.pi], axis=-1
        )
        # The distance of two frames is the same if both take their equivalent, so whether frame
        # t takes another one than frame t - 1 needs no recursion.
        stay = np.abs(_wrapped(out[1:] - out[:-1])).sum(axis=-1)
        change = np.abs(_wrapped(twin[1:] - out[:-1])).sum(axis=-1)
        twins = np.zeros(out.shape[:-1], dtype=bool)
        twins[1:] = np.cumsum(change < stay, axis=0) % 2 == 1
        out = np.where(twins[..., None], twin, out)
    return np.unwrap(out, axis=0)


def _wrapped(angles: Floats) -> Floats:
    """Return `angles` wrapped to [-pi, pi]."""
    return angles - 2.0 * np.pi * np.round(angles / (2.0 * np.pi))


def _check(order: str) -> None:
    if order not in ORDERS:
        raise MotionError(
            f"{order!r} is no rotation order; expected one to three of X, Y, Z, "
            "neighbours different"
        )
