"""Compiled: swing-twist limits as in `ambulo.ik.limits`.

Numbers in tuples, not arrays: LLVM keeps them in registers. Internal.
"""

from __future__ import annotations

import math

from numba import njit

from ambulo.configs.arrays import Array
from ambulo.motion.quaternion_kernels import Quaternion, Vector

SWING, TWIST = 1, 2
"""Bits of the active limits of a joint."""

HAIR = 1e-14
"""Relative margin by which a clamped joint lies inside its limits."""

PROJECTIONS = 6
"""Newton steps from outside to the rim of a cone; the rest is closed radially. The quarters of
the rim meet at the axes: a step that crosses an axis stops there."""

FLAT = 1e-300
"""Added to squared divisors, so that 0 / 0 is 0."""

# Columns of the table of joints (J, 9), see `ambulo.ik.solver.refine.RigTables`.
INVERSE_RADII, TWIST_ENDS, TWIST_TANGENTS, COMPLIANCE = 0, 4, 6, 8


@njit(cache=True, error_model="numpy", inline="always")
def is_outside(table: Array, j: int, w: float, x: float, y: float, z: float) -> bool:
    """False if the rotation is certainly inside the limits of joint j; True is inconclusive.

    No trigonometry and one root: the twist by its tangent, the swing by an upper bound of the
    arc tangent, atan(t) < t / (1 + 0.28 t^2) + 0.005 for t in [0, 1].
    """
    if w < 0.0:
        w, x, y, z = -w, -x, -y, -z
    k = TWIST_TANGENTS
    if y < table[j, k] * w or y > table[j, k + 1] * w:
        return True
    square = x * x + z * z
    n = math.sqrt(w * w + y * y)
    sx, sz = x * w + z * y, z * w - x * y
    # t = tan(swing / 4) = |(x, z)| / (1 + n); with |(sx, sz)| = n sin(swing / 2) the
    # cone's condition becomes |(sx a, sz b)| angle <= |(sx, sz)|, squared.
    k = INVERSE_RADII
    a = sx * (table[j, k] if sx < 0.0 else table[j, k + 1])
    b = sz * (table[j, k + 2] if sz < 0.0 else table[j, k + 3])
    cone, length, scale = (
        16.0 * (a * a + b * b),
        sx * sx + sz * sz,
        (1.0 + n) * (1.0 + n),
    )
    # atan(t) < t is enough for most, without a division.
    if cone * square <= length * scale:
        return False
    # (4 (t / c + 0.005))^2 < 16 (1.05 t^2 / c^2 + 21 * 0.005^2), c = 1 + 0.28 t^2
    t2 = square / scale
    c = 1.0 + 0.28 * t2
    return cone * (1.05 * t2 / (c * c) + 0.000525) > length


@njit(cache=True, error_model="numpy")
def parts_of(w: float, x: float, y: float, z: float) -> Vector:
    """Decompose a rotation into swing x, twist and swing z, [rad]."""
    around = w * w + y * y
    if around < 1e-12:
        cw, cy, n = 1.0, 0.0, 0.0
    else:
        n = math.sqrt(around)
        cw, cy = w / n, y / n
    sx, sz = x * cw + z * cy, z * cw - x * cy
    length = math.sqrt(sx * sx + sz * sz)
    scale = 2.0 if length < 1e-6 else 2.0 * math.atan2(length, n) / length
    twist = 2.0 * math.atan2(cy, cw)
    if twist > math.pi:
        twist -= 2.0 * math.pi
    elif twist <= -math.pi:
        twist += 2.0 * math.pi
    return sx * scale, twist, sz * scale


@njit(cache=True, error_model="numpy")
def of_parts(sx: float, twist: float, sz: float) -> Quaternion:
    """Compose a rotation from its swing x, twist and swing z, [rad]."""
    angle = math.sqrt(sx * sx + sz * sz)
    scale = 0.5 if angle < 1e-9 else math.sin(0.5 * angle) / angle
    w, x, z = math.cos(0.5 * angle), sx * scale, sz * scale
    c, s = math.cos(0.5 * twist), math.sin(0.5 * twist)
    return w * c, x * c - z * s, w * s, z * c + x * s


@njit(cache=True, error_model="numpy")
def clamp_one(
    table: Array, j: int, w: float, x: float, y: float, z: float
) -> tuple[float, float, float, float, int]:
    """Clamp a rotation to the limits of joint j; returns also the bits of active limits."""
    sx, twist, sz = parts_of(w, x, y, z)
    bits = 0
    low, high = table[j, TWIST_ENDS], table[j, TWIST_ENDS + 1]
    if twist > high:
        twist, bits = high * (1.0 - HAIR), TWIST
    elif twist < low:
        twist, bits = low * (1.0 - HAIR), TWIST
    k = INVERSE_RADII
    ax = table[j, k] if sx < 0.0 else table[j, k + 1]
    az = table[j, k + 2] if sz < 0.0 else table[j, k + 3]
    square = (sx * ax) ** 2 + (sz * az) ** 2
    if square > 1.0:
        bits |= SWING
        for _ in range(PROJECTIONS):
            if square <= 1.0:
                break
            f = math.sqrt(square)
            gx, gz = sx * ax * ax / f, sz * az * az / f
            step = (f - 1.0) / (gx * gx + gz * gz)
            sx = 0.0 if step * ax * ax > f else sx - step * gx
            sz = 0.0 if step * az * az > f else sz - step * gz
            square = (sx * ax) ** 2 + (sz * az) ** 2
        f = math.sqrt(max(square, 1.0)) * (1.0 + HAIR)
        sx, sz = sx / f, sz / f
    if bits:
        w, x, y, z = of_parts(sx, twist, sz)
    return w, x, y, z, bits


@njit(cache=True, error_model="numpy")
def clamp_poses(table: Array, poses: Array) -> None:
    """Clamp all joints of `poses` (B, J, 4) to their limits, in place."""
    for b in range(len(poses)):
        for j in range(len(table)):
            q = poses[b, j]
            w, x, y, z, bits = clamp_one(table, j, q[0], q[1], q[2], q[3])
            if bits:
                q[0], q[1], q[2], q[3] = w, x, y, z


@njit(cache=True, error_model="numpy")
def limit_normals(
    table: Array, j: int, w: float, x: float, y: float, z: float, out: Array
) -> None:
    """Unit directions d in which q exp(d) leaves the swing and the twist limit fastest.

    With q = S T and e = T d the swing vector s = theta u changes by
    u (e.u) + v (theta / sin theta) (e.v), v = Y x u, and the twist by
    e.Y + tan(theta / 2) (e.v): the right Jacobian of the exponential of s, solved.
    `out` (2, 3): the swing's direction and the twist's, in the joint's own frame.
    """
    sx, twist, sz = parts_of(w, x, y, z)
    theta = math.sqrt(sx * sx + sz * sz)
    if theta > 1e-9:
        ux, uz = sx / theta, sz / theta
    else:
        ux, uz = 1.0, 0.0
    vx, vz = uz, -ux
    k = INVERSE_RADII
    ax = table[j, k] if sx < 0.0 else table[j, k + 1]
    az = table[j, k + 2] if sz < 0.0 else table[j, k + 3]
    fx, fz = sx * ax * ax, sz * az * az
    sine = max(math.sin(theta), 1e-3)
    stretch = theta / sine if theta > 1e-6 else 1.0
    tangent = math.tan(0.5 * min(theta, 3.1))
    along, across = fx * ux + fz * uz, (fx * vx + fz * vz) * stretch
    middle = 0.5 * (table[j, TWIST_ENDS] + table[j, TWIST_ENDS + 1])
    side = 1.0 if twist > middle else -1.0
    c, s = math.cos(twist), math.sin(twist)
    for row in range(2):
        if row == 0:
            ex, ey, ez = along * ux + across * vx, 0.0, along * uz + across * vz
        else:
            ex, ey, ez = side * tangent * vx, side, side * tangent * vz
        length = math.sqrt(ex * ex + ey * ey + ez * ez + FLAT)
        out[row, 0] = (c * ex - s * ez) / length
        out[row, 1] = ey / length
        out[row, 2] = (s * ex + c * ez) / length
